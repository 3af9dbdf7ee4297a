"""Many leaves of one parent, gathered in columns below it: side by side they would be too wide.

A trunk runs along the upper edge of such a block and down beside each column; from there a short
arrow leads to each leaf. Variables without any edge are gathered in the same way, without a trunk.

Where the boxes and arrows of a network go.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from lacunet.charts.network.drawing import (
    HEAD,
    Arrow,
    Box,
    Curve,
    Drawing,
    Point,
    box_size,
    line,
    name_lines,
)
from lacunet.charts.network.layered import ACROSS, DOWN, DOWN_CLOSE, Direction, Link, place
from lacunet.errors import OptionError
from lacunet.models.network import Network

FEWEST = 4  # leaves that are worth gathering
DROP = 26.0  # pixels from the trunk beside a column to its boxes
APART = 14.0  # pixels between columns
BETWEEN = 9.0  # pixels between boxes of a column
ABOVE = 16.0  # pixels from the upper edge to the first boxes

Size = tuple[float, float]


@dataclass(frozen=True)
class Fan:
    """The leaves of one parent, and where they are inside their block."""

    parent: int | None  # None: they have no edges
    leaves: tuple[int, ...]
    width: float
    height: float
    middles: tuple[Point, ...]  # of the leaves, from the block's upper left corner
    drops: tuple[float, ...]  # x of the trunk beside each leaf


def find_fans(parents: Sequence[Sequence[int]]) -> dict[int | None, tuple[int, ...]]:
    """Give the leaves of each variable that has several of its own; a leaf has no other parent."""
    with_children = {p for pa in parents for p in pa}
    leaves: dict[int | None, list[int]] = {}
    for i, pa in enumerate(parents):
        if len(pa) <= 1 and i not in with_children:
            leaves.setdefault(pa[0] if pa else None, []).append(i)
    return {p: tuple(own) for p, own in leaves.items() if len(own) >= FEWEST}


def gather(parent: int | None, leaves: Sequence[int], sizes: Sequence[Size], room: float) -> Fan:
    """Put leaves into as many columns as there is room for, all about equally long."""
    drop = 0.0 if parent is None else DROP
    width = max(sizes[i][0] for i in leaves)
    most = max(1, int((room + APART) // (width + drop + APART)))
    rows = -(-len(leaves) // most)
    columns = [leaves[k : k + rows] for k in range(0, len(leaves), rows)]
    middles: dict[int, Point] = {}
    drops: dict[int, float] = {}
    x, height = 0.0, 0.0
    for column in columns:
        wide = max(sizes[i][0] for i in column)
        y = ABOVE
        for i in column:
            middles[i] = (x + drop + sizes[i][0] / 2, y + sizes[i][1] / 2)
            drops[i] = x
            y += sizes[i][1] + BETWEEN
        x += drop + wide + APART
        height = max(height, y - BETWEEN)
    places = tuple(middles[i] for i in leaves)
    return Fan(parent, tuple(leaves), x - APART, height, places, tuple(drops[i] for i in leaves))


def trunk(fan: Fan, corner: Point, start: Point) -> list[Curve]:
    """Draw the lines that the arrows of a fan share, from where the parent's line ends."""
    left, top = corner
    xs = sorted({left + x for x in fan.drops})
    lowest = {
        left + drop: top + y  # the last of each column stays
        for drop, (_, y) in zip(fan.drops, fan.middles, strict=True)
    }
    across = line((min(xs[0], start[0]), top), (max(xs[-1], start[0]), top))
    return [across, *(line((x, top), (x, lowest[x])) for x in xs)]


def branch(fan: Fan, k: int, corner: Point, width: float) -> tuple[Curve, Point]:
    """Lead the k-th leaf's arrow from the trunk to its box of a given width."""
    left, top = corner
    x, y = fan.middles[k]
    tip = (left + x - width / 2, top + y)
    return line((left + fan.drops[k], top + y), (tip[0] - HEAD, tip[1])), tip


Edge: TypeAlias = tuple[int, int]  # parent and child
Certainty: TypeAlias = Mapping[tuple[str, str], float]  # of edges, by parent and child
# Ways to draw, the nicest first: whether leaves are gathered, and how layers run.
WAYS = (
    (False, DOWN),
    (False, DOWN_CLOSE),
    (True, DOWN),
    (True, DOWN_CLOSE),
    (False, ACROSS),
    (True, ACROSS),
)
ROOM = 880.0  # pixels: the width of the report


def draw(
    network: Network,
    certainty: Certainty | None = None,
    compelled: Collection[tuple[str, str]] | None = None,
    room: float = ROOM,
) -> Drawing:
    """Place every variable and every edge of a network.

    Layers run from top to bottom. Where that is wider than the room, boxes move closer together,
    leaves of one parent are gathered below it, or layers run from left to right: the first way that
    fits, or else the narrowest. `certainty` gives the probability of some edges, by the names of
    parent and child; `compelled`, if given, names those that cannot point the other way.
    """
    marks = _Marks(_checked(network, certainty or {}), _turning(network, compelled))
    fans = find_fans(network.parents)
    tried: list[Drawing] = []
    for gathered, direction in WAYS:
        if gathered and not fans:
            continue
        sketch = _Sketch(network, marks)
        sketch.fill(fans if gathered else {}, room, direction)
        tried.append(sketch.drawing())
        if tried[-1].width <= room:
            return tried[-1]
    return min(tried, key=lambda drawing: drawing.width)


