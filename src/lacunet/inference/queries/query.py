"""Posterior queries about rows: log-likelihoods, expected counts, joint posteriors."""

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from lacunet.errors import ModelError
from lacunet.inference.plans.builder import Builder, Collector, compact_cells
from lacunet.inference.plans.decompose import missing_patterns
from lacunet.likelihoods.joint_normal import BlockSpread, draw_student
from lacunet.models import conjugacy
from lacunet.models.layout import Cells
from lacunet.models.network import Model, Network, Variable
from lacunet.models.surgery import fresh_names, members, table_of
from lacunet.runtime.arrays import CodeArray, FloatArray, IntArray


class ByRow:
    """Rows decomposed into components, each with the indices of its rows."""

    def __init__(self, network: Network, codes: CodeArray, cells: Cells | None = None) -> None:
        """Decompose rows, (rows, observed variables), −1 = missing; by default cells by value."""
        self.builder = Builder(network, codes, np.ones(len(codes)), cells=cells, keep_rows=True)
        self.plans = self.builder.build().plans
        self.rows = len(codes)

    @cached_property
    def seen(self) -> list[Collector]:
        """Families that some row shows completely."""
        builder = self.builder
        return [c for c in builder.collectors if len(builder.seen_whole(c).rows)]

    @cached_property
    def once(self) -> list[bool]:
        """For each plan, whether no row has two of its components."""
        rows_of = [plan.rows.rows for plan in self.plans if plan.rows is not None]
        return [len(np.unique(rows)) == len(rows) for rows in rows_of]

    def log_lik(self, cells: FloatArray) -> FloatArray:
        """Log p(row), (rows,), given log weights of cells; −inf where a row is impossible."""
        return self.posterior(cells, 0, 0)[0]

    def posterior(self, cells: FloatArray, first: int, last: int) -> tuple[FloatArray, FloatArray]:
        """Log p(row), (rows,), and E[N | row] at positions first to last, (rows, last − first).

        E[N | row] is 0 for impossible rows.
        """
        total, N = np.zeros(self.rows), np.zeros((self.rows, last - first))
        for collector in self.seen:
            rows, positions, worth = self.builder.seen_whole(collector)
            np.add.at(total, rows, worth * cells[positions])
            inside = (first <= positions) & (positions < last)
            np.add.at(N, (rows[inside], positions[inside] - first), worth[inside])
        for plan, once in zip(self.plans, self.once, strict=True):
            assert plan.rows is not None
            log_z, expected = plan.posterior(cells, first, last)
            rows, component = plan.rows.rows, plan.rows.component
            if once:
                total[rows] += log_z[component]
                N[rows] += expected[component]
            else:
                np.add.at(total, rows, log_z[component])
                np.add.at(N, rows, expected[component])
        N[total == -np.inf] = 0.0
        return total, N


# Latent classes with blocks of numbers that have a joint distribution.


class WithoutBlocks(NamedTuple):
    """A model without its blocks of numbers, which have no children."""

    model: Model
    columns: list[int]  # the columns of rows that it keeps
    number: dict[int, int]  # the new index of each variable kept
    root: int  # index of the classes in the model with blocks


class ShownNumbers(NamedTuple):
    """Rows with the same missing-data pattern in a block."""

    rows: IntArray
    x: FloatArray  # (rows, o) observed values, in the unit of the family
    shown: IntArray  # (o,) indices in the block
    missing: IntArray  # (d − o,)


def has_blocks(network: Network) -> bool:
    """Whether some numbers have a joint distribution."""
    return any(v.family.stands_at is not None for v in network.variables)


def blocks_of(network: Network) -> list[list[int]]:
    """The variables of each block."""
    blocks = (members(network, i) for i in range(len(network.variables)))
    return [block for block in blocks if len(block) > 1]


def root_of(network: Network) -> int:
    """The parent of all blocks, hidden or observed."""
    (root,) = network.parents[blocks_of(network)[0][0]]
    return root


def spread_of(model: Model, block: list[int]) -> BlockSpread:
    """Distribution of a block in each class: normal, or Student t if parameters are averaged."""
    table = table_of(model.network, model.by_configuration, block[0])
    read = BlockSpread.at if model.averaged is None else BlockSpread.over
    return read(table, len(block))


