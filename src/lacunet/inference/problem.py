"""A table and a network joined, checked once: what learning and scoring work on."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from lacunet.data.design import SamplingDesign
from lacunet.data.table import Table
from lacunet.errors import DataError
from lacunet.inference.devices.device import Device
from lacunet.inference.plans.builder import Builder, compact_cells
from lacunet.inference.plans.decompose import totals
from lacunet.inference.plans.parted import parted_components
from lacunet.inference.plans.plan import LONG, Components
from lacunet.inference.queries.query import ByRow, Query
from lacunet.models import conjugacy
from lacunet.models.layout import Layout
from lacunet.models.network import Network
from lacunet.runtime.arrays import CodeArray, FloatArray, IntArray
from lacunet.runtime.checkpoint import fingerprint
from lacunet.runtime.rows import Held, Holder, SomeRows, forget, in_passing, rows_at
from lacunet.runtime.states import Numbers, State, label

# Rows that no parameters allow: structural zeros, and known tables with zeros, forbid them.


def check_possible(network: Network, codes: CodeArray) -> None:
    """Refuse rows, (m, observed variables), that have probability 0 whatever is learned.

    Only categories can have that: numbers, which are parents of nothing, are left out.
    """
    network, codes = _categories(network, codes)
    layout = network.layout
    if layout.given is None or layout.given.min(initial=np.inf, where=~layout.learned) > 0.0:
        return
    theta = conjugacy.mean(np.ones(layout.size), layout)
    cells = network.to_cells(conjugacy.natural(theta, layout))
    never = np.flatnonzero(ByRow(network, codes).log_lik(cells) == -np.inf)
    if len(never):
        raise _impossible(network, codes[never[:1]], cells, len(never))


def _categories(network: Network, codes: CodeArray) -> tuple[Network, CodeArray]:
    """The network of all categories, and what rows show of them."""
    variables = network.variables
    kept = [i for i, v in enumerate(variables) if v.family.tabular]
    if network.plain or len(kept) in (0, len(variables)):
        return network, codes
    shown = [column for column, i in enumerate(network.observed) if i in kept]
    parents = [[kept.index(p) for p in network.parents[i]] for i in kept]
    return Network.build([variables[i] for i in kept], parents), codes[:, shown]


def _impossible(network: Network, row: CodeArray, cells: FloatArray, rows: int) -> DataError:
    """Name the row, and the tables that forbid it."""
    zeros = [i for i, v in enumerate(network.variables) if _has_zeros(network, cells, i)]
    alone = [
        i for i in zeros if ByRow(network, row).log_lik(_relaxed(network, cells, i))[0] > -np.inf
    ]
    names = [f"'{network.variables[i].name}'" for i in alone[:1] or zeros]
    several = f" ({rows:,} different rows are like this)" if rows > 1 else ""
    return DataError(
        f"a row with {_words(network, row[0], alone[:1] or zeros)} is impossible{several}: the "
        f"known table of {', '.join(names)} has a zero there. Correct the row, or the table."
    )


def _has_zeros(network: Network, cells: FloatArray, i: int) -> bool:
    return bool((network.cells.table(cells, i) == -np.inf).any())


def _relaxed(network: Network, cells: FloatArray, i: int) -> FloatArray:
    """The same log weights without the zeros of one family."""
    relaxed, block = cells.copy(), network.cells.block(i)
    relaxed[block] = np.maximum(relaxed[block], 0.0)
    return relaxed


def _words(network: Network, row: CodeArray, families: Sequence[int]) -> str:
    """Say what a row shows of some families, or, where that is nothing, all that it shows."""
    around = {v for i in families for v in network.layout.families[i]}
    shown = {i: code for i, code in zip(network.observed, row, strict=True) if code >= 0}
    named = {i: code for i, code in shown.items() if i in around} or shown
    variables = network.variables
    return ", ".join(f"{variables[i].name} = {variables[i].labels[k]}" for i, k in named.items())


# Fewer rows that stand for all of them.

AT_ONCE = 1 << 20  # rows


def at_equal_distances(weights: FloatArray, cases: int) -> tuple[IntArray, IntArray]:
    """Take so many cases at equal distances: the rows that have them, and how many each has."""
    along = (np.arange(cases) + 0.5) * (float(weights.sum()) / cases)
    found, before, known = np.full(cases, len(weights) - 1), 0.0, 0
    for first in range(0, len(weights), AT_ONCE):  # sums of all rows may be too much for memory
        sums = before + np.cumsum(weights[first : first + AT_ONCE])
        here = along[known:] < sums[-1]
        some = slice(known, known + int(here.sum()))
        found[some] = first + np.searchsorted(sums, along[some], side="right")
        before, known = float(sums[-1]), some.stop
    return np.unique(found, return_counts=True)


def thinned(weights: FloatArray, rows: int) -> FloatArray:
    """Weights of about so many rows, at equal distances; their sum stays."""
    taken, times = at_equal_distances(weights, rows)
    found = np.zeros(len(weights))
    found[taken] = times * (float(weights.sum()) / rows)
    return found


GLIMPSE = 1 << 15  # rows
LARGE = 1 << 20  # distinct rows, above which a part of them tells where to look
PART = 1 << 17  # rows of that part
EXACT = 2.0**53  # below, floats hold every whole number


@dataclass(frozen=True, eq=False)
class Problem:
    """Everything about (data, structure, prior) that does not change while learning."""

    network: Network
    alpha: FloatArray  # (size,) hyperparameters; of categories, Dirichlet exponents
    codes: CodeArray  # (m, observed variables) distinct rows, -1 = missing
    counts: FloatArray  # (m,) their weights
    components: Components  # the same, taken apart
    device: Device | None = None  # where E steps over them are run; None: here
    design: SamplingDesign | None = None  # how rows were drawn, for what is said of precision
    holder: Holder | None = None  # who holds the rows, if not this process

    @property
    def layout(self) -> Layout:
        """The layout of every flat vector of this problem."""
        return self.network.layout

    @cached_property
    def cases(self) -> float:
        """N, the total weight of the rows."""
        total = float(self.counts.sum())
        forget(self.counts)
        return total

    @cached_property
    def whole(self) -> bool:
        """Whether every row counts a whole number of times, so that its cases can be completed."""
        parts = in_passing(self.codes, self.counts)
        return all((part.counts == np.round(part.counts)).all() for part in parts)

    @property
    def case_by_case(self) -> bool:
        """Whether cases can be taken in one after the other: not where numbers vary together."""
        return all(v.family.stands_at is None for v in self.network.variables)

    @property
    def exact(self) -> bool:
        """Whether nothing is hidden but barren variables: then the evidence has a closed form."""
        return not self.components.hidden

    @cached_property
    def seen(self) -> FloatArray:
        """Statistics of the families that were seen whole, (size,)."""
        return self.components.cells.statistics(self.components.seen)

    @cached_property
    def any_seen(self) -> bool:
        """Whether any family was seen whole; in a latent class model, none was."""
        return bool(self.components.seen.any())

    @cached_property
    def log_bases(self) -> FloatArray:
        """Log h(x) of all values that were seen, by variable: what no parameter moves.

        Categories have none.
        """
        found = np.zeros(len(self.network.variables))
        for column, i in enumerate(self.network.observed):
            v, codes = self.network.variables[i], self.codes[:, column]
            if not v.family.tabular:
                told = codes >= 0
                found[i] = self.counts[told] @ v.log_base[codes[told]]
        return found

    @property
    def log_base(self) -> float:
        """The same of all variables together."""
        return float(self.log_bases.sum())

    @property
    def lowest_alpha(self) -> float:
        """The smallest hyperparameter of anything that is learned; of categories, an exponent."""
        layout = self.layout
        return float(layout.pooled(self.alpha)[layout.learned].min(initial=np.inf))

    @cached_property
    def marks(self) -> FloatArray:
        """What tells parameters apart before the data do, (size,)."""
        return self.layout.marks(self.alpha)

    @cached_property
    def prior(self) -> FloatArray:
        """Hyperparameters given what was seen whole, (size,)."""
        return self.alpha + self.seen

    @cached_property
    def cases_show(self) -> bool:
        """Whether one case more is a change beside exponents: sampling holds their sums."""
        return float(np.abs(self.alpha).sum()) + self.cases < EXACT

    @cached_property
    def log_seen(self) -> float:
        """Log evidence of the families that were seen whole, in closed form. CH96 eq. 5."""
        families = conjugacy.log_marginal(self.seen, self.alpha, self.layout)
        return float(families.sum()) + self.log_base

    @cached_property
    def about_hidden(self) -> Query:
        """The rows, to be asked at any θ for the posterior of each hidden variable."""
        hidden = [(h,) for h in self.network.hidden]
        return Query(self.network, self.codes, hidden, compact=True)

    @cached_property
    def glimpse(self) -> "Problem":
        """The same with so many rows at most, at equal distances, which stand for all.

        For those who look for where to look: they need not see every row.
        """
        return self.at_most(GLIMPSE)

    @cached_property
    def part(self) -> "Problem | None":
        """The same for a part of very many rows, which is cheap to search; None: they are few.

        How many there are is all that decides: whoever holds or works on them, it is the same part.
        """
        return self.at_most(PART).on(self.device) if len(self.counts) > LARGE else None

    def at_most(self, rows: int) -> "Problem":
        """The same with so many rows at most, at equal distances, which stand for all."""
        if len(self.counts) <= rows:
            return self
        taken, times = at_equal_distances(self.counts, rows)
        counts = np.asarray(times * (self.cases / rows), dtype=np.float64)
        return problem_of_codes(rows_at(self.codes, taken), counts, self.network, self.alpha)

    @cached_property
    def held(self) -> Held[SomeRows] | None:
        """The rows where somebody else holds them; None: they are here."""
        return _held(self.holder, self.codes, self.counts)

    def on(self, device: Device | None) -> "Problem":
        """The same with E steps on a device; None is the processor."""
        if device is None or self.device is not None:
            return self
        return replace(self, components=self.components.on(device), device=device)

    @property
    def where_faster(self) -> "Problem":
        """The same with E steps on the processor, if they are too short for a device."""
        if self.device is None or self.components.nanoseconds >= LONG:
            return self
        return replace(self, components=self.components.on(None), device=None)

    @property
    def fingerprint(self) -> str:
        """What it is about, in a few letters: the same, wherever people see its variables."""
        return fingerprint(self.network.fingerprint, self.alpha, self.codes, self.counts)

    @cached_property
    def filled(self) -> Components:
        """The components with missing children filled in (see `plans.builder`)."""
        cells = self.components.cells
        if self.held is not None:
            return parted_components(self.held, self.network, cells, fill=True)
        builder = Builder(self.network, self.codes, self.counts, cells=cells, fill=True)
        return builder.build().on(self.device)

    @cached_property
    def by_value(self) -> "Problem":
        """The same with a cell for every value: for those who take cases one by one."""
        if not self.components.cells.dense:
            return self
        return replace(self, components=Builder(self.network, self.codes, self.counts).build())


def build_problem(table: Table, network: Network, alpha: FloatArray) -> Problem:
    """Join a table and a network: columns are found by name, states must be the network's."""
    codes = _align(table, network)
    problem = problem_of_codes(codes, table.counts, network, alpha, table.holder)
    return problem if table.design is None else replace(problem, design=table.design)


