"""The report on a selection: the answer, the evidence, the profiles, and the settings."""

import importlib.metadata
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lacunet import api
from lacunet.data.audit import missing_summary, sizes
from lacunet.data.transform import has_missing_state
from lacunet.models.display import hidden_grids, network_grid
from lacunet.models.latent_class import is_latent_class
from lacunet.plots.score_curves import by_number
from lacunet.report.page import evidence_view, render, views
from lacunet.report.page.advice import warnings
from lacunet.report.page.network_page import Tile, data_tiles, picture
from lacunet.report.page.profile_view import hidden_views, line_charts
from lacunet.report.page.render import count, listed, nats
from lacunet.runtime.files import check_file, check_not_read
from lacunet.selection.certainty import TRUTH, CertaintyBasis
from lacunet.selection.grids import (
    TITLES,
    beside_classes,
    calibration_grid,
    candidate_grid,
    factor_words,
    score_grid,
)
from lacunet.selection.result import Selection
from lacunet.selection.sentences import answer, cannot_tell, limits, why_not_bic
from lacunet.tabular import chance


def write_report(
    selection: Selection, target: str | os.PathLike[str], *, command: str | None = None
) -> Path:
    """Write a self-contained HTML page about a selection.

    The page loads nothing from the internet, has at most 3 MB, and suits phones, dark mode and
    paper.

    Parameters
    ----------
    selection
        The result of `select` or `compare`.
    target
        Path of the file.
    command
        The command to show under "How this was made" (default: the Python call).
    """
    check_file(target)
    check_not_read(target, selection.table.source)
    return render.write_page("selection.html.j2", _content(selection), target, command)


def _content(selection: Selection) -> dict[str, Any]:
    heads, bars = evidence_view.posterior_bars(selection)
    content: dict[str, Any] = {
        "answer": _title(selection),
        "leads": list(filter(None, [answer(selection), *limits(selection)])),
        "agreement": evidence_view.agreement(selection),
        "start": "evidence",
        "question": _heading(selection),
        "why": why_not_bic(selection),
        "source": selection.table.source,
        "charts": evidence_view.charts(selection, evidence_view.main_scores(selection)),
        "every_score": evidence_view.every_score(selection),
        "labelling_note": evidence_view.labelling_note(selection),
        "first": selection.unit if by_number(selection) else "network",
        "numbers": [candidate_grid(selection), score_grid(selection)],
        "labels": [str(c.label) for c in selection.candidates],
        "posterior_heads": heads,
        "posterior_bars": bars,
        "factors": evidence_view.factors(selection),
        "posterior_matrix": evidence_view.posterior_matrix(selection),
        "headline": TITLES[selection.headline],
        "measured": [
            (c.title, nats(m.value), m.error.removeprefix(" ± ") or "–", str(m.verdict))
            for c in selection.candidates
            if (m := c.measured) is not None
        ],
        "calibration": calibration_grid(selection),
        "beside_classes": beside_classes(selection),
        "warnings": warnings(selection),
        "missing": views.audit(selection.table),
        "notes": selection.table.notes,
        "facts": _facts(selection),
        "call": python_call(selection),
        **dict.fromkeys(("hidden", "lines", "tables", "separations", "grids"), ()),
        **dict.fromkeys(("picture", "chosen", "structure")),
    }
    if selection.label is not None:
        content |= _best_content(selection)
    if content["hidden"]:
        content["start"] = "profiles"
    content["tiles"] = tiles(selection, content["separations"])
    return content


def _title(selection: Selection) -> str:
    """The answer in two or three words; a lead has the whole sentence."""
    if selection.label is None:
        return "No answer"
    title = selection.best.title
    return f"At least {title}" if selection.at_least else title


def _heading(selection: Selection) -> str:
    if not all(c.proposal.sizes for c in selection.candidates):
        return "Which network?"
    return f"How many {selection.unit if by_number(selection) else 'hidden states'}?"


def _best_content(selection: Selection) -> dict[str, Any]:
    """Return the content about the chosen candidate."""
    model = selection.best.fit.model
    network = model.network
    simple = is_latent_class(network)
    hidden, notes = hidden_views(model, selection.best.problem.cases)
    criteria = api.information_criteria(selection)
    return {
        "chosen": selection.best.title,
        "hidden": hidden,
        "lines": line_charts(selection.best.fit) if simple else [],
        "tables": [] if simple else hidden_grids(model),  # profiles replace them
        "notes": (*selection.table.notes, *notes),
        "separations": views.separations(criteria, selection),
        "grids": views.fit_grids(criteria, selection),
        "picture": None if simple else picture(model),  # of classes a star, which shows nothing
        "structure": None if by_number(selection) and simple else network_grid(network),
    }


def tiles(selection: Selection, separations: Sequence[views.View]) -> list[Tile]:
    """Return the numbers beside the answer."""
    answer_tiles = _answer_tiles(selection, separations) if selection.label is not None else []
    return [*answer_tiles, *data_tiles(selection.table)]


