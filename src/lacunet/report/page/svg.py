"""SVG as text, a few shapes at a time; everything that is put into it is escaped."""

from html import escape

from lacunet.charts.style import Corners


def tag(name: str, *children: str, **attributes: object) -> str:
    """Write an element; `_` in the name of an attribute stands for `-`, one at its end for nothing.

    >>> tag("text", "a", x=1.25, class_="b < c")
    '<text x="1.25" class="b &lt; c">a</text>'
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_quoted(_plain(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{given}>{''.join(children)}</{name}>" if children else f"<{name}{given}/>"


def label(content: str, x: float, y: float, anchor: str = "middle", **more: object) -> str:
    """Write a text at a place."""
    return tag("text", escape(content), x=x, y=y, text_anchor=anchor, **more)


def mark(corners: Corners, x: float, y: float, size: float, **attributes: object) -> str:
    """Draw the mark of a curve around a point; without corners it is a circle."""
    if not corners:
        return tag("circle", cx=x, cy=y, r=size, **attributes)
    points = " ".join(f"{_plain(x + size * a)},{_plain(y + size * b)}" for a, b in corners)
    return tag("polygon", points=points, **attributes)


def _quoted(text: str) -> str:
    """Escape the value of an attribute; XML would take bare line ends and tabs for spaces."""
    return escape(text).replace("\n", "&#10;").replace("\t", "&#9;").replace("\r", "&#13;")


def _plain(value: object) -> str:
    """Write coordinates with no more digits than can be seen."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
