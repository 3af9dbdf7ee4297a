"""What a selection says of its range: whether it was long enough, and how many classes are used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lacunet.selection.reach import ENOUGH, FIRST
from lacunet.tabular import chance, probability
from lacunet.wording import range_words

if TYPE_CHECKING:
    from lacunet.selection.candidates import Selection

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
