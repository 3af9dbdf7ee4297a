"""How well rows can be told apart by their classes, and how well the classes explain the table."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from lacunet.describe.classification import Classification
from lacunet.describe.statistics import fit_statistics
from lacunet.model.latent_class import is_latent_class
from lacunet.report.page.evidence_view import Cell, Line
from lacunet.report.page.words import hundredths, percent
from lacunet.search.candidate_criteria import Criteria
from lacunet.search.candidates import Selection
from lacunet.tabular import Grid

MATRIX = 40  # classes of which a table of all pairs can still be read
GOOD, FAIR = 0.8, 0.6  # entropy R² from which classes are called well and fairly separated


@dataclass(frozen=True)
class Separation:
    """One hidden variable."""

    name: str
    words: str
    entropy: str  # R², as a text; empty for one class
    entropy_share: str
    heads: tuple[str, ...]
    rows: tuple[Line, ...]  # mean posterior over the rows that are given each class


def separations(criteria: Criteria, selection: Selection) -> list[Separation]:
    """How well the chosen candidate tells rows apart."""
    best = next(c for c in criteria.candidates if c.candidate is selection.best)
    return [_separation(c) for c in best.classification]


def _separation(c: Classification) -> Separation:
    if len(c.states) == 1:
        return Separation(c.name, "One class: there is nothing to tell apart.", "", "", (), ())
    quality = (
        "well" if c.entropy_r2 >= GOOD else "fairly well" if c.entropy_r2 >= FAIR else "poorly"
    )
    words = (
        f"The states of {c.name} are separated {quality}: giving every row its most probable one, "
        f"{percent(c.error)} of the rows are expected to get a wrong one."
    )
    rows = tuple(
        Line(
            f"{c.name} {state}",
            (
                Cell(percent(c.given[a])),
                *(
                    Cell(percent(p), _tip(c, a, b, p), a == b, share=hundredths(p))
                    if p == p
                    else Cell("–")
                    for b, p in enumerate(c.average[a])
                ),
            ),
        )
        for a, state in enumerate(c.states)
    )
    sizes = Line("expected share", (Cell(""), *(Cell(percent(p)) for p in c.sizes)))
    shown = len(c.states) <= MATRIX
    return Separation(
        c.name,
        words,
        f"{c.entropy_r2:.3f}",
        hundredths(min(max(c.entropy_r2, 0.0), 1.0)),
        tuple(f"{c.name} {s}" for s in c.states) if shown else (),
        (*rows, sizes) if shown else (),
    )


def _tip(c: Classification, a: int, b: int, p: float) -> str:
    return (
        f"rows that are given {c.name} {c.states[a]}\n"
        f"belong to {c.name} {c.states[b]}\t{percent(p)}"
    )


def fit_grids(criteria: Criteria, selection: Selection) -> list[Grid]:
    """AIC and its kin of every candidate; of a latent class model also what it leaves unexplained.

    The tables of the other results are used as they are.
    """
    grids = list(criteria.grids())
    fit = selection.best.fit
    if is_latent_class(fit.model.network):
        statistics = fit_statistics(fit.problem, fit.model, fit.options.estimate)
        skip = 1 + len(statistics.classification)  # those have sections of their own
        grids += list(statistics.grids())[skip:]
    return grids


def entropy_of_best(separations: Sequence[Separation]) -> float:
    """Entropy R² of the first hidden variable; NaN if there is none, or one class."""
    return float(separations[0].entropy) if separations and separations[0].entropy else math.nan
