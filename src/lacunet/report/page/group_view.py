"""Classes in groups as a table of marks with intervals: where do groups differ in a class?"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from lacunet.charts.style import MARKS, Look
from lacunet.report.page.chart import key
from lacunet.report.page.words import hundredths
from lacunet.runtime.arrays import FloatArray
from lacunet.selection.groups.answers import GroupAnswer, group_answers
from lacunet.selection.groups.comparison import GroupComparison
from lacunet.summaries.drawn_answers import drawn_answers
from lacunet.summaries.given_intervals import intervals_to_draw
from lacunet.summaries.intervals import Intervals
from lacunet.tabular import probability

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
