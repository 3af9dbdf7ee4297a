"""Many leaves of one parent, gathered in columns below it: side by side they would be too wide.

A trunk runs along the upper edge of such a block and down beside each column; from there a short
arrow leads to each leaf. Variables without any edge are gathered in the same way, without a trunk.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from lacunet.charts.network.drawing import HEAD, Curve, Point, line

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
