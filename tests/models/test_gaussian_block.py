"""Blocks of numbers: closed forms against SciPy, finite differences and draws."""

import numpy as np
import pytest
from scipy import stats

from family_worlds import FamilyWorld
from lacunet.likelihoods import GAUSSIAN, GaussianBlock
from lacunet.likelihoods.joint_normal import Joint, block_hyperparameters
from lacunet.likelihoods.likelihood import Segment


class World(FamilyWorld):
    """Two configurations of three numbers."""

    def __init__(self, d=3, seed=0):
        rng, family = np.random.default_rng(seed), GaussianBlock(tuple("abcdef"[:d]))
        hyper = np.tile(block_hyperparameters(d, 0.3, 0.7, d + 2.0, 1.3), 2)
        x = [rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) for n in (8, 9)]
        super().__init__(family, Segment.of_table(family, 2, family.places.width), hyper, x, rng)


def test_densities_are_those_of_scipy():
    w = World()
    joint = w.family.places.read(w.at.tables(w.theta))
    expected = sum(
        stats.multivariate_normal(joint.first[c], joint.second[c]).logpdf(x).sum()
        for c, x in enumerate(w.x)
    )
    base = -0.5 * np.log(2 * np.pi) * 3 * 17
    assert w.family.log_density(w.N, w.theta, w.at) + base == pytest.approx(expected, rel=1e-12)
    back = w.family.parameters(w.family.natural(w.theta, w.at), w.at)
    np.testing.assert_allclose(back, w.theta, atol=1e-12)


def test_the_evidence_is_a_product_of_predictions():
    """Student's t of each row given those before it."""
    w, d = World(), 3
    m, kappa, nu, S = np.full(d, 0.3), 0.7, d + 2.0, 1.3 * np.eye(d)
    total = 0.0
    for x in w.x[0]:
        df = nu - d + 1
        shape = S * (kappa + 1) / (kappa * df)
        total += stats.multivariate_t(m, shape, df).logpdf(x)
        S = S + kappa / (kappa + 1) * np.outer(x - m, x - m)
        m, kappa, nu = (kappa * m + x) / (kappa + 1), kappa + 1, nu + 1
    first = Segment.of_table(w.family, 1, w.family.places.width)
    width = len(w.N) // 2
    result = w.family.log_marginal(w.N[:width], w.hyper[:width], first)[0]
    assert result - 0.5 * np.log(2 * np.pi) * w.x[0].size == pytest.approx(total, rel=1e-12)


def test_derivatives_and_jacobian():
    World().check_derivatives()
    World().check_jacobian()


def test_the_maximum_of_statistics():
    w = World()
    best, A = w.check_maximum()
    joint = w.family.places.read(w.at.tables(best))
    for c, x in enumerate(w.x):
        np.testing.assert_allclose(joint.first[c], x.mean(axis=0), atol=1e-12)
        np.testing.assert_allclose(joint.second[c], np.cov(x.T, bias=True), atol=1e-12)
    sharp = w.family.metric(best, w.N, w.at)[w.free]
    np.testing.assert_allclose(np.diag(A), sharp, rtol=1e-9)


def test_draws_have_the_moments_that_are_expected():
    World().checked_draws()


def test_a_block_of_one_number_is_a_gaussian():
    one, hyper = GaussianBlock(("a",)), np.array(block_hyperparameters(1, 0.3, 0.7, 3.0, 1.3))
    N = np.array([3.0, 5.0, 8.0, 5.0])
    for name in ("log_constant", "log_integral", "expected_natural", "in_theta"):
        result, expected = (
            getattr(f, name)(hyper + N, Segment.of_table(f, 1, 4)) for f in (one, GAUSSIAN)
        )
        np.testing.assert_allclose(result, expected, rtol=1e-12)
    theta = one.places.write(Joint(np.array([[0.4]]), np.ones(1), np.array([[[2.0]]]), np.ones(1)))
    at, other = Segment.of_table(one, 1, 4), Segment.of_table(GAUSSIAN, 1, 4)
    assert one.log_prior(theta[0], hyper, at) == pytest.approx(
        GAUSSIAN.log_prior(np.array([0.4, 0.4, 2.0, 2.0]), hyper, other), rel=1e-12
    )