def rest_of(model: Model) -> WithoutBlocks:
    """Drop the blocks of a model."""
    network, layout = model.network, model.network.layout
    remaining = [i for i, v in enumerate(network.variables) if v.family.stands_at is None]
    number = {i: k for k, i in enumerate(remaining)}
    parents = [tuple(number[p] for p in network.parents[i]) for i in remaining]
    smaller = Network.build([network.variables[i] for i in remaining], parents)
    rest = model.moved(
        smaller, lambda x: smaller.layout.flat([layout.table(x, i) for i in remaining])
    )
    columns = [j for j, i in enumerate(network.observed) if i in number]
    return WithoutBlocks(rest, columns, number, root_of(network))


def _by_pattern(network: Network, block: list[int], codes: CodeArray) -> Iterator[ShownNumbers]:
    """Group rows by their missing-data pattern in a block."""
    columns = [network.observed.index(i) for i in block]
    in_block = codes[:, columns]
    patterns, which = missing_patterns(in_block)
    for k, missing in enumerate(patterns):
        rows, shown = np.flatnonzero(which == k), np.flatnonzero(~missing)
        x = [np.asarray(network.variables[block[a]].values)[in_block[rows, a]] for a in shown]
        values = np.stack(x, axis=1) if x else np.zeros((len(rows), 0))
        yield ShownNumbers(rows, values, shown, np.flatnonzero(missing))


def block_log_density(model: Model, codes: CodeArray) -> FloatArray:
    """Log density of the observed numbers of all blocks, (rows, classes), without `log_base`."""
    classes = model.network.variables[root_of(model.network)].states
    total = np.zeros((len(codes), len(classes)))
    for block in blocks_of(model.network):
        spread = spread_of(model, block)
        for p in _by_pattern(model.network, block, codes):
            if len(p.shown):
                total[p.rows] += spread.log_density(p.x, p.shown)
    return total


