"""Sections of the page: missing data, class separation, fit statistics.

Each function returns the content of a template.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from lacunet.data import Table
from lacunet.inference.plans.decompose import missing_patterns
from lacunet.models.latent_class import is_latent_class
from lacunet.report.page.render import Cell, LabelledRow, count, listed, percent, share_cell
from lacunet.selection.grids import ratio_grid
from lacunet.selection.paper_tables import Criteria
from lacunet.selection.result import Selection
from lacunet.summaries.statistics import Classification, fit_statistics
from lacunet.tabular import Grid

View = Mapping[str, Any]  # the content of a section


PATTERNS = 15  # most patterns shown
DOTS = 14  # most incomplete columns of a pattern drawn as dots
COLUMNS = 400  # most columns listed


def audit(table: Table) -> View:
    """Summarise missing values by column and by pattern."""
    share = table.missing
    incomplete = sorted((j for j in table.shown if share[j] > 0), key=lambda j: -share[j])
    if not incomplete:
        return {"words": "No cell is missing.", "columns": ()}
    names = [column.name for column in table.columns]
    full = [names[j] for j in table.shown if j not in set(incomplete)]
    masks, index = missing_patterns(table.codes)
    cases = np.bincount(index, weights=table.counts, minlength=len(masks))
    order = np.argsort(-cases, kind="stable")
    shown = [p for p in order[:PATTERNS].tolist() if cases[p] > 0]
    complete = float(cases[~masks.any(axis=1)].sum())
    left = len(masks) - len(shown)
    rest = percent(float(cases[order[PATTERNS:]].sum()) / table.weight)
    patterns = []
    for p in shown:
        absent = [bool(masks[p, j]) for j in incomplete]
        missing = [names[j] for j, lost in zip(incomplete, absent, strict=True) if lost]
        weight = float(cases[p])
        words = listed(missing, 6) if missing else "nothing"
        patterns.append((absent, words, f"{weight:,.6g}", weight / table.weight))
    return {
        "words": f"{percent(float(share.mean()))} of all cells are missing, in {len(incomplete)} "
        f"of {count(len(names), 'column')}. {percent(complete / table.weight)} of the rows "
        f"are complete. There are {count(len(masks), 'missing-data pattern')}.",
        "columns": [(names[j], float(share[j])) for j in incomplete[:COLUMNS]],
        "complete": f"No cell is missing in {listed(full, 12)}." if full else "",
        "patterns": patterns,
        "dots": len(incomplete) <= DOTS,
        "rest": f"{count(left, 'other pattern')} together: {rest} of the rows." if left else "",
    }


MATRIX = 40  # most classes of a legible table of all pairs
GOOD, FAIR = 0.8, 0.6  # least entropy R² of good and fair separation


def separations(criteria: Criteria, selection: Selection) -> list[View]:
    """Summarise the classification by the chosen candidate, for each hidden variable."""
    best = next(c for c in criteria.candidates if c.candidate is selection.best)
    latent_class = is_latent_class(selection.best.proposal.network)
    return [_separation(c, latent_class) for c in best.classification]


def _separation(c: Classification, latent_class: bool) -> View:
    unit, r2 = "class" if latent_class else "state", c.entropy_r2
    view: dict[str, Any] = {"name": c.name, "unit": unit, "rows": (), "entropy": None}
    if len(c.states) == 1:
        return view | {"words": f"One {unit}: there is nothing to compare."}
    what = "The classes" if latent_class else f"The states of {c.name}"
    quality = "well" if r2 >= GOOD else "fairly well" if r2 >= FAIR else "poorly"
    view["words"] = (
        f"{what} are separated {quality}: giving every row its most probable one, "
        f"{percent(c.error)} of the rows are expected to get a wrong one."
    )
    view["entropy"] = r2
    if len(c.states) <= MATRIX:
        view["heads"] = [f"{c.name} {state}" for state in c.states]
        sizes = (Cell(""), *(Cell(percent(p)) for p in c.sizes))
        view["rows"] = [
            *(
                LabelledRow(head, (Cell(percent(c.given[a])), *_posteriors(c, a)))
                for a, head in enumerate(view["heads"])
            ),
            LabelledRow("expected share", sizes),
        ]
    return view


def _posteriors(c: Classification, a: int) -> Iterator[Cell]:
    """Yield the mean posterior of each state over the rows assigned to state `a`."""
    for b, p in enumerate(c.average[a]):
        yield Cell("–") if math.isnan(p) else replace(share_cell(p), best=a == b)


def fit_grids(criteria: Criteria, selection: Selection) -> list[Grid]:
    """Return information criteria, tests, and the residuals of a latent class model."""
    grids = list(criteria.grids())
    if selection.ratio_tests:
        grids.append(ratio_grid(selection.ratio_tests, selection.unit))
    fit = selection.best.fit
    if is_latent_class(fit.model.network):
        statistics = fit_statistics(fit.problem, fit.model, fit.estimate)
        skip = 1 + len(statistics.classification)  # other sections show these
        grids += list(statistics.grids())[skip:]
    return grids
