"""A network as boxes and arrows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lacunet.api.inputs import as_network
from lacunet.charts.network import Arrow, Box, Certainty, Drawing, draw
from lacunet.charts.network.drawing import Curve
from lacunet.charts.network.layout import ROOM
from lacunet.charts.network.names import LEADING
from lacunet.charts.style import EDGE, PRINT, TEXT, edge_style
from lacunet.fitting.fit import Fit
from lacunet.models.holders import NetworkLike
from lacunet.models.network import Network
from lacunet.plots.door import POINTS, THIN, axes, load
from lacunet.structure.learned import Learned

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INCH = 72.0  # points
CORNER = 5.0  # pixels, as all lengths of a drawing
INK = PRINT.page["soft"]


def network(
    of: NetworkLike | Fit | Learned,
    ax: Axes | None = None,
    *,
    certainty: Certainty | None = None,
    room: float = ROOM,
) -> Axes:
    """Draw a network: a box for each variable, an arrow from each parent to its child.

    Hidden variables have round boxes with dashed borders. Edges of a learned graph that may as well
    point the other way have open heads.

    Parameters
    ----------
    of
        A network, a model, a fit, a learned graph, or the path of a network file.
    ax
        Where to draw (default: a new figure, as large as it needs).
    certainty
        Probabilities of edges, ``{("parent", "child"): 0.9}``: the more probable an edge, the
        broader and darker it is.
    room
        Width from which leaves are gathered in columns, or layers run from left to right; a name of
        ten letters takes about 90.
    """
    compelled = of.equivalence_class.compelled if isinstance(of, Learned) else None
    drawing = draw(_structure(of), certainty, compelled, room)
    size = POINTS / INCH * drawing.width, POINTS / INCH * drawing.height
    ax = axes(ax, size)
    ax.set_axis_off()
    ax.set_xlim(-1.0, drawing.width + 1.0)
    ax.set_ylim(drawing.height + 1.0, -1.0)
    ax.set_aspect("equal")
    scale = _scale(ax, drawing)
    for trunk in drawing.trunks:
        _add_curve(ax, trunk, scale * EDGE[1], 1.0)
    for arrow in drawing.arrows:
        _add_arrow(ax, arrow, scale)
    for box in drawing.boxes:
        _add_box(ax, box, scale)
    return ax


def _structure(of: NetworkLike | Fit | Learned) -> Network:
    if isinstance(of, Learned):
        return of.network
    return of.model.network if isinstance(of, Fit) else as_network(of)


def _scale(ax: Axes, drawing: Drawing) -> float:
    """Points on paper for each pixel of the drawing; never more than texts of plots have."""
    inches = ax.bbox.width / ax.figure.dpi, ax.bbox.height / ax.figure.dpi
    return min(POINTS, INCH * inches[0] / drawing.width, INCH * inches[1] / drawing.height)


def _add_curve(ax: Axes, curve: Curve, width: float, opacity: float) -> None:
    path = load("path").Path
    codes = [path.MOVETO, *[path.CURVE4] * (len(curve) - 1)]
    look: dict[str, Any] = {"edgecolor": INK, "linewidth": width, "alpha": opacity}
    ax.add_patch(load("patches").PathPatch(path(curve, codes), fill=False, **look))


def _add_arrow(ax: Axes, arrow: Arrow, scale: float) -> None:
    width, opacity = edge_style(arrow.certainty)
    _add_curve(ax, arrow.curve, scale * width, opacity)
    inside = PRINT.page["paper"] if arrow.turns else INK
    look: dict[str, Any] = {
        "facecolor": inside,
        "edgecolor": INK,
        "linewidth": scale,
        "alpha": opacity,
    }
    ax.add_patch(load("patches").Polygon(arrow.head, closed=True, **look))


def _add_box(ax: Axes, box: Box, scale: float) -> None:
    corner = box.height / 2 if box.hidden else CORNER
    look: dict[str, Any] = {
        "facecolor": PRINT.page["tint" if box.hidden else "faint"],
        "edgecolor": PRINT.page["accent"] if box.hidden else INK,
        "linestyle": (0, (4, 2.5)) if box.hidden else "-",
        "linewidth": 1.5 * THIN if box.hidden else THIN,
    }
    style = f"round,pad=0,rounding_size={corner}"
    patch = load("patches").FancyBboxPatch
    ax.add_patch(patch((box.left, box.top), box.width, box.height, boxstyle=style, **look))
    ax.text(
        box.x,
        box.y,
        "\n".join(line.replace("$", r"\$") for line in box.lines),
        ha="center",
        va="center_baseline" if len(box.lines) == 1 else "center",
        fontsize=scale * TEXT,
        linespacing=LEADING,
        color=PRINT.page["accent"] if box.hidden else PRINT.page["ink"],
        style="italic" if box.hidden else "normal",
    )
