"""The equal labellings of hidden states, added exactly.

Where the prior does not tell the states of a hidden variable apart, renumbering them changes
nothing: the posterior has Π k! equal copies of everything. The parameter space is cut into as many
equal regions. A sample belongs to the region in which the states stand in the order of a reference:
the renumbering that fits the reference best, an assignment problem, is the identity. Mass inside
that region is 1/Π k! of the whole, exactly, whether or not chains change labels.

With several references (modes that are no renumberings of each other) the space is cut further, by
which of them fits best; masses of all parts add up to the whole. Where no states can be renumbered
there is one reference and one region: everything.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from scipy.optimize import linear_sum_assignment

from lacunet.arrays import BoolArray, FloatArray
from lacunet.inference.classes import interchangeable
from lacunet.inference.problem import Problem

JITTER = 0.05  # relative noise of a reference's profiles


class Labels:
    """The hidden variables whose states can be renumbered at will."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.layout = problem, problem.layout
        # A variable that is barren in every row has no modes: the data say nothing of it.
        told = {plan.variable for plan in problem.components.patterns}
        if problem.components.trees is not None:
            told |= {v for kind in problem.components.trees.kinds for v in kind.members}
        self.free = [h for h in interchangeable(problem) if h in told]

    @cached_property
    def log_count(self) -> float:
        """Log of the number of equal labellings."""
        return sum(math.lgamma(self.layout.cards[h] + 1) for h in self.free)

    def features(self, h: int, x: FloatArray) -> list[FloatArray]:
        """What tells the states of h apart, family by family, (k, …).

        Other hidden variables are summed out, so that renumbering them changes nothing.
        """
        hidden = set(self.problem.network.hidden)
        found = []
        for i, family in enumerate(self.layout.families):
            if h not in family:
                continue
            table = np.moveaxis(self.layout.table(x, i), family.index(h), 0)
            others = [v for v in family if v != h]
            away = tuple(1 + n for n, v in enumerate(others) if v in hidden)
            summed = table.sum(axis=away)
            found.append(summed.reshape(len(summed), -1))
        return found


class Regions:
    """Parts of the parameter space, one for each reference (and each labelling of it)."""

    def __init__(
        self, labels: Labels, exponents: Sequence[FloatArray], noise: FloatArray | None = None
    ) -> None:
        """Take references by their exponents, each (size,).

        Two states that a reference has alike (both empty, say) must not tie: `noise` near 1.
        """
        self.labels = labels
        if noise is None:
            normal = np.random.default_rng(0).standard_normal(labels.layout.size)
            noise = np.exp(JITTER * normal)
        self.profiles = [
            {
                h: np.log(np.hstack([t / t.sum() for t in labels.features(h, x * noise)]))
                for h in labels.free
            }
            for x in exponents
        ]

    def at_home(self, own: int, samples: FloatArray) -> BoolArray:
        """Which samples (chains, size), expected counts as θ and N give them, are in a region."""
        if not self.labels.free:
            return np.ones(len(samples), dtype=np.bool_)
        return np.array([self._is_home(own, x) for x in samples])

    def _is_home(self, own: int, x: FloatArray) -> bool:
        features = {h: np.hstack(self.labels.features(h, x)) for h in self.labels.free}
        best, fits_best, identity = -math.inf, -1, False
        for m, profiles in enumerate(self.profiles):
            fit, same = 0.0, True
            for h, log_profile in profiles.items():
                agreement = features[h] @ log_profile.T  # (state of the sample, of the reference)
                rows, columns = linear_sum_assignment(agreement, maximize=True)
                fit += float(agreement[rows, columns].sum())
                same = same and bool((rows == columns).all())
            if fit > best:
                best, fits_best, identity = fit, m, same
        return fits_best == own and identity

    def renumbering(self, x: FloatArray) -> dict[int, list[int]]:
        """For each free variable, which state of a sample fits each of the first reference."""
        orders = {}
        for h in self.labels.free:
            agreement = np.hstack(self.labels.features(h, x)) @ self.profiles[0][h].T
            rows, columns = linear_sum_assignment(agreement, maximize=True)
            orders[h] = [int(rows[np.flatnonzero(columns == k)[0]]) for k in range(len(rows))]
        return orders
