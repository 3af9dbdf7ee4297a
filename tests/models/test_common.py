"""Covariances that all classes share: closed forms against SciPy, differences and draws."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from family_worlds import FamilyWorld
from lacunet.likelihoods import GaussianBlock
from lacunet.likelihoods.joint_normal import block_hyperparameters, joint_statistics
from lacunet.likelihoods.likelihood import Segment

PRIOR = (0.3, 0.7, 5.0, 1.3)  # m, κ, ν, scale


class World(FamilyWorld):
    """Three configurations of three numbers."""

    def __init__(self, d=3, seed=0):
        rng = np.random.default_rng(seed)
        family = GaussianBlock(tuple("abc"[:d]), common=True)
        hyper = np.tile(family.shared_out(np.array(block_hyperparameters(d, *PRIOR)), 3), 3)
        turn = rng.normal(size=(d, d))
        x = [rng.normal(size=(n, d)) @ turn + rng.normal(size=d) for n in (8, 9, 4)]
        super().__init__(family, Segment.of_table(family, 3, family.places.width), hyper, x, rng)

    def covariances(self, theta):
        return self.family.places.read(self.at.tables(theta)).second


def predicted(groups):
    """Log p of rows, one class after the other: Student's t of each given those before it."""
    m0, kappa0, nu, scale = PRIOR
    d, S, total = groups[0].shape[1], scale * np.eye(groups[0].shape[1]), 0.0
    for x in groups:
        m, kappa = np.full(d, m0), kappa0
        for row in x:
            df = nu - d + 1
            total += stats.multivariate_t(m, S * (kappa + 1) / (kappa * df), df).logpdf(row)
            S = S + kappa / (kappa + 1) * np.outer(row - m, row - m)
            m, kappa, nu = (kappa * m + row) / (kappa + 1), kappa + 1, nu + 1
    return total


def test_the_evidence_is_a_product_of_predictions():
    w = World()
    result = w.family.log_marginal(w.N, w.hyper, w.at).sum()
    base = -0.5 * np.log(2 * np.pi) * sum(x.size for x in w.x)
    assert result + base == pytest.approx(predicted(w.x), rel=1e-12)


def test_empty_classes_add_nothing():
    """The occupancy identity: the evidence is the same with any number of empty classes."""
    w = World()
    width = w.family.places.width
    expected = w.family.log_marginal(w.N, w.hyper, w.at).sum()
    more = Segment.of_table(w.family, 5, width)
    hyper = np.tile(w.family.shared_out(w.hyper[:width], 5 / 3), 5)
    N = np.concatenate([w.N, np.zeros(2 * width)])
    assert w.family.log_marginal(N, hyper, more).sum() == pytest.approx(expected, rel=1e-12)


def test_derivatives_and_jacobian():
    World().check_derivatives()
    World().check_jacobian()


def test_the_maximum_of_statistics():
    w = World()
    best, _ = w.check_maximum()
    within = sum(len(x) * np.cov(x.T, bias=True) for x in w.x) / sum(map(len, w.x))
    np.testing.assert_allclose(w.covariances(best), np.broadcast_to(within, (3, 3, 3)), atol=1e-12)
    assert len(w.free) == 3 * 3 + 6  # means of three classes, one covariance
    moved = w.covariances(w.family.moved(best, w.direction(), w.at))
    np.testing.assert_allclose(moved[1:], moved[:2], rtol=1e-12)


def test_draws_share_a_covariance_and_have_the_moments_that_are_expected():
    w = World()
    second = w.covariances(w.family.parameters(w.checked_draws()[0], w.at))
    np.testing.assert_allclose(second[1:], second[:2], rtol=1e-9)


def test_one_configuration_is_a_block():
    inner = GaussianBlock(tuple("ab"))
    hyper, rng = np.array(block_hyperparameters(2, *PRIOR)), np.random.default_rng(1)
    N = joint_statistics(rng.normal(size=(7, 2))).sum(axis=0)
    for name in ("log_constant", "log_integral", "expected_natural", "in_theta", "mean"):
        result, expected = (
            getattr(f, name)(hyper + N, Segment.of_table(f, 1, len(N)))
            for f in (replace(inner, common=True), inner)
        )
        np.testing.assert_allclose(result, expected, rtol=1e-12)


def test_different_covariances_are_no_parameters():
    w = World()
    assert w.family.allows(w.theta, w.at)
    other = w.theta.copy()
    other[w.at.positions(4)[0]] *= 1.5
    assert not w.family.allows(other, w.at)
