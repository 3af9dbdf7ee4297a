"""The order of work: by name, so that it does not matter in which order things were written down.

Sums of floats and draws by a seed depend on the order in which they are taken. So columns and
variables are worked on in one order, whatever that of the data or of a network's file is; each
keeps its place there, in which people see it again.
"""

import re
from collections.abc import Sequence

DIGITS = re.compile("([0-9]+)")
NOWHERE = -1  # the place of what nobody put anywhere: before all else


def by_name(names: Sequence[str]) -> list[int]:
    """Give the places of names in their natural order: numbers in them by their size.

    >>> by_name(["x10", "y", "x2"])
    [2, 0, 1]
    """
    return sorted(range(len(names)), key=lambda i: (_natural(names[i]), names[i]))


def _natural(name: str) -> list[tuple[int, str]]:
    """Texts and numbers by turns; a number by how long it is, for it may be of any length."""
    parts = DIGITS.split(name)
    parts[1::2] = [digits.lstrip("0") for digits in parts[1::2]]
    return [(len(part) if k % 2 else 0, part) for k, part in enumerate(parts)]


def kept(places: Sequence[int]) -> Sequence[int]:
    """Give the places of things; where nobody gave them any, they stand as they were written."""
    return range(len(places)) if all(place == NOWHERE for place in places) else places


def as_shown(places: Sequence[int]) -> tuple[int, ...]:
    """Give the order in which people see things that have places: as they wrote them down."""
    return tuple(sorted(range(len(places)), key=places.__getitem__))
