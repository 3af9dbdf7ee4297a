"""In which order to add components, so that few count vectors are held at a time.

As soon as no component that is left touches a place, its factor is multiplied in and the place is
forgotten ("closed"), if that makes fewer vectors. How many there will be is known well enough
beforehand. They are sums of whole multiples, 0 to w, of a few directions v, and so lie in a box of
their largest counts, and in a zonotope, which has Σ_S Π w · gcd(minors of S) points over its
independent sets S of directions: at most det(I + Σ w v vᵀ), by Cauchy and Binet.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lacunet.inference.sums.blocks import SumBlock, SumPart
from lacunet.inference.sums.packing import differences, independent, symmetric_states
from lacunet.inference.symmetry import log_orders
from lacunet.runtime.arrays import BoolArray, IntArray

WAYS_AT_ONCE = 256  # ways to complete a component, beyond which its cases are taken in halves
LARGEST_LOG = 700.0  # of a float


@dataclass(frozen=True, eq=False)
class Order:
    """Components of a block, in the order in which they are added."""

    parts: tuple[SumPart, ...]
    closing: tuple[bool, ...]  # whether places are closed after each
    states: IntArray | None  # see `packing.symmetric_states`
    steps: float  # additions to a count vector: at most, or about, where states are symmetric


def order_parts(block: SumBlock, room: Callable[[int], int]) -> Order | None:
    """Choose what to add last, then what before it, and so on: what leaves the fewest vectors.

    None, if there may have to be more vectors than there is `room` for: room(W) of W integers.
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
    # What was found for a component is whether to close before it.
    after_each = (*reversed(closing[:-1]), False)
    return Order(tuple(reversed(order)), after_each, states, steps)


def planning_work(block: SumBlock) -> float:
    """Multiplications that it takes to choose one component: a determinant without each."""
    directions = sum(len(part.cells) - 1 for part in block.parts)
    places = int(np.count_nonzero(block.most(block.parts)))
    return float(len(block.parts) * directions * places**2)


def _portions(part: SumPart) -> list[SumPart]:
    """Take many cases in two halves: fewer ways to complete each, and the same in the end."""
    if part.count == 1 or len(part.cells) == 2 or part.ways <= WAYS_AT_ONCE:
        return [part]
    half = part.count // 2
    return [q for n in (half, part.count - half) for q in _portions(replace(part, count=n))]


def _vectors(
    block: SumBlock, parts: Sequence[SumPart], later: BoolArray, enough: float
) -> tuple[float, bool]:
    """Bound the vectors that some components leave, and say whether to close places for that.

    `later` are the places that other components touch. More than `enough` is too many, however
    many there are.
    """
    if not parts:
        return 1.0, False
    rows, most = differences(parts), block.most(parts)
    counts = np.repeat([p.count for p in parts], [len(p.cells) - 1 for p in parts])
    in_all = math.exp(min(LARGEST_LOG, sum(p.log_ways for p in parts)))
    kept = min(in_all, _points(rows, counts, most, enough))
    if later[most > 0].all():
        return kept, False
    live = min(in_all, _points(rows[:, later], counts, most[later], enough))
    return (live, True) if live < kept else (kept, False)


def _points(rows: IntArray, counts: IntArray, most: IntArray, enough: float) -> float:
    """Bound the points of a zonotope, its directions being rows; stop beyond `enough`."""
    box, chosen = 1.0, []
    for place in independent(rows, most):
        chosen.append(place)
        box *= float(most[place] + 1)
        # The determinant grows with every place, too. It takes longer, so look now and then only.
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
    """Estimate the vectors of K states that can be renumbered.

    K − 1 states are free. Each takes from what the others leave: of all combinations about one in
    (K − 1)! for every independent place is possible (triangles, not squares); and nearly all have
    K! copies that are one.
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
