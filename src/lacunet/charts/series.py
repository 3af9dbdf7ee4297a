"""What the charts of a selection show: a curve for each score, a bar for each candidate."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from lacunet.charts.style import Look
from lacunet.selection.average import Label, Labellings
from lacunet.selection.candidates import Selection
from lacunet.selection.grids import TITLES

PLAIN = Labellings.PLAIN.value


@dataclass(frozen=True)
class Series:
    """One score of every candidate."""

    title: str
    values: tuple[float, ...]  # NaN where the score failed, or was not taken
    errors: tuple[float | None, ...]  # standard errors
    chosen: int | None  # index of the candidate that it chooses
    look: Look
    main: bool = False  # whether the answer goes by it
    left_out: frozenset[int] = frozenset()  # candidates that it was not taken of: too far behind

    def failed(self, candidate: int) -> bool:
        """Whether it has no value where it should have one."""
        return math.isnan(self.values[candidate]) and candidate not in self.left_out

    @property
    def known(self) -> list[float]:
        """The values that exist."""
        return [v for v in self.values if math.isfinite(v)]


def ranked(selection: Selection) -> list[str]:
    """Name the scores that candidates can be compared by, that of the answer first."""
    return sorted((s.name for s in selection.scores), key=lambda n: n != selection.headline)


def score_series(selection: Selection, names: Sequence[str]) -> tuple[Series, ...]:
    """Give a curve for each of some scores that candidates can be compared by.

    The score of the answer has the first look, so that it is the same in every chart.
    """
    every = ranked(selection)
    labels = [c.label for c in selection.candidates]
    curves = []
    for name in names:
        values = selection.values(name).values()
        each = [c.scores.get(name) for c in selection.candidates]
        chosen = selection.chosen[name]
        curves.append(
            Series(
                TITLES[name],
                tuple(v if math.isfinite(v) else math.nan for v in values),
                tuple(e.stderr if e else None for e in each),
                None if chosen is None else labels.index(chosen),
                Look(every.index(name)),
                name == selection.headline,
                frozenset(i for i, e in enumerate(each) if e is None),
            )
        )
    return tuple(curves)


def posteriors(selection: Selection, score: str | None = None) -> dict[str, dict[Label, float]]:
    """Give the probability of every candidate by each way to count labellings that differs."""
    ways = {way.value: selection.posterior(score, way) for way in Labellings}
    plain, labelled = ways.values()
    return {PLAIN: plain} if plain == labelled else ways


def errors_of(selection: Selection, score: str | None = None) -> dict[Label, float | None]:
    """Give the standard errors of the probabilities of the answer; other scores have none."""
    certainty = selection.certainty
    answer = score is None or score == certainty.by
    return certainty.stderr if answer else dict.fromkeys(certainty.stderr)


def by_number(selection: Selection) -> bool:
    """Whether candidates are numbers of states, so that a curve means something."""
    return all(isinstance(c.label, int) for c in selection.candidates)
