"""Columns of numbers that say the same: together they have no density, so no block has them."""

from collections.abc import Sequence

import numpy as np

from lacunet.errors import DataError
from lacunet.runtime.arrays import BoolArray, FloatArray

SAME = 1e-9  # standard deviations by which columns may differ and still say the same
SHRUNK = 1e-3  # of the identity in correlations: others explain about 99.9 % of a column at most
NEARLY = 1 - 1e-6  # squared correlation from which on they are looked at


def check_independent(numbers: FloatArray, names: Sequence[str]) -> None:
    """Refuse a block, (rows, columns) with NaN for holes, in which some columns give another.

    Numbers are of order 1. Of two columns all rows count that show both; of more, whole rows.
    """
    shown = np.isfinite(numbers)
    for a, b in np.argwhere(np.triu(_nearly(np.where(shown, numbers, 0.0), shown), 1)):
        pairs = numbers[shown[:, a] & shown[:, b]][:, [a, b]]
        if flat_direction(pairs) is not None:
            raise DataError(
                f"'{names[a]}' and '{names[b]}' say the same, in other units: together they have "
                f"no density. Leave one of them out: --exclude {names[b]}."
            )
    along = flat_direction(numbers[shown.all(axis=1)])
    if along is not None:
        *others, last = (f"'{names[k]}'" for k in np.flatnonzero(np.abs(along) > SAME).tolist())
        raise DataError(
            f"{last} follows from {', '.join(others)}: together they have no density. Leave one of "
            f"them out: --exclude {last[1:-1]}."
        )


def independent(numbers: FloatArray) -> list[int]:
    """Columns, (rows, columns) with NaN for holes, that do not follow from those before them."""
    whole = numbers[np.isfinite(numbers).all(axis=1)]
    if flat_direction(whole) is None:
        return list(range(numbers.shape[1]))
    kept: list[int] = []
    for j in range(numbers.shape[1]):
        if flat_direction(whole[:, [*kept, j]]) is None:
            kept.append(j)
    return kept


def _nearly(x: FloatArray, shown: BoolArray) -> BoolArray:
    """(d, d) which two columns may say the same, by their correlation in rows that show both."""
    told = shown.astype(np.float64)
    n = np.maximum(told.T @ told, 1.0)
    mean = (x.T @ told) / n
    variance = (x**2).T @ told / n - mean**2
    return (x.T @ x / n - mean * mean.T) ** 2 >= NEARLY * variance * variance.T


def flat_direction(x: FloatArray) -> FloatArray | None:
    """Weights of columns, (d,), whose sum is the same in all rows, (n, d); None: there are none."""
    rows, d = x.shape
    if rows <= d:
        return None
    _, sizes, directions = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)
    return directions[-1] if sizes[-1] < SAME * np.sqrt(rows) else None


def unexplained(numbers: FloatArray, counts: FloatArray) -> FloatArray:
    """Shares of variances that regressions on the other columns leave, on a diagonal, (d, d).

    1 − R², adjusted for the number of cases: 1 where there are no more cases than columns.
    Correlations are from the rows that show both of two columns, with weights; such a matrix may
    have negative eigenvalues, which are set to 0. A part of the identity keeps shares above 0.
    """
    shown, d = np.isfinite(numbers).astype(np.float64), numbers.shape[1]
    pairs = (counts[:, None] * shown).T @ shown
    R = (1.0 - SHRUNK) * _correlations(numbers, counts, pairs) + SHRUNK * np.eye(d)
    cases = pairs.min(axis=1)
    adjusted = (cases - 1.0) / np.diagonal(np.linalg.inv(R))
    known = adjusted < cases - d  # else the others leave all, as far as anything tells
    return np.diag(np.where(known, adjusted / np.where(known, cases - d, 1.0), 1.0))


def _correlations(numbers: FloatArray, counts: FloatArray, pairs: FloatArray) -> FloatArray:
    """(d, d), positive semidefinite; 0 of columns that no row shows together."""
    shown = np.isfinite(numbers)
    x, told, weight = np.where(shown, numbers, 0.0), shown.astype(np.float64), counts[:, None]
    n = np.where(pairs > 0, pairs, 1.0)
    mean = (weight * x).T @ told / n  # (a, b) of column a, in rows that show b too
    variance = np.maximum((weight * x**2).T @ told / n - mean**2, 0.0)
    size = np.sqrt(variance * variance.T)
    R = ((weight * x).T @ x / n - mean * mean.T) / np.where(size > 0, size, 1.0)
    np.fill_diagonal(R, 1.0)
    sizes, directions = np.linalg.eigh((R + R.T) / 2.0)
    found: FloatArray = (directions * np.maximum(sizes, 0.0)) @ directions.T
    found /= np.sqrt(np.outer(np.diagonal(found), np.diagonal(found)))
    return found
