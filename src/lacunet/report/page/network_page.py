"""The report on one network: the answer, a drawing, tables of results, missing data."""

import math
import os
import platform
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from lacunet.data import Table
from lacunet.data.audit import missing_summary, sizes
from lacunet.fitting.fit import Fit
from lacunet.models.display import table_grids, table_lines
from lacunet.models.latent_class import counted, find_classes
from lacunet.models.network import Model, Network
from lacunet.plots.graph_layout import Arrow, Certainty, draw
from lacunet.plots.inline import Attributes, InlineChart, inline_svg
from lacunet.plots.network_picture import draw_network, natural_size, whole_axes
from lacunet.plots.style import TEXT
from lacunet.report.page.profile_view import group_charts, hidden_views, line_charts
from lacunet.report.page.render import (
    count,
    kind,
    listed,
    nats,
    percent,
    prior_words,
    version,
    write_page,
)
from lacunet.report.page.views import View, audit
from lacunet.runtime.files import check_file, check_not_read
from lacunet.selection.covariates import ClassRegression
from lacunet.selection.group_comparison import GroupComparison
from lacunet.selection.hidden_comparison import HiddenStructure
from lacunet.selection.hidden_search import MOST
from lacunet.settings import Settings
from lacunet.structure.edges.certainty import EdgeCertainty
from lacunet.structure.hidden.latent_tree import LatentTree
from lacunet.structure.learned import Learned
from lacunet.summaries.intervals import Intervals
from lacunet.summaries.profiles import item_table
from lacunet.tabular import Grid, Printable, probability

Parts = Sequence[tuple[str, Sequence[Grid]]]  # (title, tables) of each section
Tile = tuple[str, str, str]  # a number beside the answer: name, value, remark


@dataclass(frozen=True)
class NetworkAnswer:
    """A network as the answer to a question about data: the content of a page."""

    heading: str
    answer: str
    model: Model
    table: Table
    parts: Parts  # the results
    call: str  # the equivalent Python call
    settings: Settings
    certainty: Certainty | None = None  # probabilities of edges
    compelled: Collection[tuple[str, str]] | None = None  # edges with a determined direction
    lines: Sequence[InlineChart] = ()  # profiles of classes
    groups: View | None = None  # profiles of classes in groups
    leads: Sequence[str] = ()  # warnings, below the answer


def _call(function: str, arguments: str, settings: Settings) -> str:
    return f"lacunet.{function}(data, {arguments}alpha={settings.alpha!r}, seed={settings.seed})"


def learned_answer(
    learned: Learned, table: Table, settings: Settings, sure: EdgeCertainty | None = None
) -> NetworkAnswer:
    """Report a learned structure by families, with edge probabilities if given."""
    edges = count(sum(map(len, learned.network.parents)), "edge")
    variables = count(len(learned.network.variables), "variable")
    least = "" if learned.complete else "of at least "
    return NetworkAnswer(
        "Which network?",
        f"{edges} between {variables}, with log evidence {least}{nats(learned.log_evidence)}",
        learned.model,
        table,
        [("Families", learned.grids()[-1:]), *([("Edges", sure.grids())] if sure else [])],
        _call("learn_structure", "", settings),
        settings,
        certainty=None if sure is None else sure.by_edge(),
        compelled=learned.equivalence_class.compelled,
        leads=[note for grid in learned.warnings() for note in grid.notes],
    )


def latent_tree_answer(tree: LatentTree, table: Table, settings: Settings) -> NetworkAnswer:
    """Report the hidden variables of a latent tree."""
    return NetworkAnswer(
        f"Which latent {'class model' if tree.shape == 'naive' else tree.shape}?",
        f"Hidden: {_with_states(tree.hidden)}; log evidence about {nats(tree.log_evidence)}",
        tree.model,
        table,
        [("Hidden variables", tree.grids())],
        _call("learn_latent_tree", f"{tree.shape.value!r}, ", settings),
        settings,
    )


def _with_states(hidden: Mapping[str, int]) -> str:
    return listed([f"{name} ({states} states)" for name, states in hidden.items()])


