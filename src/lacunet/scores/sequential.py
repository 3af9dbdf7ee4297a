"""Sequential updating: each case predicted from those before it, in one pass.

Spiegelhalter & Lauritzen (1990, Networks 20, 579–605); Cowell, Dawid & Sebastiani (1995). It needs
no maximum, and sees all labellings. `inference.sequential` says how it works, and has its two other
rules.
"""

from __future__ import annotations

import numpy as np

from lacunet.inference.sampling.passes import Passes, run_passes
from lacunet.scoring.score import Score
from lacunet.scoring.score_input import Evidence, ScoreInput

CARRIED = 0.2  # part of the average that one order may be without a warning


def sequential(at: ScoreInput) -> Evidence:
    """Average passes in several orders, by moments; say how much one pass depends on its order."""
    fractional = at.problem.counts[at.problem.counts != np.round(at.problem.counts)]
    if len(fractional):
        reason = f"cases come one by one, so they must be whole: a row weighs {fractional[0]:g}"
        return Evidence("sequential", {}, (reason,))
    passes = run_passes(at.problem, seed=at.options.seed)
    terms = {"log p(seen whole)": passes.seen}
    if not at.problem.exact:
        terms["mean of Σ log p(case|earlier)"] = passes.mean - passes.seen
        terms["log of the average over orders, above it"] = passes.value - passes.mean
    return Evidence("sequential", terms, tuple(_flags(passes)))


def _flags(passes: Passes) -> list[str]:
    """How far one order is from another, and the average from being one."""
    flags = []
    if passes.spread > 1e-9:
        flags.append(
            f"orders of the cases differ: one pass gives {passes.mean:.2f} ± {passes.spread:.2f} "
            f"nats, over {len(passes.each)} orders"
        )
    if passes.spread > 1e-9 and passes.share > CARRIED:
        flags.append(
            f"one order makes {passes.share:.0%} of the average: too low, rather than too high"
        )
    return flags


SEQUENTIAL = Score(
    "sequential",
    "Sequential updating",
    "Spiegelhalter & Lauritzen (1990)",
    sequential,
    column="Sequential",
    usual=False,
    every_labelling=True,
)
