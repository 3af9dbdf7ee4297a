"""Layered drawing of directed graphs (Sugiyama's method), with edges routed around boxes.

Coordinates within layers minimise Σ w_e sqrt(d_e² + ε²), d_e the sideways length of an edge, under
gaps between neighbours, by Newton's method with a logarithmic barrier. The limit ε → 0 is the
problem of Gansner et al. (1993, section 4), Σ w_e |d_e|. The barrier selects a central solution, so
symmetric graphs have symmetric drawings.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple, TypeAlias, cast

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import splu

from lacunet.plots.graph_layout.drawing import HEAD, Curve, Point, line
from lacunet.runtime.arrays import FloatArray, IntArray

WIDEST, FINEST = 128.0, 0.5  # pixels: first and last ε
STEPS = 6  # most Newton steps for each ε
CLOSE = 0.05  # pixels: a shorter step ends the iteration
BARRIER = 0.02  # weight of the barrier, relative to ε
ANCHOR = 1e-7  # weight of the quadratic term that fixes the translation


def straighten(
    edges: IntArray, weights: FloatArray, pairs: IntArray, gaps: FloatArray, start: FloatArray
) -> FloatArray:
    """Compute coordinates of nodes; ``edges`` and ``pairs`` (left, right) are (n, 2).

    ``start`` is strictly feasible: it exceeds every gap.
    """
    x, eps = start, WIDEST
    ends = np.concatenate([edges, pairs])
    rows, ones = np.arange(len(ends)), np.ones(len(ends))
    places = np.concatenate([rows, rows]), np.concatenate([ends[:, 1], ends[:, 0]])
    shape = len(ends), len(start)
    apart = sparse.csr_array((np.concatenate([ones, -ones]), places), shape=shape)
    while eps >= FINEST:
        for _ in range(STEPS):
            step = _newton(x, eps, apart, weights, gaps)
            x = x + step
            if np.abs(step).max() < CLOSE:
                break
        eps /= 2
    return x


def _newton(
    x: FloatArray, eps: float, differences: sparse.csr_array, weights: FloatArray, gaps: FloatArray
) -> FloatArray:
    """Compute a Newton step; ``differences`` has rows for edges, then for pairs."""
    lengths, slack = np.split(differences @ x, [len(weights)])
    slack = slack - gaps
    stiff, push = weights / np.hypot(lengths, eps), BARRIER * eps / slack
    gradient = differences.T @ np.concatenate([stiff * lengths, -push]) + ANCHOR * x
    # The curvature of reweighted least squares bounds the true one, so steps do not overshoot.
    curvature = sparse.diags_array(np.concatenate([stiff, push / slack]))
    H = differences.T @ curvature @ differences + ANCHOR * sparse.eye_array(len(x))
    step = splu(H.tocsc()).solve(-gradient)
    closing = -np.split(differences @ step, [len(weights)])[1]
    tight = closing > 0
    share = min(1.0, 0.9 * float(np.min(slack[tight] / closing[tight]))) if tight.any() else 1.0
    return share * step


SWEEPS = 24  # most sweeps of ordering, down and up in turn
PATIENCE = 6  # sweeps without improvement after which ordering ends

Layers: TypeAlias = list[list[int]]
Neighbours: TypeAlias = Sequence[Sequence[int]]


def order_layers(layers: Layers, above: Neighbours, below: Neighbours) -> Layers:
    """Order the nodes of each layer to reduce crossings; neighbours are in adjacent layers.

    Alternates weighted medians and exchanges (Gansner et al. 1993, section 3).
    """
    layers = _connected_order(layers, above, below)
    best, fewest, without_gain = [list(layer) for layer in layers], _crossings(layers, below), 0
    for sweep in range(SWEEPS):
        if not fewest or without_gain == PATIENCE:
            break
        _sort_by_medians(layers, above, below, down=sweep % 2 == 0)
        _swap(layers, above, below)
        crossings = _crossings(layers, below)
        without_gain += 1
        if crossings < fewest:
            best, fewest, without_gain = [list(layer) for layer in layers], crossings, 0
    return best


def _connected_order(layers: Layers, above: Neighbours, below: Neighbours) -> Layers:
    """Order nodes depth first, so that a tree has no crossings."""
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
    """Count crossings: pairs of edges between two layers with ends in opposite orders."""
    at, total = _positions(layers), 0
    for layer in layers:
        ends: list[int] = []  # of previous edges, sorted
        for i in layer:
            targets = sorted(at[j] for j in below[i])
            total += sum(len(ends) - bisect_left(ends, end + 1) for end in targets)
            ends = sorted([*ends, *targets])
    return total


def _sort_by_medians(layers: Layers, above: Neighbours, below: Neighbours, down: bool) -> None:
    """Sort each layer by the medians of its neighbours in the previous layer."""
    fixed = above if down else below
    at = _positions(layers)
    for layer in layers if down else reversed(layers):
        medians = {i: _median([at[j] for j in fixed[i]]) for i in layer if fixed[i]}
        ranked = iter(sorted(medians, key=medians.__getitem__))
        layer[:] = [next(ranked) if i in medians else i for i in layer]
        at.update({i: k for k, i in enumerate(layer)})


def _median(places: list[int]) -> float:
    """Return the weighted median: of two middle values, nearer to the more crowded side."""
    places.sort()
    half = len(places) // 2
    if len(places) % 2:
        return places[half]
    left, right = places[half - 1] - places[0], places[-1] - places[half]
    if left + right == 0:
        return (places[half - 1] + places[half]) / 2
    return (places[half - 1] * right + places[half] * left) / (left + right)


def _swap(layers: Layers, above: Neighbours, below: Neighbours) -> None:
    """Exchange neighbouring nodes while that removes crossings."""
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
    """Return the decrease in crossings if i and j change places."""
    if len(near[i]) == len(near[j]) == 1:  # most are bends of long edges
        a, b = at[near[i][0]], at[near[j][0]]
        return (a > b) - (a < b)
    lefts, rights = [at[a] for a in near[i]], [at[b] for b in near[j]]
    return sum((a > b) - (a < b) for a in lefts for b in rights)


FIRM = 3  # weight of a firm link, relative to another
STRAIGHT = (1, 2, 8)  # weights of link segments with no, one and two ends at bends
BEND = 2.0  # width of a link that crosses a layer, in pixels
BESIDE_BEND = 0.7  # gap beside a bend, relative to that between boxes
SPARE = 1.5  # initial gaps, relative to the least ones
SPREAD, FLAT = 0.4, 60.0  # largest offset of a port, in box widths; distance for half of it
SLOPE = 1 / 7  # distance of layers, relative to the widest link between them

Size: TypeAlias = tuple[float, float]


class Direction(NamedTuple):
    """The direction of the layers, and the distances within and between them."""

    across: bool  # from left to right, not from top to bottom
    within: float  # pixels between boxes of a layer
    gap: float  # least pixels between layers
    most: float = math.inf  # most pixels between layers


DOWN, DOWN_CLOSE = Direction(False, 18, 34), Direction(False, 10, 34)
ACROSS = Direction(True, 12, 26, 44)


class GraphLink(NamedTuple):
    """An edge to route from one box to another."""

    tail: int
    head: int
    firm: bool = False  # larger weight in the layout
    from_above: bool = False  # ends in the middle of the upper edge, without an arrowhead


class Places(NamedTuple):
    """Positions of boxes and links, in pixels, y down."""

    width: float
    height: float
    middles: dict[int, Point]  # of the boxes
    routes: dict[int, tuple[Curve, Point]]  # of the links: curve and tip


def place(
    sizes: Sequence[Size],
    links: Sequence[GraphLink],
    direction: Direction = DOWN,
    room: float = math.inf,
) -> Places:
    """Place boxes of given (width, height), and route the links, which must be acyclic.

    Connected components stand side by side, wrapped at the width `room` if layers run downwards.
    """
    if direction.across:
        sizes, room = [(height, width) for width, height in sizes], math.inf
    middles: dict[int, Point] = {}
    routes: dict[int, tuple[Curve, Point]] = {}
    left = top = width = height = 0.0
    for boxes, part_links in _components(len(sizes), links):
        at = {i: k for k, i in enumerate(boxes)}
        inner = [
            links[k]._replace(tail=at[links[k].tail], head=at[links[k].head]) for k in part_links
        ]
        part = _Part([sizes[i] for i in boxes], inner, direction)
        if left and left + part.width > room:
            left, top = 0.0, height + direction.gap
        part.shift(left, top)
        for k, i in enumerate(boxes):
            middles[i] = part.middle(k)
        for k, link, chain in zip(part_links, part.links, part.chains, strict=True):
            routes[k] = part.route(link, chain)
        width, height = max(width, left + part.width), max(height, top + part.height)
        left += part.width + direction.within
    if not direction.across:
        return Places(width, height, middles, routes)
    turned = {k: (tuple((y, x) for x, y in c), (v, u)) for k, (c, (u, v)) in routes.items()}
    return Places(height, width, {i: (y, x) for i, (x, y) in middles.items()}, turned)


def _components(count: int, links: Sequence[GraphLink]) -> list[tuple[list[int], list[int]]]:
    """Return the boxes and links of each connected component, ordered by first box."""
    ends = [link.tail for link in links], [link.head for link in links]
    graph = sparse.coo_array((np.ones(len(links)), ends), shape=(count, count))
    _, part = connected_components(graph, directed=False)
    parts: list[tuple[list[int], list[int]]] = [([], []) for _ in range(max(part) + 1)]
    for i, c in enumerate(part):
        parts[c][0].append(i)
    for k, tail in enumerate(ends[0]):
        parts[part[tail]][1].append(k)
    return parts


class _Part:
    """A connected graph in layers from top to bottom; long links become chains of bends."""

    def __init__(
        self, sizes: Sequence[Size], links: Sequence[GraphLink], direction: Direction
    ) -> None:
        self.boxes, self.sizes, self.links = len(sizes), list(sizes), links
        ranks = _ranks(len(sizes), links)
        self.layers: Layers = [[] for _ in range(max(ranks) + 1)]
        for i, rank in enumerate(ranks):
            self.layers[rank].append(i)
        self.chains = [self._chain(link, ranks) for link in links]
        above: list[list[int]] = [[] for _ in self.sizes]
        below: list[list[int]] = [[] for _ in self.sizes]
        for i, j in (edge for chain in self.chains for edge in pairwise(chain)):
            below[i].append(j)
            above[j].append(i)
        self.layers = order_layers(self.layers, above, below)
        self.x = self._coordinates(direction.within)
        reach = np.array([width / 2 for width, _ in self.sizes])
        self.x -= np.min(self.x - reach)
        self.width = float(np.max(self.x + reach))
        self.rank = {i: rank for rank, layer in enumerate(self.layers) for i in layer}
        self._stack(direction)

    def _chain(self, link: GraphLink, ranks: Sequence[int]) -> list[int]:
        """Add a bend in each layer between the ends of a link."""
        bends = []
        for rank in range(ranks[link.tail] + 1, ranks[link.head]):
            bends.append(len(self.sizes))
            self.sizes.append((BEND, 0.0))
            self.layers[rank].append(bends[-1])
        return [link.tail, *bends, link.head]

    def _coordinates(self, within: float) -> FloatArray:
        pieces = [
            (i, j, STRAIGHT[(i >= self.boxes) + (j >= self.boxes)] * (FIRM if link.firm else 1))
            for link, chain in zip(self.links, self.chains, strict=True)
            for i, j in pairwise(chain)
        ]
        pairs = [pair for layer in self.layers for pair in pairwise(layer)]
        apart = [
            (self.sizes[i][0] + self.sizes[j][0]) / 2
            + within * (BESIDE_BEND if max(i, j) >= self.boxes else 1.0)
            for i, j in pairs
        ]
        start = np.zeros(len(self.sizes))
        for (i, j), gap in zip(pairs, apart, strict=True):
            start[j] = start[i] + SPARE * gap
        for layer in self.layers:
            start[layer] -= start[layer].mean()
        ends = [(i, j) for i, j, _ in pieces]
        edges, neighbours = (np.array(x, dtype=int).reshape(-1, 2) for x in (ends, pairs))
        weights = np.array([weight for _, _, weight in pieces], dtype=float)
        return straighten(edges, weights, neighbours, np.array(apart), start)

    def _stack(self, direction: Direction) -> None:
        """Stack the layers; wider links increase the distance between layers."""
        widest = [0.0] * len(self.layers)
        for chain in self.chains:
            for i, j in pairwise(chain):
                rank = self.rank[i]
                widest[rank] = max(widest[rank], abs(self.x[j] - self.x[i]))
        self.bands: list[tuple[float, float]] = []  # top and bottom of each layer
        top = 0.0
        for layer, aside in zip(self.layers, widest, strict=True):
            bottom = top + max(self.sizes[i][1] for i in layer)
            self.bands.append((top, bottom))
            top = bottom + min(max(direction.gap, SLOPE * aside), direction.most)
        self.height = self.bands[-1][1]

    def middle(self, i: int) -> Point:
        """Return the middle of a box or bend."""
        return float(self.x[i]), sum(self.bands[self.rank[i]]) / 2

    def shift(self, right: float, down: float) -> None:
        """Shift the component."""
        self.x += right
        self.bands = [(top + down, bottom + down) for top, bottom in self.bands]

    def _port(self, i: int, other: int, side: int) -> Point:
        """Return the end point of a link at the lower (1) or upper (-1) edge of a box."""
        (x, y), (width, height) = self.middle(i), self.sizes[i]
        aside = float(self.x[other]) - x
        return x + SPREAD * width * aside / (abs(aside) + FLAT), y + side * height / 2

    def route(self, link: GraphLink, chain: Sequence[int]) -> tuple[Curve, Point]:
        """Route a link straight through layers, with curves between them: curve and tip."""
        start = self._port(chain[0], chain[1], 1)
        tip = self._port(chain[-1], chain[-2], -1)
        if link.from_above:
            tip = self.middle(chain[-1])[0], tip[1]
        leave = start[0], self.bands[self.rank[chain[0]]][1]
        curve = list(line(start, leave) if leave[1] - start[1] > 1 else (leave,))
        for i in chain[1:-1]:
            top, bottom = self.bands[self.rank[i]]
            x = float(self.x[i])
            curve += _bezier(curve[-1], (x, top), (len(curve) > 4, True))
            curve += line((x, top), (x, bottom))[1:]
        arrive = tip[0], self.bands[self.rank[chain[-1]]][0]
        upright = len(chain) > 2, tip[1] - arrive[1] > 1
        if link.from_above:
            return (*curve, *_bezier(curve[-1], arrive, upright), *line(arrive, tip)[1:]), tip
        before = arrive if upright[1] else curve[-1]
        head = HEAD / (math.dist(before, tip) or 1.0)  # the line ends at the arrowhead
        end = tip[0] - head * (tip[0] - before[0]), tip[1] - head * (tip[1] - before[1])
        curve += _bezier(curve[-1], end if end[1] < arrive[1] else arrive, upright)
        if end[1] > arrive[1]:
            curve += line(arrive, end)[1:]
        return tuple(curve), tip


def _bezier(start: Point, end: Point, upright: tuple[bool, bool]) -> Curve:
    """Return the Bézier piece from `start` to `end`, vertical at the ends marked `upright`."""
    (x, y), (u, v) = start, end
    first = (x, y + 0.6 * (v - y)) if upright[0] else (x + (u - x) / 3, y + (v - y) / 3)
    second = (u, v - 0.6 * (v - y)) if upright[1] else (u - (u - x) / 3, v - (v - y) / 3)
    return first, second, end


def _ranks(count: int, links: Sequence[GraphLink]) -> list[int]:
    """Choose layers that minimise link lengths, by a linear program with integral vertices."""
    if not links:
        return [0] * count
    from scipy.optimize import linprog

    tails, heads = (np.array(ends) for ends in zip(*((k.tail, k.head) for k in links), strict=True))
    weights = np.array([FIRM if link.firm else 1 for link in links])
    cost = np.bincount(heads, weights, count) - np.bincount(tails, weights, count)
    above = np.zeros((len(links), count))
    above[np.arange(len(links)), tails], above[np.arange(len(links)), heads] = 1.0, -1.0
    solution = linprog(cost, A_ub=above, b_ub=-np.ones(len(links)), method="highs-ds")
    ranks = np.rint(cast("FloatArray", solution.x)).astype(int)
    return [int(rank) for rank in ranks - ranks.min()]
