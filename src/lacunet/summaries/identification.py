"""Identification: which estimates exist, and which of them have a standard error.

A maximum at infinity (separation), a flat likelihood, or a class without cases leave no estimate. A
probability at 0 or 1 has no asymptotic normal distribution. Every estimate printed with a standard
error passes this check: values that do not exist are NaN, with a reason.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Self

import numpy as np
from numpy.typing import NDArray

from lacunet.flags import Flag, Kind
from lacunet.runtime.arrays import BoolArray, FloatArray

# Information, in cases, below which log odds are not identified. At a maximum at infinity only the
# remainder at the last iteration is left; a finite maximum has more, except with tiny overlap.
NOTHING_HOLDS = 1e-5
TOUCHED = 1e-3  # share of an estimate in an unidentified direction that invalidates it
NO_VARIANCE = 1e-18  # relative to the squared estimate: a variance of rounding errors


class Why(StrEnum):
    """The reason for a missing estimate or standard error."""

    EMPTY_CLASS = "empty class"  # no row is assigned to the class
    FEW_CASES = "few cases"  # at most as many cases of a class as coefficients
    SEPARATED = "separated"  # the maximum is at infinity
    NOT_IDENTIFIED = "not identified"  # the likelihood is flat
    UNSTABLE = "separated in replicates"  # of the bootstrap
    NO_MAXIMUM = "no maximum"  # a saddle, or not converged
    NO_CASES = "no cases"  # fewer than two cases of a class have the outcome
    BOUNDARY = "boundary"  # a share is 0 or 1: no standard error
    NO_SPREAD = "no spread"  # all values are equal: no standard error

    @property
    def keeps_estimate(self) -> bool:
        """Whether only the standard error is missing."""
        return self in {Why.BOUNDARY, Why.NO_SPREAD, Why.UNSTABLE}


Reasons = NDArray[np.object_]  # Why, or None

KINDS = {
    Why.SEPARATED: Kind.WITHOUT_END,
    Why.NOT_IDENTIFIED: Kind.WITHOUT_INFORMATION,
    Why.UNSTABLE: Kind.SEPARATED_REPLICATES,
    Why.NO_MAXIMUM: Kind.NO_MAXIMUM,
    Why.EMPTY_CLASS: Kind.CLASS_WITHOUT_ROWS,
    Why.NO_CASES: Kind.CLASS_WITHOUT_OUTCOME,
    Why.FEW_CASES: Kind.FEW_CASES_OF_CLASS,
    Why.BOUNDARY: Kind.SHARE_AT_BOUNDARY,
    Why.NO_SPREAD: Kind.NO_SPREAD,
}


@dataclass(frozen=True, eq=False)
class Free:
    """A direction of the coefficients that the data do not identify."""

    why: Why
    along: FloatArray  # (K, p) in units of the columns' scales; 0 for the first class


@dataclass(frozen=True, eq=False)
class Identified:
    """Checked estimates; NaN marks missing estimates and covariances."""

    estimate: FloatArray
    covariance: FloatArray  # (*shape, *shape)
    why: Reasons  # (*shape)

    @classmethod
    def of(
        cls,
        estimate: FloatArray,
        covariance: FloatArray,
        reasons: Mapping[Why, BoolArray],
        certain: BoolArray | None = None,
    ) -> Self:
        """Replace estimates with a reason by NaN; the first reason in the order of `Why` counts.

        `certain` estimates, such as those of a reference class, are known: their variance is 0.
        """
        shape, size = estimate.shape, estimate.size
        certain = np.zeros(shape, dtype=np.bool_) if certain is None else certain
        why: Reasons = np.full(shape, None, dtype=object)
        for reason in reversed(Why):
            if reason in reasons:
                why[reasons[reason]] = reason
        variance = covariance.reshape(size, size).diagonal().reshape(shape)
        undefined = ~(np.isfinite(estimate) & np.isfinite(variance)) & ~certain
        why[undefined & (why == None)] = Why.NOT_IDENTIFIED  # noqa: E711
        with np.errstate(invalid="ignore"):
            constant = ~(variance > NO_VARIANCE * np.square(estimate)) & ~certain
        why[constant & (why == None)] = Why.NO_SPREAD  # noqa: E711
        no_estimate = np.isin(why, [w for w in Why if not w.keeps_estimate])
        no_error = np.isin(why, list(Why)).reshape(-1)
        V = covariance.reshape(size, size).copy()
        V[no_error] = V[:, no_error] = np.nan
        shown = np.where(no_estimate, np.nan, estimate)
        return cls(shown, V.reshape(covariance.shape), why)

    @property
    def stderr(self) -> FloatArray:
        """Standard errors."""
        size = self.estimate.size
        variance = self.covariance.reshape(size, size).diagonal()
        return np.asarray(np.sqrt(variance).reshape(self.estimate.shape))

    def times(self, unit: float, plus: float) -> Self:
        """Transform to another unit: unit × estimate + plus."""
        covariance = self.covariance * unit**2
        return replace(self, estimate=self.estimate * unit + plus, covariance=covariance)

    @property
    def words(self) -> list[list[str | None]]:
        """Reasons for the JSON document; None if the estimate and its error exist."""
        return [[None if w is None else str(w) for w in row] for row in self.why]

    def flags(self, names: Mapping[Why, Sequence[Sequence[str]]]) -> Iterator[Flag]:
        """Yield a flag for each reason, with the `names` of its estimates."""
        for reason in names:
            affected = np.array(names[reason], dtype=object)[self.why == reason].tolist()
            if affected:
                yield Flag(KINDS[reason], detail={"names": listed(affected)})


def listed(names: Iterable[str], most: int = 6) -> str:
    """Join distinct names; truncate after `most`.

    >>> listed(["a", "b", "a"]), listed("abcdefgh")
    ("'a', 'b'", "'a', 'b', 'c', 'd', 'e', 'f' and 2 more")
    """
    every = list(dict.fromkeys(names))
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return ", ".join(f"'{name}'" for name in every[:most]) + more


def without_end(information: FloatArray, reach: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Split the space of coefficients into identified and separated directions.

    Parameters
    ----------
    information
        (d, d) complete-data information of log odds, in cases.
    reach
        (d,) largest absolute value of each column of the design.

    Returns
    -------
    held, separated : (d, a) and (d, s) in the units of coefficients

    >>> held, separated = without_end(np.diag([3.0, 1e-9]), np.ones(2))
    >>> held.T.round(6).tolist(), np.abs(separated.T).round(6).tolist()
    ([[1.0, 0.0]], [[0.0, 1.0]])
    """
    scale = 1.0 / np.maximum(reach, 1e-300)
    values, vectors = np.linalg.eigh(information * np.outer(scale, scale))
    nothing = values < NOTHING_HOLDS
    if not nothing.any():  # exact coordinates, without rounding
        return np.eye(len(scale)), np.zeros((len(scale), 0))
    along = scale[:, None] * vectors
    return along[:, ~nothing], along[:, nothing]
