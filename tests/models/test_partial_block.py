"""Kernels of blocks of numbers, against twins that write one class and one row out."""

import itertools

import numpy as np
import pytest

import twins
from lacunet.likelihoods import GaussianBlock
from lacunet.likelihoods.joint_normal import (
    Joint,
    completed,
    conditional,
    joint_statistics,
    marginal,
    places_of,
)
from lacunet.likelihoods.kernels import ObservedSplit
from lacunet.likelihoods.likelihood import Segment

CLASSES = 3


def covariances(d, seed=0):
    turn = np.random.default_rng(seed).normal(size=(CLASSES, d, d))
    return turn @ np.swapaxes(turn, 1, 2) + np.eye(d)


def some_natural(d, kind):
    rng = np.random.default_rng(d)
    natural = places_of(d).natural(
        rng.normal(size=(CLASSES, d)), rng.normal(size=CLASSES), covariances(d), np.zeros(CLASSES)
    )
    return natural + 1j * rng.normal(size=natural.shape) * 0.01 if kind is complex else natural


def patterns(d, o):
    shown = list(itertools.combinations(range(d), o))
    missing = [[j for j in range(d) if j not in columns] for columns in shown]
    return ObservedSplit(
        np.array(shown), np.array(missing, dtype=np.int64).reshape(len(shown), d - o)
    )


def normal_of(natural, k, shown):
    joint = places_of((-3 + int(np.sqrt(1 + 8 * natural.shape[1]))) // 2).read_natural(natural)
    constant = joint.cases[k] + joint.for_variance[k]
    return twins.Normal(joint.second[k], joint.first[k], constant, shown.tolist())


@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize(("d", "o"), [(2, 1), (4, 1), (4, 3), (4, 4), (5, 2)])
def test_what_patterns_show_is_weighed_and_completed_row_by_row(d, o, kind):
    natural, missing = some_natural(d, kind), patterns(d, o)
    x = np.random.default_rng(1).normal(size=(len(missing.shown), o))
    products = joint_statistics(x)[:, None, :-1].repeat(CLASSES, axis=1)
    weights = (marginal(natural, missing, d) * products).sum(axis=-1)
    result = completed(natural, missing, products, d)
    for p, k in np.ndindex(weights.shape):
        normal = normal_of(natural, k, missing.shown[p])
        np.testing.assert_allclose(weights[p, k], twins.weight_of_shown(normal, x[p]), rtol=1e-11)
        first, second = twins.completed_square(normal, x[p])
        one = np.ones(())
        expected = places_of(d).write(Joint(first, one, second, one))
        np.testing.assert_allclose(result[p, k], expected, rtol=1e-10, atol=1e-12)


def test_draws_are_around_what_is_expected():
    natural, missing = some_natural(4, float), patterns(4, 2)
    A, b, C = conditional(natural, missing, 4)
    for p, k in np.ndindex(A.shape[:2]):
        for result, expected in zip(
            (A, b, C), normal_of(natural, k, missing.shown[p]).given, strict=True
        ):
            np.testing.assert_allclose(result[p, k], expected, rtol=1e-11)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_a_block_has_the_natural_parameters_and_the_maximum_of_its_moments(d):
    family = GaussianBlock(tuple("abcde"[:d]))
    at, rng = Segment.of_table(family, CLASSES, family.places.width), np.random.default_rng(d)
    x = [rng.normal(size=(n, d)) for n in (9, 8, 7)]
    N = np.concatenate([joint_statistics(rows).sum(axis=0) for rows in x])
    N[: family.places.width] = 0.0
    before = family.theta_of(rng.normal(size=(CLASSES, d)), covariances(d), at)
    theta = family.maximize(N, np.zeros_like(N), before, at)
    joint = family.places.read(at.tables(theta))
    np.testing.assert_array_equal(at.tables(theta)[0], at.tables(before)[0])  # no case: it stays
    moments = family.places.read(at.tables(N))
    eta = family.places.read_natural(at.tables(family.natural(theta, at)))
    both = family.natural(np.stack([theta, before]), at)
    np.testing.assert_array_equal(both, [family.natural(one, at) for one in (theta, before)])
    for k in (1, 2):
        mean, covariance = twins.best_normal(*(part[k] for part in moments))
        np.testing.assert_allclose(joint.first[k], mean, rtol=1e-12)
        np.testing.assert_allclose(joint.second[k], covariance, rtol=1e-9, atol=1e-12)
        precise = np.linalg.inv(covariance)
        np.testing.assert_allclose(eta.second[k], precise, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(eta.first[k], precise @ mean, rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(eta.cases[k], -0.5 * mean @ precise @ mean, rtol=1e-8)
        assert eta.for_variance[k] == pytest.approx(0.5 * np.linalg.slogdet(precise)[1], rel=1e-9)
