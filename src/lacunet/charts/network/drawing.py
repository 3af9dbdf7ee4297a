"""What is drawn of a network, in pixels from the upper left corner."""

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Self, TypeAlias

Point: TypeAlias = tuple[float, float]
Curve: TypeAlias = tuple[Point, ...]  # a start, and three points for each cubic Bézier piece

HEAD = 8.0  # length of an arrow's head
HEAD_WIDTH = 3.2  # half its width


@dataclass(frozen=True)
class Box:
    """One variable."""

    variable: int  # its index in the network
    lines: tuple[str, ...]  # its name, as far as there is room
    x: float  # of the middle, as y
    y: float
    width: float
    height: float
    hidden: bool

    @property
    def left(self) -> float:
        """The left edge."""
        return self.x - self.width / 2

    @property
    def top(self) -> float:
        """The upper edge."""
        return self.y - self.height / 2


@dataclass(frozen=True)
class Arrow:
    """One edge."""

    parent: int  # indices of variables
    child: int
    curve: Curve  # to where the head begins
    tip: Point  # on the border of the child's box
    certainty: float | None = None  # probability of the edge, where it is known
    turns: bool = False  # whether it may as well point the other way

    def moved(self, right: float) -> Self:
        """Give the same further to the right."""
        curve = tuple((x + right, y) for x, y in self.curve)
        return replace(self, curve=curve, tip=(self.tip[0] + right, self.tip[1]))

    @property
    def head(self) -> tuple[Point, Point, Point]:
        """The corners of its head: the tip first."""
        (x, y), (u, v) = self.tip, self.curve[-1]
        length = math.hypot(x - u, y - v) or 1.0
        dx, dy = HEAD_WIDTH * (x - u) / length, HEAD_WIDTH * (y - v) / length
        return (x, y), (u - dy, v + dx), (u + dy, v - dx)


@dataclass(frozen=True)
class Drawing:
    """Boxes and arrows of a network, and the lines that arrows share."""

    width: float
    height: float
    boxes: tuple[Box, ...]  # one for each variable, line by line
    arrows: tuple[Arrow, ...]  # one for each edge
    trunks: tuple[Curve, ...] = ()


def line(*points: Point) -> Curve:
    """Write straight lines from point to point as a curve."""
    curve = [points[0]]
    for a, b in pairwise(points):
        curve += [_between(a, b, 1 / 3), _between(a, b, 2 / 3), b]
    return tuple(curve)


def _between(a: Point, b: Point, share: float) -> Point:
    return a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1])
