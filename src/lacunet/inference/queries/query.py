"""What a model says of every row by itself: its log-likelihood, and its own expected counts."""

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from lacunet.errors import ModelError
from lacunet.inference.plans.builder import Builder, Collector, compact_cells
from lacunet.inference.plans.decompose import hole_patterns
from lacunet.likelihoods.joint_normal import BlockSpread, draw_student
from lacunet.models import conjugacy
from lacunet.models.layout import Cells
from lacunet.models.network import Model, Network, Variable
from lacunet.models.surgery import fresh_names, members, table_of
from lacunet.runtime.arrays import CodeArray, FloatArray, IntArray


class ByRow:
    """Rows taken apart, each component with the rows that have it."""

    def __init__(self, network: Network, codes: CodeArray, cells: Cells | None = None) -> None:
        """Take (rows, observed variables), −1 = missing; without cells every value has its own."""
        self.builder = Builder(network, codes, np.ones(len(codes)), cells=cells, keep_rows=True)
        self.plans = self.builder.build().plans
        self.rows = len(codes)

    @cached_property
    def seen(self) -> list[Collector]:
        """Those that some rows show whole."""
        builder = self.builder
        return [c for c in builder.collectors if len(builder.seen_whole(c).rows)]

    @cached_property
    def once(self) -> list[bool]:
        """Of each plan, whether no row has two of its components."""
        held = [plan.rows.rows for plan in self.plans if plan.rows is not None]
        return [len(np.unique(rows)) == len(rows) for rows in held]

    def log_lik(self, cells: FloatArray) -> FloatArray:
        """Log p(row), (rows,), given log weights of cells; −inf where a row is impossible."""
        return self.posterior(cells, 0, 0)[0]

    def posterior(self, cells: FloatArray, first: int, last: int) -> tuple[FloatArray, FloatArray]:
        """Log p(row), (rows,), and E[N | row] at positions first to last, (rows, last − first).

        Nothing is expected of a row that is impossible, whichever part of it is.
        """
        total, N = np.zeros(self.rows), np.zeros((self.rows, last - first))
        for collector in self.seen:
            rows, positions, worth = self.builder.seen_whole(collector)
            np.add.at(total, rows, worth * cells[positions])
            inside = (first <= positions) & (positions < last)
            np.add.at(N, (rows[inside], positions[inside] - first), worth[inside])
        for plan, once in zip(self.plans, self.once, strict=True):
            assert plan.rows is not None
            log_z, own = plan.posterior(cells, first, last)
            rows, component = plan.rows.rows, plan.rows.component
            if once:
                total[rows] += log_z[component]
                N[rows] += own[component]
            else:
                np.add.at(total, rows, log_z[component])
                np.add.at(N, rows, own[component])
        N[total == -np.inf] = 0.0
        return total, N


# Rows of latent classes with numbers that vary together: what they show of each block, by
# class.


class WithoutBlocks(NamedTuple):
    """A model without its blocks."""

    model: Model
    columns: list[int]  # which columns of rows it knows
    number: dict[int, int]  # the new number of each variable that is left
    root: int  # of the classes, in the model with blocks


class ShownNumbers(NamedTuple):
    """Rows that show the same numbers of a block."""

    rows: IntArray
    x: FloatArray  # (rows, o) what they show, as the family sees it
    shown: IntArray  # (o,) places in the block
    missing: IntArray  # (d − o,)


def has_blocks(network: Network) -> bool:
    """Whether numbers have joint distributions."""
    return any(v.family.stands_at is not None for v in network.variables)


def blocks_of(network: Network) -> list[list[int]]:
    """The variables of each block."""
    found = (members(network, i) for i in range(len(network.variables)))
    return [block for block in found if len(block) > 1]


def root_of(network: Network) -> int:
    """The variable whose states are the classes of all blocks, hidden or shown."""
    (root,) = network.parents[blocks_of(network)[0][0]]
    return root


def spread_of(model: Model, block: list[int]) -> BlockSpread:
    """Where the numbers of a block lie in each class."""
    own = table_of(model.network, model.by_configuration, block[0])
    read = BlockSpread.at if model.averaged is None else BlockSpread.over
    return read(own, len(block))


