"""The E step: expected counts and log-likelihood at θ, and how they move with θ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from lacunet.arrays import FloatArray
from lacunet.inference.kernels import rows as kernels
from lacunet.inference.kernels import trees as tree_kernels
from lacunet.inference.plans.builder import Components
from lacunet.inference.plans.patterns import PatternPlan
from lacunet.inference.plans.trees import TreePlan
from lacunet.inference.problem import Problem


@dataclass(frozen=True, eq=False)
class Expectation:
    """What one pass over the data tells about θ."""

    log_lik: float  # log p(D | θ)
    N: FloatArray  # (size,) E[N_ijk | D, θ] over the rows in which family i is not barren


def safe_log(theta: FloatArray) -> FloatArray:
    """Take logs; log 0 = −inf without a warning, for an impossible state weighs just that."""
    with np.errstate(divide="ignore"):
        return np.log(theta)


def expect(problem: Problem, theta: FloatArray) -> Expectation:
    """Run the E step. CH96 eq. 11.

    Barren variables are left out ("pruned"), not filled in: they carry no information about θ, so
    the log-likelihood, its gradient and every fixed point of EM are the same, and EM converges
    faster. `complete_counts` gives the filled-in counts of the paper.
    """
    components = problem.components
    N = components.seen.copy()
    log_lik = float(np.sum(xlogy(components.seen, theta))) if components.any_seen else 0.0
    if components.hidden:
        log_lik += add_expected(components, safe_log(theta), N)
    return Expectation(log_lik, N)


def complete_counts(problem: Problem, theta: FloatArray) -> FloatArray:
    """E[N_ijk | D, θ] with everything filled in: the counts of the paper's imaginary data D′.

    A missing child without children adds θ_ijk times the expected count of its parents: in closed
    form, with no loop over its states.
    """
    layout, components = problem.layout, problem.filled
    N = components.seen.copy()
    add_expected(components, np.concatenate([safe_log(theta), np.zeros(layout.configurations)]), N)
    return N[: layout.size] + theta * layout.spread(N[layout.size :])


def add_expected(components: Components, log_theta: FloatArray, N: FloatArray) -> float:
    """Add the expected counts of all components to N; return their log-likelihood."""
    log_lik = 0.0
    for plan in components.patterns:
        table = pattern_table(plan, log_theta, padding=-np.inf)
        expected = np.zeros_like(table)
        log_lik += kernels.expect_rows(table, plan.index, plan.counts, expected)
        spread_table(plan, expected, N)
    if components.trees is not None:
        arrays = components.trees.arrays
        work, messages = work_space(components.trees)
        log_lik += float(tree_kernels.expect_trees(arrays, log_theta, work, messages, N))
    return log_lik


def pattern_table(plan: PatternPlan, x: FloatArray, padding: float) -> FloatArray:
    """Sum the blocks of a flat vector for each pattern, (P, W)."""
    blocks = np.empty((len(plan.positions), plan.width))
    kernels.gather_blocks(x, plan.positions, plan.cells, padding, blocks)
    table = np.empty((plan.patterns, plan.width))
    kernels.sum_blocks(plan.starts, plan.entries, blocks, table)
    return table


def spread_table(plan: PatternPlan, table: FloatArray, out: FloatArray) -> None:
    """Add what was gathered by pattern to the positions of a flat vector."""
    blocks = np.zeros((len(plan.positions), plan.width))
    kernels.spread_patterns(plan.starts, plan.entries, table, blocks)
    kernels.scatter_blocks(blocks, plan.positions, plan.cells, out)


def work_space(trees: TreePlan, dtype: type = np.float64) -> tuple[FloatArray, FloatArray]:
    """Room for the tables and the messages of the largest kind of component."""
    a = trees.arrays
    return (
        np.empty(int((a.first + a.cells).max()), dtype=dtype),
        np.empty(int((a.separator_first + a.separator).max()), dtype=dtype),
    )


def pattern_posteriors(plan: PatternPlan, log_theta: FloatArray) -> FloatArray:
    """Posterior of the hidden variable in each row of a plan, (m, W); padding cells have 0."""
    table = pattern_table(plan, log_theta, padding=-np.inf)
    posterior = np.empty((len(plan.counts), plan.width))
    kernels.posterior_rows(table, plan.index, posterior, np.empty(len(plan.counts)))
    return posterior


class Tangent:
    """The linear map from a direction of log θ to the change of the expected counts, at one θ."""

    def __init__(self, problem: Problem, theta: FloatArray) -> None:
        self.components = problem.components
        self.log_theta = safe_log(theta)
        # Posteriors are made anew for each direction: kept, they would be larger than the table.
        self.tables = [
            pattern_table(plan, self.log_theta, padding=-np.inf)
            for plan in self.components.patterns
        ]

    def __call__(self, direction: FloatArray) -> FloatArray:
        """Give dE[N_ijk] for d log θ = direction, (size,)."""
        change = np.zeros(len(self.log_theta))
        for plan, table in zip(self.components.patterns, self.tables, strict=True):
            along = pattern_table(plan, direction, padding=0.0)
            moved = np.zeros_like(along)
            kernels.tangent_rows(table, along, plan.index, plan.counts, moved)
            spread_table(plan, moved, change)
        if self.components.trees is not None:
            trees = self.components.trees
            work, messages = work_space(trees, np.complex128)
            moved = np.zeros(len(change), dtype=np.complex128)
            stepped = self.log_theta + 1j * tree_kernels.STEP * direction
            tree_kernels.expect_trees(trees.arrays, stepped, work, messages, moved)
            change += moved.imag / tree_kernels.STEP
        return change
