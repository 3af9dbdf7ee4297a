"""Gibbs draws of missing values, cell by cell, so that families of any graph can be counted.

The draws only propose graphs; a variational bound without draws decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from lacunet.data.table import Column, Table
from lacunet.fitting.fit import Options, learn
from lacunet.inference.problem import build_problem
from lacunet.models.latent_class import over_leaves
from lacunet.models.network import Model, Network
from lacunet.models.prior import dirichlet
from lacunet.models.variable import Variable
from lacunet.runtime.arrays import CodeArray, FloatArray, IntArray
from lacunet.runtime.jit import kernel
from lacunet.structure.counting import draw_index

BURN_IN, APART = 20, 3  # sweeps before the first completion, and between two
ROWS = 25_000  # most rows of all completions together
MOST = 20  # completions
STARTS = 4  # of a latent class model that completes rows; a local maximum is enough


class Wiring(NamedTuple):
    """The families of each variable, and their positions in a flat vector, as ragged lists."""

    cards: IntArray  # (n,) states of each variable
    offsets: IntArray  # (n,) start of the family of each child
    starts: IntArray  # (n + 1,) first member of each family in the next two
    member: IntArray  # its variables, the child among them
    stride: IntArray  # distance of neighbouring states of each
    touched: IntArray  # (n + 1,) first family of each variable in the next
    family: IntArray  # families that contain a variable: as child or parent


def wiring_of(network: Network) -> Wiring:
    """List the families of a network."""
    layout, n = network.cells, len(network.variables)
    families = layout.families
    around = [[f for f in range(n) if v in families[f]] for v in range(n)]
    strides = (layout.stride(f, v) for f in range(n) for v in families[f])
    return Wiring(
        np.array(layout.cards, dtype=np.int64),
        layout.offsets[:-1].astype(np.int64),
        np.cumsum([0, *map(len, families)], dtype=np.int64),
        np.fromiter(chain.from_iterable(families), dtype=np.int64),
        np.fromiter(strides, dtype=np.int64),
        np.cumsum([0, *map(len, around)], dtype=np.int64),
        np.fromiter(chain.from_iterable(around), dtype=np.int64),
    )


def weights_of(model: Model) -> FloatArray:
    """Weights of the cells, (cells,): probabilities, or relative densities of numbers.

    Densities are relative to the best configuration of the parents, so that products do not vanish.
    """
    network = model.network
    if network.layout.tabular:
        return model.theta
    log_weights = model.log_weights
    tables = [network.cells.table(log_weights, i) for i in range(len(network.variables))]
    for i, v in enumerate(network.variables):
        if not v.family.tabular:
            tables[i] = tables[i] - tables[i].max(axis=tuple(range(tables[i].ndim - 1)))
    return np.exp(network.cells.flat(tables))


@kernel
def sweep(codes: CodeArray, missing: IntArray, wiring: Wiring, theta: FloatArray, rng: Any) -> None:
    """Draw every missing cell once, given the others of its row; (row, variable) in `missing`.

    A missing number has no children, so it does not matter.
    """
    weight = np.empty(wiring.cards.max())
    for h in range(missing.shape[0]):
        row, v = codes[missing[h, 0]], missing[h, 1]
        weight[: wiring.cards[v]] = 1.0
        for t in range(wiring.touched[v], wiring.touched[v + 1]):
            f = wiring.family[t]
            first, step, shown = wiring.offsets[f], 0, True
            for e in range(wiring.starts[f], wiring.starts[f + 1]):
                if wiring.member[e] == v:
                    step = wiring.stride[e]
                else:
                    shown = shown and row[wiring.member[e]] >= 0
                    first += row[wiring.member[e]] * wiring.stride[e]
            for k in range(wiring.cards[v] if shown else 0):
                weight[k] *= theta[first + k * step]
        row[v] = draw_index(weight[: wiring.cards[v]], rng)


class Completer:
    """A Gibbs chain over completed rows, which continues from one model to the next."""

    def __init__(self, table: Table, rng: np.random.Generator) -> None:
        self.table, self.rng = table, rng
        categories = [not column.kind.number for column in table.columns]
        self.missing = np.argwhere((table.codes < 0) & np.array(categories))
        self.codes = table.codes.astype(np.int32)
        for v in np.flatnonzero(categories).tolist():
            column = self.codes[:, v]
            seen = column >= 0
            share = np.bincount(column[seen], table.counts[seen], len(table.columns[v].states))
            share += not seen.any()  # hidden: equally probable states
            column[~seen] = rng.choice(len(share), int((~seen).sum()), p=share / share.sum())
        self.sweeps = BURN_IN

    def draw(self, model: Model) -> CodeArray:
        """Complete the table a few times, (times, rows, columns)."""
        wiring, weights, m = wiring_of(model.network), weights_of(model), len(self.codes)
        drawn = []
        for _ in range(max(1, min(MOST, ROWS // m))):
            for _ in range(self.sweeps):
                sweep(self.codes, self.missing, wiring, weights, self.rng)
            drawn.append(self.codes.copy())
            self.sweeps = APART
        return np.array(drawn)

    def __call__(self, model: Model) -> Table:
        """Complete the table a few times, each row with its share of the weight."""
        return as_table(self.table, self.draw(model))


def as_table(table: Table, drawn: CodeArray) -> Table:
    """Take completions of a table together, (times, rows, columns), each with its share."""
    times = len(drawn)
    counts = np.tile(table.counts / times, times)
    return Table.from_codes(drawn.reshape(-1, drawn.shape[2]), table.columns, counts)


def draw_by_classes(
    table: Table, variables: Sequence[Variable], classes: int, seed: int
) -> CodeArray:
    """Complete a table by a latent class model of its columns, which favours no graph over them."""
    network = over_leaves(variables, classes)
    problem = build_problem(table, network, dirichlet(network, 1.01))
    model = learn(problem, Options(starts=STARTS, seed=seed)).model
    root = network.variables[0]
    codes = np.column_stack([np.full(len(table.codes), -1), table.codes])
    wide = Table.from_codes(codes, [Column(root.name, root.states), *table.columns], table.counts)
    return Completer(wide, np.random.default_rng(seed)).draw(model)[:, :, 1:]
