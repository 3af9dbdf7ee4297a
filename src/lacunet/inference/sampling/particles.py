"""Particles that take in the cases of a problem one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from lacunet.arrays import FloatArray, IntArray
from lacunet.inference.expectation import work_space
from lacunet.inference.kernels import taking_in as kernels
from lacunet.inference.problem import Problem
from lacunet.inference.sampling.draws import Draws, case_counts


class Particles:
    """Hidden values of the cases so far, as exponents α + counts, with weights.

    What was seen whole is known from the start.
    """

    def __init__(self, problem: Problem, particles: int, rng: Any) -> None:
        self.problem, self.rng = problem, rng
        self.draws = Draws(problem, rng)
        self.prior = problem.alpha + problem.components.seen
        self.A = np.tile(self.prior, (particles, 1))
        self.A_ij = self._sums()
        self.log_weights = np.zeros(particles)
        self.everything = case_counts(problem)
        self.so_far = [np.zeros_like(counts) for counts in self.everything]

    def runs(self) -> Iterator[tuple[int, IntArray]]:
        """All cases in random order, cut into runs of cases of one plan: (plan, components)."""
        whole = [counts.astype(np.int64) for counts in self.everything]
        plan = np.repeat(np.arange(len(whole)), [counts.sum() for counts in whole])
        case = np.concatenate([np.repeat(np.arange(len(c)), c) for c in whole] or [plan])
        order = self.rng.permutation(len(plan))
        plan, case = plan[order], case[order]
        cuts = np.flatnonzero(np.diff(plan)) + 1
        for part in np.split(np.arange(len(plan)), cuts):
            if len(part):
                yield int(plan[part[0]]), case[part]

    def take_in(self, plan: int, cases: IntArray, least: float) -> int:
        """Take in cases until fewer than `least` particles count; return how many were taken."""
        components, layout = self.problem.components, self.problem.layout
        state = (self.A, self.A_ij, self.log_weights, least)
        if plan < len(components.patterns):
            p = components.patterns[plan]
            arrays = (p.positions, p.starts, p.entries, p.index, p.cells)
            taken = kernels.take_in_rows(*arrays, cases, layout.ij, self.rng, *state)
        else:
            assert components.trees is not None
            a = components.trees.arrays
            kinds = np.arange(len(a.kind_width))
            kind_of = np.repeat(kinds, np.diff(a.kind_instances))
            work, messages = work_space(components.trees)
            taken = kernels.take_in_trees(
                a, kind_of, cases, layout.ij, self.rng, work, messages, *state
            )
        np.add.at(self.so_far[plan], cases[:taken], 1.0)
        return taken

    @property
    def effective(self) -> float:
        """Effective number of particles."""
        return float(kernels.effective(self.log_weights))

    def renew(self, chosen: IntArray, sweeps: int) -> None:
        """Keep the chosen particles, with equal weights, and move them by Gibbs sweeps."""
        A = self.A[chosen]
        for _ in range(sweeps):
            A = self.prior + self.draws.hidden(self.draws.log_theta(A), self.so_far)
        self.A, self.A_ij = A, self._sums(A)
        self.log_weights = np.zeros(len(chosen))

    def _sums(self, A: FloatArray | None = None) -> FloatArray:
        layout = self.problem.layout
        return np.stack([layout.sum_k(x) for x in (self.A if A is None else A)])