def rest_of(model: Model) -> WithoutBlocks:
    """Leave blocks out: nothing depends on them."""
    network, layout = model.network, model.network.layout
    root = root_of(network)
    kept = [i for i, v in enumerate(network.variables) if v.family.stands_at is None]
    number = {i: k for k, i in enumerate(kept)}
    parents = [tuple(number[p] for p in network.parents[i]) for i in kept]
    smaller = Network.build([network.variables[i] for i in kept], parents)

    def some(x: FloatArray) -> FloatArray:
        return smaller.layout.flat([layout.table(x, i) for i in kept])

    columns = [j for j, i in enumerate(network.observed) if i in number]
    return WithoutBlocks(model.moved(smaller, some), columns, number, root)


def patterns(network: Network, block: list[int], codes: CodeArray) -> Iterator[ShownNumbers]:
    """Rows by which numbers of a block they show."""
    columns = [network.observed.index(i) for i in block]
    own = codes[:, columns]
    holes, which = hole_patterns(own)
    for k, hole in enumerate(holes):
        rows, shown = np.flatnonzero(which == k), np.flatnonzero(~hole)
        x = [np.asarray(network.variables[block[a]].values)[own[rows, a]] for a in shown]
        values = np.stack(x, axis=1) if x else np.zeros((len(rows), 0))
        yield ShownNumbers(rows, values, shown, np.flatnonzero(hole))


def block_log_density(model: Model, codes: CodeArray) -> FloatArray:
    """Log density of what rows show of all blocks, (rows, classes), without `log_base`."""
    classes = model.network.variables[root_of(model.network)].states
    total = np.zeros((len(codes), len(classes)))
    for block in blocks_of(model.network):
        spread = spread_of(model, block)
        for p in patterns(model.network, block, codes):
            if len(p.shown):
                total[p.rows] += spread.log_density(p.x, p.shown)
    return total


