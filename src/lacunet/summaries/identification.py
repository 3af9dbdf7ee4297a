"""The gate of inference: which estimates exist, and which of them have a standard error.

An estimate is a number only if the data determine it. Where a likelihood rises without end, its
maximum is at infinity (separation); where it is flat, any value will do; a class without cases has
no mean; a probability at 0 or 1 has no normal distribution around it. Everything that is shown with
a standard error passes here first: what does not exist is NaN, with its reason.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Self

import numpy as np
from numpy.typing import NDArray

from lacunet.flags import Flag, Kind
from lacunet.runtime.arrays import BoolArray, FloatArray

# Information, in cases, below which nothing holds log odds: a maximum at infinity has what is left
# where the climb stopped, a finite one has more, unless two rows are all that classes share.
NOTHING_HOLDS = 1e-5
TOUCHED = 1e-3  # part of a direction without end, or without information, that takes an estimate
NO_VARIANCE = 1e-18  # of the square of an estimate's scale: a variance that is rounding alone


class Why(StrEnum):
    """Why a number is not given."""

    EMPTY_CLASS = "empty class"  # no row is given the class
    FEW_CASES = "few cases"  # no more cases of a class than coefficients
    SEPARATED = "separated"  # the likelihood rises without end
    NOT_IDENTIFIED = "not identified"  # the likelihood is flat
    UNSTABLE = "separated in replicates"  # of a bootstrap
    NO_MAXIMUM = "no maximum"  # the climb ended at a saddle, or on its way
    NO_CASES = "no cases"  # fewer than two cases of a class show the outcome
    BOUNDARY = "boundary"  # a share is 0 or 1: no standard error
    NO_SPREAD = "no spread"  # all values are the same: no standard error

    @property
    def keeps_estimate(self) -> bool:
        """Whether the estimate exists, and only its standard error does not."""
        return self in {Why.BOUNDARY, Why.NO_SPREAD, Why.UNSTABLE}


Reasons = NDArray[np.object_]  # a Why where something is not given, None elsewhere

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
    """A direction in which coefficients of classes may move: the data do not determine it."""

    why: Why
    along: FloatArray  # (K, p) each coefficient, in units of its column's scale; 0 of the first


@dataclass(frozen=True, eq=False)
class Identified:
    """Estimates that passed the gate: NaN where there is none, or no error."""

    estimate: FloatArray
    covariance: FloatArray  # (*shape, *shape)
    why: Reasons  # (*shape)

    @classmethod
    def of(
        cls,
        estimate: FloatArray,
        covariance: FloatArray,
        found: Mapping[Why, BoolArray],
        certain: BoolArray | None = None,
    ) -> Self:
        """Close the gate where something is found; the first reason of `Why` counts.

        `certain` estimates are known, as those of a reference: their variance is 0.
        """
        shape, size = estimate.shape, estimate.size
        certain = np.zeros(shape, dtype=np.bool_) if certain is None else certain
        why: Reasons = np.full(shape, None, dtype=object)
        for reason in reversed(Why):
            if reason in found:
                why[found[reason]] = reason
        variance = covariance.reshape(size, size).diagonal().reshape(shape)
        nowhere = ~(np.isfinite(estimate) & np.isfinite(variance)) & ~certain
        why[nowhere & (why == None)] = Why.NOT_IDENTIFIED  # noqa: E711
        with np.errstate(invalid="ignore"):
            sure = ~(variance > NO_VARIANCE * np.square(estimate)) & ~certain
        why[sure & (why == None)] = Why.NO_SPREAD  # noqa: E711
        lost = np.isin(why, [w for w in Why if not w.keeps_estimate])
        closed = np.isin(why, list(Why)).reshape(-1)
        V = covariance.reshape(size, size).copy()
        V[closed] = V[:, closed] = np.nan
        shown = np.where(lost, np.nan, estimate)
        return cls(shown, V.reshape(covariance.shape), why)

    @property
    def stderr(self) -> FloatArray:
        """Standard errors."""
        size = self.estimate.size
        variance = self.covariance.reshape(size, size).diagonal()
        return np.asarray(np.sqrt(variance).reshape(self.estimate.shape))

    def times(self, unit: float, plus: float) -> Self:
        """Give the same in another unit."""
        covariance = self.covariance * unit**2
        return replace(self, estimate=self.estimate * unit + plus, covariance=covariance)

    @property
    def words(self) -> list[list[str | None]]:
        """Reasons, as JSON has them; None where a number is given."""
        return [[None if w is None else str(w) for w in row] for row in self.why]

    def flags(self, names: Mapping[Why, Sequence[Sequence[str]]]) -> Iterator[Flag]:
        """Say what is not given, and why; `names` are what each estimate is to a reason."""
        for reason in names:
            own = np.array(names[reason], dtype=object)[self.why == reason].tolist()
            if own:
                yield Flag(KINDS[reason], detail={"names": listed(own)})


def listed(names: Iterable[str], most: int = 6) -> str:
    """Name what a flag is about, without repetition; of many the first.

    >>> listed(["a", "b", "a"]), listed("abcdefgh")
    ("'a', 'b'", "'a', 'b', 'c', 'd', 'e', 'f' and 2 more")
    """
    every = list(dict.fromkeys(names))
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return ", ".join(f"'{name}'" for name in every[:most]) + more


def without_end(information: FloatArray, reach: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Split the space of coefficients: directions that something holds, and those without end.

    Parameters
    ----------
    information
        (d, d) of log odds, if classes had been seen, in cases.
    reach
        (d,) largest absolute value of each column of the design: what log odds move by at most.

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
    if not nothing.any():  # exactly the coordinates themselves
        return np.eye(len(scale)), np.zeros((len(scale), 0))
    along = scale[:, None] * vectors
    return along[:, ~nothing], along[:, nothing]
