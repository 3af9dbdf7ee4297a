"""Gibbs moves: hidden values given parameters, parameters given counts.

What a chain has to remember of its hidden values is how often each θ_ijk was used: a count vector.
Drawing one is an E step with draws in place of expectations, on the same plans.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lacunet.arrays import FloatArray
from lacunet.errors import DataError
from lacunet.inference.expectation import work_space
from lacunet.inference.kernels import drawing as kernels
from lacunet.inference.problem import Problem


def check_whole(problem: Problem) -> None:
    """Refuse fractional weights: hidden values are drawn for whole cases."""
    fractional = np.flatnonzero(problem.counts != np.round(problem.counts))
    if len(fractional):
        weight = problem.counts[fractional[0]]
        raise DataError(
            f"a row weighs {weight:g}: the evidence sums over the hidden values of whole cases, so "
            "weights must be whole numbers here. Round the weights, or use scores (--scores)."
        )


def case_counts(problem: Problem) -> list[FloatArray]:
    """How often each component stands in the data: an array for each plan, the trees' last."""
    components = problem.components
    counts = [plan.counts for plan in components.patterns]
    return counts + ([] if components.trees is None else [components.trees.arrays.counts])


def touched(problem: Problem) -> tuple[float, float]:
    """Numbers that a sweep over all distinct components touches, and one over all cases."""
    sweep, cases = 0.0, 0.0
    for plan in problem.components.patterns:
        entries = np.diff(plan.starts)[plan.index].sum(axis=1) * plan.cells
        sweep += float(entries.sum())
        cases += float(entries @ plan.counts)
    if problem.components.trees is not None:
        a = problem.components.trees.arrays
        slots = np.add.reduceat(np.repeat(a.cells, np.diff(a.slots)), a.slots[a.kind_cliques[:-1]])
        entries = np.repeat(slots, np.diff(a.kind_instances))
        sweep += float(entries.sum())
        cases += float(entries @ a.counts)
    return sweep, cases


class Draws:
    """Moves of several chains together, with a generator of their own."""

    def __init__(self, problem: Problem, rng: Any) -> None:
        self.components, self.layout, self.rng = problem.components, problem.layout, rng
        self.totals = np.empty(self.layout.configurations)
        self.everything = case_counts(problem)

    def hidden(self, log_weights: FloatArray, counts: Sequence[FloatArray] = ()) -> FloatArray:
        """Draw hidden values ∝ Π weights, and give their counts (what was seen is not among them).

        Parameters
        ----------
        log_weights : (chains, size)
        counts
            How often each component counts, as `case_counts` gives it (default: just that).

        Returns
        -------
        N : (chains, size)
        """
        N = np.zeros_like(log_weights)
        often = counts or self.everything
        for plan, own in zip(self.components.patterns, often, strict=False):
            kernels.draw_patterns(
                plan.positions,
                plan.starts,
                plan.entries,
                plan.index,
                own,
                plan.cells,
                plan.width,
                log_weights,
                self.rng,
                N,
            )
        if self.components.trees is not None:
            work, messages = work_space(self.components.trees)
            arrays = self.components.trees.arrays._replace(counts=often[-1])
            kernels.draw_trees(arrays, log_weights, self.rng, work, messages, N)
        return N

    def log_theta(self, eta: FloatArray) -> FloatArray:
        """Draw log θ from Dirichlets with exponents η, (chains, size)."""
        drawn = np.empty_like(eta)
        kernels.draw_log_theta(eta, self.layout.ij, self.rng, self.totals, drawn)
        return drawn

    def log_beta(self, eta: FloatArray) -> FloatArray:
        """Log ∫ Π θ^(η−1) dθ, (chains,)."""
        values = np.empty(len(eta))
        kernels.log_beta(eta, self.layout.ij, self.totals, values)
        return values