def block_moments(model: Model, codes: CodeArray, v: int) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of a number of a block, given what rows show of it: (rows, classes)."""
    network = model.network
    block = next(b for b in blocks_of(network) if v in b)
    spread, own = spread_of(model, block), np.array([block.index(v)])
    mean, variance = (np.zeros((len(codes), len(spread.mean))) for _ in range(2))
    for p in patterns(network, block, codes):
        others = p.shown[p.shown != own]
        x = p.x[:, p.shown != own]
        middle, scale, degrees = spread.given(x, others, own)
        more = np.where(np.isinf(degrees), 1.0, degrees / np.maximum(degrees - 2.0, 1e-300))
        mean[p.rows], variance[p.rows] = middle[..., 0], scale[..., 0, 0] * more
    return mean, variance


def draw_block(
    model: Model, block: list[int], codes: CodeArray, classes: IntArray, rng: np.random.Generator
) -> FloatArray:
    """Fill in a block given what rows show of it and their classes, (rows, d), in family units."""
    spread, filled = spread_of(model, block), np.empty((len(codes), len(block)))
    for p in patterns(model.network, block, codes):
        filled[np.ix_(p.rows, p.shown)] = p.x
        if not len(p.missing):
            continue
        mean, scale, degrees = spread.given(p.x, p.shown, p.missing)
        mine = np.arange(len(p.rows)), classes[p.rows]
        drawn = draw_student(mean[mine], scale[mine], degrees[classes[p.rows]], rng)
        filled[np.ix_(p.rows, p.missing)] = drawn
    return filled


# Inference as a service: p(unobserved variables | what a row shows), for every row of a table.

LARGEST = 1 << 26  # numbers of an answer: half a GiB


class Query:
    """Groups of variables in question, and rows taken apart for them: to be asked at any θ."""

    def __init__(
        self,
        network: Network,
        codes: CodeArray,
        groups: Sequence[Sequence[int]],
        *,
        compact: bool = False,
    ) -> None:
        """Take rows apart; `compact`: to be asked at θ only, with cells as for learning."""
        _check_size(network, len(codes), groups)
        asked = _with_auxiliary_nodes(network, groups)
        watched = np.column_stack([codes, np.zeros((len(codes), len(groups)), codes.dtype)])
        self.network, self.asked = network, asked
        self.cells = compact_cells(asked) if compact else asked.by_value
        self.rows = ByRow(asked, watched, self.cells)

    def __call__(self, theta: FloatArray) -> list[FloatArray]:
        """Give the joint posterior of each group in each row, at θ."""
        own = conjugacy.natural(theta, self.network.layout)
        watchers = np.zeros(self.asked.layout.size - len(own))
        return self._found(self.cells.weights(np.concatenate([own, watchers])))

    def by(self, own: FloatArray) -> list[FloatArray]:
        """Do the same given log weights of all values."""
        return self._found(np.concatenate([own, np.zeros(self.cells.layout.size - len(own))]))

    def _found(self, cells: FloatArray) -> list[FloatArray]:
        network, layout = self.network, self.cells.layout
        first = int(layout.offsets[len(network.variables)])
        # What each watcher's family counts in each row, in the order of its storage.
        _, N = self.rows.posterior(cells, first, layout.size)
        ends = layout.offsets[len(network.variables) :] - first
        return [
            _in_order(N[:, first:last], layout.axes[f], layout.families[f], layout.cards)
            for f, (first, last) in enumerate(pairwise(ends), start=len(network.variables))
        ]


def posterior(model: Model, codes: CodeArray, groups: Sequence[Sequence[int]]) -> list[FloatArray]:
    """Joint posterior of each group of variables in each row: (rows, states of each variable...).

    A variable that a row shows has probability 1 at what it shows. `codes` are (rows, observed
    variables of the network), −1 = missing.
    """
    if has_blocks(model.network):
        return _weighed_by_blocks(model, codes, groups)
    return Query(model.network, codes, groups).by(model.log_weights)


def _weighed_by_blocks(
    model: Model, codes: CodeArray, groups: Sequence[Sequence[int]]
) -> list[FloatArray]:
    """Ask the rest of a model, and weigh its answers by what rows show of blocks, by class."""
    rest, log_p = rest_of(model), block_log_density(model, codes)
    weights = np.exp(log_p - log_p.max(axis=1, keepdims=True))
    asked = [(*(v for v in group if v != rest.root), rest.root) for group in groups]
    known = codes[:, rest.columns]
    answers = posterior(rest.model, known, [[rest.number[v] for v in group] for group in asked])
    found = []
    for group, order, joint in zip(groups, asked, answers, strict=True):
        p = joint * weights.reshape(len(codes), *[1] * (joint.ndim - 2), -1)
        total = p.reshape(len(codes), -1).sum(axis=1).reshape(-1, *[1] * (joint.ndim - 1))
        p = p / np.where(total > 0, total, 1.0)
        if rest.root in group:
            p = np.transpose(p, [0, *(1 + order.index(v) for v in group)])
        else:
            p = p.sum(axis=-1)
        found.append(p)
    return found


def marginal(model: Model, variables: Sequence[int]) -> FloatArray:
    """Joint distribution of some variables, where nothing is seen."""
    nothing = np.full((1, len(model.network.observed)), -1, dtype=np.int32)
    joint: FloatArray = posterior(model, nothing, [variables])[0][0]
    return joint


def _check_size(network: Network, rows: int, groups: Sequence[Sequence[int]]) -> None:
    """Refuse an answer that would not fit into memory, before anything of its size is made."""
    for group in groups:
        variables = [network.variables[v] for v in group]
        cells = math.prod(len(v.states) for v in variables)
        if rows * cells > LARGEST:
            who = ", ".join(f"'{v.name}' ({len(v.states)})" for v in variables)
            each = "" if rows == 1 else f" for each of {rows:,} rows"
            raise ModelError(
                f"the joint distribution of {who} has {cells:,} numbers{each}, "
                f"{8 * rows * cells / 2**30:,.1f} GiB in all; at most {LARGEST:,} numbers are "
                "allowed. Ask for fewer variables at once"
                + (", or for their most probable states." if rows == 1 else ", or fewer rows.")
            )


def _with_auxiliary_nodes(network: Network, groups: Sequence[Sequence[int]]) -> Network:
    """Add a child with one state to each group."""
    names = fresh_names(network, "watcher", len(groups))
    return Network.build(
        [*network.variables, *(Variable(name, (0,)) for name in names)],
        [*network.parents, *(tuple(g) for g in groups)],
    )


def _in_order(
    out: FloatArray, axes: Sequence[int], family: Sequence[int], cards: Sequence[int]
) -> FloatArray:
    """From storage order to (rows, the group in its own order); the watcher itself is dropped."""
    stored = out.reshape(len(out), *(cards[v] for v in axes))
    order = [1 + list(axes).index(v) for v in family[:-1]]
    return np.ascontiguousarray(
        np.transpose(stored, (0, *order, 1 + list(axes).index(family[-1])))[..., 0]
    )
