"""Figures of networks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lacunet.api.inputs import as_network
from lacunet.fitting.fit import Fit
from lacunet.models.ensemble import NetworkLike
from lacunet.plots.figures import POINTS, THIN, load
from lacunet.plots.graph_layout import Arrow, Box, Certainty, Drawing, draw
from lacunet.plots.graph_layout.drawing import CORNER, LEADING, Curve
from lacunet.plots.graph_layout.layout import ROOM
from lacunet.plots.style import EDGE, PRINT, TEXT, edge_style
from lacunet.structure.learned import Learned

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INCH = 72.0  # points
EDGES = 3.0  # pixels around a drawing
INK = PRINT.page["soft"]


def network(
    of: NetworkLike | Fit | Learned,
    ax: Axes | None = None,
    *,
    certainty: Certainty | None = None,
    room: float = ROOM,
) -> Axes:
    """Draw a network: a box for each variable, an arrow from each parent to its child.

    Hidden variables have round boxes with dashed borders. Reversible edges of a learned graph have
    open heads.

    Parameters
    ----------
    of
        A network, a model, a fit, a learned graph, or the path of a network file.
    ax
        Axes to draw on (default: a new figure of the required size).
    certainty
        Probabilities of edges, ``{("parent", "child"): 0.9}``: more probable edges are broader and
        darker.
    room
        Largest width before leaves are stacked in columns, or layers run from left to right; a name
        of ten letters takes about 90.
    """
    compelled, structure = None, of
    if isinstance(of, Learned):
        compelled, structure = of.equivalence_class.compelled, of.network
    elif isinstance(of, Fit):
        structure = of.model
    drawing = draw(as_network(structure), certainty, compelled, room)
    if ax is None:
        ax = whole_axes(load().figure(figsize=natural_size(drawing)))
    draw_network(ax, drawing)
    return ax


def natural_size(drawing: Drawing) -> tuple[float, float]:
    """Return the size of a figure, in inches, whose texts have the size of those in plots."""
    scale = POINTS / INCH
    return scale * (drawing.width + 2 * EDGES), scale * (drawing.height + 2 * EDGES)


def whole_axes(figure: Figure) -> Axes:
    """Return axes that fill a figure."""
    figure.set_layout_engine("none")
    return figure.add_axes((0.0, 0.0, 1.0, 1.0))


def draw_network(ax: Axes, drawing: Drawing) -> None:
    """Draw boxes and arrows; each variable and each edge has a `gid`."""
    ax.set_axis_off()
    ax.set_xlim(-EDGES, drawing.width + EDGES)
    ax.set_ylim(drawing.height + EDGES, -EDGES)
    ax.set_aspect("equal")
    # Points on paper per pixel of the drawing; at most the scale of texts in plots.
    wide, tall = natural_size(drawing)
    dpi = ax.figure.dpi
    scale = POINTS * min(1.0, ax.bbox.width / dpi / wide, ax.bbox.height / dpi / tall)
    for trunk in drawing.trunks:
        _add_curve(ax, trunk, scale * EDGE[1], 1.0)
    for k, arrow in enumerate(drawing.arrows):
        _add_arrow(ax, arrow, scale, f"edge{k}")
    for box in drawing.boxes:
        _add_box(ax, box, scale, f"variable{box.variable}")


def _add_curve(ax: Axes, curve: Curve, width: float, opacity: float, **more: Any) -> None:
    path = load("path").Path
    codes = [path.MOVETO, *[path.CURVE4] * (len(curve) - 1)]
    look: dict[str, Any] = {"edgecolor": INK, "linewidth": width, "alpha": opacity, **more}
    ax.add_patch(load("patches").PathPatch(path(curve, codes), fill=False, **look))


def _add_arrow(ax: Axes, arrow: Arrow, scale: float, gid: str) -> None:
    width, opacity = edge_style(arrow.certainty)
    _add_curve(ax, arrow.curve, scale * width, opacity, gid=gid)
    look: dict[str, Any] = {"edgecolor": INK, "linewidth": scale, "alpha": opacity, "gid": gid}
    inside = PRINT.page["paper"] if arrow.turns else INK
    head = load("patches").Polygon(arrow.head, closed=True, facecolor=inside, **look)
    ax.add_patch(head)


def _add_box(ax: Axes, box: Box, scale: float, gid: str) -> None:
    corner = box.height / 2 if box.hidden else CORNER
    look: dict[str, Any] = {
        "facecolor": PRINT.page["tint" if box.hidden else "faint"],
        "edgecolor": PRINT.page["accent"] if box.hidden else INK,
        "linestyle": (0, (4, 2.5)) if box.hidden else "-",
        "linewidth": 1.5 * THIN if box.hidden else THIN,
    }
    style = f"round,pad=0,rounding_size={corner}"
    patch = load("patches").FancyBboxPatch
    ax.add_patch(patch((box.left, box.top), box.width, box.height, boxstyle=style, gid=gid, **look))
    first = box.y - LEADING * TEXT * (len(box.lines) - 1) / 2
    for k, name in enumerate(box.lines):
        ax.text(
            box.x,
            first + k * LEADING * TEXT,
            name,
            parse_math=False,
            ha="center",
            va="center_baseline",
            fontsize=scale * TEXT,
            color=PRINT.page["accent"] if box.hidden else PRINT.page["ink"],
            style="italic" if box.hidden else "normal",
            gid=gid,
        )
