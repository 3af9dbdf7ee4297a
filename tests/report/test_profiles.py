"""Profiles and what separates the states, against sums over every combination of values."""

import itertools

import numpy as np
import pytest
from report_cases import two_hidden

from lacunet import api
from lacunet.models.conjugacy import random_theta
from lacunet.models.network import Model
from lacunet.models.prior import dirichlet
from lacunet.summaries.profiles import Answers, Profiles, class_description, profile, profiles


def joint(model: Model) -> np.ndarray:
    """p of every combination of all variables, by multiplying their tables."""
    network = model.network
    cards = [len(v.states) for v in network.variables]
    p = np.ones(cards)
    for cell in itertools.product(*map(range, cards)):
        for i, parents in enumerate(network.parents):
            table = network.layout.table(model.theta, i)
            p[cell] *= table[(*(cell[q] for q in parents), cell[i])]
    return p


def random_network():
    network, _ = two_hidden()
    theta = random_theta(network.layout, np.random.default_rng(11))
    return Model(network, theta, dirichlet(network, 1.0))


@pytest.mark.parametrize("model", [random_network(), api.random_model(3, 4, seed=2)])
def test_against_enumeration(model):
    p = joint(model)
    axes = set(range(p.ndim))
    names = [v.name for v in model.network.variables]
    for h, result in zip(model.network.hidden, profiles(model), strict=True):
        np.testing.assert_allclose(result.sizes, p.sum(axis=tuple(axes - {h})), atol=1e-12)
        assert {a.name for a in result.answers} == {names[i] for i in model.network.observed}
        for a in result.answers:
            i = names.index(a.name)
            pair = p.sum(axis=tuple(axes - {h, i}))
            pair = pair if h < i else pair.T
            np.testing.assert_allclose(a.given, pair / pair.sum(axis=1, keepdims=True), atol=1e-12)
            np.testing.assert_allclose(a.overall, pair.sum(axis=0), atol=1e-12)
            apart = np.outer(pair.sum(axis=1), pair.sum(axis=0))
            assert a.information == pytest.approx(np.sum(pair * np.log(pair / apart)), abs=1e-12)


def test_sorted_by_information():
    values = [a.information for a in profile(api.random_model(4, 9, seed=5), 0).answers]
    assert values == sorted(values, reverse=True)
    assert values[0] > values[-1] >= 0


def test_numbering_of_the_states_does_not_matter():
    model = api.random_model(3, 5, seed=7)
    a, b = profile(model, 0), profile(model.permuted(0, [2, 0, 1]), 0)
    assert [x.name for x in a.answers] == [x.name for x in b.answers]
    np.testing.assert_allclose(
        [x.information for x in a.answers], [x.information for x in b.answers]
    )


def test_a_class_is_described_by_what_differs_most_from_the_population():
    given = np.array([[0.9, 0.1], [0.2, 0.8]])
    overall = given.mean(axis=0)
    far = Answers("smokes", ("no", "yes"), given, overall, 0.2)
    near = Answers("coffee", ("no", "yes"), np.full((2, 2), 0.5), np.full(2, 0.5), 0.0)
    made = Profiles("class", ("1", "2"), np.full(2, 0.5), (far, near), (), 0)
    assert class_description(made, 0) == "smokes = no (90 %)"
    assert class_description(made, 1) == "smokes = yes (80 %)"
    alike = Profiles("class", ("1", "2"), np.full(2, 0.5), (near,), (), 0)
    assert class_description(alike, 0) == "much like everyone"
