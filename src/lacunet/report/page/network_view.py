"""The network of the answer as a picture: its tables on the boxes, for pointer and keyboard."""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from html import escape

from lacunet.charts.network import Arrow, Box, Certainty, Drawing, draw
from lacunet.charts.network.drawing import Curve
from lacunet.charts.network.names import LEADING
from lacunet.charts.style import TEXT, edge_style
from lacunet.models.display import table_lines
from lacunet.models.network import Model
from lacunet.report.page.svg import label, tag
from lacunet.report.page.words import count, kind, listed
from lacunet.tabular import probability

LARGEST, MOST_EDGES = 250, 600  # of a network that is drawn: more cannot be read
SMALLEST = 10.2 / TEXT  # share of its size that a picture may shrink to: texts stay readable
EDGE = 3  # pixels around everything
CORNER = 5.0  # radius of the corners of a box


@dataclass(frozen=True)
class Picture:
    """A network to show, or why there is none."""

    svg: str  # empty if there is none
    width: int  # pixels that it needs, at most
    smallest: int  # pixels that it needs, at least
    hidden: bool  # whether it has hidden variables
    certain: bool  # whether edges have probabilities
    turning: bool  # whether some edges may as well point the other way
    words: str  # what to know of it


def picture(
    model: Model,
    certainty: Certainty | None = None,
    compelled: Collection[tuple[str, str]] | None = None,
) -> Picture:
    """Draw a network, if it can be drawn; edges that are not compelled are marked."""
    variables = len(model.network.variables)
    edges = sum(map(len, model.network.parents))
    about = f"{count(variables, 'variable')}, {count(edges, 'edge')}"
    if variables > LARGEST or edges > MOST_EDGES:
        return _nothing(f"{about}: too many for a picture that can be read.")
    drawing = draw(model.network, certainty, compelled)
    width = drawing.width + 2 * EDGE
    return Picture(
        _svg(model, drawing, about),
        math.ceil(width),
        math.ceil(SMALLEST * width),
        any(box.hidden for box in drawing.boxes),
        bool(certainty),
        any(arrow.turns for arrow in drawing.arrows),
        about,
    )


def _nothing(words: str) -> Picture:
    return Picture("", 0, 0, False, False, False, words)


def _svg(model: Model, drawing: Drawing, about: str) -> str:
    names = [v.name for v in model.network.variables]
    # Lines at the border are as broad as they are: some room for their outer halves.
    box = f"{-EDGE} {-EDGE} {drawing.width + 2 * EDGE:.0f} {drawing.height + 2 * EDGE:.0f}"
    return tag(
        "svg",
        *(tag("path", d=_path(trunk), class_="trunk") for trunk in drawing.trunks),
        *(_arrow(arrow, names) for arrow in drawing.arrows),
        *(_box(model, box) for box in drawing.boxes),
        class_="network",
        viewBox=box,
        role="group",
        aria_label=f"Network: {about}",
    )


def _arrow(arrow: Arrow, names: Sequence[str]) -> str:
    """Draw an edge; a broad line that is not seen makes it easy to point at."""
    curve = _path(arrow.curve)
    head = " ".join(f"{x:.1f},{y:.1f}" for x, y in arrow.head)
    width, opacity = edge_style(arrow.certainty)
    words = f"{names[arrow.parent]} → {names[arrow.child]}"
    tip = None
    touched: list[str] = []
    if arrow.certainty is not None:
        tip = f"{words}\nprobability\t{probability(arrow.certainty)}"
        touched = [tag("path", d=curve, class_="near")]
    return tag(
        "g",
        tag("title", escape(words)) if tip is None else "",
        *touched,
        tag("path", d=curve, stroke_width=width),
        tag("polygon", points=head, class_="open" if arrow.turns else None),
        class_="edge",
        opacity=opacity if opacity < 1.0 else None,
        data_tip=tip,
    )


def _box(model: Model, box: Box) -> str:
    v = model.network.variables[box.variable]
    step = LEADING * TEXT
    first = box.y - step * (len(box.lines) - 1) / 2 + 0.35 * TEXT
    parents = [model.network.variables[p].name for p in model.network.parents[box.variable]]
    values = count(len(v.states), "state") if v.family.tabular else kind(v)
    said = f"{v.name}: {'hidden, ' if v.hidden else ''}{values}"
    return tag(
        "g",
        tag(
            "rect",
            x=box.left,
            y=box.top,
            width=box.width,
            height=box.height,
            rx=box.height / 2 if box.hidden else CORNER,
        ),
        *(label(line, box.x, first + k * step) for k, line in enumerate(box.lines)),
        class_="node hidden" if box.hidden else "node",
        tabindex=0,
        role="img",
        aria_label=f"{said}, depends on {listed(parents)}" if parents else said,
        data_tip="\n".join("\t".join(cells) for cells in table_lines(model, box.variable)),
    )


def _path(curve: Curve) -> str:
    (x, y), *rest = curve
    pieces = "".join(f"C{_points(rest[k : k + 3])}" for k in range(0, len(rest), 3))
    return f"M{x:.1f} {y:.1f}{pieces}"


def _points(points: Sequence[tuple[float, float]]) -> str:
    return " ".join(f"{x:.1f} {y:.1f}" for x, y in points)
