"""How many parameters the observable distribution can identify: the generic rank of its Jacobian.

Geiger, Heckerman & Meek (1996): where a hidden variable makes the map from parameters to the
distribution of what can be seen lose rank, that rank is the dimension that the data know of.
"""

import itertools

import numpy as np

from lacunet.arrays import CodeArray
from lacunet.inference.asking.by_row import ByRow
from lacunet.inference.curvature.coordinates import free_coordinates
from lacunet.model import conjugacy
from lacunet.model.conjugacy import random_theta
from lacunet.model.network import Network

DRAWS = 3  # random parameters tried; rank can only be lost by bad luck, so the largest counts
ROWS_PER_PARAMETER = 4  # observable configurations looked at, where there are too many for all
RELATIVE_GAP = 1e-10  # singular values below this part of the largest (or of 1) are zeros


def effective_dimension(network: Network, seed: int = 0) -> int:
    """Give the rank of ∂ log p(x) / ∂θ over observable configurations x, at random θ."""
    if not network.dimension or all(network.layout.cards[i] == 1 for i in network.hidden):
        return network.dimension
    rng = np.random.default_rng(seed)
    cards = [network.layout.cards[i] for i in network.observed]
    codes = _configurations(cards, ROWS_PER_PARAMETER * network.dimension, rng)
    rows = ByRow(network, codes)
    return max(_rank(network, rows, rng) for _ in range(DRAWS))


def _configurations(cards: list[int], enough: int, rng: np.random.Generator) -> CodeArray:
    """All configurations of what can be seen, or plenty of random ones where there are too many."""
    if np.prod(cards, dtype=float) <= max(enough, 4096):
        return np.array(list(itertools.product(*map(range, cards))), dtype=np.int32)
    return np.column_stack([rng.integers(0, r, enough, dtype=np.int32) for r in cards])


def _rank(network: Network, rows: ByRow, rng: np.random.Generator) -> int:
    layout = network.layout
    theta = random_theta(layout, rng)
    cells = network.to_cells(conjugacy.natural(theta, layout))
    P = network.to_statistics(rows.posterior(cells, 0, len(cells))[1])
    # In the φ basis every entry is of order one: no column is tiny.
    jacobian = np.stack([conjugacy.pull_back(theta, p, layout) for p in P])
    singular = np.linalg.svd(jacobian[:, free_coordinates(layout, theta).free], compute_uv=False)
    return int(np.sum(singular > RELATIVE_GAP * max(1.0, singular[0])))
