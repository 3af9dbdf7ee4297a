"""Layout of the boxes and arrows of a network.

If many leaves of one parent are too wide side by side, they form a fan: columns below the parent. A
trunk runs along the upper edge of this block and down beside each column, with a short arrow to
each leaf. Isolated variables form a fan without a trunk.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from lacunet.errors import OptionError
from lacunet.models.network import Network
from lacunet.plots.graph_layout.drawing import (
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
from lacunet.plots.graph_layout.layered import (
    ACROSS,
    DOWN,
    DOWN_CLOSE,
    Direction,
    GraphLink,
    Size,
    place,
)

FEWEST = 4  # least leaves of a fan
DROP = 26.0  # pixels from the trunk beside a column to its boxes
APART = 14.0  # pixels between columns
GAP = 9.0  # pixels between boxes of a column
ABOVE = 16.0  # pixels from the upper edge to the first boxes

Edge: TypeAlias = tuple[int, int]  # parent and child
Certainty: TypeAlias = Mapping[tuple[str, str], float]  # of edges, by parent and child
# Layouts in order of preference: whether leaves form fans, and the direction of layers.
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

    Layers run from top to bottom. If that is wider than `room`, boxes move closer together, leaves
    form fans, or layers run from left to right. The first layout that fits is used, else the
    narrowest one. `certainty` has probabilities of edges, by (parent, child). If `compelled` is
    given, edges missing from it are reversible.
    """
    chances = _checked(network, certainty or {})
    names = [v.name for v in network.variables]
    fans = find_fans(network.parents)
    tried: list[Drawing] = []
    for gathered, direction in WAYS:
        if gathered and not fans:
            continue
        plan = _Plan(network, fans if gathered else {}, room, direction)
        tried.append(plan.drawing)
        if tried[-1].width <= room:
            break
    best = tried[-1] if tried[-1].width <= room else min(tried, key=lambda one: one.width)
    arrows = (
        replace(
            arrow,
            certainty=chances.get((arrow.parent, arrow.child)),
            turns=compelled is not None
            and (names[arrow.parent], names[arrow.child]) not in compelled,
        )
        for arrow in best.arrows
    )
    return replace(best, arrows=tuple(arrows))


def _checked(network: Network, certainty: Certainty) -> dict[Edge, float]:
    """Return the probabilities by indices of parent and child, after checks."""
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


def find_fans(parents: Sequence[Sequence[int]]) -> dict[int | None, tuple[int, ...]]:
    """Return the leaves of each variable with several; a leaf has at most one parent."""
    with_children = {p for pa in parents for p in pa}
    leaves: dict[int | None, list[int]] = {}
    for i, pa in enumerate(parents):
        if len(pa) <= 1 and i not in with_children:
            leaves.setdefault(pa[0] if pa else None, []).append(i)
    return {p: tuple(children) for p, children in leaves.items() if len(children) >= FEWEST}


@dataclass(frozen=True)
class Fan:
    """The leaves of one parent in columns; positions are relative to the upper left corner."""

    parent: int | None  # None: isolated variables
    width: float
    height: float
    middles: Mapping[int, Point]  # of each leaf
    drops: Mapping[int, float]  # x of the trunk beside each leaf

    def trunk(self, corner: Point, start: Point) -> list[Curve]:
        """Return the lines shared by the arrows, which begin at the end of the parent's line."""
        left, top = corner
        lowest = {left + self.drops[i]: top + y for i, (_, y) in self.middles.items()}  # the last
        xs = sorted(lowest)
        across = line((min(xs[0], start[0]), top), (max(xs[-1], start[0]), top))
        return [across, *(line((x, top), (x, lowest[x])) for x in xs)]

    def branch(self, leaf: int, corner: Point, width: float) -> tuple[Curve, Point]:
        """Return the arrow of a leaf, from the trunk to its box of a given width."""
        left, top = corner
        x, y = self.middles[leaf]
        tip = (left + x - width / 2, top + y)
        return line((left + self.drops[leaf], top + y), (tip[0] - HEAD, tip[1])), tip


