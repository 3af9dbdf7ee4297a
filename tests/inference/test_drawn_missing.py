"""Draws of what rows do not show: shares of draws against enumerated joint distributions."""

import itertools

import numpy as np
import pytest

import lacunet
from lacunet.inference.leaves import leaves_of
from lacunet.inference.queries.answers import draw_open, ensemble_posterior, expected_numbers
from lacunet.inference.queries.query import posterior
from lacunet.models.ensemble import Ensemble, Member
from lacunet.models.network import Network, Variable
from lacunet.models.number_prior import NumberPrior
from people import FAST, KINDS, people
from problems import build, make

MANY = 6000


def test_categories_are_drawn_together():
    """A network with two hidden variables: every joint state as often as it should be."""
    network = build("H>a H>b G>b G>c a>c", {"H": 2, "G": 2, "a": 2, "b": 3, "c": 2}, "HG")
    model = make(network, 5, seed=2).model
    row = np.array([[-1, 2, -1]])  # a, b, c
    cells = draw_open(model, np.repeat(row, MANY, axis=0), np.random.default_rng(0))
    assert (cells[:, 3] == 2).all()
    (joint,) = posterior(model, row, [(0, 1, 2, 4)])
    for state in itertools.product(*map(range, joint[0].shape)):
        share = (cells[:, [0, 1, 2, 4]] == state).all(axis=1).mean()
        p = joint[0][state]
        assert share == pytest.approx(p, abs=4.5 * np.sqrt(p * (1 - p) / MANY) + 1e-12)


@pytest.fixture(scope="module")
def mixed():
    table = lacunet.read_table(people(), kinds=KINDS)
    root = Variable("class", (1, 2), hidden=True)
    network = Network.build(
        [root, *leaves_of(table, NumberPrior())], [(), (5, 0), (5,), (0,), (0,), (0,)]
    )
    return lacunet.fit(table, network=network, **FAST).model.predictive


def test_numbers_are_drawn_with_the_categories_that_they_depend_on(mixed):
    network, row = mixed.network, np.full((1, 5), -1)
    group, height, agree, sex = map(network.index, ("class", "height", "agree", "sex"))
    row[0, list(network.observed).index(agree)] = 2  # an ordered answer is seen
    cells = draw_open(mixed, np.repeat(row, MANY, axis=0), np.random.default_rng(1))
    (p,) = posterior(mixed, row, [(group, sex)])
    for c, s in itertools.product(range(2), repeat=2):
        share = ((cells[:, group] == c) & (cells[:, sex] == s)).mean()
        assert share == pytest.approx(p[0, c, s], abs=0.03)
    (expected,) = expected_numbers(mixed, row, [height])
    z = np.array(network.variables[height].unit.numbers(cells[:, height]))
    assert z.mean() == pytest.approx(expected.mean[0], abs=0.06)
    assert z.var() == pytest.approx(expected.variance[0], rel=0.1)
    means = mixed.moments(height)[0]  # by sex and class
    for c, s in itertools.product(range(2), repeat=2):
        mine = z[(cells[:, group] == c) & (cells[:, sex] == s)]
        if len(mine) > 300:
            assert mine.mean() == pytest.approx(means[s, c], abs=0.15)
    assert (cells[:, agree] == network.variables[agree].states[2]).all()  # what is seen stays


def test_an_ensemble_first_draws_its_member():
    models = [lacunet.random_model(k, 3, seed=k) for k in (1, 3)]
    ensemble = Ensemble((Member("one", 0.4, models[0]), Member("three", 0.6, models[1])))
    row = np.array([[1, -1, -1]])
    cells = draw_open(ensemble, np.repeat(row, MANY, axis=0), np.random.default_rng(2))

    (both,) = ensemble_posterior(ensemble, row, [(1, 2)])
    for a, b in itertools.product(range(2), repeat=2):
        share = ((cells[:, 1] == a) & (cells[:, 2] == b)).mean()
        assert share == pytest.approx(both[0, a, b], abs=0.03)


def test_users_get_them_by_seed():
    frame = people()
    model = lacunet.fit(frame, 2, kinds=KINDS, **FAST).model
    draws = [lacunet.assign(frame, model, impute=True, draw=True, seed=s) for s in (1, 1, 2)]
    best = lacunet.assign(frame, model, impute=True)
    for name in ("numbers", "variables"):
        one, same, other = ([v.best for v in getattr(d, name)] for d in draws)
        for a, b in zip(one, same, strict=True):
            np.testing.assert_array_equal(a, b)
        assert any((a != b).any() for a, b in zip(one, other, strict=True))
    height, mean = draws[0].numbers[0], best.numbers[0]
    np.testing.assert_array_equal(height.best[~height.missing], mean.best[~mean.missing])
    np.testing.assert_array_equal(height.mean, mean.mean)
    visits = draws[0].numbers[2]
    assert (visits.best % 1 == 0).all()
    assert (visits.best >= 0).all()
