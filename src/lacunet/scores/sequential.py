"""Sequential updating: each case predicted from those before it, in one pass.

Spiegelhalter & Lauritzen (1990, Networks 20, 579–605); Cowell, Dawid & Sebastiani (1995). It needs
no maximum, and sees all labellings. `inference.sequential` says how it works, and has its two other
rules.
"""

from collections.abc import Iterator

import numpy as np

from lacunet.flags import Flag, Kind
from lacunet.inference.sampling.draws import MOST_ONE_BY_ONE
from lacunet.inference.sampling.particles import Passes, run_passes
from lacunet.scoring.score import TABULAR, Score
from lacunet.scoring.score_input import Evidence, ScoreInput

CARRIED = 0.2  # part of the average that one order may be without a warning


def sequential(at: ScoreInput) -> Evidence:
    """Average passes in several orders, by moments; say how much one pass depends on its order."""
    fractional = at.problem.counts[at.problem.counts != np.round(at.problem.counts)]
    if len(fractional):
        reason = Flag(Kind.FRACTIONAL_CASES, detail={"weight": float(fractional[0])})
        return Evidence("sequential", {}, (reason,))
    if at.problem.cases > MOST_ONE_BY_ONE:
        reason = Flag(Kind.TOO_MANY_CASES, detail={"cases": at.problem.cases})
        return Evidence("sequential", {}, (reason,))
    passes = run_passes(at.problem, seed=at.options.seed)
    terms = {"log p(seen whole)": passes.seen}
    if not at.problem.exact:
        terms["mean of Σ log p(case|earlier)"] = passes.mean - passes.seen
        terms["log of the average over orders, above it"] = passes.value - passes.mean
    return Evidence("sequential", terms, tuple(_flags(passes)))


def _flags(passes: Passes) -> Iterator[Flag]:
    """How far one order is from another, and the average from being one."""
    if passes.deviation > 1e-9:
        detail = {"mean": passes.mean, "deviation": passes.deviation, "orders": len(passes.each)}
        yield Flag(Kind.ORDERS_DIFFER, detail=detail)
        if passes.share > CARRIED:
            yield Flag(Kind.ONE_ORDER_COUNTS, detail={"share": passes.share})


SEQUENTIAL = Score(
    "sequential",
    "Sequential updating",
    "Spiegelhalter & Lauritzen (1990)",
    sequential,
    column="Sequential",
    domain=TABULAR,
    usual=False,
    every_labelling=True,
    bound=True,
)
