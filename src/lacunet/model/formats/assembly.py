"""From named pieces to a checked model: what every network format and door shares.

A format finds variables, and for each child its parents and its numbers. `connect` makes the
structure of the names, `check_table` judges one table, and `assemble` does the rest. `where` is
always the place as the user knows it: ``family 'a'``, ``line 12: probability block 'a'``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from lacunet.arrays import FloatArray
from lacunet.errors import ModelError
from lacunet.model.network import Model, Network, Variable
from lacunet.model.prior import PAPER_ALPHA, uniform_alpha

SUM_TOLERANCE = 1e-9  # rows of a table must sum to one to this
DIGITS = 1e-6  # per state: six printed digits, the fewest that common programs write
FLOAT_NOISE = 1e-12  # a sum this close to one is rounding of arithmetic, not of printed digits


@dataclass(frozen=True)
class Family:
    """A child with its parents, by name."""

    child: str
    parents: tuple[str, ...]
    where: str


def connect(
    variables: Sequence[Variable], families: Sequence[Family], kind: str
) -> tuple[Network, list[int]]:
    """Make the structure; also tell which of `families` belongs to each variable.

    `kind` is what the format calls a family.
    """
    index: dict[str, int] = {}
    for i, v in enumerate(variables):
        if v.name in index:
            raise ModelError(f"variable '{v.name}' stands twice. Names must differ.")
        index[v.name] = i
    names = ", ".join(map(repr, index))
    chosen: dict[str, int] = {}
    for f, family in enumerate(families):
        if family.child not in index:
            raise ModelError(
                f"{family.where}: no variable has this name. The variables are {names}."
            )
        if family.child in chosen:
            raise ModelError(f"{family.where} stands twice. Each variable has one {kind}.")
        chosen[family.child] = f
    for name in index:
        if name not in chosen:
            raise ModelError(f"variable '{name}' has no {kind}. Add its table.")
    order = [chosen[v.name] for v in variables]
    return Network.build(variables, [_parents(families[f], index, names) for f in order]), order


def _parents(family: Family, index: dict[str, int], names: str) -> list[int]:
    for parent in family.parents:
        if parent not in index:
            raise ModelError(
                f"{family.where}: its parent '{parent}' is not a variable of the file. "
                f"These are {names}."
            )
        if family.parents.count(parent) > 1:
            raise ModelError(f"{family.where}: its parent '{parent}' stands twice.")
    return [index[p] for p in family.parents]


def shapes(network: Network) -> list[tuple[int, ...]]:
    """Shape of each table: parents in their order, then the child."""
    return [tuple(len(network.variables[v].states) for v in f) for f in network.layout.families]


def _indices(place: tuple[int, ...]) -> str:
    return str(list(place))


def check_table(
    table: FloatArray,
    where: str,
    *,
    place: Callable[[tuple[int, ...]], str] = _indices,
    rounded: bool = False,
) -> FloatArray:
    """Refuse what is no table of conditional distributions (..., r).

    With `rounded`, for formats in which programs print few digits, a row may miss the sum 1 by
    1e-6 for each state, and is then divided by its sum. Nothing else is ever changed: a row that
    sums to 1 within 1e-12 stays as it is, and one that is further off is an error.
    """
    for wrong, bad in (("not a finite number", ~np.isfinite(table)), ("negative", table < 0)):
        if bad.any():
            at = place(tuple(int(i) for i in np.argwhere(bad)[0]))
            raise ModelError(
                f"{where}: its table is {wrong} at {at}. Each entry must be a probability."
            )
    sums = table.sum(axis=-1)
    off = np.abs(sums - 1.0)
    too_far = off > (DIGITS * table.shape[-1] if rounded else SUM_TOLERANCE)
    if too_far.any():
        row = tuple(int(i) for i in np.argwhere(too_far)[0])
        at = f" at parent states {place(row)}" if row else ""
        hint = f" (printed digits may miss it by {DIGITS:g} per state)" if rounded else ""
        raise ModelError(
            f"{where}: its table sums to {sums[row]:.12g}{at}. "
            f"Each distribution must sum to 1{hint}."
        )
    if not rounded:
        return table
    return np.where((off > FLOAT_NOISE)[..., None], table / sums[..., None], table)


def check_shape(array: FloatArray, what: str, where: str, shape: tuple[int, ...]) -> FloatArray:
    """Refuse numbers that are not as many as parents and states ask for."""
    if array.shape != shape:
        raise ModelError(
            f"{where}: its {what} has shape {array.shape}, but its parents and states "
            f"ask for {shape}."
        )
    return array


def check_exponents(alpha: FloatArray, where: str) -> FloatArray:
    """Refuse what is no prior of a family."""
    if not (np.isfinite(alpha).all() and (alpha > 0).all()):
        raise ModelError(f"{where}: every alpha must be a number above 0.")
    return alpha


def assemble(
    network: Network,
    tables: Sequence[FloatArray],
    wheres: Sequence[str],
    alpha: float = PAPER_ALPHA,
) -> Model:
    """Check one table per variable, as printed, and give the model with the same α everywhere."""

    def by_name(i: int) -> Callable[[tuple[int, ...]], str]:
        labels = [network.variables[v].labels for v in network.layout.families[i]]
        return lambda place: ", ".join(repr(labels[a][k]) for a, k in enumerate(place))

    checked = [
        check_table(table, wheres[i], place=by_name(i), rounded=True)
        for i, table in enumerate(tables)
    ]
    layout = network.layout
    return Model(network, layout.flat(checked), uniform_alpha(layout, alpha))


def numbers(words: Sequence[str], shape: tuple[int, ...], where: str) -> FloatArray:
    """Read printed numbers into a table; their count must be that of `shape`."""
    values = [number(word, where) for word in words]
    needed = int(np.prod(shape, dtype=np.int64))
    if len(values) != needed:
        sizes = " × ".join(map(str, shape))
        raise ModelError(
            f"{where}: its table has {len(values)} numbers. It needs {sizes} = {needed}: the "
            "states of its parents, then its own."
            if shape[1:]
            else f"{where}: its table has {len(values)} numbers. It needs {needed}, one per state."
        )
    return np.array(values).reshape(shape)


def number(word: str, where: str) -> float:
    """Read one printed number."""
    try:
        return float(word)
    except ValueError:
        raise ModelError(
            f"{where}: '{word}' is not a number. Write probabilities as 0.25 or 1e-05."
        ) from None
