"""The page about one network: a picture, what was found out, every table, the holes of the data."""

import os
import platform
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lacunet.charts.network import Certainty
from lacunet.data import Table
from lacunet.data.audit import holes, sizes
from lacunet.models.display import table_grids
from lacunet.models.latent_class import find_classes
from lacunet.models.network import Model
from lacunet.report.page import network_view, render
from lacunet.report.page.group_view import GroupView
from lacunet.report.page.holes_view import audit
from lacunet.report.page.profile_view import Hidden, hidden_views
from lacunet.report.page.repeat import version
from lacunet.report.page.summary_view import Tile, data_tiles
from lacunet.runtime.files import check_not_read
from lacunet.tabular import Grid


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
        "picture": network_view.picture(found.model, found.certainty, found.compelled),
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
