"""Elements of the drawing of a network, in pixels from the upper left corner; sizes of labels."""

import math
import re
import unicodedata
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Self, TypeAlias

from lacunet.data.discover import shorten
from lacunet.plots.style import TEXT

Point: TypeAlias = tuple[float, float]
Curve: TypeAlias = tuple[Point, ...]  # a start, and three points for each cubic Bézier piece

CORNER = 5.0  # radius of the corners of a box
HEAD = 8.0  # length of an arrow's head
HEAD_WIDTH = 3.2  # half its width


@dataclass(frozen=True)
class Box:
    """One variable."""

    variable: int  # its index in the network
    lines: tuple[str, ...]  # its name, possibly truncated
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
    curve: Curve  # up to the arrowhead
    tip: Point  # on the border of the child's box
    certainty: float | None = None  # probability of the edge, if given
    turns: bool = False  # whether the edge is reversible

    def moved(self, right: float) -> Self:
        """Return the arrow shifted to the right."""
        curve = tuple((x + right, y) for x, y in self.curve)
        return replace(self, curve=curve, tip=(self.tip[0] + right, self.tip[1]))

    @property
    def head(self) -> tuple[Point, Point, Point]:
        """The corners of the arrowhead, starting with the tip."""
        (x, y), (u, v) = self.tip, self.curve[-1]
        length = math.hypot(x - u, y - v) or 1.0
        dx, dy = HEAD_WIDTH * (x - u) / length, HEAD_WIDTH * (y - v) / length
        return (x, y), (u - dy, v + dx), (u + dy, v - dx)


@dataclass(frozen=True)
class Drawing:
    """Boxes and arrows of a network, and the trunks shared by arrows."""

    width: float
    height: float
    boxes: tuple[Box, ...]  # one for each variable, in reading order
    arrows: tuple[Arrow, ...]  # one for each edge
    trunks: tuple[Curve, ...] = ()


def line(*points: Point) -> Curve:
    """Return a polyline as a Bézier curve."""
    curve = [points[0]]
    for a, b in pairwise(points):
        curve += [_interpolated(a, b, 1 / 3), _interpolated(a, b, 2 / 3), b]
    return tuple(curve)


def _interpolated(a: Point, b: Point, share: float) -> Point:
    return a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1])


LINE = 16  # characters of a name that is never broken
LONGEST = 22  # most characters of a line
LINES = 3
LEADING = 1.25  # line height, relative to the text size
BESIDE, ABOVE = 9.0, 6.0  # pixels between a name and its box

# Widths of characters, relative to the text size.
NARROW = dict.fromkeys("iljI.,:;'|!", 0.33) | dict.fromkeys('ftr()[]{}/\\- "*', 0.42)
WIDE = dict.fromkeys("mMwW@%", 0.99)
CAPITAL, OTHER, IDEOGRAPH = 0.72, 0.63, 1.0
# Break points of a name: after a separator, and between a lower-case and an upper-case letter.
BREAK = re.compile(r"(?<=[\s_\-./:])|(?<=[a-z0-9])(?=[A-Z])")


def text_width(text: str, size: float = TEXT) -> float:
    """Estimate the width of a text, in pixels.

    >>> text_width("mm") > text_width("ii"), text_width("雪") == TEXT
    (True, True)
    """
    return size * sum(map(_width, text))


def _width(char: str) -> float:
    known = NARROW.get(char) or WIDE.get(char)
    if known:
        return known
    if unicodedata.combining(char):
        return 0.0
    if unicodedata.east_asian_width(char) in "WF":
        return IDEOGRAPH
    return CAPITAL if char.isupper() else OTHER


def name_lines(name: str) -> tuple[str, ...]:
    """Break a name into lines, and truncate what does not fit.

    >>> name_lines("dyspnoea"), name_lines("history_of_smoking"), name_lines("LowerBodyOxygenation")
    (('dyspnoea',), ('history_of_', 'smoking'), ('LowerBody', 'Oxygenation'))
    """
    name = " ".join(name.split()) or " "
    if len(name) <= LINE:
        return (name,)
    lines = [""]
    for piece in BREAK.split(name):
        if lines[-1] and len((lines[-1] + piece).rstrip()) > LINE:
            lines.append("")
        lines[-1] += piece
    if len(lines) > LINES:
        lines[LINES - 1 :] = ["".join(lines[LINES - 1 :])]
    return tuple(shorten(text.strip(), LONGEST) for text in lines)


def box_size(lines: tuple[str, ...]) -> tuple[float, float]:
    """Return the width and height of the box around a name."""
    width = max(text_width(text) for text in lines)
    return max(width, 2 * TEXT) + 2 * BESIDE, LEADING * TEXT * len(lines) + 2 * ABOVE
