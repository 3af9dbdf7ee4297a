"""Generic ranks, computed exactly over a prime field elsewhere."""

import pytest

from lacunet.inference.queries.most_probable import effective_dimension
from lacunet.models.latent_class import latent_class

RANKS = [
    ([2, 2], 2, 5, 3),
    ([2] * 3, 2, 7, 7),
    ([2] * 3, 3, 11, 7),
    ([2] * 4, 2, 9, 9),
    ([2] * 4, 3, 14, 13),
    ([2] * 4, 4, 19, 15),
    ([2] * 5, 5, 29, 29),
    ([2] * 5, 6, 35, 31),
    ([2] * 6, 8, 55, 55),
    ([2] * 7, 8, 63, 63),
    ([3] * 3, 4, 27, 25),
    ([3] * 3, 5, 34, 26),
    ([2, 2, 3, 3], 5, 34, 33),
    ([2, 2, 4], 3, 17, 14),
    ([2] * 4, 1, 4, 4),
]


@pytest.mark.parametrize(("cards", "classes", "parameters", "rank"), RANKS)
def test_rank(cards, classes, parameters, rank):
    network = latent_class([(f"x{i}", range(r)) for i, r in enumerate(cards)], classes)
    assert network.dimension == parameters
    assert effective_dimension(network, seed=0) == rank
    assert effective_dimension(network, seed=1) == rank


def test_rank_from_a_sample_of_configurations():
    """2^16 configurations are not enumerated; the rank is full all the same."""
    network = latent_class([(f"x{i}", (0, 1)) for i in range(16)], 6)
    assert effective_dimension(network) == network.dimension
