"""The evidence of rows whose weights are not whole numbers.

A weight w stands in a pseudo-likelihood Π p(row|θ)^w, which has an evidence like any other; but
hidden values belong to whole cases. So tables of whole cases next to these data are measured:
systematic roundings, in which each weight goes up or down and keeps its mean. What a rounding
changes, the variational bound knows nearly as well as the evidence does:

    log p(D|S) ≈ bound(D) + mean over roundings R of [ log p(R|S) − bound(R) ].

The gap between evidence and bound differs a little from rounding to rounding: that is in the error
bar.
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
    """Round counts to whole numbers so that each keeps its mean, and sums of neighbours theirs.

    A count goes up in as many of the roundings as its fraction says, nearly.

    >>> sum(rounded(np.array([0.5, 1.25, 2.0, 0.25]), 4, seed=0)).tolist()
    [2.0, 5.0, 8.0, 1.0]
    """
    ends = np.concatenate([[0.0], np.cumsum(counts)])
    offsets = (np.arange(number) + np.random.default_rng([seed, number]).random()) / number
    return [np.diff(np.floor(ends + offset)) for offset in offsets]


def roundings(problem: Problem, seed: int) -> list[Problem]:
    """Give problems of whole cases next to one with fractional weights."""
    return [_with(problem, counts) for counts in rounded(problem.counts, ROUNDINGS, seed)]


def nearest_whole(problem: Problem) -> Problem:
    """Give a problem of whole cases: itself, if it is one."""
    return problem if problem.whole else _with(problem, rounded(problem.counts, 1, seed=0)[0])


def bound_near(problem: Problem, theta: FloatArray) -> float:
    """Give the variational bound that steps from θ reach."""
    return vary(at_theta(problem, theta)).bound


def mean_of_roundings(values: FloatArray, errors: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Give the mean over roundings, with its covariance: (J, K), (J, K) → (K,), (K, K).

    A handful tells its own spread badly: variances are those of Student's t. Nor can they be less
    than the standard errors of the values themselves make them.
    """
    J = len(values)
    apart = values - values.mean(axis=0)
    covariance = apart.T @ apart / (J * (J - 3))
    short = np.maximum(np.square(errors).sum(axis=0) / J**2 - covariance.diagonal(), 0.0)
    return values.mean(axis=0), covariance + np.diag(short)


def joined(problem: Problem, parts: Sequence[Any]) -> dict[str, Any]:
    """Give the `used`, `details` and `notes` of what was found on all roundings of a problem."""
    note = Flag(Kind.WEIGHTS_ROUNDED, detail={"roundings": len(parts), "cases": problem.cases})
    return {
        "used": mean_shares([part.used for part in parts]),
        "details": {"roundings of the weights": len(parts), **parts[0].details},
        "notes": (note, *dict.fromkeys(flag for part in parts for flag in part.notes)),
    }


def mean_shares(parts: Sequence[Mapping[int, float]]) -> dict[int, float]:
    """Average shares, by what they are shares of.

    >>> mean_shares([{1: 1.0}, {1: 0.5, 2: 0.5}])
    {1: 0.75, 2: 0.25}
    """
    numbers = sorted({m for part in parts for m in part})
    return {m: sum(part.get(m, 0.0) for part in parts) / len(parts) for m in numbers}


def _with(problem: Problem, counts: FloatArray) -> Problem:
    """Give the rows other counts; rows that count nothing are left out, unless all do."""
    kept = counts > 0 if counts.any() else np.ones(len(counts), dtype=np.bool_)
    return problem_of_codes(problem.codes[kept], counts[kept], problem.network, problem.alpha)
