"""How many parameters the observable distribution can identify: the generic rank of its Jacobian.

Geiger, Heckerman & Meek (1996): where a hidden variable makes the map from parameters to the
distribution of what can be seen lose rank, that rank is the dimension that the data know of.
"""

from __future__ import annotations

import itertools

import numpy as np

from lacunet.arrays import CodeArray
from lacunet.inference import kernels
from lacunet.inference.coordinates import free_coordinates
from lacunet.inference.expectation import row_posteriors
from lacunet.inference.problem import Problem, problem_of_codes
from lacunet.model.latent_class import is_latent_class
from lacunet.model.network import Network
from lacunet.model.sampling import random_theta

DRAWS = 3  # random parameters tried; rank can only be lost by bad luck, so the largest counts
ROWS_PER_PARAMETER = 4  # observable configurations looked at, where there are too many for all
RELATIVE_GAP = 1e-10  # singular values below this part of the largest are zeros


def effective_dimension(network: Network, seed: int = 0) -> int:
    """Give the rank of ∂ log p(x) / ∂θ over observable configurations x, at random θ."""
    if not is_latent_class(network) or network.layout.cards[0] == 1:
        return network.dimension
    rng = np.random.default_rng(seed)
    codes = _configurations(network.layout.cards[1:], ROWS_PER_PARAMETER * network.dimension, rng)
    problem = problem_of_codes(codes, np.ones(len(codes)), network, np.ones(network.layout.size))
    return max(_rank(problem, rng) for _ in range(DRAWS))


def _configurations(cards: tuple[int, ...], enough: int, rng: np.random.Generator) -> CodeArray:
    """All configurations of the leaves, or plenty of random ones where there are too many."""
    if np.prod(cards, dtype=float) <= max(enough, 4096):
        return np.array(list(itertools.product(*map(range, cards))), dtype=np.int32)
    return np.column_stack([rng.integers(0, r, enough, dtype=np.int32) for r in cards])


def _rank(problem: Problem, rng: np.random.Generator) -> int:
    layout, plan = problem.layout, problem.plan
    theta = random_theta(layout, rng)
    posterior = row_posteriors(problem, theta)
    P = np.empty((problem.rows, layout.size // plan.cells, plan.cells))
    ones = np.ones(P.shape[1:])
    kernels.score_rows(plan.starts, plan.entries, plan.index, posterior, ones, P)
    flat = P.reshape(problem.rows, layout.size)
    # In the softmax basis, P_ijk − θ_ijk P_ij, every entry is of order one: no column is tiny.
    totals = np.zeros((problem.rows, layout.configurations))
    np.add.at(totals.T, layout.ij, flat.T)
    jacobian = (flat - theta * totals[:, layout.ij])[:, free_coordinates(layout, theta).free]
    singular = np.linalg.svd(jacobian, compute_uv=False)
    return int(np.sum(singular > RELATIVE_GAP * singular[0]))
