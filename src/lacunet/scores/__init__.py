"""Approximations of the evidence, one file each. To add one: its file, and its line in SCORES."""

from collections.abc import Sequence

from lacunet.errors import OptionError, did_you_mean
from lacunet.inference.problem import Problem
from lacunet.scores.bd import BD
from lacunet.scores.bic import BIC
from lacunet.scores.cheeseman_stutz import CS
from lacunet.scores.csl import CSL
from lacunet.scores.draper import DRAPER
from lacunet.scores.icl import ICL
from lacunet.scores.laplace import LAPLACE
from lacunet.scores.laplace_phi import LAPLACE_PHI
from lacunet.scores.mled import MLED
from lacunet.scores.sbic import SBIC
from lacunet.scores.sequential import SEQUENTIAL
from lacunet.scores.vb import VB
from lacunet.scores.wbic import WBIC
from lacunet.scoring.labellings import with_all_labellings
from lacunet.scoring.modes import over_modes
from lacunet.scoring.occupancy import at_softmax_mode, occupied, of_gaussian, variational_weights
from lacunet.scoring.score import Score
from lacunet.scoring.score_input import Evidence, ScoreInput

CSL_OCCUPIED = occupied(CSL, at_softmax_mode, of_gaussian, usual=True)
SCORES: tuple[Score, ...] = (
    LAPLACE,
    LAPLACE_PHI,
    CSL,
    VB,
    CS,
    MLED,
    DRAPER,
    BIC,
    BD,
    ICL,
    SBIC,
    WBIC,
    SEQUENTIAL,
    with_all_labellings(VB),
    CSL_OCCUPIED,
    over_modes(CSL_OCCUPIED, "csl-modes"),
    occupied(VB, variational_weights),
    occupied(CS),
    occupied(LAPLACE),
)
HEADLINE = CSL  # of the scores that are defined everywhere, the nearest to measured evidence
# The answer goes by the first of these that all candidates have (docs: which score to trust).
RECOMMENDED = (CSL_OCCUPIED, HEADLINE, CS)
GROUPS = {"usual": tuple(s for s in SCORES if s.usual), "all": SCORES}

__all__ = [
    "CS",
    "GROUPS",
    "HEADLINE",
    "RECOMMENDED",
    "SCORES",
    "Evidence",
    "Score",
    "ScoreInput",
    "applicable",
    "choose_scores",
    "not_defined",
]


def choose_scores(names: str | Sequence[str]) -> tuple[Score, ...]:
    """Give the scores of a comma-separated list or a sequence of names, of scores or of groups.

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
    """Give the scores that are defined for a problem; refuse, if none is."""
    defined = [s for s in scores if s.applies(problem)]
    if not defined:
        raise not_defined(scores)
    return defined


def not_defined(scores: Sequence[Score]) -> OptionError:
    """Say that none of some scores can be used, and why."""
    reasons = "; ".join(f"{s.name} {s.domain.words}" for s in scores)
    return OptionError(f"{reasons}; name another score, for example {HEADLINE.name}.")
