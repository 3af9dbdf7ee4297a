"""How many parameters the observable distribution can identify: the generic rank of its Jacobian.

Geiger, Heckerman & Meek (1996): where a hidden variable makes the map from parameters to the
distribution of what can be seen lose rank, that rank is the dimension that the data know of.
"""

from __future__ import annotations

import itertools

import numpy as np

from lacunet.arrays import CodeArray, FloatArray
from lacunet.inference.curvature.coordinates import free_coordinates
from lacunet.inference.expectation import pattern_posteriors, safe_log, work_space
from lacunet.inference.kernels import rows as kernels
from lacunet.inference.kernels import trees as tree_kernels
from lacunet.inference.plans.builder import Builder
from lacunet.inference.plans.patterns import pattern_plan
from lacunet.model.network import Network
from lacunet.model.sampling import random_theta

DRAWS = 3  # random parameters tried; rank can only be lost by bad luck, so the largest counts
ROWS_PER_PARAMETER = 4  # observable configurations looked at, where there are too many for all
RELATIVE_GAP = 1e-10  # singular values below this part of the largest (or of 1) are zeros


def effective_dimension(network: Network, seed: int = 0) -> int:
    """Give the rank of ∂ log p(x) / ∂θ over observable configurations x, at random θ."""
    if all(network.layout.cards[i] == 1 for i in network.hidden):
        return network.dimension
    rng = np.random.default_rng(seed)
    cards = [network.layout.cards[i] for i in network.observed]
    codes = _configurations(cards, ROWS_PER_PARAMETER * network.dimension, rng)
    builder = Builder(network, codes, np.ones(len(codes)))
    return max(_rank(builder, rng) for _ in range(DRAWS))


def _configurations(cards: list[int], enough: int, rng: np.random.Generator) -> CodeArray:
    """All configurations of what can be seen, or plenty of random ones where there are too many."""
    if np.prod(cards, dtype=float) <= max(enough, 4096):
        return np.array(list(itertools.product(*map(range, cards))), dtype=np.int32)
    return np.column_stack([rng.integers(0, r, enough, dtype=np.int32) for r in cards])


def _rank(builder: Builder, rng: np.random.Generator) -> int:
    layout = builder.layout
    theta = random_theta(layout, rng)
    P = _family_posteriors(builder, safe_log(theta))
    # In the softmax basis, P_ijk − θ_ijk P_ij, every entry is of order one: no column is tiny.
    totals = np.zeros((len(P), layout.configurations))
    np.add.at(totals.T, layout.ij, P.T)
    jacobian = (P - theta * totals[:, layout.ij])[:, free_coordinates(layout, theta).free]
    singular = np.linalg.svd(jacobian, compute_uv=False)
    return int(np.sum(singular > RELATIVE_GAP * max(1.0, singular[0])))


def _family_posteriors(builder: Builder, log_theta: FloatArray) -> FloatArray:
    """P_ijk of each row, (rows, size): what it adds to the expected counts."""
    P = np.zeros((len(builder.counts), builder.layout.size))
    for c in builder.collectors:
        P[builder.seen_whole(c)] = 1.0
    for v, rows, slots in builder.single_variables():
        plan = pattern_plan(v, builder.layout.cards[v], slots, np.ones(len(rows)))
        posterior = pattern_posteriors(plan, log_theta)
        ones = np.ones((len(plan.positions), plan.cells))
        scores = np.zeros((len(rows), ones.size))
        kernels.score_rows(plan.starts, plan.entries, plan.index, posterior, ones, scores)
        places = (plan.positions[:, None] + np.arange(plan.cells)).reshape(-1)
        P[np.ix_(rows, places)] += scores
    instances = list(builder.instances())
    trees = builder.plan_trees(instances)
    if trees is not None:
        work, messages = work_space(trees)
        for kind, merged in enumerate(instances):
            out = np.zeros((len(merged.counts), builder.layout.size))
            tree_kernels.scores(trees.arrays, kind, log_theta, work, messages, out)
            P[merged.rows] += out[merged.index]
    return P
