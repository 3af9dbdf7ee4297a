"""Choose an order of components that keeps the number of count vectors small.

A place is *closed* when no later component touches it, if that leaves fewer vectors: its factor is
multiplied in, and its count is dropped. The number of vectors can be bounded in advance. They are
sums of integer multiples, 0 to w, of a few directions v, so they lie in a box of their largest
counts and in a zonotope. The zonotope has Σ_S Π w · gcd(minors of S) points over independent sets S
of directions: at most det(I + Σ w v vᵀ), by Cauchy and Binet.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lacunet.inference.sums.blocks import SumBlock, SumPart
from lacunet.inference.sums.packing import differences, independent, symmetric_states
from lacunet.inference.symmetry import log_orders
from lacunet.runtime.arrays import BoolArray, IntArray

WAYS_AT_ONCE = 256  # completions of a component above which its cases are halved
LARGEST_LOG = 700.0  # log of a large finite float


@dataclass(frozen=True, eq=False)
class Order:
    """Components of a block, in the order in which they are added."""

    parts: tuple[SumPart, ...]
    closing: tuple[bool, ...]  # whether places are closed after each
    states: IntArray | None  # see `packing.symmetric_states`
    steps: float  # additions to count vectors: an upper bound, or an estimate for symmetric states


def order_parts(block: SumBlock, room: Callable[[int], int]) -> Order | None:
    """Choose greedily, from the last component to the first, to leave the fewest vectors.

    None if the vectors may not fit: `room`(W) is the largest number of vectors of W integers.
    """
    states = symmetric_states(block)
    most_vectors = room(1 if states is None else len(states))
    left = [portion for part in block.parts for portion in _portions(part)]
    order: list[SumPart] = []
    closing: list[bool] = []
    steps = 0.0
    while left:
        best = (math.inf, 0, -1, False)
        for i, part in enumerate(left):
            before = left[:i] + left[i + 1 :]
            if states is None:
                later = np.any([p.touched for p in (part, *order)], axis=0)
                vectors, close = _vectors(block, before, later, most_vectors)
            else:
                vectors, close = _symmetric_vectors(before, states), False
            best = min(best, (vectors, -part.ways, i, close))
        vectors, _, i, close = best
        if vectors > most_vectors:
            return None
        steps += vectors * left[i].ways
        closing.append(close)
        order.append(left.pop(i))
    # `closing` says whether to close before each component.
    after_each = (*reversed(closing[:-1]), False)
    return Order(tuple(reversed(order)), after_each, states, steps)


def planning_work(block: SumBlock) -> float:
    """Multiplications to choose one component: a determinant without each."""
    directions = sum(len(part.cells) - 1 for part in block.parts)
    places = int(np.count_nonzero(block.most(block.parts)))
    return float(len(block.parts) * directions * places**2)


def _portions(part: SumPart) -> list[SumPart]:
    """Halve components with many completions; the sum over both halves is the same."""
    if part.count == 1 or len(part.cells) == 2 or part.ways <= WAYS_AT_ONCE:
        return [part]
    half = part.count // 2
    return [q for n in (half, part.count - half) for q in _portions(replace(part, count=n))]


def _vectors(
    block: SumBlock, parts: Sequence[SumPart], later: BoolArray, enough: float
) -> tuple[float, bool]:
    """Bound the count vectors of some components; also whether closing places gives the bound.

    `later` are the places that other components touch. Bounds above `enough` need not be tight.
    """
    if not parts:
        return 1.0, False
    rows, most = differences(parts), block.most(parts)
    counts = np.repeat([p.count for p in parts], [len(p.cells) - 1 for p in parts])
    in_all = math.exp(min(LARGEST_LOG, sum(p.log_ways for p in parts)))
    points = min(in_all, _points(rows, counts, most, enough))
    if later[most > 0].all():
        return points, False
    live = min(in_all, _points(rows[:, later], counts, most[later], enough))
    return (live, True) if live < points else (points, False)


def _points(rows: IntArray, counts: IntArray, most: IntArray, enough: float) -> float:
    """Bound the points of a zonotope with directions `rows`; stop beyond `enough`."""
    box, chosen = 1.0, []
    for place in independent(rows, most):
        chosen.append(place)
        box *= float(most[place] + 1)
        # The determinant also grows with every place, but is slow: check it every eighth time.
        if box > enough and len(chosen) % 8 == 0:
            points = _points_of(rows[:, chosen], counts)
            if points > enough:
                return points
    return min(box, _points_of(rows[:, chosen], counts))


def _log_points(rows: IntArray, counts: IntArray) -> float:
    """Log det(I + Σ w v vᵀ)."""
    gram = rows.T @ (counts[:, None] * rows)
    return float(np.linalg.slogdet(np.eye(len(gram)) + gram)[1])


def _points_of(rows: IntArray, counts: IntArray) -> float:
    return math.exp(min(LARGEST_LOG, _log_points(rows, counts)))


def _symmetric_vectors(parts: Sequence[SumPart], states: IntArray) -> float:
    """Estimate the count vectors of K exchangeable states.

    K − 1 states are free. Each is limited by the others, so about one in (K − 1)! combinations is
    possible for every independent place. Nearly all vectors have K! copies, which are merged.
    """
    if not parts:
        return 1.0
    K = len(states)
    rows = np.array([part.cells[0, states[0]] for part in parts])
    counts = np.array([part.count for part in parts])
    chosen = list(independent(rows, counts @ rows))
    log_points = (K - 1) * _log_points(rows[:, chosen], counts) - len(chosen) * log_orders(K - 1)
    log_vectors = min(log_points, sum(p.log_ways for p in parts)) - log_orders(K)
    return math.exp(min(LARGEST_LOG, max(0.0, log_vectors)))
