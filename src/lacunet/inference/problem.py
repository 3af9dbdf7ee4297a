"""Join a table, a network and a prior into a checked `Problem`, the input of learning."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from lacunet.data.design import SamplingDesign
from lacunet.data.table import Table
from lacunet.errors import DataError
from lacunet.inference.devices.device import Device
from lacunet.inference.plans.builder import Builder, compact_cells
from lacunet.inference.plans.decompose import totals
from lacunet.inference.plans.parted import IN_MEMORY, Placement
from lacunet.inference.plans.plan import LONG, Components
from lacunet.inference.queries.query import ByRow, Query, with_auxiliary
from lacunet.models import conjugacy
from lacunet.models.layout import Cells, Layout
from lacunet.models.network import Network
from lacunet.models.surgery import members
from lacunet.runtime.arrays import CodeArray, FloatArray, IntArray
from lacunet.runtime.checkpoint import fingerprint
from lacunet.runtime.rows import RowStorage, SomeRows, forget, in_passing, rows_at
from lacunet.runtime.states import Numbers, State, label


def check_possible(network: Network, codes: CodeArray) -> None:
    """Refuse rows, (m, observed variables), that have probability 0 at all parameters.

    Only known tables forbid rows, so numbers, which are never parents, are left out.
    """
    network, codes = _categories(network, codes)
    layout = network.layout
    if layout.given is None or layout.given.min(initial=np.inf, where=~layout.learned) > 0.0:
        return
    theta = conjugacy.mean(np.ones(layout.size), layout)
    cells = network.to_cells(conjugacy.natural(theta, layout))
    never = np.flatnonzero(ByRow(network, codes).log_lik(cells) == -np.inf)
    if not len(never):
        return
    # Name a table that forbids the row alone, or all tables with zeros.
    row, variables = codes[never[:1]], network.variables
    zeros = [i for i in range(len(variables)) if (network.cells.table(cells, i) == -np.inf).any()]
    alone = []
    for i in zeros:
        relaxed, block = cells.copy(), network.cells.block(i)
        relaxed[block] = np.maximum(relaxed[block], 0.0)
        if ByRow(network, row).log_lik(relaxed)[0] > -np.inf:
            alone.append(i)
    blamed = alone[:1] or zeros
    around = {v for i in blamed for v in layout.families[i]}
    shown = {i: code for i, code in zip(network.observed, row[0], strict=True) if code >= 0}
    named = {i: code for i, code in shown.items() if i in around} or shown
    words = ", ".join(f"{variables[i].name} = {variables[i].labels[k]}" for i, k in named.items())
    names = ", ".join(f"'{variables[i].name}'" for i in blamed)
    several = f" ({len(never):,} different rows are like this)" if len(never) > 1 else ""
    raise DataError(
        f"a row with {words} is impossible{several}: the "
        f"known table of {names} has a zero there. Correct the row, or the table."
    )


def _categories(network: Network, codes: CodeArray) -> tuple[Network, CodeArray]:
    """Restrict a network and coded rows to the categorical variables."""
    variables = network.variables
    tabular = [i for i, v in enumerate(variables) if v.family.tabular]
    if network.plain or len(tabular) in (0, len(variables)):
        return network, codes
    shown = [column for column, i in enumerate(network.observed) if i in tabular]
    parents = [[tabular.index(p) for p in network.parents[i]] for i in tabular]
    return Network.build([variables[i] for i in tabular], parents), codes[:, shown]


AT_ONCE = 1 << 20  # rows whose weights are summed at once
GLIMPSE = 1 << 15  # rows
LARGE = 1 << 20  # distinct rows above which fits search on a sample
PART = 1 << 17  # rows of that sample
EXACT = 2.0**53  # floats represent every integer below this


def at_equal_distances(weights: FloatArray, cases: int) -> tuple[IntArray, IntArray]:
    """Draw a systematic sample of cases; return the rows sampled and the cases of each."""
    points = (np.arange(cases) + 0.5) * (float(weights.sum()) / cases)
    row_of, before, known = np.full(cases, len(weights) - 1), 0.0, 0
    for first in range(0, len(weights), AT_ONCE):  # in chunks: all sums may not fit into memory
        sums = before + np.cumsum(weights[first : first + AT_ONCE])
        inside = points[known:] < sums[-1]
        some = slice(known, known + int(inside.sum()))
        row_of[some] = first + np.searchsorted(sums, points[some], side="right")
        before, known = float(sums[-1]), some.stop
    return np.unique(row_of, return_counts=True)


def thinned(weights: FloatArray, rows: int) -> FloatArray:
    """Weights of a systematic sample of about `rows` rows, with the same sum."""
    taken, times = at_equal_distances(weights, rows)
    sample = np.zeros(len(weights))
    sample[taken] = times * (float(weights.sum()) / rows)
    return sample


@dataclass(frozen=True, eq=False)
class Problem:
    """Data, structure and prior, with everything that is constant during learning."""

    network: Network
    alpha: FloatArray  # (size,) hyperparameters; of categories, Dirichlet exponents
    codes: CodeArray  # (m, observed variables) distinct rows, -1 = missing
    counts: FloatArray  # (m,) their weights
    components: Components  # the same, decomposed
    place: Placement = IN_MEMORY  # where the rows are, and where E steps run
    design: SamplingDesign | None = None  # sampling design of the rows, used by standard errors

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
        """Whether all row weights are integers, so that hidden values can be drawn by case."""
        parts = in_passing(self.codes, self.counts)
        return all((part.counts == np.round(part.counts)).all() for part in parts)

    @property
    def case_by_case(self) -> bool:
        """Whether sequential updates are possible: no numbers have a joint distribution."""
        return all(v.family.stands_at is None for v in self.network.variables)

    @property
    def exact(self) -> bool:
        """Whether the evidence has a closed form: only barren variables are hidden."""
        return not self.components.hidden

    @cached_property
    def seen(self) -> FloatArray:
        """Sufficient statistics of the fully observed families, (size,)."""
        return self.components.cells.statistics(self.components.seen)

    @cached_property
    def any_seen(self) -> bool:
        """Whether any family is fully observed; in a latent class model, none is."""
        return bool(self.components.seen.any())

    @cached_property
    def log_bases(self) -> FloatArray:
        """Log base measure of the observed values by variable; 0 for categories."""
        logs = np.zeros(len(self.network.variables))
        for column, i in enumerate(self.network.observed):
            v, codes = self.network.variables[i], self.codes[:, column]
            if not v.family.tabular:
                shown = codes >= 0
                logs[i] = self.counts[shown] @ v.log_base[codes[shown]]
        return logs

    @property
    def log_base(self) -> float:
        """Log base measure of all observed values."""
        return float(self.log_bases.sum())

    @property
    def lowest_alpha(self) -> float:
        """The smallest hyperparameter of a learned family; an exponent, for categories."""
        layout = self.layout
        counted = layout.learned & (layout.in_simplex | ~layout.in_tables)
        return float(layout.pooled(self.alpha)[counted].min(initial=np.inf))

    @cached_property
    def marks(self) -> FloatArray:
        """Values that differ where the prior distinguishes parameters, (size,)."""
        return self.layout.marks(self.alpha)

    @cached_property
    def prior(self) -> FloatArray:
        """Hyperparameters given the fully observed families, (size,)."""
        return self.alpha + self.seen

    @cached_property
    def cases_show(self) -> bool:
        """Whether one more case changes the sum of exponents in floating point."""
        return float(np.abs(self.alpha).sum()) + self.cases < EXACT

    @cached_property
    def log_seen(self) -> float:
        """Log evidence of the fully observed families, in closed form. CH96 eq. 5."""
        families = conjugacy.log_marginal(self.seen, self.alpha, self.layout)
        return float(families.sum()) + self.log_base

    @cached_property
    def about_hidden(self) -> Query:
        """Query for the posterior of each hidden variable in every row, at any θ."""
        hidden = [(h,) for h in self.network.hidden]
        return Query(self.network, self.codes, hidden, compact=True)

    @cached_property
    def glimpse(self) -> "Problem":
        """A weighted sample of at most `GLIMPSE` rows, large enough for proposals."""
        return self.at_most(GLIMPSE)

    @cached_property
    def part(self) -> "Problem | None":
        """A weighted sample that is cheap to search; None if the rows are few.

        Only the number of rows decides, so it is the same on every device and holder.
        """
        return self.at_most(PART).on(self.place.device) if len(self.counts) > LARGE else None

    def at_most(self, rows: int) -> "Problem":
        """A systematic sample of at most `rows` rows, weighted to the same total."""
        if len(self.counts) <= rows:
            return self
        taken, times = at_equal_distances(self.counts, rows)
        counts = np.asarray(times * (self.cases / rows), dtype=np.float64)
        return problem_of_codes(rows_at(self.codes, taken), counts, self.network, self.alpha)

    def on(self, device: Device | None) -> "Problem":
        """Move E steps to a device; None is the processor."""
        if device is None or self.place.device is not None:
            return self
        return self._moved(device)

    @property
    def where_faster(self) -> "Problem":
        """Move E steps that are too short for a device to the processor."""
        long = self.place.device is None or self.components.nanoseconds >= LONG
        return self if long else self._moved(None)

    def _moved(self, device: Device | None) -> "Problem":
        place = replace(self.place, device=device)
        return replace(self, components=self.components.on(device), place=place)

    @property
    def fingerprint(self) -> str:
        """A hash of data, network and prior."""
        return fingerprint(self.network.fingerprint, self.alpha, self.codes, self.counts)

    @cached_property
    def filled(self) -> Components:
        """Components that also count missing variables without children.

        Each variable of `childless` gets an auxiliary variable with the same parents and one
        state, observed in the rows where the variable is missing.
        """
        network, dense = self.network, self.components.cells.dense
        whole = with_auxiliary(network, [network.parents[i] for i in self.childless])
        cells = Cells(whole, dense) if dense else whole.by_value
        columns = [
            [j for j, v in enumerate(network.observed) if v in members(network, i)]
            for i in self.childless
        ]
        rows, mark = SomeRows(self.codes, self.counts), partial(_mark_missing, columns)
        return self.place.components(rows, whole, cells, mark)

    @cached_property
    def missing_at(self) -> IntArray:
        """For each position, the one in `filled` that counts it as missing; else the end."""
        layout, whole = self.layout, self.filled.cells.network.layout
        target = np.full(layout.size, whole.size)
        for auxiliary, i in enumerate(self.childless, start=len(self.network.variables)):
            positions = layout.table(np.arange(layout.size), i)
            target[positions] = whole.table(np.arange(whole.size), auxiliary)
        return np.where(layout.in_tables, target, whole.size)

    @cached_property
    def childless(self) -> list[int]:
        """Variables without children, except hidden variables with one state."""
        network = self.network
        known = {i for i in network.hidden if self.layout.cards[i] == 1}
        inner = known.union(*network.parents)
        every = range(len(network.variables))
        return [i for i in every if i not in inner and members(network, i)]

    @cached_property
    def by_value(self) -> "Problem":
        """The problem with a cell for every value, as sequential updates need."""
        if not self.components.cells.dense:
            return self
        return replace(self, components=Builder(self.network, self.codes, self.counts).build())


def build_problem(table: Table, network: Network, alpha: FloatArray) -> Problem:
    """Join a table and a network: match columns by name, require the network's states."""
    codes = _align(table, network)
    problem = problem_of_codes(codes, table.counts, network, alpha, table.holder)
    return problem if table.design is None else replace(problem, design=table.design)


