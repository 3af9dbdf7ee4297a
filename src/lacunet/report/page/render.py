"""From views to the text of the page. jinja2 has its door here."""

import base64
import hashlib
import os
import re
from pathlib import Path
from typing import Any

from lacunet import api
from lacunet.charts.series import by_number
from lacunet.charts.style import style_sheet
from lacunet.errors import OutputError
from lacunet.files import check_file, write_text
from lacunet.model.display import family_grids
from lacunet.model.latent_class import is_latent_class
from lacunet.optional import require
from lacunet.report.page import evidence_view, profile_view, separation_view, summary_view
from lacunet.report.page.advice import warnings
from lacunet.report.page.chart import key
from lacunet.report.page.holes_view import audit
from lacunet.report.page.repeat import facts, python_call, version
from lacunet.report.page.words import nats
from lacunet.search.calibration import calibration_grid
from lacunet.search.candidates import Selection
from lacunet.search.grids import TITLES, answer, limits

LARGEST = 3_000_000  # bytes of a page
HERE = Path(__file__).parent


def check_report(target: str | os.PathLike[str]) -> None:
    """Say now, before the work, why a report could not be written."""
    check_file(target)
    _jinja()


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
    check_report(target)
    page = render(selection, command=command)
    if len(page.encode()) > LARGEST:
        raise OutputError(
            f"the report would have {len(page.encode()):,} bytes; at most {LARGEST:,} are allowed. "
            "Compare fewer candidates, or name fewer scores."
        )
    write_text(target, page)
    return Path(target)


def render(selection: Selection, *, command: str | None = None) -> str:
    """Give the text of the page."""
    environment = _jinja().Environment(
        autoescape=True, undefined=_jinja().StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["whole"] = _whole_options
    template = environment.from_string(_asset("page.html.j2"))
    script = _asset("page.js")
    page: str = template.render(
        style=f"{style_sheet()}\n{_asset('page.css')}",
        script=script,
        digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        **_content(selection),
        command=command or python_call(selection),
        in_shell=command is not None,
    )
    return page.encode("utf-8", "replace").decode()  # paths may hold bytes that are no text


def _jinja() -> Any:
    return require("jinja2", extra="report", what="the report")


def _whole_options(words: str) -> Any:
    """Escape a text, and keep the names of options in it on one line."""
    markup = require("markupsafe", extra="report", what="the report").Markup
    whole = re.sub(r"--[a-z-]+", r'<span class="nobr">\g<0></span>', str(markup.escape(words)))
    return markup(whole)


def _asset(name: str) -> str:
    return (HERE / name).read_text(encoding="utf-8")


def _content(selection: Selection) -> dict[str, Any]:
    curves = evidence_view.series(selection)
    heads, bars = evidence_view.posterior_bars(selection)
    names = evidence_view.score_names(selection)
    content: dict[str, Any] = {
        "answer": answer(selection),
        "limits": limits(selection),
        "agreement": evidence_view.agreement(selection),
        "question": "How many hidden states?"
        if all(c.proposal.sizes for c in selection.candidates)
        else "Which network?",
        "source": selection.table.source,
        "version": version(),
        "views": evidence_view.views(selection, curves),
        "legend": [(s.title, key(s.look)) for s in curves],
        "chart_notes": evidence_view.chart_notes(selection, curves),
        "first": "states" if by_number(selection) else "network",
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
        "starts": [summary_view.starts(c, selection.label) for c in selection.candidates],
        "warnings": warnings(selection),
        "holes": audit(selection.table),
        "notes": selection.table.notes,
        "facts": facts(selection),
        "hidden": [],
        "tables": [],
        "separations": [],
        "grids": [],
        "structure": [],
        "chosen": None,
    }
    if selection.label is not None:
        content |= _of_best(selection)
    content["tiles"] = summary_view.tiles(selection, content["separations"])
    return content


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
        "tables": [] if is_latent_class(network) else family_grids(model),
        "notes": (*selection.table.notes, *notes),
        "separations": separation_view.separations(criteria, selection),
        "grids": separation_view.fit_grids(criteria, selection),
        "structure": []
        if by_number(selection) and is_latent_class(network)
        else [
            (v.name, v.hidden, len(v.states), [names[p] for p in parents])
            for v, parents in zip(network.variables, network.parents, strict=True)
        ],
    }
