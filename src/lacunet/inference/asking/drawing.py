"""Draws of what rows do not show, given what they show: all of it together.

One variable after the other, parents first: each is drawn from its distribution given all that the
row shows and all that was drawn before, which makes a draw from their joint distribution.
"""

import numpy as np

from lacunet.inference.asking.blocks import draw_block
from lacunet.inference.asking.ensemble import shares
from lacunet.inference.asking.query import posterior
from lacunet.likelihoods.unit import Unit
from lacunet.model.ensemble import Ensemble
from lacunet.model.joint import members
from lacunet.model.network import Model
from lacunet.model.sampling import draw_numbers, draw_states
from lacunet.model.surgery import shown
from lacunet.runtime.arrays import CodeArray, FloatArray, IntArray


def draw_open(speaker: Model | Ensemble, codes: CodeArray, rng: np.random.Generator) -> FloatArray:
    """Fill rows (rows, observed variables), −1 = missing: cells (rows, variables).

    A category has the number of its state, a number is itself; NaN where a row is impossible. What
    a model hides is drawn too; an ensemble has its columns alone, and first draws who speaks.
    """
    if isinstance(speaker, Model):
        return _by_model(speaker, codes, rng)
    share = shares(speaker, codes).T
    possible = share.sum(axis=1) > 0
    who = np.where(possible, draw_states(share, len(codes), rng), -1)
    cells = np.full(codes.shape, np.nan)
    for k in np.unique(who[possible]).tolist():
        own = np.flatnonzero(who == k)
        cells[own] = draw_columns(speaker.members[k].model, codes[own], rng)
    return cells


def draw_columns(
    speaker: Model | Ensemble, codes: CodeArray, rng: np.random.Generator
) -> FloatArray:
    """Do the same, of columns alone: (rows, observed variables)."""
    cells = draw_open(speaker, codes, rng)
    return cells[:, list(speaker.network.observed)]


def _by_model(model: Model, codes: CodeArray, rng: np.random.Generator) -> FloatArray:
    network = model.network
    whole = shown(model, network.hidden) if network.hidden else model
    full = np.full((len(codes), len(network.variables)), -1, dtype=np.int64)
    full[:, list(network.observed)] = codes
    has_children = {p for pa in network.parents for p in pa}
    numbers: dict[int, FloatArray] = {}
    for v in network.order:
        rows = np.flatnonzero(full[:, v] < 0)
        if not network.variables[v].family.tabular:
            numbers |= _numbers(whole, v, full, rows, rng)
        elif len(rows):
            p = _given_rest(whole, v, full, rows, leaf=v not in has_children)
            drawn = draw_states(p, len(rows), rng)
            full[rows, v] = np.where(p.sum(axis=1) > 0, drawn, -1)
    cells = np.where(full < 0, np.nan, full)
    for v, values in numbers.items():
        cells[:, v] = values
    return cells


def _given_rest(model: Model, v: int, full: IntArray, rows: IntArray, *, leaf: bool) -> FloatArray:
    """p(variable | all that is known of each of some rows), (rows, states)."""
    parents = full[rows][:, list(model.network.parents[v])]
    if leaf and (parents >= 0).all():  # nothing else tells of it
        table = model.network.layout.table(model.theta, v)
        return np.broadcast_to(table[tuple(parents.T)], (len(rows), table.shape[-1]))
    return posterior(model, full[rows].astype(np.int32), [(v,)])[0]


def _numbers(
    model: Model, v: int, full: IntArray, rows: IntArray, rng: np.random.Generator
) -> dict[int, FloatArray]:
    """A number in every row: what it shows, or a draw given its parents; or all of a block."""
    block = members(model.network, v)
    if len(block) != 1:
        return _block(model, block, full, rng) if block else {}
    values = np.asarray(model.network.variables[v].states, dtype=np.float64)[full[:, v]]
    parents = full[rows][:, list(model.network.parents[v])]
    possible = (parents >= 0).all(axis=1)
    values[rows] = np.nan
    if possible.any():
        drawn = draw_numbers(model, v, tuple(parents[possible].T), int(possible.sum()), rng)
        values[rows[possible]] = drawn[:, 0]
    return {v: values}


def _block(
    model: Model, block: list[int], full: IntArray, rng: np.random.Generator
) -> dict[int, FloatArray]:
    """All numbers of a block, in the unit of the data; NaN where the class is not known."""
    network = model.network
    (root,) = network.parents[block[0]]
    told = np.flatnonzero(full[:, root] >= 0)
    cells = np.full((len(full), len(block)), np.nan)
    own = full[told][:, list(network.observed)]
    cells[told] = draw_block(model, block, own, full[told, root], rng)
    units = [network.variables[i].unit or Unit() for i in block]
    return {i: unit.values(x) for i, unit, x in zip(block, units, cells.T, strict=True)}
