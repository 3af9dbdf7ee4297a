"""How many parameters the observable distribution can identify: the generic rank of its Jacobian.

Geiger, Heckerman & Meek (1996): where a hidden variable makes the map from parameters to the
distribution of what can be seen lose rank, that rank is the dimension that the data know of.
Allman, Matias & Rhodes (2009, theorem 4): a latent class model of K classes is generically
identifiable, up to their order, if its items can be put into three groups with κ₁, κ₂ and κ₃
combinations of answers such that min(K, κ₁) + min(K, κ₂) + min(K, κ₃) ≥ 2K + 2.
"""

import functools
import itertools
import math
from collections.abc import Sequence

import numpy as np

from lacunet.inference.curvature.coordinates import free_coordinates
from lacunet.inference.queries.query import ByRow
from lacunet.models import conjugacy
from lacunet.models.conjugacy import random_theta
from lacunet.models.latent_class import find_classes
from lacunet.models.network import Network, Variable
from lacunet.runtime.arrays import CodeArray

DRAWS = 3  # random parameters tried; rank can only be lost by bad luck, so the largest counts
ROWS_PER_PARAMETER = 4  # observable configurations looked at, where there are too many for all
RELATIVE_GAP = 1e-10  # singular values below this part of the largest (or of 1) are zeros
MOST_CELLS = 4096  # observable configurations that are all looked at
MOST_PARAMETERS = 200  # of a network whose rank is looked at without being asked


def effective_dimension(network: Network, seed: int = 0) -> int:
    """Give the rank of ∂ log p(x) / ∂θ over observable configurations x, at random θ."""
    if not network.dimension or all(network.layout.cards[i] == 1 for i in network.hidden):
        return network.dimension
    rng = np.random.default_rng(seed)
    cards = [network.layout.cards[i] for i in network.observed]
    codes = _configurations(cards, ROWS_PER_PARAMETER * network.dimension, rng)
    rows = ByRow(network, codes)
    largest = 0
    for _ in range(DRAWS):
        largest = max(largest, _rank(network, rows, rng))
        if largest == network.dimension:
            break
    return largest


def identified_parameters(network: Network) -> int | None:
    """Say how many parameters any data could determine, where the network has more of them.

    None: all of them, or nothing tells (numbers among the columns; very many cells).
    """
    hidden = [i for i in network.hidden if network.layout.cards[i] > 1]
    if not hidden or not all(network.variables[i].family.tabular for i in network.observed):
        return None
    plain = bool(network.layout.learned.all()) and network.layout.in_tables.all()
    if plain and (classes := find_classes(network)) is not None:
        items = tuple(sorted(network.layout.cards[i] for i in classes.leaves))
        if three_groups(items, classes.number):
            return None
    cells = math.prod(network.layout.cards[i] for i in network.observed)
    if cells > MOST_CELLS or network.dimension > MOST_PARAMETERS:
        return cells - 1 if cells - 1 < network.dimension else None
    rank = _effective_dimension(network) if plain else effective_dimension(network)
    return rank if rank < network.dimension else None


def three_groups(items: Sequence[int], classes: int) -> bool:
    """Say whether items, by their numbers of answers, identify so many classes generically.

    >>> [three_groups([2] * 7, k) for k in (2, 6, 7)], three_groups([2] * 4, 3)
    ([True, True, False], False)
    """
    groups = [1, 1, 1]
    for answers in sorted(items, reverse=True):
        smallest = groups.index(min(groups))
        groups[smallest] = min(classes, groups[smallest] * answers)
    return sum(groups) >= 2 * classes + 2


@functools.lru_cache(maxsize=256)
def _of_shape(
    cards: tuple[int, ...], parents: tuple[tuple[int, ...], ...], hidden: tuple[int, ...]
) -> int:
    variables = [
        Variable(f"v{i}", tuple(range(r)), hidden=i in hidden) for i, r in enumerate(cards)
    ]
    return effective_dimension(Network.build(variables, parents))


def _effective_dimension(network: Network) -> int:
    """The same, found once for all networks of one shape."""
    return _of_shape(tuple(network.layout.cards), tuple(network.parents), tuple(network.hidden))


def _configurations(cards: list[int], enough: int, rng: np.random.Generator) -> CodeArray:
    """All configurations of what can be seen, or plenty of random ones where there are too many."""
    if np.prod(cards, dtype=float) <= max(enough, MOST_CELLS):
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
