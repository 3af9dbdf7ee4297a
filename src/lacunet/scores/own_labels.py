"""How far equal modes overlap: the share of a Gaussian around a mode that has its own labels.

Where hidden states can hardly be told apart, the Gaussians around equal modes overlap, and adding
all of them counts the same parameters again and again. The labels of a sample are judged by the
expected cases around hidden variables.
"""

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from lacunet.data.discover import weighed
from lacunet.fitting.objective import Point
from lacunet.inference.curvature.coordinates import FreeCoordinates
from lacunet.inference.problem import Problem
from lacunet.inference.regions import JITTER, Regions
from lacunet.inference.symmetry import symmetries_of
from lacunet.models import conjugacy
from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray
from lacunet.runtime.rows import in_passing

DRAWS = 400
FARTHEST = 300.0  # that a draw moves φ: e^300 times as much of one probability as of another
ENOUGH = 20  # draws with their own labels, from which their share is known well enough
MOST_FOLLOWED = 40  # variables in one sum of products


def canonical_order(problem: Problem, mode: Point, coordinates: FreeCoordinates) -> IntArray:
    """An order of the free coordinates that does not depend on how columns and states stand."""
    return np.argsort(_places(problem, mode)[coordinates.free])


def log_own_labels(problem: Problem, mode: Point, free: IntArray, L: FloatArray) -> float:
    """Log of the share of N(mode, A⁻¹), in φ, that no relabelling of what is hidden fits better.

    Estimated by a fixed set of draws: the same for the same model, in whatever order its columns,
    states and classes stand. L is the Cholesky factor of A, with the free positions in canonical
    order.
    """
    symmetries = symmetries_of(problem)
    if not symmetries.blocks:
        return 0.0
    place = _places(problem, mode)
    rng = np.random.default_rng(0)
    noise = np.exp(JITTER * rng.standard_normal(problem.layout.size))[place]
    moves = solve_triangular(L, rng.standard_normal((len(free), DRAWS)), lower=True, trans="T")
    phi = np.zeros((DRAWS, problem.layout.size))
    # In directions that the data do not hold, φ may be anything: so far that others do not count.
    phi[:, free] = np.clip(moves.T, -FARTHEST, FARTHEST)
    theta = np.stack([conjugacy.moved(mode.theta, x, problem.layout) for x in phi])
    samples = ExpectedCases(problem, mode.N)(theta)
    regions = Regions(symmetries, [mode.N + problem.alpha], noise)
    return _log_share(regions.steps_at_home(samples))


def _log_share(own: BoolArray) -> float:
    """Log of the share of draws, (draws, steps), that have their own labels in every step.

    Where hardly any has, the steps are taken as if independent: each by itself can be counted.
    """
    together = int(own.all(axis=1).sum())
    if together >= ENOUGH or own.shape[1] == 1:
        return math.log(max(together, 0.5) / len(own))
    return float(np.sum(np.log(np.maximum(own.sum(axis=0), 0.5) / len(own))))


def _places(problem: Problem, mode: Point) -> IntArray:
    """Number all positions by the names of their variables, observed states by their labels.

    Hidden states are numbered by their size.
    """
    layout, variables = problem.layout, problem.network.variables
    names = [v.name for v in variables]
    positions = np.arange(layout.size)
    found: list[IntArray] = []
    for i in sorted(range(len(names)), key=lambda i: names[i]):
        family = layout.families[i]
        table, axes = layout.table(positions, i), sorted(family[:-1], key=lambda v: names[v])
        table = np.transpose(table, [family.index(v) for v in (*axes, i)])
        for axis, v in enumerate(axes):
            table = np.take(table, np.argsort(_ranks(problem, mode, v)), axis=axis)
        if layout.kinds[i].tabular:
            table = np.take(table, np.argsort(_ranks(problem, mode, i)), axis=-1)
        found.append(table.reshape(-1))
    return np.argsort(np.concatenate(found))


def _ranks(problem: Problem, mode: Point, i: int) -> IntArray:
    """The place of each state of a variable among all of them."""
    variable = problem.network.variables[i]
    if variable.hidden:
        sizes = problem.layout.table(mode.N, i).reshape(-1, len(variable.states)).sum(axis=0)
        return np.argsort(np.argsort(-sizes, kind="stable"))
    labels = sorted(variable.labels)
    return np.array([labels.index(label) for label in variable.labels])


class ExpectedCases:
    """Cases that parameters expect in the cells of hidden variables and their children.

    Only hidden variables, and the parents that they have, are followed from parents to children;
    everything else that was seen has the shares that it has in the data.
    """

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
        problem, parents = self.problem, self.problem.layout.families[i][:-1]
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
