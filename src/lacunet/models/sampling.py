"""Random data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import index

import numpy as np

from lacunet.errors import OptionError
from lacunet.likelihoods import with_prior
from lacunet.likelihoods.unit import Unit
from lacunet.models.joint import members
from lacunet.models.network import Model, Variable
from lacunet.runtime.arrays import CodeArray, FloatArray, IntArray
from lacunet.runtime.states import Numbers

NOTHING: Mapping[int, CodeArray] = {}


@dataclass(frozen=True, eq=False)
class Drawn:
    """Rows that were drawn; of variables that are numbers, states are the values that occur."""

    variables: tuple[Variable, ...]
    codes: CodeArray  # (rows, variables), -1 = missing


def sample_codes(
    model: Model, rows: int, rng: np.random.Generator, missing_rate: float = 0.0
) -> CodeArray:
    """Draw rows of what can be seen of categories, then make holes completely at random.

    Returns
    -------
    codes : (rows, number of observed variables), -1 = missing
    """
    model.network.refuse_numbers()
    return coded([], sample_shown(model, rows, rng, missing_rate)).codes


def sample_shown(
    model: Model,
    rows: int,
    rng: np.random.Generator,
    missing_rate: float = 0.0,
    fixed: Mapping[int, CodeArray] = NOTHING,
) -> FloatArray:
    """Draw cells of the observed variables, (rows, observed), NaN = missing; see `sample_cells`."""
    if not 0 <= missing_rate < 1:
        raise OptionError(f"a missing rate of {missing_rate:g} is not allowed: give 0 ≤ p < 1.")
    seen = sample_cells(model, rows, rng, fixed)[:, list(model.network.observed)]
    if missing_rate:
        seen[rng.random(seen.shape) < missing_rate] = np.nan
    return seen


def sample_cells(
    model: Model,
    rows: int,
    rng: np.random.Generator,
    fixed: Mapping[int, CodeArray] = NOTHING,
) -> FloatArray:
    """Draw rows of all variables, hidden ones too: (rows, number of variables).

    A category has the number of its state, from 0; a number is itself. Of some variables, which
    have no parents, `fixed` has the state of every row, (rows,).
    """
    check_rows(rows)
    network = model.network
    codes = np.empty((rows, len(network.variables)), dtype=np.int32)
    numbers: dict[int, FloatArray] = {}
    for i in network.order:
        if i in fixed:
            codes[:, i] = fixed[i]
            continue
        configuration = tuple(codes[:, list(network.parents[i])].T)  # numbers are no parents
        if network.variables[i].family.tabular:
            p = network.layout.table(model.theta, i)[configuration]  # (rows, r_i) or (r_i,)
            codes[:, i] = draw_states(p, rows, rng)
        elif together := members(network, i):  # a block is drawn where its first number is
            drawn = draw_numbers(model, i, configuration, rows, rng)
            numbers |= dict(zip(together, drawn.T, strict=True))
    cells = codes.astype(np.float64)
    for i, drawn in numbers.items():
        cells[:, i] = drawn
    return cells


def draw_states(p: FloatArray, rows: int, rng: np.random.Generator) -> IntArray:
    """Draw a state for each row, of probabilities (rows, states), or (states,) for all."""
    cumulative = np.cumsum(p, axis=-1)
    # Scaling by the last value keeps rounding from ever drawing a state beyond the last one.
    u = rng.random(rows) * cumulative[..., -1]
    return np.asarray(np.sum(u[:, None] >= cumulative, axis=-1))


def draw_numbers(
    model: Model, i: int, configuration: tuple[IntArray, ...], rows: int, rng: np.random.Generator
) -> FloatArray:
    """Draw a number, or a block, for each row, given the states of its parents, (rows,) each.

    (rows, 1), or (rows, numbers of the block).
    """
    family = model.network.variables[i].family
    table = model.network.layout.table(model.by_configuration, i)
    own = np.ascontiguousarray(np.broadcast_to(table[configuration], (rows, table.shape[-1])))
    at_theta = model.averaged is None
    draw = family.draw_values if at_theta else with_prior(family).draw_averaged
    seen = draw(own, rng).reshape(rows, -1)
    units = [model.network.variables[j].unit or Unit() for j in members(model.network, i)]
    return np.stack([unit.values(x) for unit, x in zip(units, seen.T, strict=True)], axis=1)


def coded(variables: Sequence[Variable], cells: FloatArray) -> Drawn:
    """Code drawn cells (rows, variables), NaN = missing: numbers by the values that occur."""
    codes = np.where(np.isnan(cells), -1, cells)
    shown = list(variables)
    for j, v in enumerate(variables):
        if not v.family.tabular:
            told = ~np.isnan(cells[:, j])
            values, codes[told, j] = np.unique(cells[told, j], return_inverse=True)
            if len(values):
                shown[j] = replace(v, states=Numbers(values))
    return Drawn(tuple(shown), np.ascontiguousarray(codes, dtype=np.int32))


def check_rows(rows: int) -> None:
    """Refuse to draw nothing."""
    try:
        number = index(rows)
    except TypeError:
        raise OptionError(f"{rows!r} rows: give a whole number.") from None
    if number < 1:
        raise OptionError(f"{rows} rows: there must be at least 1.")
