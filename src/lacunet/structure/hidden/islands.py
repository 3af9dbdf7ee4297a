"""Columns that one hidden variable explains: groups that are grown until it no longer does.

As in "bridged islands" (Liu, Zhang, Chen et al. 2015): a group takes in the column that is nearest
to it, for as long as no two hidden variables explain it better than one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lacunet.runtime.executor import SERIAL, Executor
from lacunet.structure.hidden.classes import Classes
from lacunet.structure.hidden.explaining import Explaining


@dataclass(frozen=True, eq=False)
class Island:
    """Columns with one hidden variable behind them."""

    members: list[int]
    classes: Classes


def find_islands(explaining: Explaining, executor: Executor = SERIAL) -> list[Island]:
    """Put columns into islands, one after the other; a column or two may be left over."""
    columns = range(explaining.sketch.n)
    left, found = set(columns), list[Island]()
    while len(left) >= min(3, len(columns)):
        island = _grow(explaining, left)
        found.append(island)
        left -= {*island.members}
        executor.say(f"{len(found)} groups of columns", 1.0 - len(left) / len(columns))
    return found


def _grow(explaining: Explaining, left: set[int]) -> Island:
    """Grow an island from the nearest pair."""
    near, rest = explaining.near, sorted(left)
    pairs = near[np.ix_(rest, rest)]
    own = [rest[v] for v in np.unravel_index(int(pairs.argmax()), pairs.shape)]
    classes = explaining.one(own)
    while len(own) < len(left):
        others = sorted(left - {*own})
        nearest = others[int(near[np.ix_(others, own)].max(axis=1).argmax())]
        wider = [*own, nearest]
        one = explaining.one(wider, classes.states)
        two = explaining.split(wider, one)
        if two is not None:
            place = next(i for i, group in enumerate(two.groups) if nearest not in group)
            return Island(two.groups[place], two.classes[place])
        own, classes = wider, one
    return Island(own, classes)
