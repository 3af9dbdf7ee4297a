"""Numbering hidden states like those of another model."""

import dataclasses
import itertools

import numpy as np
import pytest

from lacunet.data.read import load_dataset
from lacunet.errors import ModelError
from lacunet.fitting.fit import Options, learn
from lacunet.flags import Kind
from lacunet.models.conjugacy import random_theta
from lacunet.models.latent_class import latent_class
from lacunet.models.network import Model
from lacunet.summaries.matching import matched, matched_fit
from problems import build, make, problem_for


def random_model(network, seed):
    layout = network.layout
    return Model(network, random_theta(layout, np.random.default_rng(seed)), np.ones(layout.size))


def nearby(model, seed, noise=0.02):
    """The same parameters, a little off."""
    layout = model.network.layout
    theta = model.theta + noise * np.random.default_rng(seed).random(layout.size)
    return dataclasses.replace(model, theta=theta / layout.spread(layout.sum_k(theta)))


COLUMNS = [(name, (0, 1, 2)) for name in "abcd"]


@pytest.mark.parametrize("seed", range(5))
def test_every_permutation_is_undone(seed):
    model = random_model(latent_class(COLUMNS, 4), seed)
    for order in itertools.permutations(range(4)):
        moved = nearby(model, seed).permuted(0, order)
        np.testing.assert_allclose(matched(moved, model).theta, nearby(model, seed).theta)


def test_two_hidden_variables_are_numbered_together():
    network = build("G>H H>a H>b H>c G>d G>e G>f", dict.fromkeys("GHabcdef", 3), "GH")
    model = random_model(network, 2)
    for g, h in itertools.product(itertools.permutations(range(3)), repeat=2):
        moved = model.permuted(0, g).permuted(1, h)
        np.testing.assert_allclose(matched(moved, model).theta, model.theta)


@pytest.mark.parametrize("seed", range(3))
def test_more_or_fewer_states(seed):
    """A class that the other model does not have comes last; with fewer, their order is kept."""
    small = random_model(latent_class(COLUMNS, 3), seed)
    network = latent_class(COLUMNS, 4)
    tables = [small.network.layout.table(small.theta, i) for i in range(5)]
    rng = np.random.default_rng(seed)
    wide = [np.append(tables[0] * 0.9, 0.1)]
    wide += [np.vstack([t, rng.dirichlet(np.ones(3))]) for t in tables[1:]]
    large = Model(network, network.layout.flat(wide), np.ones(network.layout.size))
    for order in itertools.permutations(range(4)):
        pairs = matched(large.permuted(0, order), small)
        np.testing.assert_allclose(pairs.theta, large.theta)
    for order in itertools.permutations(range(3)):
        pairs = matched(small.permuted(0, order), large)
        np.testing.assert_allclose(pairs.theta, small.theta)


def test_a_fit_moves_as_a_whole():
    problem = problem_for(load_dataset("carcinoma"), 3).problem
    fit = learn(problem, Options(starts=8))
    other = fit.model.permuted(0, [2, 0, 1])
    moved = matched_fit(fit, other)
    np.testing.assert_array_equal(moved.model.theta, other.theta)
    np.testing.assert_array_equal(moved.point.theta, other.theta)
    sizes = problem.layout.table(fit.point.N, 0)
    np.testing.assert_allclose(problem.layout.table(moved.point.N, 0), sizes[[2, 0, 1]])
    assert (moved.log_lik, moved.log_prior) == (fit.log_lik, fit.log_prior)
    back = matched_fit(moved, fit.model)
    np.testing.assert_array_equal(back.model.theta, fit.model.theta)
    assert back.flags == fit.flags


def test_flags_name_the_new_numbers():
    network = latent_class([("a", (0, 1)), ("b", (0, 1))], 3)
    problem = problem_for(load_dataset("carcinoma"), 3).problem
    assert network.dimension < problem.network.dimension
    fit = learn(problem, Options(starts=8))
    # One class gets all the boundary: then the flag names it, whatever its number.
    first = [flag for flag in fit.flags if flag.kind is Kind.NO_EXPECTED_CASES]
    moved = matched_fit(fit, fit.model.permuted(0, [1, 2, 0]))
    second = [flag for flag in moved.flags if flag.kind is Kind.NO_EXPECTED_CASES]
    assert len(first) == len(second) == 1
    assert first[0].detail == second[0].detail


def test_only_like_models_can_be_matched():
    model = random_model(latent_class(COLUMNS, 2), 0)
    others = [
        (random_model(latent_class(COLUMNS[:3], 2), 0), "has other variables"),
        (random_model(latent_class([*COLUMNS[:3], ("d", (0, 1))], 2), 0), r"'d' has the states"),
        (
            make(build("c>d", dict.fromkeys("Habcd", 3), "H"), 5).model,
            "has other variables",
        ),
    ]
    for other, text in others:
        with pytest.raises(ModelError, match=text):
            matched(model, other)
    chain = build("H>a a>b", dict.fromkeys("Hab", 2), "H")
    fork = build("H>a H>b", dict.fromkeys("Hab", 2), "H")
    with pytest.raises(ModelError, match="has other edges"):
        matched(random_model(chain, 0), random_model(fork, 0))
