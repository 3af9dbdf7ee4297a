"""How far a range of numbers of classes was followed, and how probable it is that more are right.

What was not tried has no evidence. So beyond the largest number the evidence is continued: it is
taken to go on falling by the same factor with every further class (a geometric series, like the
tail of p(k) where classes stay empty). Where it does not fall yet, nothing can be said but that
more may be right, however probable the last number is among those that were tried.

What a selection says of its range: whether it was long enough, and how many classes are used.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lacunet.selection.average import Label, NamedPrior
from lacunet.tabular import chance, probability
from lacunet.wording import range_words, worded

if TYPE_CHECKING:
    from lacunet.selection.candidates import Selection

ENOUGH = 0.05  # probability of more than were tried, below which a range is long enough
FIRST = 8  # classes that are tried where no range is given;
FURTHER = (12, 16, 24, 32)  # and how far they are followed while more are probable
FEWEST_ROWS = 10  # of data for each class of one more stretch: fewer rows tell no classes apart
MOST_WORK = 1e8  # cells times classes that one more stretch may have: some minutes on one core
FALLING = 0.9  # of its probability that each further class has at most, where nothing else says so
TERMS = 10_000  # of a series: numbers beyond the last


@dataclass(frozen=True)
class Reach:
    """A range was left where the evidence had fallen far, and went on falling."""

    best: int  # states, of those that were looked at
    last: int  # the most that were tried
    asked: int  # the most that were asked for
    fall: float  # nats of log evidence from the best to the last

    def __str__(self) -> str:
        last, asked = self.last, self.asked
        return worded(
            f"{last + 1} to {asked} were left out: at {last} the evidence is about "
            f"{self.fall:.0f} nats below that of {self.best}, and beyond it goes on falling. "
            "With --whole-range they are tried too"
        )


def probability_of_more(
    values: Mapping[Label, float],
    probabilities: Mapping[Label, float],
    prior: NamedPrior | None = None,
) -> float:
    """Give the probability of more than the largest number, beside those that were tried.

    Parameters
    ----------
    values
        Log evidence of each number.
    probabilities
        Their posterior, as if there were no others.
    prior
        Of the number of classes; None: the same for all.

    >>> values = {1: -20.0, 2: -10.0, 3: -12.0, 4: -14.0}
    >>> round(probability_of_more(values, {1: 0.0, 2: 0.87, 3: 0.12, 4: 0.01}), 4)
    0.0016
    """
    known = sorted(k for k, v in values.items() if isinstance(k, int) and math.isfinite(v))
    if len(known) < 2:
        return 0.0
    best, last = max(known, key=lambda k: (probabilities[k], -k)), known[-1]
    if best == last:
        return 1.0
    before = max(best, known[-3]) if len(known) > 2 else best  # two steps: errors count for less
    slope = (values[last] - values[before]) / (last - before)
    slope = min(slope, math.log(FALLING) if prior is None else 0.0)
    if prior is None:
        tail = math.exp(slope) / -math.expm1(slope)
    else:
        more = np.arange(1, TERMS + 1)
        weights = prior.log_weight((last + more).tolist()) - prior.log_weight([last])
        tail = float(np.exp(weights + slope * more).sum())
    beyond = probabilities[last] * tail
    return beyond / (1.0 + beyond)


def largest_sizes(tried: Sequence[Mapping[str, int]], chosen: Mapping[str, int]) -> tuple[str, ...]:
    """Name what has as many states as were tried at most, where several numbers were.

    >>> largest_sizes([{"G": 1, "H": 2}, {"G": 2, "H": 2}], {"G": 2, "H": 2})
    ('G',)
    """
    numbers = {name: {sizes.get(name, k) for sizes in tried} for name, k in chosen.items()}
    return tuple(n for n, k in chosen.items() if len(numbers[n]) > 1 and k == max(numbers[n]))


WORTH_A_WORD = 0.005  # probability of a number of used classes that is named
NAMED = 4  # such numbers at most


def at_the_end(selection: Selection) -> list[str]:
    """Warn where better answers may lie beyond what was tried, and say what to try."""
    k, labels = selection.label, [c.label for c in selection.candidates]
    known = [n for n in labels if isinstance(n, int)]
    if isinstance(k, str) and selection.at_edge:
        sizes = selection.best.proposal.sizes
        edge = " and ".join(f"{sizes[name]} of {name}" for name in selection.at_edge)
        most = max(n for c in selection.candidates for n in c.proposal.sizes.values())
        return [
            f"{edge} is the largest number that was tried. Try more: {range_words(1, 2 * most)}"
        ]
    if not isinstance(k, int) or len(known) < 2:
        return []
    few, many = min(known), max(known)
    wider = f". Try more: {range_words(few, 2 * many)}"
    if selection.unidentified and many in selection.unidentified:
        wider = ", and these columns cannot tell even so many apart"
    if k == many:
        return [f"{k} is the largest number that was tried{wider}"]
    if selection.more is not None and selection.more > ENOUGH:
        return [f"more than {many} were not tried{wider}"]
    if k == few and k > 1:
        wider = range_words(1, many)
        return [f"{k} is the smallest number that was tried. Try fewer: {wider}"]
    return []


def beyond(selection: Selection) -> list[str]:
    """How probable more classes than were tried are, where that is worth a word."""
    p = selection.more
    if p is None or p <= ENOUGH:
        return []
    most = max(c.label for c in selection.candidates if isinstance(c.label, int))
    return [f"more than {most}, not tried: up to about {p:.2f}"]


def followed(selection: Selection) -> str:
    """Say that a range was followed by itself, and why no further."""
    most = max(c.label for c in selection.candidates if isinstance(c.label, int))
    more = selection.more or 0.0
    if more > ENOUGH:
        return (
            f"more than {FIRST} {selection.unit} were probable, so that up to {most} were tried; "
            "without a range of yours no more are"
        )
    return (
        f"more than {FIRST} {selection.unit} were probable, so that up to {most} were tried: "
        f"more than these have the probability {probability(more, exact=False)}"
    )


def used_sentence(selection: Selection) -> list[str]:
    """Say how many classes have cases, which may be fewer than there are."""
    if selection.used is None:
        return []
    shares = sorted(selection.used.items(), key=lambda share: -share[1])
    worth = [(m, p) for n, (m, p) in enumerate(shares) if n == 0 or p >= WORTH_A_WORD]
    words = ", ".join(f"{m} ({chance(p, None)})" for m, p in worth[:NAMED])
    return [f"classes with at least one case: {words}"]


def used_note(selection: Selection) -> list[str]:
    """Say what the column of used classes is, or why there is none."""
    if not isinstance(selection.candidates[0].label, int) or len(selection.candidates) == 1:
        return []
    if selection.used is not None:
        return ["used: posterior of the number of classes that have a case."]
    if selection.unit != "classes":
        return []
    return ["How many classes have a case is not known, because that was not measured."]