def _answer_tiles(selection: Selection, separations: Sequence[views.View]) -> list[Tile]:
    best, certainty = selection.best, selection.certainty
    if selection.at_least:
        numbers = [("probability", "–", "unknown: more were not tried")]
    elif cannot_tell(selection):
        numbers = [("probability", "–", "unknown: the search is unstable")]
    else:
        p, error = certainty.probabilities[best.label], certainty.stderr[best.label]
        written = chance(p, error, exact=len(selection.candidates) == 1)
        numbers = [("probability", written, f"that the answer is right, {certainty.basis}")]
    if (second := evidence_view.runner_up(selection)) is not None:
        candidate, factor = second
        numbers.append(("ahead by", f"{factor_words(factor)} nats", f"of {candidate.title}"))
    if separations and (r2 := separations[0]["entropy"]) is not None:
        numbers.append(("entropy R²", f"{r2:.2f}", "1 would be perfect separation"))
    if best.fit.finalists > 1:
        reached = f"{best.fit.reached} of {best.fit.finalists}"
        numbers.append(("starts", reached, "ended at this same optimum"))
    return numbers


PACKAGES = ("numpy", "scipy", "numba")
PARAMETERS = {
    "map": "MAP",
    "ml": "maximum likelihood",
    "softmax": "MAP of log θ (softmax), which exists for every prior",
}


def _facts(selection: Selection) -> list[tuple[str, str]]:
    """Return all settings and versions that determine the numbers."""
    options, table = selection.options, selection.table
    seconds = sum(sum(c.seconds.values()) for c in selection.candidates)
    starts = count(options.starts, "random start")
    packages = [f"{name} {importlib.metadata.version(name)}" for name in PACKAGES]
    # Whether the MAP exists can differ between candidates if the prior depends on their states.
    estimates = dict.fromkeys(c.fit.estimate.value for c in selection.candidates)
    prior = "all the same"
    if selection.named_prior is not None:
        prior = str(selection.named_prior)
    elif selection.prior is not None:
        prior = ", ".join(f"{k}: {weight:g}" for k, weight in selection.prior.items())
    return [
        ("Data", f"{table.source}: {sizes(table)}; {missing_summary(table)}"),
        ("Candidates", listed([c.title for c in selection.candidates], 20)),
        ("Parameters", "; ".join(PARAMETERS[estimate] for estimate in estimates)),
        ("Prior of the parameters", render.prior_words(selection.alpha)),
        ("Prior of the candidates", prior),
        ("Search", f"{starts}, schedule {options.schedule.value}, seed {options.seed}"),
        ("Computing time", f"{seconds:,.1f} s, over all threads"),
        ("Program", f"Lacunet {render.version()}"),
        ("With", ", ".join([f"Python {platform.python_version()}", *packages])),
    ]


def python_call(selection: Selection) -> str:
    """Write the Python call that reproduces this selection.

    Data and networks are objects of the caller's program, so the call contains only their names.
    """
    options = selection.options
    network = selection.best.fit.model.network if selection.label is not None else None
    varied = list(selection.candidates[0].proposal.sizes)
    if not varied:
        start = "lacunet.compare(data, networks"
    elif network is not None and is_latent_class(network):
        start = f"lacunet.select(data, {[c.label for c in selection.candidates]}"
    else:
        numbers = sorted({k for c in selection.candidates for k in c.proposal.sizes.values()})
        start = f"lacunet.select(data, {numbers}, network=network, hidden={varied}"
    arguments: dict[str, object] = {
        "scores": [s.name for s in selection.scores if s is not TRUTH],
        **_measuring(selection),
        "estimate": options.estimate.value,
        "alpha": selection.alpha,
        "starts": options.starts,
        "schedule": options.schedule.value,
        "seed": options.seed,
    }
    if any(c.dimension != c.fit.model.network.dimension for c in selection.candidates):
        arguments["dimension"] = "rank"
    if selection.ratio_tests:
        arguments["blrt"] = max(test.requested for test in selection.ratio_tests.values())
    if selection.named_prior is not None:
        arguments["prior"] = str(selection.named_prior)
    elif selection.prior is not None:
        arguments["prior"] = dict(selection.prior)
    if any(has_missing_state(column) for column in selection.table.columns):
        arguments["missing_as_state"] = True
    lines = [f"    {name}={value!r}," for name, value in arguments.items()]
    return "\n".join([f"{start},", *lines, ")"])


def _measuring(selection: Selection) -> dict[str, object]:
    """Return the arguments about measured evidence that differ from the default."""
    alone = {c.label for c in selection.candidates if c.measured}
    quick: dict[str, object] = (
        {"quick": True} if selection.certainty.basis is CertaintyBasis.QUICK else {}
    )
    if len(alone) == len(selection.candidates):
        return {"evidence": True}
    # `calibrate` measures some candidates although the answer does not use them.
    return {**quick, "calibrate": True} if alone - selection.certainty.measured else quick
