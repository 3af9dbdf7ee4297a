"""The E step: expected counts and log-likelihood at θ, the gradient, and row posteriors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import xlogy

from lacunet.arrays import FloatArray
from lacunet.inference import kernels
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

    Missing leaves are left out ("pruned"), not filled in: they carry no information about θ, so the
    log-likelihood, its gradient and every fixed point of EM are the same, and EM converges faster.
    `fill_barren` gives the filled-in counts of the paper.
    """
    plan = problem.plan
    if not len(plan.counts):
        return Expectation(float(np.sum(xlogy(problem.seen, theta))), problem.seen)
    table = log_weight_table(problem, theta)
    expected = np.zeros_like(table)
    log_lik = kernels.expect_rows(table, plan.index, plan.counts, expected)
    return Expectation(log_lik, _spread(problem, expected))


def log_weight_table(problem: Problem, theta: FloatArray) -> FloatArray:
    """Sum log θ over the blocks of each pattern, (P, W); padding cells weigh −inf."""
    return _sum_blocks(problem, safe_log(theta), padding=-np.inf)


def _sum_blocks(problem: Problem, x: FloatArray, padding: float) -> FloatArray:
    plan = problem.plan
    blocks = np.zeros((problem.layout.size // plan.cells, plan.width))
    blocks[:, : plan.cells] = x.reshape(-1, plan.cells)
    blocks[:, plan.cells :] = padding
    table = np.empty((plan.patterns, plan.width))
    kernels.sum_blocks(plan.starts, plan.entries, blocks, table)
    return table


def _spread(problem: Problem, table: FloatArray) -> FloatArray:
    """Add what was gathered by pattern to the positions of a flat vector."""
    plan = problem.plan
    blocks = np.zeros((problem.layout.size // plan.cells, plan.width))
    kernels.spread_patterns(plan.starts, plan.entries, table, blocks)
    return np.ascontiguousarray(blocks[:, : plan.cells]).reshape(-1)


class Tangent:
    """The linear map from a direction of log θ to the change of the expected counts, at one θ."""

    def __init__(self, problem: Problem, theta: FloatArray) -> None:
        self.problem = problem
        self.posterior = row_posteriors(problem, theta)

    def __call__(self, direction: FloatArray) -> FloatArray:
        """Give dE[N_ijk] for d log θ = direction, (size,)."""
        plan = self.problem.plan
        if not len(plan.counts):
            return np.zeros(self.problem.layout.size)
        along = _sum_blocks(self.problem, direction, padding=0.0)
        moved = np.zeros_like(along)
        kernels.tangent_rows(self.posterior, along, plan.index, plan.counts, moved)
        return _spread(self.problem, moved)


def fill_barren(problem: Problem, theta: FloatArray, N: FloatArray) -> FloatArray:
    """Fill in missing leaves: N_ijk += θ_ijk · (expected cases with parents j and child missing).

    In closed form from the posterior of the parents; no loop over rows.
    """
    layout = problem.layout
    filled = N.copy()
    N_ij = layout.sum_k(N)
    for i in problem.barren:
        (parent,) = problem.network.parents[i]
        block = layout.block(i)
        mass = N[layout.block(parent)] - N_ij[layout.ij[block].min() :][: layout.cards[parent]]
        # Exactly zero where nothing is missing but for rounding, which may leave −1e-13.
        j = layout.ij[block] - layout.ij[block].min()
        filled[block] += theta[block] * np.maximum(mass, 0.0)[j]
    return filled


def row_posteriors(problem: Problem, theta: FloatArray) -> FloatArray:
    """Posterior of the hidden cells of each distinct row, (m, W); padding cells have 0."""
    plan = problem.plan
    posterior = np.zeros((problem.rows, plan.width))
    posterior[:, 0] = 1.0  # what a model with one cell says
    if len(plan.counts):
        table = log_weight_table(problem, theta)
        kernels.posterior_rows(table, plan.index, posterior, np.empty(problem.rows))
    return posterior
