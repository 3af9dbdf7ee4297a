"""Classes in groups as a table of marks with intervals: where do groups differ in a class?

Missing data: how much, where, and in which patterns.
How well rows can be told apart by their classes, and how well the classes explain the table.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lacunet.charts.style import MARKS, Look
from lacunet.data import Table
from lacunet.inference.plans.decompose import hole_patterns
from lacunet.models.latent_class import is_latent_class
from lacunet.report.page.chart import key
from lacunet.report.page.words import Cell, Line, count, hundredths, listed, percent, share_cell
from lacunet.runtime.arrays import FloatArray
from lacunet.selection.candidates import Selection
from lacunet.selection.group_comparison import GroupAnswer, GroupComparison, group_answers
from lacunet.selection.other_answers import ratio_grid
from lacunet.selection.paper_tables import Criteria
from lacunet.summaries.intervals import Intervals, drawn_answers, intervals_to_draw
from lacunet.summaries.statistics import Classification, fit_statistics
from lacunet.tabular import Grid, probability

ALL = "all"


@dataclass(frozen=True)
class Lane:
    """The mark of one group in a cell, or of all of them."""

    look: str  # classes of the style sheet: colour and shape
    share: str  # 0 to 1, where its mark is
    low: str  # empty: no interval
    high: str


@dataclass(frozen=True)
class LaneCell:
    """An answer in one class: a lane for each group, or one where all are the same."""

    lanes: tuple[Lane, ...]
    tip: str
    said: str  # the same for those who hear it


@dataclass(frozen=True)
class GroupItem:
    """The answers to one item, or class sizes."""

    name: str
    free: bool  # whether groups differ in it, by the model
    answers: tuple[tuple[str, tuple[LaneCell, ...]], ...]


@dataclass(frozen=True)
class GroupView:
    """The section of the page."""

    group: str
    level: str
    classes: tuple[str, ...]
    legend: tuple[tuple[str, str], ...]  # names, and how their marks look
    items: tuple[GroupItem, ...]
    intervals: str  # which, in words
    note: str


def group_view(found: GroupComparison, intervals: Intervals | None = None) -> GroupView:
    """Show the model that the answer names."""
    precise = intervals_to_draw(found.fit, intervals or True)
    answers = list(group_answers(found, found.level, precise))
    grouped = found.grouped(found.level)
    root = grouped.network.variables[grouped.root]
    items = [grouped.network.variables[i] for i in grouped.items]
    numbers = [v.name for v in items if not drawn_answers(v)]
    left = f"Not here, for they are numbers: {', '.join(numbers)}." if numbers else ""
    if any(v.family.on_a_scale for v in items):
        left = f"Means of ordered answers: 0 is the lowest answer, 1 the highest. {left}".rstrip()
    return GroupView(
        found.group,
        str(found.level),
        tuple(f"{root.name} {label}" for label in root.labels),
        tuple((name, key(Look(g))) for g, name in enumerate(found.groups)),
        tuple(_items(answers, found.groups)),
        "" if precise is None else f", with {100 * precise.level:g}% intervals where there are any",
        left,
    )


def _items(answers: Sequence[GroupAnswer], groups: Sequence[str]) -> Iterator[GroupItem]:
    each: dict[str, list[GroupAnswer]] = {}
    for answer in answers:
        each.setdefault(answer.variable.name, []).append(answer)
    for told in each.values():
        v = told[0].variable
        name = "class size" if told[0].state is None else v.heading
        rows = tuple(
            ("" if a.state is None else drawn_answers(v)[a.state], tuple(_cells(a, groups)))
            for a in told
        )
        yield GroupItem(name, told[0].state is not None and not told[0].shared, rows)


def _cells(answer: GroupAnswer, groups: Sequence[str]) -> Iterator[LaneCell]:
    named = [ALL] if answer.shared else groups
    for c in range(answer.values.shape[2]):
        values = answer.values[:, : len(named), c].T
        lanes = tuple(
            _lane("alike" if answer.shared else _look(g), own) for g, own in enumerate(values)
        )
        told = [(name, _words(own)) for name, own in zip(named, values, strict=True)]
        tip = "\n".join(["", *(f"{name}\t{words}" for name, words in told)])
        yield LaneCell(lanes, tip, ", ".join(f"{name} {words}" for name, words in told))


def _look(group: int) -> str:
    look = Look(group)
    return f"s{look.colour} m{group % len(MARKS)}"


def _lane(look: str, own: FloatArray) -> Lane:
    p, low, high = own.tolist()
    known = bool(np.isfinite(own).all())
    ends = (hundredths(low), hundredths(high)) if known else ("", "")
    return Lane(look, hundredths(p), *ends)


def _words(own: FloatArray) -> str:
    p, low, high = own.tolist()
    known = np.isfinite(own).all()
    return (
        f"{probability(p)} ({probability(low)} to {probability(high)})"
        if known
        else (str(probability(p)))
    )


PATTERNS = 15  # patterns that are shown, the most frequent ones
DOTS = 14  # columns with holes up to which a pattern is drawn as dots
COLUMNS = 400  # columns that are listed


@dataclass(frozen=True)
class Pattern:
    """Rows that miss the same columns."""

    missing: tuple[bool, ...]  # for each column with holes
    names: str  # of what is missing, in words
    cases: str
    share: Cell


@dataclass(frozen=True)
class Holes:
    """The audit."""

    words: str
    columns: tuple[tuple[str, Cell], ...]  # those with holes, most first
    complete: str  # the others, in words
    patterns: tuple[Pattern, ...]
    dots: bool  # whether patterns are drawn
    rest: str  # what is not shown


def audit(table: Table) -> Holes:
    """Look for holes."""
    share = table.missing
    holed = sorted((j for j in table.shown if share[j] > 0), key=lambda j: -share[j])
    full = [table.columns[j].name for j in table.shown if j not in set(holed)]
    if not holed:
        return Holes("No cell is missing.", (), "", (), False, "")
    which, index = hole_patterns(table.codes)
    cases = np.bincount(index, weights=table.counts, minlength=len(which))
    order = np.argsort(-cases, kind="stable")
    shown = [p for p in order[:PATTERNS].tolist() if cases[p] > 0]
    complete = float(cases[~which.any(axis=1)].sum())
    words = (
        f"{percent(float(share.mean()))} of all cells are missing, in {len(holed)} of "
        f"{count(len(table.columns), 'column')}. {percent(complete / table.weight)} of the rows "
        f"are complete. There are {count(len(which), 'pattern')} of holes."
    )
    left = len(which) - len(shown)
    rest = percent(float(cases[order[PATTERNS:]].sum()) / table.weight)
    return Holes(
        words,
        tuple((table.columns[j].name, share_cell(float(share[j]))) for j in holed[:COLUMNS]),
        f"No cell is missing in {listed(full, 12)}." if full else "",
        tuple(_pattern(table, which[p], float(cases[p]), holed) for p in shown),
        len(holed) <= DOTS,
        f"{count(left, 'other pattern')} together: {rest} of the rows." if left else "",
    )


def _pattern(table: Table, holes: np.ndarray, cases: float, holed: list[int]) -> Pattern:
    names = [table.columns[j].name for j in holed if holes[j]]
    return Pattern(
        tuple(bool(holes[j]) for j in holed),
        listed(names, 6) if names else "nothing",
        f"{cases:,.6g}",
        share_cell(cases / table.weight),
    )


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
