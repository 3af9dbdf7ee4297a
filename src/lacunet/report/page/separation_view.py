"""How well rows can be told apart by their classes, and how well the classes explain the table."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from lacunet.models.latent_class import is_latent_class
from lacunet.report.page.cells import Cell, Line, share_cell
from lacunet.report.page.words import hundredths, percent
from lacunet.selection.candidate_criteria import Criteria
from lacunet.selection.candidates import Selection
from lacunet.selection.ratio_tests import ratio_grid
from lacunet.summaries.classification import Classification
from lacunet.summaries.statistics import fit_statistics
from lacunet.tabular import Grid

MATRIX = 40  # classes of which a table of all pairs can still be read
GOOD, FAIR = 0.8, 0.6  # entropy R² from which classes are called well and fairly separated


@dataclass(frozen=True)
class Separation:
    """One hidden variable."""

    name: str
    unit: str  # what rows are given: a class, or a state
    words: str
    entropy: str  # R², as a text; empty for one class
    entropy_share: str
    heads: tuple[str, ...]
    rows: tuple[Line, ...]  # mean posterior over the rows that are given each class


def separations(criteria: Criteria, selection: Selection) -> list[Separation]:
    """How well the chosen candidate tells rows apart."""
    best = next(c for c in criteria.candidates if c.candidate is selection.best)
    latent_class = is_latent_class(selection.best.proposal.network)
    return [_separation(c, latent_class) for c in best.classification]


def _separation(c: Classification, latent_class: bool) -> Separation:
    unit = "class" if latent_class else "state"
    if len(c.states) == 1:
        return Separation(
            c.name, unit, f"One {unit}: there is nothing to tell apart.", "", "", (), ()
        )
    r2 = c.entropy_r2
    what = "The classes" if latent_class else f"The states of {c.name}"
    quality = "well" if r2 >= GOOD else "fairly well" if r2 >= FAIR else "poorly"
    words = (
        f"{what} are separated {quality}: giving every row its most probable one, "
        f"{percent(c.error)} of the rows are expected to get a wrong one."
    )
    rows = (
        Line(f"{c.name} {state}", (Cell(percent(c.given[a])), *_posteriors(c, a)))
        for a, state in enumerate(c.states)
    )
    sizes = Line("expected share", (Cell(""), *(Cell(percent(p)) for p in c.sizes)))
    shown = len(c.states) <= MATRIX
    return Separation(
        c.name,
        unit,
        words,
        f"{r2:.3f}",
        hundredths(min(max(r2, 0.0), 1.0)),
        tuple(f"{c.name} {s}" for s in c.states) if shown else (),
        (*rows, sizes) if shown else (),
    )


def _posteriors(c: Classification, a: int) -> Iterator[Cell]:
    """Give the mean posterior of each state, over the rows that are given state `a`."""
    given = f"rows that are given {c.name} {c.states[a]}"
    for b, p in enumerate(c.average[a]):
        tip = f"{given}\nbelong to {c.name} {c.states[b]}\t{percent(p)}"
        yield Cell("–") if math.isnan(p) else replace(share_cell(p), tip=tip, best=a == b)


def fit_grids(criteria: Criteria, selection: Selection) -> list[Grid]:
    """AIC and its kin of every candidate; of a latent class model also what it leaves unexplained.

    The tables of the other results are used as they are.
    """
    grids = list(criteria.grids())
    if selection.ratio_tests:
        grids.append(ratio_grid(selection.ratio_tests, selection.unit))
    fit = selection.best.fit
    if is_latent_class(fit.model.network):
        statistics = fit_statistics(fit.problem, fit.model, fit.estimate)
        skip = 1 + len(statistics.classification)  # those have sections of their own
        grids += list(statistics.grids())[skip:]
    return grids