def gather(parent: int | None, leaves: Sequence[int], sizes: Sequence[Size], room: float) -> Fan:
    """Arrange leaves in as many columns as fit, of about equal length."""
    drop = 0.0 if parent is None else DROP
    width = max(sizes[i][0] for i in leaves)
    most = max(1, int((room + APART) // (width + drop + APART)))
    rows = -(-len(leaves) // most)
    middles: dict[int, Point] = {}
    drops: dict[int, float] = {}
    x, height = 0.0, 0.0
    for k in range(0, len(leaves), rows):
        column, y = leaves[k : k + rows], ABOVE
        for i in column:
            middles[i] = (x + drop + sizes[i][0] / 2, y + sizes[i][1] / 2)
            drops[i] = x
            y += sizes[i][1] + GAP
        x += drop + max(sizes[i][0] for i in column) + APART
        height = max(height, y - GAP)
    return Fan(parent, x - APART, height, middles, drops)


class _Plan:
    """One layout of a network: single boxes and fans in layers, isolated variables below."""

    def __init__(
        self,
        network: Network,
        fans: Mapping[int | None, Sequence[int]],
        room: float,
        direction: Direction,
    ) -> None:
        lines = [name_lines(v.name) for v in network.variables]
        self.sizes = [box_size(text) for text in lines]
        self.middles: dict[int, Point] = {}
        self.arrows: dict[Edge, Arrow] = {}
        self.trunks: list[Curve] = []
        fans_of_parents = {p: leaves for p, leaves in fans.items() if p is not None}
        self._place(
            network,
            [
                gather(p, leaves, self.sizes, room / len(fans_of_parents))
                for p, leaves in fans_of_parents.items()
            ],
            {i for leaves in fans.values() for i in leaves},
            room,
            direction,
        )
        if None in fans:
            self._put_below(gather(None, fans[None], self.sizes, room))
        boxes = [
            Box(i, lines[i], *self.middles[i], *self.sizes[i], variable.hidden)
            for i, variable in enumerate(network.variables)
        ]
        boxes.sort(key=lambda box: (box.y, box.x))  # reading order, for keyboard navigation
        edges = [(p, i) for i, pa in enumerate(network.parents) for p in pa]
        arrows = tuple(self.arrows[edge] for edge in edges)
        trunks = tuple(self.trunks)
        self.drawing = Drawing(self.width, self.height, tuple(boxes), arrows, trunks)

    def _place(
        self,
        network: Network,
        blocks: Sequence[Fan],
        gathered: Collection[int],
        room: float,
        direction: Direction,
    ) -> None:
        """Place single boxes, and each fan as one box."""
        single = [i for i in network.order if i not in gathered]
        at = {i: k for k, i in enumerate(single)}
        edges = [(p, i) for i in single for p in network.parents[i]]
        inner = {p for pa in network.parents for p in pa}
        links = [GraphLink(at[p], at[i], firm=i in inner) for p, i in edges]
        for k, block in enumerate(blocks, start=len(single)):
            assert block.parent is not None
            links.append(GraphLink(at[block.parent], k, from_above=True))
        shapes = [*(self.sizes[i] for i in single), *((b.width, b.height) for b in blocks)]
        placed = place(shapes, links, direction, room)
        self.width, self.height = placed.width, placed.height
        self.middles |= {i: placed.middles[k] for i, k in at.items()}
        for k, edge in enumerate(edges):
            self.arrows[edge] = Arrow(*edge, *placed.routes[k])
        for k, block in enumerate(blocks):
            stem, _ = placed.routes[len(edges) + k]
            corner = self._put(block, placed.middles[len(single) + k])
            self.trunks += [stem, *block.trunk(corner, stem[-1])]

    def _put(self, fan: Fan, middle: Point) -> Point:
        """Place the leaves of a fan around its middle; return its upper left corner."""
        left, top = middle[0] - fan.width / 2, middle[1] - fan.height / 2
        for leaf, (x, y) in fan.middles.items():
            self.middles[leaf] = (left + x, top + y)
            if fan.parent is not None:
                way = fan.branch(leaf, (left, top), self.sizes[leaf][0])
                self.arrows[fan.parent, leaf] = Arrow(fan.parent, leaf, *way)
        return left, top

    def _put_below(self, fan: Fan) -> None:
        """Place a fan centrally below the drawing."""
        wider = max(0.0, fan.width - self.width)
        self.middles = {i: (x + wider / 2, y) for i, (x, y) in self.middles.items()}
        self.arrows = {edge: arrow.moved(wider / 2) for edge, arrow in self.arrows.items()}
        self.trunks = [tuple((x + wider / 2, y) for x, y in curve) for curve in self.trunks]
        self.width += wider
        self._put(fan, (self.width / 2, self.height + fan.height / 2))
        self.height += fan.height
