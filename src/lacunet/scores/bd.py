"""BD: the exact evidence, where nothing is hidden. CH96 eq. 5."""

from lacunet.model.conjugacy import log_marginal
from lacunet.scoring.score import NOTHING_HIDDEN, Score
from lacunet.scoring.score_input import Evidence, ScoreInput


def bd(at: ScoreInput) -> Evidence:
    """Sum over families; a barren variable is left out, for it integrates to one."""
    problem = at.problem
    families = log_marginal(problem.seen, problem.alpha, problem.layout)
    names = [v.name for v in problem.network.variables]
    terms = {f"family {n}": float(x) for n, x in zip(names, families, strict=True)}
    if problem.log_base:  # categories have none
        terms["log h(D)"] = problem.log_base
    return Evidence("bd", terms)


BD = Score("bd", "BD (exact)", "CH96 eq. 5", bd, domain=NOTHING_HIDDEN, bound=True, lower=True)