@dataclass(frozen=True)
class _Marks:
    """What is known of edges."""

    chances: Mapping[Edge, float]
    turning: Collection[Edge]  # those that may as well point the other way


class _Sketch:
    """Where everything is, as far as it is known."""

    def __init__(self, network: Network, marks: _Marks) -> None:
        self.network, self.marks = network, marks
        self.lines = [name_lines(v.name) for v in network.variables]
        self.sizes = [box_size(text) for text in self.lines]
        self.width = self.height = 0.0
        self.middles: dict[int, Point] = {}
        self.arrows: dict[Edge, Arrow] = {}
        self.trunks: list[Curve] = []

    def fill(self, fans: Mapping[int | None, Sequence[int]], room: float, how: Direction) -> None:
        """Place single boxes, and each fan as one; what has no edges comes below."""
        loose = fans.get(None, ())
        own = {p: leaves for p, leaves in fans.items() if p is not None}
        blocks = {p: gather(p, leaves, self.sizes, room / len(own)) for p, leaves in own.items()}
        gathered = {*loose, *(i for leaves in own.values() for i in leaves)}
        single = [i for i in self.network.order if i not in gathered]
        at = {i: k for k, i in enumerate(single)}
        edges = [(p, i) for i in single for p in self.network.parents[i]]
        inner = {p for pa in self.network.parents for p in pa}
        links = [Link(at[p], at[i], firm=i in inner) for p, i in edges]
        links += [Link(at[p], len(single) + k, from_above=True) for k, p in enumerate(blocks)]
        shapes = [self.sizes[i] for i in single]
        shapes += [(block.width, block.height) for block in blocks.values()]
        found = place(shapes, links, how, room)
        self.width, self.height = found.width, found.height
        self.middles |= {i: found.middles[k] for i, k in at.items()}
        for k, edge in enumerate(edges):
            self._add(edge, found.curves[k], found.tips[k])
        for k, block in enumerate(blocks.values()):
            stem = found.curves[len(edges) + k]
            corner = self._put(block, found.middles[len(single) + k])
            self.trunks += [stem, *trunk(block, corner, stem[-1])]
        if loose:
            self._put_below(gather(None, loose, self.sizes, room))

    def _put(self, fan: Fan, middle: Point) -> Point:
        """Put the leaves of a fan where its block is; give the corner of the block."""
        left, top = middle[0] - fan.width / 2, middle[1] - fan.height / 2
        for k, (leaf, (x, y)) in enumerate(zip(fan.leaves, fan.middles, strict=True)):
            self.middles[leaf] = (left + x, top + y)
            if fan.parent is not None:
                width = self.sizes[leaf][0]
                self._add((fan.parent, leaf), *branch(fan, k, (left, top), width))
        return left, top

    def _put_below(self, fan: Fan) -> None:
        """Put a block under all that is there, in the middle."""
        wider = max(0.0, fan.width - self.width)
        self.middles = {i: (x + wider / 2, y) for i, (x, y) in self.middles.items()}
        self.arrows = {edge: arrow.moved(wider / 2) for edge, arrow in self.arrows.items()}
        self.trunks = [tuple((x + wider / 2, y) for x, y in curve) for curve in self.trunks]
        self.width += wider
        self._put(fan, (self.width / 2, self.height + fan.height / 2))
        self.height += fan.height

    def _add(self, edge: Edge, curve: Curve, tip: Point) -> None:
        chance, turns = self.marks.chances.get(edge), edge in self.marks.turning
        self.arrows[edge] = Arrow(*edge, curve, tip, chance, turns)

    def drawing(self) -> Drawing:
        """Give the whole, boxes as one reads: line by line, for those who step through them."""
        boxes = [
            Box(i, self.lines[i], *self.middles[i], *self.sizes[i], variable.hidden)
            for i, variable in enumerate(self.network.variables)
        ]
        boxes.sort(key=lambda box: (box.y, box.x))
        edges = [(p, i) for i, pa in enumerate(self.network.parents) for p in pa]
        arrows = tuple(self.arrows[edge] for edge in edges)
        return Drawing(self.width, self.height, tuple(boxes), arrows, tuple(self.trunks))


def _checked(network: Network, certainty: Certainty) -> dict[Edge, float]:
    """Give the probabilities of the network's edges; those of other pairs do not concern it."""
    index = {v.name: i for i, v in enumerate(network.variables)}
    known = {}
    for (parent, child), chance in certainty.items():
        for name in (parent, child):
            if name not in index:
                raise OptionError(f"certainty of '{parent}' → '{child}': no variable is '{name}'.")
        if not 0.0 <= chance <= 1.0:
            raise OptionError(
                f"certainty of '{parent}' → '{child}' is {chance}. A probability is in [0, 1]."
            )
        known[index[parent], index[child]] = chance
    return known


def _turning(network: Network, compelled: Collection[tuple[str, str]] | None) -> set[Edge]:
    if compelled is None:
        return set()
    names = [v.name for v in network.variables]
    edges = {(p, i) for i, pa in enumerate(network.parents) for p in pa}
    return {(p, i) for p, i in edges if (names[p], names[i]) not in compelled}
