"""Approximations of the evidence, one file each. To add one: its file, and its line in SCORES."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from lacunet.errors import OptionError
from lacunet.inference.problem import Problem
from lacunet.scores.bd import BD
from lacunet.scores.bic import BIC
from lacunet.scores.cheeseman_stutz import CS
from lacunet.scores.draper import DRAPER
from lacunet.scores.evidence import Evidence, Score, ScoreInput
from lacunet.scores.laplace import LAPLACE
from lacunet.scores.mled import MLED

SCORES: tuple[Score, ...] = (LAPLACE, CS, MLED, DRAPER, BIC, BD)
HEADLINE = CS  # a lower bound on the evidence, nearly exact when classes are well separated

__all__ = [
    "HEADLINE",
    "SCORES",
    "Evidence",
    "Score",
    "ScoreInput",
    "applicable",
    "choose_scores",
    "only_exact",
]


def choose_scores(names: str | Sequence[str]) -> tuple[Score, ...]:
    """Give the scores of a comma-separated list or a sequence of names; 'all' are all."""
    wanted = [n.strip().lower() for n in (names.split(",") if isinstance(names, str) else names)]
    known = {s.name: s for s in SCORES}
    if not wanted:
        raise OptionError("no score is named. Name some, or all.")
    if "all" in wanted:
        return SCORES
    for name in wanted:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f" Did you mean '{near[0]}'?" if near else ""
            raise OptionError(
                f"'{name}' is not a score.{hint} Choose from {', '.join(known)}, or all."
            )
    return tuple(s for s in SCORES if s.name in wanted)


def applicable(scores: Sequence[Score], problem: Problem) -> list[Score]:
    """Give the scores that are defined for a problem; refuse, if none is."""
    found = [s for s in scores if s.applies(problem)]
    if not found:
        raise only_exact(scores)
    return found


def only_exact(scores: Sequence[Score]) -> OptionError:
    """Say that none of some scores can be used where something is hidden."""
    names = ", ".join(s.name for s in scores)
    return OptionError(
        f"{names} is exact, so defined only where nothing is hidden; name another score, for "
        "example cs."
    )
