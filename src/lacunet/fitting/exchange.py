"""From a maximum to a better one: two states of a hidden variable become one, another one two.

Random starts, and EM, put two groups of cases into one state and leave it so, while two other
states share one group: between them lies a valley that no climb crosses (Ueda et al. 2000). Which
states to put together and which to divide is guessed from statistics (`regroup.py`) and from the
cases of one state alone (`splitting.py`); a short climb of the whole decides.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import TypeAlias

from lacunet.fitting.ascent import em_while_fast
from lacunet.fitting.objective import Objective, Point
from lacunet.fitting.ranks import Rank
from lacunet.fitting.regroup import Freed, Places, ways_to_free
from lacunet.fitting.splitting import NONE, Halver, Split, Splits, find_splits
from lacunet.fitting.starts import em
from lacunet.inference.classes import resizable
from lacunet.inference.problem import Problem

TURNS = 30  # most exchanges, one after the other
WAYS = 8  # to free a state, those that lose least, that are looked at
TRIED = 4  # exchanges that are tried in a turn, those that promise most
SHORT = 10  # iterations after which they are judged
WORTH = 0.1  # nats that an exchange must gain


@dataclass(frozen=True, eq=False)
class Exchange:
    """A state is freed, and its place taken by half of another."""

    split: Split
    freed: Freed
    promise: float  # nats

    @property
    def touched(self) -> frozenset[tuple[int, int]]:
        """The states that it changes, with their variable."""
        return frozenset((self.split.h, s) for s in (self.split.state, *self.freed.touched))


Together: TypeAlias = tuple[Exchange, ...]  # exchanges that touch different states


@dataclass(frozen=True, eq=False)
class Exchanged:
    """Where exchanges led."""

    point: Point
    made: int  # how many of them were made
    settled: bool  # whether none was left that gains anything


def exchange(objective: Objective, point: Point, rank: Rank, seed: int) -> Exchanged:
    """Exchange states as long as that makes a point better."""
    halvers = halvers_of(objective, rank, seed)
    value, splits = rank(objective, point), NONE
    for made in range(TURNS):
        splits = find_splits(objective, point, halvers, splits)
        tries = choices(objective.problem, point, halvers, splits)
        ends = objective.executor.map(partial(_tried, objective, point, rank, halvers), tries)
        reached, there = max(ends, key=lambda end: end[0], default=(value, point))
        if reached > value + WORTH:  # what is heavy on the way up may be light at the top
            there = em_while_fast(objective, there).point
            reached = rank(objective, there)
        if reached <= value + WORTH:
            return Exchanged(point, made, settled=True)
        value, point = reached, there
    return Exchanged(point, TURNS, settled=False)


def halvers_of(objective: Objective, rank: Rank, seed: int) -> list[Halver]:
    """Make one for each hidden variable that the data tell something of, and no known table."""
    problem, members = objective.problem, objective.problem.components.members
    told = [h for h in problem.network.hidden if h in members and resizable(problem.network, h)]
    places = [Places.build(problem.layout, h) for h in told]
    return [Halver.build(objective, one, rank, seed) for one in places]


def choices(
    problem: Problem, point: Point, halvers: Sequence[Halver], splits: Splits
) -> list[Together]:
    """The exchanges that promise most: all that do not touch each other together, and each."""
    found: list[Exchange] = []
    for halver in halvers:
        ways = ways_to_free(problem, point.N, halver.places)
        mine = [split for split in splits.values() if split.h == halver.places.h]
        for split in mine:
            found += _for_split(split, ways)
    found.sort(key=lambda e: -e.promise)
    best: dict[tuple[int, int], Exchange] = {}  # for each state that may be split
    for e in found:
        best.setdefault((e.split.h, e.split.state), e)
    tries: list[Together] = [(e,) for e in list(best.values())[:TRIED]]
    joint = _apart(found)
    return [joint, *tries] if len(joint) > 1 else tries


def _for_split(split: Split, ways: Sequence[Freed]) -> list[Exchange]:
    apart = islice((way for way in ways if split.state not in way.touched), WAYS)
    return [Exchange(split, way, split.gain - way.loss) for way in apart]


def _apart(ranked: Sequence[Exchange]) -> Together:
    """Take one after the other of those that promise a gain and touch nothing touched before."""
    chosen: list[Exchange] = []
    touched: frozenset[tuple[int, int]] = frozenset()
    for e in ranked:
        if e.promise > 0 and not e.touched & touched:
            chosen.append(e)
            touched |= e.touched
    return tuple(chosen)


def _tried(
    objective: Objective,
    point: Point,
    rank: Rank,
    halvers: Sequence[Halver],
    together: Together,
) -> tuple[float, Point]:
    """Make exchanges and climb a little: the value there."""
    N, states = point.N.copy(), {x.places.h: x.places.states for x in halvers}
    for e in together:
        of = states[e.split.h]
        if e.freed.a is not None:
            N[of[e.freed.a]] += N[of[e.freed.b]]
        N[of[e.split.state]], N[of[e.freed.b]] = e.split.halves
    there = em(objective, objective.best_for(N), iterations=SHORT)
    return rank(objective, there), there
