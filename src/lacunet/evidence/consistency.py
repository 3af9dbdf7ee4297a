"""What else is known of an evidence: bounds on either side, and independent estimates of it.

A variational bound is below log p(D|S) at any start. No parameters make rows more probable than
their own shares do, so those of discrete rows bound it from above: for each set of columns that is
shown, Σ n log(n/N) over its distinct rows. A measured evidence lies between the two, or its error
bar is not to be believed.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacunet.errors import ImpossibleNumberError
from lacunet.evidence.estimate import LogMean, Verdict
from lacunet.evidence.measurement import Measurement
from lacunet.fitting.variational import at_hyperparameters, vary
from lacunet.flags import Flag, Kind
from lacunet.inference.problem import Problem
from lacunet.runtime.arrays import FloatArray, IntArray

STEPS = 50  # of variational Bayes: towards the best bound, not to its last digit
STARTS = 8  # places whose bounds are compared, before the best is raised
ERRORS = 3.0  # standard errors by which an estimate may be outside of a bound
MOST_ROWS = 1 << 17  # distinct rows whose shares are looked up
ROUNDING = 1e-6  # of an exact value, by which it may be outside


def lower_bound(problem: Problem, counts: Sequence[FloatArray]) -> float:
    """A variational bound uphill from the best of some places, hidden counts (size,) each."""
    prior = problem.prior
    starts = [prior, *(prior + N for N in counts[:STARTS])]
    best = max((at_hyperparameters(problem, x) for x in starts), key=lambda q: q.bound)
    return vary(best, max_steps=STEPS).bound


def upper_bound(problem: Problem) -> float:
    """Log probability of the rows if each set of columns that is shown had its own shares.

    Densities have no such bound; of very many rows, or rows that others hold, none is worked out.
    """
    if not problem.layout.discrete or problem.held is not None or len(problem.counts) > MOST_ROWS:
        return math.inf
    n, rows = _alike(problem.codes, problem.counts)
    cases, patterns = _alike(problem.codes >= 0, problem.counts)
    each = np.zeros(len(n), dtype=np.int64)
    each[rows] = patterns
    counted = n > 0
    return float(n[counted] @ np.log(n[counted] / cases[each[counted]]))


def _alike(rows: NDArray[Any], counts: FloatArray) -> tuple[FloatArray, IntArray]:
    """How often each different row is there, and which of them each row is."""
    _, which = np.unique(rows, axis=0, return_inverse=True)
    which = np.asarray(which.reshape(-1), dtype=np.int64)
    return np.bincount(which, counts).astype(np.float64), which


def between(
    measured: Measurement, lower: float = -math.inf, upper: float = math.inf
) -> Measurement:
    """Hold a measurement to bounds of the same evidence.

    What is outside by more than its error allows is the lower bound, and no more than that; what is
    outside by less is moved to the bound.
    """
    if measured.verdict is Verdict.EXACT:
        _check_exact(measured.value, lower, upper)
        return measured
    slack = ERRORS * (measured.stderr or 0.0)
    notes, sure = measured.notes, measured.verdict is Verdict.RELIABLE
    if sure and measured.value < lower - slack:
        notes = (*notes, Flag(Kind.UNDER_LOWER_BOUND, detail={"value": lower}))
        sure = False
    elif sure and measured.value > upper + slack:
        notes = (*notes, Flag(Kind.OVER_UPPER_BOUND, detail={"value": upper}))
        return _moved(measured, lower, notes, sure=False)
    return _moved(measured, min(max(measured.value, lower), upper), notes, sure=sure)


def _moved(
    measured: Measurement, value: float, notes: tuple[Flag, ...], *, sure: bool
) -> Measurement:
    one = measured.one_labelling + (value - measured.value)
    told = replace(measured, value=value, one_labelling=one, notes=notes)
    return told if sure else replace(told, verdict=Verdict.LOWER_BOUND, stderr=None)


def _check_exact(value: float, lower: float, upper: float) -> None:
    slack = ROUNDING * max(1.0, abs(value))
    if not lower - slack <= value <= upper + slack:
        raise ImpossibleNumberError(
            f"the exact evidence came out as {value:.6g}, outside of its bounds {lower:.6g} and "
            f"{upper:.6g}. It is kept back: this is a defect of lacunet."
        )


def less_sure(estimate: LogMean, other: LogMean) -> LogMean:
    """The same with an error that covers an independent estimate.

    Chains can miss mass, and then they agree with each other; averages of weights are too low
    rather than too high. So a difference upwards always counts, one downwards if it is too large.
    """
    above = other.value - estimate.value
    allowed = above < 0.0 and -above <= math.hypot(estimate.stderr, other.stderr)
    if allowed or not math.isfinite(above):
        return estimate
    return replace(estimate, stderr=math.hypot(estimate.stderr, above))