def problem_of_codes(
    codes: CodeArray,
    counts: FloatArray,
    network: Network,
    alpha: FloatArray,
    holder: Holder | None = None,
) -> Problem:
    """Join rows that are coded already, (m, observed variables), and a network."""
    check_possible(network, codes)
    cells, held = compact_cells(network), _held(holder, codes, counts)
    if held is not None:
        components = parted_components(held, network, cells)
    else:
        components = Builder(network, codes, counts, cells=cells).build()
    return Problem(network, alpha, codes, counts, components, holder=holder)


def _held(holder: Holder | None, codes: CodeArray, counts: FloatArray) -> Held[SomeRows] | None:
    return None if holder is None else holder.hold(SomeRows(codes, counts))


def _same(one: Sequence[State], other: Sequence[State]) -> bool:
    """Whether states have the same texts; of numbers: whether they are the same."""
    if isinstance(one, Numbers) or isinstance(other, Numbers):
        return one == other
    return [label(s) for s in one] == [label(s) for s in other]


def _align(table: Table, network: Network) -> CodeArray:
    """Give the table's codes with its columns in the order of the network's observed variables."""
    names = [c.name for c in table.columns]
    for i in network.hidden:
        if (name := network.variables[i].name) in names:
            raise DataError(
                f"column '{name}' has the name of the model's hidden variable. "
                f"Exclude it with --exclude {name}, or rename it."
            )
    order = []
    for v in (network.variables[i] for i in network.observed):
        if v.name not in names:
            raise DataError(
                f"the data have no column '{v.name}', which the model has. They have: "
                + ", ".join(f"'{name}'" for name in names)
                + ". Add it (empty cells are fine)."
            )
        column = table.columns[names.index(v.name)]
        if not _same(column.states, v.states):
            raise DataError(
                f"column '{v.name}' has the states {list(column.labels)}, "
                f"the model has {list(v.labels)}. Read the table with the model's states."
            )
        order.append(names.index(v.name))
    # The usual case is the identity, which needs no copy of what may be a large array.
    same = order == list(range(len(names)))
    return table.codes if same else np.ascontiguousarray(table.codes[:, order])


# Rows taken apart once, that may then count as much or as little as one likes.


class Weighable:
    """Makes problems that differ in the weights of their rows; a problem is built in no time."""

    def __init__(self, network: Network, codes: CodeArray) -> None:
        """Take (rows, observed variables), −1 = missing."""
        self.cells = compact_cells(network)
        builder = Builder(network, codes, np.ones(len(codes)), cells=self.cells, keep_rows=True)
        self.network, self.codes, self.plans = network, codes, builder.build().plans
        self.seen = [builder.seen_whole(c) for c in builder.collectors]

    def __call__(self, weights: FloatArray, alpha: FloatArray) -> Problem:
        """Let each row weigh so much, (rows,)."""
        seen = np.zeros(self.cells.layout.size)
        for rows, positions, worth in self.seen:
            seen += totals(positions, weights[rows] * worth, len(seen))
        plans = []
        for plan in self.plans:
            assert plan.rows is not None
            counts = totals(plan.rows.component, weights[plan.rows.rows], len(plan.counts))
            plans.append(plan.weighted(counts))
        used = np.flatnonzero(weights)
        components = Components(seen, tuple(plans), self.cells)
        return Problem(self.network, alpha, self.codes[used], weights[used], components)
