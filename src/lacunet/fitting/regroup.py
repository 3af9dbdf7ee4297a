"""States of a hidden variable put together, left out or begun empty, as statistics say it.

Statistics add up, whatever the families: two states that become one have the sum of theirs.

What rows show of families: all of them together, or each by itself around a hidden variable.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Self, TypeAlias

import numpy as np
from scipy.sparse import coo_array, csr_array

from lacunet.fitting.diagnose import state_sizes
from lacunet.inference.kernels.merging import SparseRows
from lacunet.inference.problem import Problem
from lacunet.likelihoods.gamma_functions import log_rising
from lacunet.models import conjugacy
from lacunet.models.layout import Layout
from lacunet.models.network import Network
from lacunet.models.surgery import members, statistics_of, with_hidden
from lacunet.runtime.arrays import FloatArray, IntArray

Group: TypeAlias = Sequence[int]  # old states that become one new state; none: it begins empty
FEWEST = 2.0  # cases: a state with fewer can be left out, and is not worth splitting


@dataclass(frozen=True, eq=False)
class Places:
    """Where a hidden variable stands in the flat vectors of a layout."""

    h: int
    layout: Layout
    states: IntArray  # (states, P) positions of each state, in every family with the variable
    others: IntArray  # positions of the other families, in an order that no layout changes

    @classmethod
    def build(cls, layout: Layout, h: int) -> Self:
        """Find them; P and its order are the same whatever the number of states."""
        positions = np.arange(layout.size)
        around = [i for i, family in enumerate(layout.families) if h in family and layout.widths[i]]
        tables = (
            np.moveaxis(layout.table(positions, i), layout.families[i].index(h), 0) for i in around
        )
        states = np.hstack([table.reshape(layout.cards[h], -1) for table in tables])
        # Storage depends on which variables are hidden; the order of tables does not.
        apart = (i for i in range(len(layout.families)) if i not in around)
        others = [layout.table(positions, i).reshape(-1) for i in apart]
        return cls(h, layout, states, np.concatenate([np.zeros(0, dtype=np.int64), *others]))

    def regroup(self, x: FloatArray, new: "Places", groups: Sequence[Group]) -> FloatArray:
        """Give statistics of a layout in which each group of states is one state."""
        y = np.zeros(new.layout.size)
        y[new.others] = x[self.others]
        for places, group in zip(new.states, groups, strict=True):
            y[places] = x[self.states[list(group)]].sum(axis=0)
        return y

    def regroup_prior(self, alpha: FloatArray, new: "Places", state: int) -> FloatArray:
        """Give hyperparameters of a layout in which every state has the prior of one."""
        y = self.regroup(alpha, new, [[state]] * len(new.states))
        for i, (kind, family) in enumerate(zip(new.layout.kinds, new.layout.families, strict=True)):
            if self.h in family[:-1] and new.layout.widths[i]:
                table = new.layout.table(y, i)
                table[...] = kind.shared_out(table, len(new.states) / len(self.states))
        return y


@dataclass(frozen=True)
class Freed:
    """A state of a hidden variable is given up: put to another, or, without cases, left out."""

    loss: float  # nats of log BD
    a: int | None  # the state that takes its cases
    b: int  # the state that is free then

    @property
    def touched(self) -> tuple[int, ...]:
        """The states that change."""
        return (self.b,) if self.a is None else (self.a, self.b)


def ways_to_free(problem: Problem, N: FloatArray, places: Places) -> list[Freed]:
    """States of h that can be left out, and pairs that can be one: what loses least comes first.

    Parameters are averaged over (log BD), so that a state is worth its mass.
    """
    h, layout = places.h, problem.layout
    sizes = state_sizes(layout, N, h)
    ways = [Freed(0.0, None, b) for b in np.flatnonzero(sizes < FEWEST).tolist()]
    alone = Places.build(
        with_hidden(problem.network, {problem.network.variables[h].name: 1}).layout, h
    )
    children = [i for i, family in enumerate(layout.families) if h in family and i != h]
    alpha = places.regroup_prior(problem.alpha, alone, 0)
    exponents = np.moveaxis(layout.table(problem.alpha, h), -1, 0)  # (states, configurations…)
    cases = np.moveaxis(layout.table(N, h), -1, 0)

    def worth(*states: int) -> float:
        x = places.regroup(N, alone, [states])
        own = log_rising(exponents[states[0]], cases[list(states)].sum(axis=0))
        return float(conjugacy.log_marginal(x, alpha, alone.layout)[children].sum() + own.sum())

    full = sorted(np.flatnonzero(sizes >= FEWEST).tolist(), key=lambda s: (-sizes[s], s))
    single = {s: worth(s) for s in full}
    ways += [Freed(single[a] + single[b] - worth(a, b), a, b) for a, b in combinations(full, 2)]
    return sorted(ways, key=lambda way: way.loss)


@dataclass(frozen=True, eq=False)
class Rows:
    """Cases, with the hidden variables among their columns."""

    codes: IntArray  # (m, variables), −1 = not known
    weights: IntArray | FloatArray  # (m,) how many cases each row stands for


def count_families(network: Network, rows: Rows) -> FloatArray:
    """Statistics of the families whose members are all known, (size,)."""
    layout, tables = network.layout, []
    for i, kind in enumerate(layout.kinds):
        own = _located_by(layout, i)
        size = math.prod(layout.cards[v] for v in own)
        known, cells = _known(network, rows, i, own)
        if kind.tabular:
            N = np.bincount(cells, weights=rows.weights[known], minlength=size).astype(np.float64)
        else:
            N = np.zeros((size, layout.widths[i]))
            np.add.at(N, cells, _statistics(network, rows, i, known))
        tables.append(N)
    return layout.flat(tables)


def statistics_around(network: Network, rows: Rows, places: Places) -> SparseRows:
    """What each row adds to the state of a hidden variable that it may have: (m, P), as places."""
    layout, h = network.layout, places.h
    at, columns, values, width = [], [], [], 0
    for i, family in enumerate(layout.families):
        if h not in family or not layout.widths[i]:
            continue
        own = [v for v in _located_by(layout, i) if v != h]
        known, cells = _known(network, rows, i, own)
        T = _statistics(network, rows, i, known)
        at.append(np.repeat(known, T.shape[1]))
        columns.append((width + cells[:, None] * T.shape[1] + np.arange(T.shape[1])).reshape(-1))
        values.append(T.reshape(-1))
        width += math.prod(layout.cards[v] for v in own) * T.shape[1]
    where = np.concatenate(at), np.concatenate(columns)
    shape = len(rows.weights), width
    return sparse_rows(coo_array((np.concatenate(values), where), shape))


def sparse_rows(matrix: coo_array | csr_array) -> SparseRows:
    """A matrix, (m, P), row by row."""
    rows = csr_array(matrix)
    return SparseRows(rows.indptr.astype(np.int32), rows.indices.astype(np.int32), rows.data)


def cells_of(layout: Layout, rows: Rows, variables: Sequence[int]) -> IntArray:
    """Number each row's joint state of some variables, the last running fastest; −1: unknown."""
    cells = np.zeros(len(rows.weights), dtype=np.int64)
    known = np.ones(len(cells), dtype=np.bool_)
    for v in variables:
        cells = cells * layout.cards[v] + rows.codes[:, v]
        known &= rows.codes[:, v] >= 0
    return np.where(known, cells, -1)


def _located_by(layout: Layout, i: int) -> tuple[int, ...]:
    """The variables whose joint state says where statistics of a family stand."""
    return layout.families[i] if layout.kinds[i].tabular else layout.families[i][:-1]


def _known(network: Network, rows: Rows, i: int, own: Sequence[int]) -> tuple[IntArray, IntArray]:
    """Rows that show what family i is counted by, and their joint states of some variables."""
    cells = cells_of(network.layout, rows, own)
    told = cells >= 0
    if not network.layout.kinds[i].tabular:
        told &= (rows.codes[:, members(network, i)] >= 0).all(axis=1)
    known = np.flatnonzero(told)
    return known, cells[known]


def _statistics(network: Network, rows: Rows, i: int, known: IntArray) -> FloatArray:
    """What some rows add to family i, (…, width): cases, or sums of what numbers are worth."""
    weights = rows.weights[known, None].astype(np.float64)
    around = members(network, i)
    if network.layout.kinds[i].tabular:
        return weights
    if not around:
        return np.zeros((len(known), network.layout.widths[i]))
    return weights * statistics_of(network, i, {j: rows.codes[known, j] for j in around})