def problem_of_codes(
    codes: CodeArray,
    counts: FloatArray,
    network: Network,
    alpha: FloatArray,
    holder: RowStorage | None = None,
) -> Problem:
    """Join coded rows, (m, observed variables), and a network."""
    check_possible(network, codes)
    rows, place = SomeRows(codes, counts), Placement(holder)
    components = place.components(rows, network, compact_cells(network))
    return Problem(network, alpha, codes, counts, components, place)


def _mark_missing(columns: Sequence[Sequence[int]], rows: SomeRows) -> SomeRows:
    """Add a column for each group of columns: 0 where all are missing, else −1."""
    marks = [np.where((rows.codes[:, group] < 0).all(axis=1), 0, -1) for group in columns]
    codes = [rows.codes, *(mark[:, None].astype(rows.codes.dtype) for mark in marks)]
    return SomeRows(np.hstack(codes), rows.counts)


def _same(one: Sequence[State], other: Sequence[State]) -> bool:
    if isinstance(one, Numbers) or isinstance(other, Numbers):
        return one == other
    return [label(s) for s in one] == [label(s) for s in other]


def _align(table: Table, network: Network) -> CodeArray:
    """Return the codes with columns in the order of the network's observed variables."""
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
    # The usual order is the identity: do not copy a large array.
    same = order == list(range(len(names)))
    return table.codes if same else np.ascontiguousarray(table.codes[:, order])


class Weighable:
    """Rows decomposed once, for problems that differ only in the weights of rows."""

    def __init__(self, network: Network, codes: CodeArray) -> None:
        """Decompose rows, (rows, observed variables), −1 = missing."""
        self.cells = compact_cells(network)
        builder = Builder(network, codes, np.ones(len(codes)), cells=self.cells, keep_rows=True)
        self.network, self.codes, self.plans = network, codes, builder.build().plans
        self.seen = [builder.seen_whole(c) for c in builder.collectors]

    def __call__(self, weights: FloatArray, alpha: FloatArray) -> Problem:
        """The problem with these row weights, (rows,)."""
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
