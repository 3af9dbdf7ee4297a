"""SVG as text, a few shapes at a time; everything that is put into it is escaped."""

from __future__ import annotations

import math
from html import escape

# Corners of the marks of a chart around (0, 0), so that curves differ in more than their colour.
MARKS = {
    "square": ((-1, -1), (1, -1), (1, 1), (-1, 1)),
    "triangle": ((0, -1.3), (1.2, 0.9), (-1.2, 0.9)),
    "diamond": ((0, -1.4), (1.4, 0), (0, 1.4), (-1.4, 0)),
    "down": ((0, 1.3), (1.2, -0.9), (-1.2, -0.9)),
}


def tag(name: str, *children: str, **attributes: object) -> str:
    """Write an element; `_` in the name of an attribute stands for `-`, one at its end for nothing.

    >>> tag("text", text("a < b"), x=1.25, class_="label")
    '<text x="1.25" class="label">a &lt; b</text>'
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_plain(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{given}>{''.join(children)}</{name}>" if children else f"<{name}{given}/>"


def text(content: str) -> str:
    """Escape what is shown."""
    return escape(content)


def mark(shape: str, x: float, y: float, size: float, **attributes: object) -> str:
    """Draw the mark of a curve around a point."""
    if shape == "circle":
        return tag("circle", cx=x, cy=y, r=size, **attributes)
    corners = " ".join(f"{_plain(x + size * a)},{_plain(y + size * b)}" for a, b in MARKS[shape])
    return tag("polygon", points=corners, **attributes)


def ticks(low: float, high: float, most: int) -> list[float]:
    """Give round numbers between two others, about as many as asked for at most.

    >>> ticks(-360.2, -349.0, 4)
    [-360.0, -355.0, -350.0]
    """
    rough = (high - low) / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10, 20) if m * power >= rough)
    first, last = math.ceil(low / step), math.floor(high / step)
    return [i * step for i in range(first, last + 1)]


def _plain(value: object) -> str:
    """Write coordinates with no more digits than can be seen."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
