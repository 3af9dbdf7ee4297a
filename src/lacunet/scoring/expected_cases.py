"""Cases that parameters expect in the cells of hidden variables and their children.

What labels a sample has is judged by the cells around hidden variables. So only hidden variables,
and the parents that they have, are followed from parents to children; everything else that was seen
has the shares that it has in the data.
"""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from lacunet.data.discover import weighed
from lacunet.inference.problem import Problem
from lacunet.model import conjugacy
from lacunet.runtime.arrays import FloatArray, IntArray
from lacunet.runtime.rows import in_passing

MOST_FOLLOWED = 40  # variables in one sum of products


class ExpectedCases:
    """Turns parameters into the cases that they expect, for one problem."""

    def __init__(self, problem: Problem, N: FloatArray) -> None:
        """Take the counts of a mode: they say how frequent configurations of seen parents are."""
        self.problem, self.N = problem, N

    def __call__(self, theta: FloatArray) -> FloatArray:
        """Give the cases of every position, (draws, size), at parameters (draws, size).

        Where no family is around a hidden variable, the parameters themselves.
        """
        layout, found = self.problem.layout, theta.copy()
        each = conjugacy.expected_statistics(theta, np.ones(layout.size), layout)
        hidden = set(self.problem.network.hidden)
        for i, family in enumerate(layout.families):
            if hidden.isdisjoint(family) or not layout.widths[i]:
                continue
            at = self._positions(i)
            weights = self._parents(theta, i)[..., None]
            found[:, at.reshape(-1)] = (each[:, at] * weights).reshape(len(theta), -1)
        return found

    def _parents(self, theta: FloatArray, i: int) -> FloatArray:
        """Cases of each configuration of the parents of i, (draws, states of each parent)."""
        problem, family = self.problem, self.problem.layout.families[i]
        parents = family[:-1]
        inside = [v for v in parents if v in self._followed]
        cases = problem.layout.table(conjugacy.cases(self.N + problem.alpha, problem.layout), i)
        away = tuple(n for n, v in enumerate(parents) if v in inside)
        outside = cases[..., 0].sum(axis=away, keepdims=True)
        joint = self._joint(theta, inside)
        shape = [problem.layout.cards[v] if v in inside else 1 for v in parents]
        weights: FloatArray = joint.reshape(-1, *shape) * (outside / outside.sum())
        return problem.cases * weights

    @cached_property
    def _followed(self) -> dict[int, tuple[int, ...]]:
        """Hidden variables with their parents, and seen parents with none, in order."""
        network = self.problem.network
        roots = {p for h in network.hidden for p in network.parents[h]}.difference(network.hidden)
        return {
            v: () if v in roots else network.parents[v]
            for v in network.order
            if v in roots or v in network.hidden
        }

    @cached_property
    def _shares(self) -> dict[int, FloatArray]:
        """How frequent the states of seen parents of hidden variables are."""
        problem, shares = self.problem, {}
        for column, v in enumerate(problem.network.observed):
            if v in self._followed:
                seen = np.zeros(problem.layout.cards[v])
                for part in in_passing(problem.codes, problem.counts):
                    seen += weighed(part.codes[:, column], part.counts, len(seen))
                shares[v] = (seen + 1.0) / (seen + 1.0).sum()
        return shares

    def _joint(self, theta: FloatArray, variables: Sequence[int]) -> FloatArray:
        """Their joint distribution, (draws, states of each)."""
        if not variables:
            return np.ones((len(theta), 1))
        above = self._above(variables)
        label = {v: n + 1 for n, v in enumerate(above)}  # 0: the draws
        factors: list[Any] = [np.ones(len(theta)), [0]]
        for v in above:
            if v in self._shares:
                factors += [self._shares[v], [label[v]]]
                continue
            family = self.problem.layout.families[v]
            away = tuple(n + 1 for n, u in enumerate(family) if u not in label)
            own = theta[:, self._positions(v)].mean(axis=away)
            factors += [own, [0, *(label[u] for u in family if u in label)]]
        kept = [0, *(label[v] for v in variables)]
        joint: FloatArray = np.einsum(*factors, kept, optimize=True)
        return joint

    def _above(self, variables: Sequence[int]) -> list[int]:
        """Them and their ancestors, nearest first; those too far away have any state as often."""
        found = list(variables)
        for v in found:
            more = [u for u in self._followed[v] if u not in found]
            found += more[: MOST_FOLLOWED - len(found)] if len(found) < MOST_FOLLOWED else []
        return found

    def _positions(self, i: int) -> IntArray:
        """Where the numbers of a family stand: parents in their order, then the child."""
        layout = self.problem.layout
        return layout.table(np.arange(layout.size), i)
