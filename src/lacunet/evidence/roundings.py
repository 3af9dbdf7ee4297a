"""The evidence of rows whose weights are not whole numbers.

The pseudo-likelihood Π p(row|θ)^w has an evidence, but hidden values belong to whole cases. So the
weights are rounded to integers, systematically: each weight goes up or down and keeps its mean. A
rounding changes the variational bound nearly as much as the evidence:

    log p(D|S) ≈ bound(D) + mean over roundings R of [ log p(R|S) − bound(R) ].

The gap between evidence and bound varies a little between roundings; the error bar includes it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lacunet.fitting.diagnose import at_theta, vary
from lacunet.flags import Flag, Kind
from lacunet.inference.problem import Problem, problem_of_codes
from lacunet.runtime.arrays import FloatArray

ROUNDINGS = 6


def rounded(counts: FloatArray, number: int, seed: int) -> list[FloatArray]:
    """Systematic roundings of counts that preserve the mean of each count and of partial sums.

    The share of roundings in which a count goes up is nearly its fractional part.

    >>> sum(rounded(np.array([0.5, 1.25, 2.0, 0.25]), 4, seed=0)).tolist()
    [2.0, 5.0, 8.0, 1.0]
    """
    ends = np.concatenate([[0.0], np.cumsum(counts)])
    offsets = (np.arange(number) + np.random.default_rng([seed, number]).random()) / number
    return [np.diff(np.floor(ends + offset)) for offset in offsets]


def roundings(problem: Problem, seed: int) -> list[Problem]:
    """Problems with roundings of the fractional weights of one."""
    return [_with(problem, counts) for counts in rounded(problem.counts, ROUNDINGS, seed)]


def nearest_whole(problem: Problem) -> Problem:
    """A problem with rounded weights; the problem itself if its weights are integers."""
    return problem if problem.whole else _with(problem, rounded(problem.counts, 1, seed=0)[0])


def bound_near(problem: Problem, theta: FloatArray) -> float:
    """The variational bound raised from θ."""
    return vary(at_theta(problem, theta)).bound


def mean_of_roundings(values: FloatArray, errors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The mean over roundings, with its covariance: (J, K), (J, K) → (K,), (K, K).

    Because J is small, variances are those of Student's t. The standard errors of the values bound
    them from below.
    """
    J = len(values)
    apart = values - values.mean(axis=0)
    covariance = apart.T @ apart / (J * (J - 3))
    short = np.maximum(np.square(errors).sum(axis=0) / J**2 - covariance.diagonal(), 0.0)
    return values.mean(axis=0), covariance + np.diag(short)


def joined(problem: Problem, parts: Sequence[Any]) -> dict[str, Any]:
    """The `used`, `details` and `notes` of a result over all roundings of a problem."""
    note = Flag(Kind.WEIGHTS_ROUNDED, detail={"roundings": len(parts), "cases": problem.cases})
    return {
        "used": mean_shares([part.used for part in parts]),
        "details": {"roundings of the weights": len(parts), **parts[0].details},
        "notes": (note, *dict.fromkeys(flag for part in parts for flag in part.notes)),
    }


def mean_shares(parts: Sequence[Mapping[int, float]]) -> dict[int, float]:
    """Average shares by key; a missing key counts as 0.

    >>> mean_shares([{1: 1.0}, {1: 0.5, 2: 0.5}])
    {1: 0.75, 2: 0.25}
    """
    numbers = sorted({m for part in parts for m in part})
    return {m: sum(part.get(m, 0.0) for part in parts) / len(parts) for m in numbers}


def _with(problem: Problem, counts: FloatArray) -> Problem:
    """The rows with other counts; rows with count 0 are left out, unless all counts are 0."""
    positive = counts > 0 if counts.any() else np.ones(len(counts), dtype=np.bool_)
    return problem_of_codes(
        problem.codes[positive], counts[positive], problem.network, problem.alpha
    )
