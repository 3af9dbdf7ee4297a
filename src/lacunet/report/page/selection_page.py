"""The page about a selection: what each `*_view` says of it."""

import os
from pathlib import Path
from typing import Any

from lacunet import api
from lacunet.charts.style import by_number
from lacunet.models.display import hidden_grids
from lacunet.models.latent_class import is_latent_class
from lacunet.report.page import (
    evidence_view,
    network_page,
    profile_view,
    render,
    summary_view,
    views,
)
from lacunet.report.page.advice import warnings
from lacunet.report.page.chart import key
from lacunet.report.page.render import facts, python_call
from lacunet.report.page.views import audit
from lacunet.report.page.words import kind, nats
from lacunet.runtime.files import check_not_read
from lacunet.selection.candidates import Selection
from lacunet.selection.grids import TITLES, answer, beside_classes, limits
from lacunet.selection.other_answers import calibration_grid, why_not_bic


def write_report(
    selection: Selection, target: str | os.PathLike[str], *, command: str | None = None
) -> Path:
    """Write one self-contained page about a selection.

    It needs no network, works on a phone, in the dark and on paper, and is never above 3 MB.

    Parameters
    ----------
    selection
        What `select` or `compare` returns.
    target
        Where to write it.
    command
        The command that made it (default: the Python call).
    """
    render.check_report(target)
    check_not_read(target, selection.table.source)
    return render.write_page("selection.html.j2", _content(selection), target, command)


def _content(selection: Selection) -> dict[str, Any]:
    curves = evidence_view.series(selection)
    heads, bars = evidence_view.posterior_bars(selection)
    names = evidence_view.score_names(selection)
    content: dict[str, Any] = {
        "answer": answer(selection),
        "leads": list(filter(None, [*limits(selection), evidence_view.agreement(selection)])),
        "start": "evidence",
        "question": _question(selection),
        "why": why_not_bic(selection),
        "source": selection.table.source,
        "views": evidence_view.views(selection, curves),
        "legend": [(s.title, key(s.look)) for s in curves],
        "chart_notes": evidence_view.chart_notes(selection, curves),
        "first": selection.unit if by_number(selection) else "network",
        "score_heads": [TITLES[n] for n in names],
        "numbers": evidence_view.number_lines(selection),
        "labels": [str(c.label) for c in selection.candidates],
        "posterior_heads": heads,
        "posterior_bars": bars,
        "factors": evidence_view.factors(selection),
        "posterior_matrix": evidence_view.posterior_matrix(selection),
        "headline": TITLES[selection.headline],
        "measured": [
            (
                c.title,
                nats(c.measured.value),
                c.measured.error.removeprefix(" ± ") or "–",
                str(c.measured.verdict),
            )
            for c in selection.candidates
            if c.measured is not None
        ],
        "calibration": calibration_grid(selection),
        "beside_classes": beside_classes(selection),
        "starts": [summary_view.starts(c, selection.label) for c in selection.candidates],
        "warnings": warnings(selection),
        "holes": audit(selection.table),
        "notes": selection.table.notes,
        "facts": facts(selection),
        "call": python_call(selection),
        "hidden": [],
        "tables": [],
        "separations": [],
        "grids": [],
        "structure": [],
        "picture": None,
        "chosen": None,
    }
    if selection.label is not None:
        content |= _of_best(selection)
    content["tiles"] = summary_view.tiles(selection, content["separations"])
    return content


def _question(selection: Selection) -> str:
    if not all(c.proposal.sizes for c in selection.candidates):
        return "Which network?"
    return f"How many {selection.unit if by_number(selection) else 'hidden states'}?"


def _of_best(selection: Selection) -> dict[str, Any]:
    """What there is to say of the chosen candidate."""
    model = selection.best.fit.model
    network, names = model.network, [v.name for v in model.network.variables]
    hidden, notes = profile_view.hidden_views(model)
    criteria = api.information_criteria(selection)
    return {
        "chosen": selection.best.title,
        "hidden": hidden,
        # Profiles say it already if the model is simple.
        "tables": [] if is_latent_class(network) else hidden_grids(model),
        "notes": (*selection.table.notes, *notes),
        "separations": views.separations(criteria, selection),
        "grids": views.fit_grids(criteria, selection),
        "picture": network_page.picture(model),
        "structure": []
        if by_number(selection) and is_latent_class(network)
        else [
            (v.name, v.hidden, kind(v), [names[p] for p in network.parents[i]])
            for i, v in ((i, network.variables[i]) for i in network.shown)
        ],
    }
