"""The whole search: climbs, and climbs again from graphs that were shaken in one place.

A climb ends where no single edge helps, often because several edges point the wrong way at once, or
help only together. So edges that may as well point the other way are turned at random, some
neighbours lose most of their edges and get a few others, and the climb goes on from there. Families
elsewhere are as they were, so it costs little: most sets of parents were met before.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial

import numpy as np

from lacunet.errors import OptionError
from lacunet.runtime.arrays import BoolArray, FloatArray
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.structure.climb import Climbed, climb, score_graph
from lacunet.structure.families import FamilyScores
from lacunet.structure.graph_prior import GraphPrior
from lacunet.structure.journal import FORGETFUL, Journal, edges_of_graph, graph_of_edges
from lacunet.structure.moves import EQUAL, Limits
from lacunet.structure.shaking import scatter, shaken, turn_covered

MOST_SWEEPS = 6  # where gains are added up along the way, which may lead round in circles
FEWEST = 40  # shakes of a sweep, at least about: of few variables, several around each


class GraphScore(StrEnum):
    """What decides between graphs where cells are missing."""

    BOUND = "bound"  # a lower bound of log p(D|S) of the data as they are
    AVAILABLE = "available"  # of each move, the rows that show all it is about
    EXPECTED = "expected"  # rows completed under the graph before: structural EM


@dataclass(frozen=True)
class GraphSearch:
    """How to search."""

    sweeps: int = 1  # shakes around every variable that must be in vain before a search ends
    restarts: int = 2  # searches after the first, all from the same graph
    probes: int = 3  # with holes: moves of each kind, tried where completed rows lead nowhere
    exact: bool = False  # the best of all graphs instead, for few variables
    seed: int = 0
    score: GraphScore = GraphScore.BOUND  # with holes: what decides between graphs
    prior: GraphPrior = GraphPrior.UNIFORM  # over graphs

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not isinstance(value, str) and value < 0:
                raise OptionError(f"{name} {value} is not allowed: give 0 or more.")


ONE_CLIMB = GraphSearch(sweeps=0, restarts=0)


@dataclass(frozen=True, eq=False)
class Found:
    """The best graph of a search."""

    parents: BoolArray  # (n, n) whether u is a parent of v, at [v, u]
    families: FloatArray  # (n,) scores of its families
    steps: int  # moves made, over all climbs
    scored: int  # families scored


def search(
    starts: Sequence[BoolArray],
    scores: FamilyScores,
    limits: Limits,
    how: GraphSearch,
    executor: Executor = SERIAL,
    journal: Journal = FORGETFUL,
) -> Found:
    """Search several times from each graph; the best one that was met is the answer."""
    turns = [(start, k) for k in range(1 + how.restarts) for start in starts]
    once = partial(_search_once, scores, limits, how, journal)
    found = executor.count(once, turns, "search", first=0, total=len(turns))
    best = max(found, key=lambda one: one.score)
    steps = sum(one.steps for one in found)
    return Found(best.parents, best.families, steps, scores.scored)


def _search_once(
    scores: FamilyScores,
    limits: Limits,
    how: GraphSearch,
    journal: Journal,
    turn: tuple[BoolArray, int],
) -> Climbed:
    """Climb, and shake around every variable in turn until that is in vain."""
    start, k = turn
    rng, piece = np.random.default_rng([how.seed, k]), f"search {k + 1}"
    if stand := journal.get(piece):
        rng.bit_generator.state = stand["rng"]
        best, in_vain = (
            score_graph(graph_of_edges(stand["edges"], len(start)), scores),
            stand["in vain"],
        )
        steps = stand["steps"]
    else:
        best = climb(start, scores, limits, rng, score_graph(start, scores))
        steps, in_vain = best.steps, 0
    while in_vain < how.sweeps * max(1, FEWEST // len(start)):
        in_vain += 1
        for v in rng.permutation(len(start)):
            other = climb(shaken(best.parents, v, limits, rng), scores, limits, rng, best)
            steps += other.steps
            if other.score > best.score + EQUAL:
                in_vain = 0
            if other.score >= best.score - EQUAL:  # as good is another place to go on from
                best = other
        state = {"rng": rng.bit_generator.state, "in vain": in_vain, "steps": steps}
        journal.put(piece, edges=edges_of_graph(best.parents), **state)
    return replace(best, steps=steps)


def search_by_gains(
    start: BoolArray, scores: FamilyScores, limits: Limits, rng: np.random.Generator
) -> BoolArray:
    """Search where only gains of moves are known, not scores: they are added up along the way.

    Each gain may be of other rows. So the sum is about right, and whoever asks checks the graph.
    """
    best = climb(start, scores, limits, rng, score_graph(start, scores))
    n, in_vain = len(start), 0
    often = max(1, FEWEST // n)
    for _ in range(MOST_SWEEPS * often):
        in_vain += 1
        for v in rng.permutation(n).tolist():
            turned = best.parents.copy()
            turn_covered(turned, limits, rng)
            apart = turned.copy()
            scatter(apart, v, limits, rng)
            other = climb(apart, scores, limits, rng, best)
            gain = other.gained + _gain_of(turned, apart, scores)
            if gain > EQUAL:
                in_vain = 0
            if gain >= -EQUAL:
                best = other
        if in_vain == often:
            break
    return best.parents


def _gain_of(before: BoolArray, after: BoolArray, scores: FamilyScores) -> float:
    """Add up what is gained from one graph to another, the best change of a family first."""
    gain, now = 0.0, before.copy()
    for v in np.flatnonzero((before != after).any(axis=1)).tolist():
        for changes in (before[v] & ~after[v], after[v] & ~before[v]):
            left = np.flatnonzero(changes).tolist()
            while left:
                gains = scores(v, now[v]).gains
                u = max(left, key=gains.__getitem__)
                gain += gains[u]
                left.remove(u)
                now[v, u] = not now[v, u]
    return gain