def hidden_answer(
    result: HiddenStructure, table: Table, settings: Settings, most: int = MOST
) -> NetworkAnswer:
    """Report the hidden variables of a graph, if any, and the gain in log evidence."""
    what = f"Yes: {_with_states(result.hidden)}" if result.hidden else "No"
    return NetworkAnswer(
        "Are there hidden variables?",
        f"{what}. {result.comparison}",
        result.model,
        table,
        [
            ("Hidden variables", result.grids()),
            ("Without hidden variables", result.without.grids()),
        ],
        _call("find_hidden", f"most={most}, " if most != MOST else "", settings),
        settings,
    )


def fitted_answer(
    fit: Fit,
    table: Table,
    settings: Settings,
    others: Mapping[str, Sequence[Grid]],
    intervals: Intervals | None = None,
) -> NetworkAnswer:
    """Report a fit and other results about it, by title."""
    network = fit.model.network
    hidden = [f"{v.name} ({len(v.states)})" for v in network.variables if v.hidden]
    heading, argument = "What does the fitted network look like?", "network=..."
    grids = fit.grids()
    what = f"hidden: {listed(hidden)}" if hidden else "nothing hidden"
    what = f"{count(len(network.variables), 'variable')}, {what}"
    if (classes := find_classes(network)) is not None:
        k = len(classes.variable.states)
        heading, what, argument = "What do the classes look like?", counted(k, network), str(k)
        grids = grids[:1]  # the page shows the profiles
    return NetworkAnswer(
        heading,
        f"{what}; log likelihood {nats(fit.log_lik)}",
        fit.model,
        table,
        [("Fit", grids), *others.items()],
        _call("fit", f"{argument}, ", settings),
        settings,
        lines=() if classes is None else line_charts(fit, intervals or True),
    )


def groups_answer(
    comparison: GroupComparison,
    settings: Settings,
    others: Mapping[str, Sequence[Grid]],
    intervals: Intervals | None = None,
) -> NetworkAnswer:
    """Report the comparison of classes between groups; the network is that of the chosen model."""
    first, models, *rest = comparison.grids()
    classes = len(comparison.sizes(comparison.level).T)
    parts = {
        "Models": [replace(first, title=""), models],
        "Groups": rest,
        "Fit": comparison.fit.grids(),
        **others,
    }
    return NetworkAnswer(
        f"Are the classes the same by {comparison.group}?",
        first.title,
        comparison.model,
        comparison.selection.table,
        list(parts.items()),
        _call("compare_groups", f"{classes}, {comparison.group!r}, ", settings),
        settings,
        groups={
            "group": comparison.group,
            "level": str(comparison.level),
            "charts": group_charts(comparison, intervals or True),
        },
    )


def regression_answer(
    regression: ClassRegression, settings: Settings, others: Mapping[str, Sequence[Grid]]
) -> NetworkAnswer:
    """Report how covariates predict classes; the network is that of the items."""
    fit, *rest = regression.grids()
    covariates = list(regression.design.names)
    return NetworkAnswer(
        "What predicts the classes?",
        f"{regression.brief()}; log likelihood {nats(regression.log_lik)}",
        regression.model,
        regression.table,
        [("Fit", [fit]), ("Covariates", rest[:-1]), *others.items()],  # rest[-1]: the profiles
        _call("fit", f"{regression.classes.states}, covariates={covariates}, ", settings),
        settings,
        lines=line_charts(regression.model, regression.intervals),
    )


def on_a_page(result: Printable) -> Sequence[Grid]:
    """Return the tables of a result; intervals of a class model begin with items by class."""
    if isinstance(result, Intervals) and find_classes(result.model.network) is not None:
        (items,), every = item_table(result).grids(), result.grids()
        return [replace(items, notes=items.notes[:1]), *every]
    return result.grids()


def write_network_report(
    page: NetworkAnswer, target: str | os.PathLike[str], *, command: str | None = None
) -> Path:
    """Write a self-contained HTML page about a network."""
    check_file(target)
    check_not_read(target, page.table.source)
    return write_page("network.html.j2", _content(page), target, command)