def block_moments(model: Model, codes: CodeArray, v: int) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of a number given the observed rest of its block, (rows, classes)."""
    network = model.network
    block = next(b for b in blocks_of(network) if v in b)
    spread, target = spread_of(model, block), np.array([block.index(v)])
    mean, variance = (np.zeros((len(codes), len(spread.mean))) for _ in range(2))
    for p in _by_pattern(network, block, codes):
        others = p.shown[p.shown != target]
        x = p.x[:, p.shown != target]
        middle, scale, degrees = spread.given(x, others, target)
        more = np.where(np.isinf(degrees), 1.0, degrees / np.maximum(degrees - 2.0, 1e-300))
        mean[p.rows], variance[p.rows] = middle[..., 0], scale[..., 0, 0] * more
    return mean, variance


def draw_block(
    model: Model, block: list[int], codes: CodeArray, classes: IntArray, rng: np.random.Generator
) -> FloatArray:
    """Impute a block given its observed numbers and the classes, (rows, d), in family units."""
    spread, filled = spread_of(model, block), np.empty((len(codes), len(block)))
    for p in _by_pattern(model.network, block, codes):
        filled[np.ix_(p.rows, p.shown)] = p.x
        if not len(p.missing):
            continue
        mean, scale, degrees = spread.given(p.x, p.shown, p.missing)
        mine = np.arange(len(p.rows)), classes[p.rows]
        drawn = draw_student(mean[mine], scale[mine], degrees[classes[p.rows]], rng)
        filled[np.ix_(p.rows, p.missing)] = drawn
    return filled


LARGEST = 1 << 26  # numbers in a joint posterior: half a GiB


def with_auxiliary(network: Network, groups: Sequence[Sequence[int]]) -> Network:
    """Add a child with one state to each group of variables."""
    names = fresh_names(network, "auxiliary", len(groups))
    return Network.build(
        [*network.variables, *(Variable(name, (0,)) for name in names)],
        [*network.parents, *(tuple(group) for group in groups)],
    )


class Query:
    """Joint posteriors of groups of variables in each row, prepared once for any parameters.

    Each group gets an auxiliary child with one state: its expected counts are the posterior.
    """

    def __init__(
        self,
        network: Network,
        codes: CodeArray,
        groups: Sequence[Sequence[int]],
        *,
        compact: bool = False,
    ) -> None:
        """Decompose rows; `compact` uses the cells of learning, and then only `__call__` works."""
        _check_size(network, len(codes), groups)
        self.network = network
        auxiliary = with_auxiliary(network, groups)
        self.cells = compact_cells(auxiliary) if compact else auxiliary.by_value
        seen = np.column_stack([codes, np.zeros((len(codes), len(groups)), codes.dtype)])
        self.rows = ByRow(auxiliary, seen, self.cells)

    def __call__(self, theta: FloatArray) -> list[FloatArray]:
        """Joint posterior of each group in each row, at θ."""
        natural = conjugacy.natural(theta, self.network.layout)
        padding = np.zeros(self.rows.builder.network.layout.size - len(natural))
        return self._posteriors(self.cells.weights(np.concatenate([natural, padding])))

    def by(self, log_weights: FloatArray) -> list[FloatArray]:
        """Joint posterior of each group in each row, given log weights of all values."""
        padding = np.zeros(self.cells.layout.size - len(log_weights))
        return self._posteriors(np.concatenate([log_weights, padding]))

    def _posteriors(self, cells: FloatArray) -> list[FloatArray]:
        layout, n = self.cells.layout, len(self.network.variables)
        first = int(layout.offsets[n])
        _, N = self.rows.posterior(cells, first, layout.size)
        posteriors = []
        for f, (start, stop) in enumerate(pairwise(layout.offsets[n:] - first), start=n):
            axes, family = list(layout.axes[f]), layout.families[f]
            stored = N[:, start:stop].reshape(len(N), *(layout.cards[v] for v in axes))
            in_order = np.transpose(stored, (0, *(1 + axes.index(v) for v in family)))
            posteriors.append(np.ascontiguousarray(in_order[..., 0]))
        return posteriors


def posterior(model: Model, codes: CodeArray, groups: Sequence[Sequence[int]]) -> list[FloatArray]:
    """Joint posterior of each group of variables in each row: (rows, states of each variable...).

    An observed variable has probability 1 at its value. `codes` are (rows, observed variables of
    the network), −1 = missing.
    """
    if not has_blocks(model.network):
        return Query(model.network, codes, groups).by(model.log_weights)
    # The posterior without blocks, times the density of the observed numbers, by class.
    rest, log_p = rest_of(model), block_log_density(model, codes)
    weights = np.exp(log_p - log_p.max(axis=1, keepdims=True))
    with_root = [(*(v for v in group if v != rest.root), rest.root) for group in groups]
    numbered = [[rest.number[v] for v in group] for group in with_root]
    posteriors = []
    for group, order, joint in zip(
        groups, with_root, posterior(rest.model, codes[:, rest.columns], numbered), strict=True
    ):
        p = joint * weights.reshape(len(codes), *[1] * (joint.ndim - 2), -1)
        total = p.reshape(len(codes), -1).sum(axis=1).reshape(-1, *[1] * (joint.ndim - 1))
        p = p / np.where(total > 0, total, 1.0)
        if rest.root in group:
            p = np.transpose(p, [0, *(1 + order.index(v) for v in group)])
        else:
            p = p.sum(axis=-1)
        posteriors.append(p)
    return posteriors


def marginal(model: Model, variables: Sequence[int]) -> FloatArray:
    """Joint distribution of some variables without evidence."""
    nothing = np.full((1, len(model.network.observed)), -1, dtype=np.int32)
    joint: FloatArray = posterior(model, nothing, [variables])[0][0]
    return joint


def _check_size(network: Network, rows: int, groups: Sequence[Sequence[int]]) -> None:
    """Refuse a joint posterior that would not fit into memory, before allocating it."""
    for group in groups:
        variables = [network.variables[v] for v in group]
        cells = math.prod(len(v.states) for v in variables)
        if rows * cells > LARGEST:
            names = ", ".join(f"'{v.name}' ({len(v.states)})" for v in variables)
            each = "" if rows == 1 else f" for each of {rows:,} rows"
            raise ModelError(
                f"the joint distribution of {names} has {cells:,} numbers{each}, "
                f"{8 * rows * cells / 2**30:,.1f} GiB in all; at most {LARGEST:,} numbers are "
                "allowed. Ask for fewer variables at once"
                + (", or for their most probable states." if rows == 1 else ", or fewer rows.")
            )
