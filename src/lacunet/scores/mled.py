"""MLED: the marginal likelihood of the expected data. CH96 eq. 12."""

from lacunet.model.conjugacy import log_marginal
from lacunet.scoring.score import Score
from lacunet.scoring.score_input import Evidence, ScoreInput


def mled(at: ScoreInput) -> Evidence:
    """BD on the expected counts, as if D′ had been seen: a bound, not asymptotically right."""
    problem = at.problem
    families = log_marginal(at.complete_counts, problem.alpha, problem.layout)
    return Evidence("mled", {"log p(D′|S)": float(families.sum()) + problem.log_base})


MLED = Score("mled", "MLED", "CH96 eq. 12", mled, bound=True)
