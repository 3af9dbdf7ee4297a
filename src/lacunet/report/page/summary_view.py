"""The most important numbers, and how sure it is that the search found the best fits."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lacunet.data import Table
from lacunet.report.page.evidence_view import runner_up
from lacunet.report.page.views import Separation
from lacunet.report.page.words import count, percent
from lacunet.selection.average import Label
from lacunet.selection.candidates import Candidate, Selection
from lacunet.selection.grids import cannot_tell, factor_words
from lacunet.tabular import chance

DOTS = 12  # starts that are drawn one by one


class Tile(NamedTuple):
    """One number."""

    what: str
    much: str
    remark: str


def tiles(selection: Selection, separations: Sequence[Separation]) -> list[Tile]:
    """The numbers that stand beside the answer."""
    of_answer = _of_answer(selection, separations) if selection.label is not None else []
    return [*of_answer, *data_tiles(selection.table)]


def _of_answer(selection: Selection, separations: Sequence[Separation]) -> list[Tile]:
    best, certainty = selection.best, selection.certainty
    alone = len(selection.candidates) == 1
    p = chance(certainty.probabilities[best.label], certainty.stderr[best.label], exact=alone)
    numbers = [Tile("probability", p, f"that the answer is right, {certainty.how}")]
    if selection.at_least:
        numbers = [Tile("probability", "–", "cannot be told: more were not tried")]
    elif cannot_tell(selection):
        numbers = [Tile("probability", "–", "cannot be told: the search is unstable")]
    if (second := runner_up(selection)) is not None:
        candidate, factor = second
        numbers.append(Tile("ahead by", f"{factor_words(factor)} nats", f"of {candidate.title}"))
    if separations and separations[0].entropy:
        entropy = f"{float(separations[0].entropy):.2f}"
        numbers.append(Tile("entropy R²", entropy, "1 would be perfect separation"))
    if best.fit.finalists > 1:
        reached = f"{best.fit.reached} of {best.fit.finalists}"
        numbers.append(Tile("starts", reached, "ended at this same optimum"))
    return numbers


def data_tiles(table: Table) -> list[Tile]:
    """Say how large the table is, and how much of it is missing."""
    rows, columns = count(table.rows, "row"), count(len(table.columns), "column")
    data = Tile("data", rows, columns)
    if table.weights is not None:
        data = Tile("data", f"{table.weight:,.6g} cases", f"in {rows}, {columns}")
    return [data, Tile("missing", percent(float(table.missing.mean())), "of the cells")]


@dataclass(frozen=True)
class Starts:
    """How often the best optimum of a candidate was found."""

    title: str
    chosen: bool
    dots: tuple[bool, ...]  # for each final start, whether it got there; empty if they are many
    text: str
    words: str
    weak: bool


def starts(candidate: Candidate, chosen: Label | None) -> Starts:
    """Say how often the best optimum was found."""
    reached, finalists = candidate.fit.reached, candidate.fit.finalists
    if finalists == 1:
        words = str(candidate.fit.status)
    elif reached == finalists:
        words = "every one found the same optimum"
    elif reached == 1:
        words = "only one found the best optimum: look further"
    elif reached == 0:
        words = "none found it: it came from a neighbouring candidate"
    else:
        words = "several found the best optimum, the others ended lower"
    return Starts(
        candidate.title,
        candidate.label == chosen,
        tuple(i < reached for i in range(finalists)) if finalists <= DOTS else (),
        f"{reached} of {finalists}",
        words,
        finalists > 1 and not candidate.fit.stable,
    )
