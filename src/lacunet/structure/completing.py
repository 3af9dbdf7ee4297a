"""Draw what is missing, cell by cell given all others (Gibbs), so that any family can be counted.

Only proposals rest on these draws; what is accepted goes by a bound that needs none.

Whether cells are missing completely at random: a test with the values of other columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import chi2

from lacunet.data.table import Column, Table
from lacunet.flags import Flag, Kind
from lacunet.models.network import Model, Network
from lacunet.runtime.arrays import CodeArray, FloatArray, IntArray
from lacunet.runtime.jit import kernel

BURN_IN, APART = 20, 3  # sweeps before the first completion, and between two
ROWS = 25_000  # rows that all completions together may have, where one has fewer
MOST = 20  # completions


class Wiring(NamedTuple):
    """Which families each variable is in, and where they stand in a flat vector; ragged lists."""

    cards: IntArray  # (n,) states of each variable
    offsets: IntArray  # (n,) where the family of each child begins
    starts: IntArray  # (n + 1,) first member of each family in the next two
    member: IntArray  # its variables, the child among them
    stride: IntArray  # how far neighbouring states of each are apart
    touched: IntArray  # (n + 1,) first family of each variable in the next
    family: IntArray  # families that a variable is in: its own, and its children's


def wiring_of(network: Network) -> Wiring:
    """Write the families of a network out."""
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
    """What each cell weighs, (cells,): its probability, or of a number what counts of its density.

    That is relative to the best configuration of its parents, so that products do not vanish.
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
def sweep(codes: CodeArray, holes: IntArray, wiring: Wiring, theta: FloatArray, rng: Any) -> None:
    """Draw every missing cell once, given the others of its row; (row, variable) in `holes`.

    What else is missing is a number, which has no children, and says nothing.
    """
    weight = np.empty(wiring.cards.max())
    for h in range(holes.shape[0]):
        row, v = codes[holes[h, 0]], holes[h, 1]
        weight[: wiring.cards[v]] = 1.0
        for t in range(wiring.touched[v], wiring.touched[v + 1]):
            f = wiring.family[t]
            first, step, told = wiring.offsets[f], 0, True
            for e in range(wiring.starts[f], wiring.starts[f + 1]):
                if wiring.member[e] == v:
                    step = wiring.stride[e]
                else:
                    told = told and row[wiring.member[e]] >= 0
                    first += row[wiring.member[e]] * wiring.stride[e]
            for k in range(wiring.cards[v] if told else 0):
                weight[k] *= theta[first + k * step]
        left = rng.random() * weight[: wiring.cards[v]].sum()
        k = 0
        while k < wiring.cards[v] - 1 and left >= weight[k]:
            left -= weight[k]
            k += 1
        row[v] = k


class Completer:
    """Completed rows that walk on from one model to the next."""

    def __init__(self, table: Table, rng: np.random.Generator) -> None:
        self.table, self.rng = table, rng
        categories = [not column.kind.number for column in table.columns]
        self.holes = np.argwhere((table.codes < 0) & np.array(categories))
        self.codes = table.codes.astype(np.int32)
        for v in np.flatnonzero(categories).tolist():
            column = self.codes[:, v]
            seen = column >= 0
            share = np.bincount(column[seen], table.counts[seen], len(table.columns[v].states))
            share += not seen.any()  # of what is hidden every state is as likely
            column[~seen] = rng.choice(len(share), int((~seen).sum()), p=share / share.sum())
        self.sweeps = BURN_IN

    def draw(self, model: Model) -> CodeArray:
        """Complete the table a few times, (times, rows, columns)."""
        wiring, weights, m = wiring_of(model.network), weights_of(model), len(self.codes)
        drawn = []
        for _ in range(max(1, min(MOST, ROWS // m))):
            for _ in range(self.sweeps):
                sweep(self.codes, self.holes, wiring, weights, self.rng)
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


LEVEL = 0.05  # how often the test speaks where cells are missing completely at random, at most
FEW = 0.01  # of all cells, below which nothing is said of those that are missing
EXPECTED = 10.0  # cases in each cell of a test, at least: below, states are put together
GROUPS = 4  # of the values of a number, about equally large
MOST_ROWS = 100_000  # that are tested, at equal distances


@dataclass(frozen=True)
class Missingness:
    """What is known of which cells are missing."""

    share: float  # of the cells of categories
    tests: int = 0  # of whether a column is missing more often beside some value of another
    p_value: float = 1.0  # of the clearest, corrected for all of them (Bonferroni)
    column: str = ""  # that is missing more often in some rows, by the clearest test,
    other: str = ""  # and the column that shows which

    @property
    def flags(self) -> tuple[Flag, ...]:
        """A warning, where a test speaks."""
        if self.p_value > LEVEL:
            return ()
        detail: dict[str, str | float] = {
            "column": self.column,
            "other": self.other,
            "p": self.p_value,
        }
        return (Flag(Kind.NOT_COMPLETELY_AT_RANDOM, detail=detail),)

    def __str__(self) -> str:
        return (
            f"Missing cells ({self.share:.1%}) are taken to be missing at random; whether they are "
            "missing as an answer: `lacunet compare-missing`."
        )


def missingness(table: Table) -> Missingness | None:
    """Test every pair of a column with missing cells and another; None where few are missing."""
    columns = [v for v, column in enumerate(table.columns) if not column.kind.number]
    share = float(np.mean(table.missing[columns])) if columns else 0.0
    if share < FEW:
        return None
    step = max(1, -(-len(table.codes) // MOST_ROWS))
    codes, weight = np.asarray(table.codes[::step], dtype=np.int64), table.counts[::step]
    tests, least, found = 0, 1.0, ("", "")
    for u, column in enumerate(table.columns):
        rows = codes[:, u] >= 0
        group, own = _groups(codes[rows, u], weight[rows], column), weight[rows]
        for v in columns:
            p = _p_value(codes[rows, v] < 0, group, own) if v != u else None
            if p is not None:
                tests += 1
                if p < least:
                    least, found = p, (table.columns[v].name, column.name)
    return Missingness(share, tests, min(1.0, max(tests, 1) * least), *found)


def _groups(codes: IntArray, weight: FloatArray, column: Column) -> IntArray:
    """Number the states of a column; of a number, parts with about as many cases each."""
    if not column.kind.number:
        return codes
    below = np.cumsum(np.bincount(codes, weight, len(column.states)))
    part: IntArray = np.minimum(GROUPS * below / max(below[-1], 1.0), GROUPS - 1).astype(np.int64)
    return part[codes]


def _p_value(missing: IntArray, group: IntArray, weight: FloatArray) -> float | None:
    """Pearson's test that cells are missing equally often in all groups; None without enough."""
    lost = np.bincount(group[missing], weight[missing], group.max(initial=0) + 1)
    cases = np.bincount(group, weight, len(lost))
    share = lost.sum() / max(cases.sum(), 1.0)
    small = cases * min(share, 1.0 - share) < EXPECTED
    lost = np.append(lost[~small], lost[small].sum())
    cases = np.append(cases[~small], cases[small].sum())
    kept = cases * min(share, 1.0 - share) >= EXPECTED  # what was put together may do
    if kept.sum() < 2:
        return None
    lost, cases = lost[kept], cases[kept]
    share = lost.sum() / cases.sum()
    distance = ((lost - cases * share) ** 2 / (cases * share * (1.0 - share))).sum()
    return float(chi2.sf(distance, len(cases) - 1))
