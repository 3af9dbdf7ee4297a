"""From a graph uphill: the move of one edge that gains most, until none gains.

A move changes one family or two. Only their gains are asked for anew, and only if their sets of
parents were never met before.
"""

from dataclasses import dataclass

import numpy as np

from lacunet.runtime.arrays import BoolArray, FloatArray
from lacunet.structure.families import FamilyScores
from lacunet.structure.moves import ADD, EQUAL, REVERSE, Limits, find_best

MOST_STEPS = 20  # per variable; gains that are taken on different rows may lead round in circles


@dataclass(frozen=True, eq=False)
class Climbed:
    """A graph that no move of one edge makes better."""

    parents: BoolArray  # (n, n) whether u is a parent of v, at [v, u]
    families: FloatArray  # (n,) scores of its families
    gains: FloatArray  # (n, n) what it adds to put u to the parents of v, or to take it away
    steps: int  # moves made on the way
    gained: float = 0.0  # by these moves

    @property
    def score(self) -> float:
        """The score of the graph."""
        return float(self.families.sum())


def score_graph(parents: BoolArray, scores: FamilyScores) -> Climbed:
    """Score a graph, where no step was made yet."""
    scored = [scores(v, pa) for v, pa in enumerate(parents)]
    families, gains = (np.array(values) for values in zip(*scored, strict=True))
    return Climbed(parents, families, gains, steps=0)


def climb(
    start: BoolArray,
    scores: FamilyScores,
    limits: Limits,
    rng: np.random.Generator,
    near: Climbed,
) -> Climbed:
    """Make the best move as long as one gains; among equal ones chance decides.

    `near` is a graph that was scored before: most of its families are those of the start.
    """
    parents, families, gains = start.copy(), near.families.copy(), near.gains.copy()
    changed = np.flatnonzero((parents != near.parents).any(axis=1)).tolist()
    steps, gained = 0, 0.0
    while True:
        for v in changed:
            families[v], gains[v] = scores(v, parents[v])
        top, tied = find_best(parents, limits, gains)
        if top <= EQUAL or steps == MOST_STEPS * len(parents):
            return Climbed(parents, families, gains, steps, gained)
        kind, u, v = tied[int(rng.integers(len(tied)))].tolist()
        parents[v, u] = kind == ADD
        parents[u, v] |= kind == REVERSE
        changed = [v, u] if kind == REVERSE else [v]
        steps, gained = steps + 1, gained + top
