"""The page about one network: a picture, what was found out, every table, the holes of the data.

The network of the answer as a picture: its tables on the boxes, for pointer and keyboard.
"""

import math
import os
import platform
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from lacunet.charts.network import Arrow, Box, Certainty, Drawing, draw
from lacunet.charts.network.drawing import LEADING, Curve
from lacunet.charts.style import TEXT, edge_style
from lacunet.data import Table
from lacunet.data.audit import holes, sizes
from lacunet.models.display import table_grids, table_lines
from lacunet.models.latent_class import find_classes
from lacunet.models.network import Model
from lacunet.report.page import render
from lacunet.report.page.profile_view import Hidden, hidden_views
from lacunet.report.page.render import version
from lacunet.report.page.summary_view import Tile, data_tiles
from lacunet.report.page.views import GroupView, audit
from lacunet.report.page.words import count, kind, label, listed, tag
from lacunet.runtime.files import check_not_read
from lacunet.tabular import Grid, probability


@dataclass(frozen=True)
class NetworkAnswer:
    """One network that is the answer to a question about data."""

    question: str
    answer: str
    model: Model
    table: Table
    parts: Sequence[tuple[str, Sequence[Grid]]]  # what was found out: titles, and tables
    call: str  # how to do it again in Python
    certainty: Certainty | None = None  # probabilities of edges
    compelled: Collection[tuple[str, str]] | None = None  # those that cannot be turned round
    settings: Sequence[tuple[str, str]] = ()  # what the numbers depend on
    groups: GroupView | None = None  # profiles of classes in groups
    leads: Sequence[str] = ()  # warnings, below the answer


def write_network_report(
    found: NetworkAnswer, target: str | os.PathLike[str], *, command: str | None = None
) -> Path:
    """Write one self-contained page about a network."""
    render.check_report(target)
    check_not_read(target, found.table.source)
    return render.write_page("network.html.j2", _content(found), target, command)


def _hidden(model: Model) -> list[Hidden]:
    """Profiles of classes, and of hidden variables with numbers below them; tables say the rest."""
    told = find_classes(model.network) is not None or not model.network.layout.tabular
    return hidden_views(model)[0] if told else []


def _content(found: NetworkAnswer) -> dict[str, Any]:
    network, table = found.model.network, found.table
    tables, left_out = table_grids(found.model)
    edges = sum(map(len, network.parents))
    hidden = _hidden(found.model)
    classes = find_classes(network) is not None
    return {
        "question": found.question,
        "answer": found.answer,
        "leads": found.leads,
        "start": "profiles" if classes else "groups" if found.groups else "network",
        "source": table.source,
        "tiles": [
            Tile(
                "variables",
                f"{len(network.variables):,}",
                f"{len(network.hidden) or 'none'} hidden",
            ),
            Tile("edges", f"{edges:,}", f"{found.model.dimension:,} free parameters"),
            *data_tiles(table),
        ],
        "picture": picture(found.model, found.certainty, found.compelled),
        "hidden": hidden if classes else [],
        "groups": found.groups,
        "numbers": [] if classes else [h for h in hidden if h.numbers],
        "parts": found.parts,
        "tables": tables,
        "left_out": left_out,
        "holes": audit(table),
        "notes": table.notes,
        "call": found.call,
        "facts": [
            ("Data", f"{table.source}: {sizes(table)}; {holes(table)}"),
            *found.settings,
            ("Program", f"Lacunet {version()}, Python {platform.python_version()}"),
        ],
    }


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
