"""Rows of latent classes with numbers that vary together: what they show of each block, by class.

A block is no product of cells. What a row shows of it is evidence about the class, and nothing else
is: so the rest of the model is asked without it, and its answers are weighed by these densities.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from lacunet.inference.plans.decompose import hole_patterns
from lacunet.likelihoods.joint_normal import BlockSpread, draw_student
from lacunet.model.joint import members, table_of
from lacunet.model.network import Model, Network
from lacunet.runtime.arrays import CodeArray, FloatArray, IntArray


class Rest(NamedTuple):
    """A model without its blocks."""

    model: Model
    columns: list[int]  # which columns of rows it knows
    number: dict[int, int]  # the new number of each variable that is left
    root: int  # of the classes, in the model with blocks


class Pattern(NamedTuple):
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


def rest_of(model: Model) -> Rest:
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
    return Rest(model.moved(smaller, some), columns, number, root)


def patterns(network: Network, block: list[int], codes: CodeArray) -> Iterator[Pattern]:
    """Rows by which numbers of a block they show."""
    columns = [network.observed.index(i) for i in block]
    own = codes[:, columns]
    holes, which = hole_patterns(own)
    for k, hole in enumerate(holes):
        rows, shown = np.flatnonzero(which == k), np.flatnonzero(~hole)
        x = [np.asarray(network.variables[block[a]].values)[own[rows, a]] for a in shown]
        values = np.stack(x, axis=1) if x else np.zeros((len(rows), 0))
        yield Pattern(rows, values, shown, np.flatnonzero(hole))


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
