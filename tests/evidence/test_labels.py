"""Equal labellings: each renumbering of a sample is in exactly one region."""

import itertools
import math

import numpy as np
import pytest

from lacunet.inference.labels import Labels, Regions
from lacunet.model.network import Model
from lacunet.model.prior import dirichlet
from network_problems import build, make

LATENT = build("H>a H>b", {"H": 3, "a": 2, "b": 3}, "H")
TWO = build("G>H G>a H>b", {"G": 2, "H": 3, "a": 2, "b": 2}, "GH")


def renumbered(problem, x, free):
    """A vector under every renumbering of the free hidden states."""
    sizes = [problem.layout.cards[h] for h in free]
    for orders in itertools.product(*(itertools.permutations(range(k)) for k in sizes)):
        model = Model(problem.network, x, problem.alpha)
        for h, order in zip(free, orders, strict=True):
            model = model.permuted(h, order)
        yield model.theta


@pytest.mark.parametrize("network", [LATENT, TWO])
@pytest.mark.parametrize("references", [1, 3])
def test_every_renumbering_has_one_home(network, references):
    problem = make(network, 6, alpha=1.0).problem
    labels = Labels(problem)
    rng = np.random.default_rng(0)
    regions = Regions(labels, list(rng.gamma(2.0, 2.0, (references, problem.layout.size))))
    for x in rng.gamma(1.0, 3.0, (20, problem.layout.size)):
        every = np.array(list(renumbered(problem, x, labels.free)))
        assert len(every) == round(math.exp(labels.log_count))
        homes = sum(int(regions.at_home(own, every).sum()) for own in range(references))
        assert homes == 1


def test_empty_states_that_are_alike_do_not_share_a_region():
    problem = make(LATENT, 6, alpha=1.0).problem
    labels = Labels(problem)
    regions = Regions(labels, [problem.alpha])  # all three states the same
    x = np.random.default_rng(1).gamma(1.0, 3.0, problem.layout.size)
    every = np.array(list(renumbered(problem, x, labels.free)))
    assert regions.at_home(0, every).sum() == 1


def test_renumbering_brings_a_sample_home():
    problem = make(TWO, 6, alpha=1.0).problem
    labels = Labels(problem)
    rng = np.random.default_rng(3)
    regions = Regions(labels, [rng.gamma(2.0, 2.0, problem.layout.size)])
    for x in rng.gamma(1.0, 3.0, (10, problem.layout.size)):
        model = Model(problem.network, x, problem.alpha)
        for h, order in regions.renumbering(x).items():
            model = model.permuted(h, order)
        assert regions.at_home(0, model.theta[None, :]).all()


def test_a_prior_that_tells_states_apart_leaves_one_labelling():
    alpha = {"H": [1.0, 2.0, 3.0], "a": 1.0, "b": 1.0}
    problem = make(LATENT, 6, alpha=1.0).problem
    own = make(LATENT, 6, alpha=alpha).problem
    assert Labels(problem).log_count == pytest.approx(math.log(6))
    assert Labels(own).log_count == 0.0
    assert (own.alpha == dirichlet(LATENT, alpha)).all()


def test_a_hidden_variable_that_nothing_tells_of_has_no_labels():
    barren = build("a>b a>H", {"a": 2, "b": 2, "H": 3}, "H")
    assert Labels(make(barren, 4, missing=0.3, alpha=1.0).problem).log_count == 0.0