def _content(page: NetworkAnswer) -> dict[str, Any]:
    model, table = page.model, page.table
    network = model.network
    classes = find_classes(network) is not None
    # Profiles of classes, and of hidden variables with numeric children; tables show the rest.
    shown = classes or not network.layout.tabular
    hidden = hidden_views(model, table.weight)[0] if shown else []
    tables, left_out = table_grids(model)
    return {
        "question": page.heading,
        "answer": page.answer,
        "leads": page.leads,
        "start": "profiles" if classes else "groups" if page.groups else "network",
        "source": table.source,
        "tiles": [
            (
                "variables",
                f"{len(network.variables):,}",
                f"{len(network.hidden) or 'none'} hidden",
            ),
            (
                "edges",
                f"{sum(map(len, network.parents)):,}",
                f"{model.dimension:,} free parameters",
            ),
            *data_tiles(table),
        ],
        "picture": picture(model, page.certainty, page.compelled),
        "hidden": hidden if classes else [],
        "lines": page.lines,
        "groups": page.groups,
        "numbers": [] if classes else [view for view in hidden if view["numbers"]],
        "parts": page.parts,
        "tables": tables,
        "left_out": left_out,
        "missing": audit(table),
        "notes": table.notes,
        "call": page.call,
        "facts": [
            ("Data", f"{table.source}: {sizes(table)}; {missing_summary(table)}"),
            ("Prior", prior_words(page.settings.alpha)),
            ("Seed", str(page.settings.seed)),
            ("Program", f"Lacunet {version()}, Python {platform.python_version()}"),
        ],
    }


def data_tiles(table: Table) -> list[Tile]:
    """Return the size of the table and its share of missing cells."""
    rows, columns = count(table.rows, "row"), count(len(table.columns), "column")
    data = ("data", rows, columns)
    if table.weights is not None:
        data = ("data", f"{table.weight:,.6g} cases", f"in {rows}, {columns}")
    return [data, ("missing", percent(float(table.missing.mean())), "of the cells")]


LARGEST, MOST_EDGES = 250, 600  # most variables and edges of a legible drawing
SMALLEST = 10.2 / TEXT  # smallest scale of a drawing with legible text


@dataclass(frozen=True)
class Picture:
    """A drawing of a network, or the reason for its absence."""

    words: str  # caption
    svg: str = ""
    width: int = 0  # natural width, in pixels
    smallest: int = 0  # least legible width, in pixels
    hidden: bool = False  # whether it has hidden variables
    certain: bool = False  # whether edges have probabilities
    turning: bool = False  # whether some edges are reversible


def picture(
    model: Model,
    certainty: Certainty | None = None,
    compelled: Collection[tuple[str, str]] | None = None,
) -> Picture:
    """Draw a network, unless it is too large; mark the edges that are not compelled."""
    variables = len(model.network.variables)
    edges = sum(map(len, model.network.parents))
    about = f"{count(variables, 'variable')}, {count(edges, 'edge')}"
    if variables > LARGEST or edges > MOST_EDGES:
        return Picture(f"{about}: too many for a picture that can be read.")
    drawing = draw(model.network, certainty, compelled)
    svg = inline_svg(
        lambda figure: draw_network(whole_axes(figure), drawing),
        "network",
        natural_size(drawing),
        {"class": "network", "role": "group", "aria-label": f"Network: {about}"},
        {
            **{f"edge{k}": _edge(arrow, model.network) for k, arrow in enumerate(drawing.arrows)},
            **{f"variable{box.variable}": _node(model, box.variable) for box in drawing.boxes},
        },
    )
    return Picture(
        about,
        svg,
        math.ceil(drawing.width),
        math.ceil(SMALLEST * drawing.width),
        any(box.hidden for box in drawing.boxes),
        bool(certainty),
        any(arrow.turns for arrow in drawing.arrows),
    )


def _edge(arrow: Arrow, network: Network) -> Attributes:
    """Return the tooltip of an edge."""
    words = f"{network.variables[arrow.parent].name} → {network.variables[arrow.child].name}"
    if arrow.certainty is not None:
        words += f"\nprobability\t{probability(arrow.certainty)}"
    return {"class": "edge", "data-tip": words}


def _node(model: Model, i: int) -> Attributes:
    """Return the description of a variable, and its table as the tooltip."""
    v, parents = model.network.variables[i], model.network.parents[i]
    values = count(len(v.states), "state") if v.family.tabular else kind(v)
    about = f"{v.name}: {'hidden, ' if v.hidden else ''}{values}"
    if parents:
        about += f", depends on {listed([model.network.variables[p].name for p in parents])}"
    return {
        "class": "node hidden" if v.hidden else "node",
        "tabindex": "0",
        "role": "img",
        "aria-label": about,
        "data-tip": "\n".join("\t".join(cells) for cells in table_lines(model, i)),
    }
