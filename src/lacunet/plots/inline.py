"""Figures inside an HTML page: SVG with the fonts and the colours of the page.

A chart is described once, by a function that draws on matplotlib axes. In a page its colours are
the CSS variables of `style`, so that it is also right in dark mode, and its text remains text.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple
from xml.etree import ElementTree as ET

from lacunet.plots.figures import LACKING, SETTINGS, axes, legend_below, load
from lacunet.plots.style import PRINT
from lacunet.runtime.files import harmless

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH = 3.0  # inches of a chart; on a phone 315 pixels, where the smallest letters have 10
ANCHORS = {"left": "start", "center": "middle", "right": "end"}
VARIABLES = {"#000000": "var(--soft)"} | {
    value: f"var(--{name})" for name, value in PRINT.variables().items()
}
NO_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))
IN_PAGES = {
    "text.parse_math": False,
    "figure.dpi": 72.0,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
}

COORDINATES = ("d", "height", "transform", "viewBox", "width", "x", "y")

Attributes = Mapping[str, str]


class InlineChart(NamedTuple):
    """A chart of a page."""

    title: str
    svg: str


def inline_chart(
    draw: Callable[[Axes], object], title: str, about: str, tall: float, columns: int = 2
) -> InlineChart:
    """Draw a chart of a height in inches; `columns` of its legend stand below (0: no legend).

    Title and `about`, its alternative text, together must be unique on the page.
    """

    def on(figure: Figure) -> None:
        ax = axes(figure.subplots())
        draw(ax)
        if columns:
            legend_below(ax, columns)

    words = f"{title}: {about}" if title and about else title or about
    attributes = {"class": "chart", "role": "img", "aria-label": words}
    return InlineChart(title, inline_svg(on, words, (WIDTH, tall), attributes))


def inline_svg(
    draw: Callable[[Figure], object],
    name: str,
    size: tuple[float, float],
    attributes: Attributes,
    parts: Mapping[str, Attributes] | None = None,
) -> str:
    """Draw a figure of a size in inches as an SVG element.

    Parameters
    ----------
    draw
        Draws on the empty figure.
    name
        A name that no other figure of the page has.
    size
        Width and height in inches.
    attributes
        Attributes of the element.
    parts
        Attributes of groups, by the `gid` of their artists; artists with one `gid` form a group.
    """
    rc = ["default", {**SETTINGS, **IN_PAGES, "svg.hashsalt": ascii(name)}]
    with load("style").context(rc), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=LACKING)
        figure = load("figure").Figure(figsize=size, layout="constrained")
        draw(figure)
        figure.get_layout_engine().execute(figure)
        _name_paragraphs(figure)
        buffer = io.StringIO()
        # `savefig` would draw twice.
        load("backends.backend_svg").FigureCanvasSVG(figure).print_svg(buffer, metadata=NO_METADATA)
    text = harmless(buffer.getvalue().encode("utf-8", "replace").decode())
    root = ET.fromstring(text)
    _group(root, parts or {})
    used = set(re.findall(r'#([\w-]+)[")]', text))
    for element in root.iter():
        _suit(element, used)
    del root.attrib["width"], root.attrib["height"], root.attrib["version"]
    root.attrib.update(attributes)
    return ET.tostring(root, encoding="unicode")


def _name_paragraphs(figure: Figure) -> None:
    """Note alignment and position of texts of several lines, which SVG files lack."""
    for text in figure.findobj(load("text").Text):
        if "\n" in text.get_text():
            x, _ = text.get_transform().transform(text.get_unitless_position())
            text.set_gid(f"{ANCHORS[text.get_ha()]} {x:.2f}")


def _group(root: ET.Element, parts: Mapping[str, Attributes]) -> None:
    """Drop metadata, join the parts, and align the lines of paragraphs."""
    first: dict[str, ET.Element] = {}
    for parent in list(root.iter()):
        for child in list(parent):
            gid, tag = child.get("id", ""), child.tag.rpartition("}")[2]
            if tag in ("metadata", "style") or gid in first:
                parent.remove(child)
            if gid in first:
                first[gid].append(child)
            elif gid in parts:
                first[gid] = child
                child.attrib.update(parts[gid])
            elif gid.startswith(tuple(ANCHORS.values())):
                _align(child, *gid.split())


def _align(paragraph: ET.Element, anchor: str, x: str) -> None:
    for line in paragraph:
        moved = re.sub(r"translate\(-?[\d.]+", f"translate({x}", line.get("transform", ""))
        line.attrib.update(transform=moved, style=f"{line.get('style')}; text-anchor: {anchor}")


def _suit(element: ET.Element, used: set[str]) -> None:
    """Drop namespaces, unused identifiers, fonts and needless digits; name the colours."""
    element.tag = element.tag.rpartition("}")[2]
    if element.tail is not None:
        element.tail = None
    if element.tag != "text":
        element.text = None
    for key in list(element.attrib):
        name, value = key.rpartition("}")[2], element.attrib.pop(key)
        if name == "style":
            plain = re.sub(r"font-family: [^;]*;? ?", "", value)
            plain = re.sub(r"(font: [^;]*px) [^;]*", r"\1 var(--sans)", plain)  # matplotlib < 3.10
            element.set(name, re.sub(r"#[0-9a-f]{6}", lambda c: VARIABLES.get(c[0], c[0]), plain))
        elif name in COORDINATES:
            rounded = re.sub(r"\d+\.\d{3,}", lambda n: f"{float(n[0]):.2f}", value)
            moved = " ".join(re.sub(r"rotate\(-0[ \d.]*\)", "", rounded).split())
            element.attrib.update({name: moved} if moved else {})
        elif name != "id" or value in used:
            element.set(name, value)
