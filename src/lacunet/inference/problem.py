"""A table and a network joined, checked once: what learning and scoring work on."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from lacunet.data.sampling_design import SamplingDesign
from lacunet.data.table import Table
from lacunet.errors import DataError
from lacunet.inference.asking.query import Question
from lacunet.inference.devices.device import Device
from lacunet.inference.plans.builder import Builder
from lacunet.inference.plans.compact import compact_cells
from lacunet.inference.plans.parted import parted_components
from lacunet.inference.plans.plan import LONG, Components
from lacunet.inference.possible import check_possible
from lacunet.inference.thinning import at_equal_distances
from lacunet.model import conjugacy
from lacunet.model.layout import Layout
from lacunet.model.network import Network
from lacunet.runtime.arrays import CodeArray, FloatArray
from lacunet.runtime.checkpoint import fingerprint
from lacunet.runtime.rows import Held, Holder, SomeRows, forget, in_passing, rows_at
from lacunet.runtime.states import Numbers, State, label

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
    def about_hidden(self) -> Question:
        """The rows, to be asked at any θ for the posterior of each hidden variable."""
        hidden = [(h,) for h in self.network.hidden]
        return Question(self.network, self.codes, hidden, compact=True)

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
        """Give the same with E steps on a device; None is the processor."""
        if device is None or self.device is not None:
            return self
        return replace(self, components=self.components.on(device), device=device)

    @property
    def where_faster(self) -> "Problem":
        """The same with E steps on the processor, if they are too short for a device."""
        return self.here if self.components.nanoseconds < LONG else self

    @property
    def here(self) -> "Problem":
        """The same with E steps on the processor."""
        if self.device is None:
            return self
        return replace(self, components=self.components.here, device=None)

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
