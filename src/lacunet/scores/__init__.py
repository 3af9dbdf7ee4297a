"""Approximations of the evidence at a fit.

`score` defines `Score` and its input. `approximations` has the scores at one mode, `occupancy`
those that sum over used states. `evaluation` evaluates scores of several models. To add a score,
write its function and its `Score`, and list it in SCORES.
"""

from collections.abc import Sequence

from lacunet.errors import OptionError, did_you_mean
from lacunet.inference.problem import Problem
from lacunet.scores.approximations import BD, BIC, CS, CSL, DRAPER, ICL, LAPLACE, MLED, VB
from lacunet.scores.occupancy import gaussian_mode, occupied, variational_mode
from lacunet.scores.score import Evidence, Fitting, Score, ScoreInput

CSL_OCCUPIED = occupied(CSL, gaussian_mode, usual=True)
VB_OCCUPIED = occupied(VB, variational_mode)
SCORES: tuple[Score, ...] = (
    LAPLACE,
    CSL,
    VB,
    CS,
    MLED,
    DRAPER,
    BIC,
    BD,
    ICL,
    CSL_OCCUPIED,
    VB_OCCUPIED,
)
HEADLINE = CSL  # the score nearest to measured evidence, of those defined everywhere
# Models are compared by the first of these that all candidates have (docs: which score to trust).
RECOMMENDED = (CSL_OCCUPIED, HEADLINE, CS)
GROUPS = {"usual": tuple(s for s in SCORES if s.usual), "all": SCORES}

__all__ = [
    "BD",
    "BIC",
    "CS",
    "CSL",
    "CSL_OCCUPIED",
    "DRAPER",
    "GROUPS",
    "HEADLINE",
    "ICL",
    "LAPLACE",
    "MLED",
    "RECOMMENDED",
    "SCORES",
    "VB",
    "VB_OCCUPIED",
    "Evidence",
    "Fitting",
    "Score",
    "ScoreInput",
    "applicable",
    "choose_scores",
    "not_defined",
]


def choose_scores(names: str | Sequence[str]) -> tuple[Score, ...]:
    """The scores for names of scores or groups, in a sequence or a comma-separated list.

    >>> [score.name for score in choose_scores("cs, bic")]
    ['cs', 'bic']
    """
    wanted = [n.strip().lower() for n in (names.split(",") if isinstance(names, str) else names)]
    known = {**{s.name: (s,) for s in SCORES}, **GROUPS}
    if not wanted:
        raise OptionError(f"no score is named. Name some, {', or '.join(GROUPS)}.")
    for name in wanted:
        if name not in known:
            hint = did_you_mean(name, known)
            choices = ", ".join(s.name for s in SCORES)
            raise OptionError(
                f"'{name}' is not a score.{hint} Choose from {choices}; {' or '.join(GROUPS)}."
            )
    chosen = {score.name for name in wanted for score in known[name]}
    return tuple(s for s in SCORES if s.name in chosen)


def applicable(scores: Sequence[Score], problem: Problem) -> list[Score]:
    """The scores that are defined for a problem; an error if there are none."""
    defined = [s for s in scores if s.applies(problem)]
    if not defined:
        raise not_defined(scores)
    return defined


def not_defined(scores: Sequence[Score]) -> OptionError:
    """The error that none of some scores is defined, with reasons."""
    reasons = "; ".join(
        f"{s.name} is exact, so defined only where nothing is hidden"
        for s in scores
        if s.only_exact
    )
    return OptionError(f"{reasons}; name another score, for example {HEADLINE.name}.")
