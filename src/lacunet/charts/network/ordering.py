"""The order of boxes within layers that lets few edges cross: weighted medians and exchanges.

Gansner, Koutsofios, North and Vo (1993), A technique for drawing directed graphs, section 3.
"""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise

SWEEPS = 24  # at most, down and up in turn
PATIENCE = 6  # sweeps without fewer crossings, after which the search ends

Layers = list[list[int]]
Neighbours = Sequence[Sequence[int]]


def order_layers(layers: Layers, above: Neighbours, below: Neighbours) -> Layers:
    """Order the nodes of each layer; neighbours are in the layers directly above and below."""
    layers = _connected_order(layers, above, below)
    best, fewest, idle = [list(layer) for layer in layers], _crossings(layers, below), 0
    for sweep in range(SWEEPS):
        if not fewest or idle == PATIENCE:
            break
        _sort_by_medians(layers, above, below, down=sweep % 2 == 0)
        _exchange(layers, above, below)
        crossings = _crossings(layers, below)
        idle += 1
        if crossings < fewest:
            best, fewest, idle = [list(layer) for layer in layers], crossings, 0
    return best


def _connected_order(layers: Layers, above: Neighbours, below: Neighbours) -> Layers:
    """Number nodes depth first, so that a tree has no crossings from the start."""
    seen: dict[int, int] = {}
    for root in (i for layer in layers for i in layer):
        waiting = [root]
        while waiting:
            i = waiting.pop()
            if i not in seen:
                seen[i] = len(seen)
                waiting += [*reversed(above[i]), *reversed(below[i])]
    return [sorted(layer, key=seen.__getitem__) for layer in layers]


def _positions(layers: Layers) -> dict[int, int]:
    return {i: at for layer in layers for at, i in enumerate(layer)}


def _crossings(layers: Layers, below: Neighbours) -> int:
    """Count crossings: pairs of edges between two layers whose ends are in opposite orders."""
    at, total = _positions(layers), 0
    for layer in layers:
        ends: list[int] = []  # sorted, of the edges so far
        for i in layer:
            own = sorted(at[j] for j in below[i])
            total += sum(len(ends) - bisect_left(ends, end + 1) for end in own)
            for end in own:
                ends.insert(bisect_left(ends, end), end)
    return total


def _sort_by_medians(layers: Layers, above: Neighbours, below: Neighbours, down: bool) -> None:
    """Sort each layer by the medians of its neighbours in the layer before it."""
    fixed = above if down else below
    at = _positions(layers)
    for layer in layers if down else reversed(layers):
        medians = {i: _median([at[j] for j in fixed[i]]) for i in layer if fixed[i]}
        ranked = iter(sorted(medians, key=medians.__getitem__))
        layer[:] = [next(ranked) if i in medians else i for i in layer]  # the others stay
        at.update({i: k for k, i in enumerate(layer)})


def _median(places: list[int]) -> float:
    """Give the median; between two middle ones, nearer to the side that is more crowded."""
    places.sort()
    half = len(places) // 2
    if len(places) % 2:
        return places[half]
    left, right = places[half - 1] - places[0], places[-1] - places[half]
    if left + right == 0:
        return (places[half - 1] + places[half]) / 2
    return (places[half - 1] * right + places[half] * left) / (left + right)


def _exchange(layers: Layers, above: Neighbours, below: Neighbours) -> None:
    """Exchange nodes that stand side by side while that removes crossings."""
    at = _positions(layers)
    active = set(range(len(layers)))
    while active:
        k = min(active)
        active.discard(k)
        layer, changed = layers[k], False
        for left in range(len(layer) - 1):
            i, j = layer[left], layer[left + 1]
            if _gain(at, above, i, j) + _gain(at, below, i, j) > 0:
                layer[left], layer[left + 1] = j, i
                at[i], at[j] = left + 1, left
                changed = True
        if changed:
            active |= {m for m in (k - 1, k, k + 1) if 0 <= m < len(layers)}


def _gain(at: dict[int, int], near: Neighbours, i: int, j: int) -> int:
    """Count the crossings that go, less those that come, when i and j change places."""
    if len(near[i]) == len(near[j]) == 1:  # most are bends of long edges
        a, b = at[near[i][0]], at[near[j][0]]
        return (a > b) - (a < b)
    lefts, rights = [at[a] for a in near[i]], [at[b] for b in near[j]]
    return sum((a > b) - (a < b) for a in lefts for b in rights)


def neighbours_of(count: int, edges: Sequence[tuple[int, int]]) -> tuple[Neighbours, Neighbours]:
    """Give for each node those above it, and those below it."""
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    for i, j in edges:
        below[i].append(j)
        above[j].append(i)
    return above, below


def side_by_side(layers: Layers) -> list[tuple[int, int]]:
    """Give the pairs that stand side by side."""
    return [pair for layer in layers for pair in pairwise(layer)]
