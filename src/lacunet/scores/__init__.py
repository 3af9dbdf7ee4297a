"""Approximations of the evidence, one file each. To add one: its file, and its line in SCORES."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from lacunet.errors import OptionError
from lacunet.scores.bd import BD
from lacunet.scores.bic import BIC
from lacunet.scores.cheeseman_stutz import CS
from lacunet.scores.draper import DRAPER
from lacunet.scores.evidence import Evidence, Score, ScoreInput
from lacunet.scores.laplace import LAPLACE
from lacunet.scores.mled import MLED

SCORES: tuple[Score, ...] = (LAPLACE, CS, MLED, DRAPER, BIC, BD)
HEADLINE = CS  # a lower bound on the evidence, nearly exact when classes are well separated

__all__ = ["HEADLINE", "SCORES", "Evidence", "Score", "ScoreInput", "choose_scores"]


def choose_scores(names: str | Sequence[str]) -> tuple[Score, ...]:
    """Give the scores of a comma-separated list or a sequence of names; 'all' are all."""
    wanted = [n.strip().lower() for n in (names.split(",") if isinstance(names, str) else names)]
    known = {s.name: s for s in SCORES}
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
