"""Covariances that all classes share: closed forms against SciPy, differences and draws."""

import numpy as np
import pytest
from scipy import stats

from lacunet.model.families import Common, GaussianBlock
from lacunet.model.families.block_places import hyperparameters, joint_statistics
from lacunet.model.families.family import Segment

STEP = 1e-6
PRIOR = (0.3, 0.7, 5.0, 1.3)  # m, κ, ν, scale


class World:
    """Three configurations of three numbers, a prior, data, and θ somewhere near."""

    def __init__(self, d=3, seed=0):
        rng = np.random.default_rng(seed)
        self.rng, self.family = rng, Common(GaussianBlock(tuple("abc"[:d])))
        self.at = Segment.of_table(self.family, 3, self.family.places.width)
        one = np.array(hyperparameters(d, *PRIOR))
        self.hyper = np.tile(self.family.shared_out(one, 3), 3)
        turn = rng.normal(size=(d, d))
        self.x = [rng.normal(size=(n, d)) @ turn + rng.normal(size=d) for n in (8, 9, 4)]
        self.N = np.concatenate([joint_statistics(x).sum(axis=0) for x in self.x])
        self.theta = self.family.mean(self.hyper + self.N, self.at)
        self.free = self.family.free(self.theta, self.at)[0]

    def direction(self):
        v = np.zeros(len(self.theta))
        v[self.free] = self.rng.standard_normal(len(self.free))
        return v

    def along(self, function, v):
        ends = [self.family.moved(self.theta, s * STEP * v, self.at) for s in (1, -1)]
        return (function(ends[0]) - function(ends[1])) / (2 * STEP)

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
    found = w.family.log_marginal(w.N, w.hyper, w.at).sum()
    base = -0.5 * np.log(2 * np.pi) * sum(x.size for x in w.x)
    assert found + base == pytest.approx(predicted(w.x), rel=1e-12)


def test_classes_that_nobody_is_in_add_nothing():
    """The occupancy identity: the evidence is the same with any number of empty classes."""
    w = World()
    width = w.family.places.width
    wanted = w.family.log_marginal(w.N, w.hyper, w.at).sum()
    more = Segment.of_table(w.family, 5, width)
    hyper = np.tile(w.family.shared_out(w.hyper[:width], 5 / 3), 5)
    N = np.concatenate([w.N, np.zeros(2 * width)])
    assert w.family.log_marginal(N, hyper, more).sum() == pytest.approx(wanted, rel=1e-12)


def test_derivatives_are_finite_differences():
    w = World()
    v, family, at = w.direction(), w.family, w.at
    slope = w.along(lambda t: family.log_density(w.N, t, at), v)
    assert family.pull_back(w.theta, w.N, at) @ v == pytest.approx(slope, rel=1e-7)
    curved = -w.along(lambda t: family.pull_back(t, w.N, at), v)
    np.testing.assert_allclose(family.information(w.theta, w.N, v, at), curved, atol=1e-6)
    pushed = w.along(lambda t: family.natural(t, at), v)
    np.testing.assert_allclose(family.push(w.theta, v, at), pushed, atol=1e-7)
    there = family.moved(w.theta, v, at)
    np.testing.assert_allclose(family.between(w.theta, there, at, edge=False), v, atol=1e-12)
    on_scale = family.on_scale(v[:, None], w.theta, at)[:, 0]
    moved = w.along(lambda t: t, v)
    np.testing.assert_allclose(family.scale_slope(w.theta, at) * on_scale, moved, atol=1e-7)


def test_the_maximum_of_statistics():
    w = World()
    best = w.family.maximize(w.N, np.zeros_like(w.N), w.theta, w.at)
    within = sum(len(x) * np.cov(x.T, bias=True) for x in w.x) / sum(map(len, w.x))
    np.testing.assert_allclose(w.covariances(best), np.broadcast_to(within, (3, 3, 3)), atol=1e-12)
    np.testing.assert_allclose(w.family.pull_back(best, w.N, w.at), 0.0, atol=1e-10)
    A = np.stack([w.family.information(best, w.N, e, w.at) for e in np.eye(len(best))[w.free]])
    log_det = w.family.complete_log_det(best, w.N, w.at)
    assert log_det == pytest.approx(np.linalg.slogdet(A[:, w.free])[1], rel=1e-9)
    assert len(w.free) == 3 * 3 + 6  # means of three classes, one covariance
    moved = w.covariances(w.family.moved(best, w.direction(), w.at))
    np.testing.assert_allclose(moved[1:], moved[:2], rtol=1e-12)


def test_draws_share_a_covariance_and_have_the_moments_that_are_expected():
    w, draws = World(), 20_000
    drawn = w.family.draw(np.tile(w.hyper + w.N, (draws, 1)), w.at, w.rng)
    wanted = w.family.expected_natural(w.hyper + w.N, w.at)
    error = drawn.std(axis=0) / np.sqrt(draws)
    assert (np.abs(drawn.mean(axis=0) - wanted) < 5 * error + 1e-12).all()
    second = w.covariances(w.family.parameters(drawn[0], w.at))
    np.testing.assert_allclose(second[1:], second[:2], rtol=1e-9)


def test_a_jacobian_is_that_of_the_coordinates():
    w = World()
    columns = [w.along(lambda t: t[w.free], e) for e in np.eye(len(w.theta))[w.free]]
    wanted = np.linalg.slogdet(np.stack(columns))[1]
    assert w.family.log_jacobian(w.theta, w.at) == pytest.approx(wanted, rel=1e-6)


def test_one_configuration_is_a_block():
    inner = GaussianBlock(tuple("ab"))
    hyper, rng = np.array(hyperparameters(2, *PRIOR)), np.random.default_rng(1)
    N = joint_statistics(rng.normal(size=(7, 2))).sum(axis=0)
    for name in ("log_constant", "log_integral", "expected_natural", "in_theta", "mean"):
        found, wanted = (
            getattr(f, name)(hyper + N, Segment.of_table(f, 1, len(N)))
            for f in (Common(inner), inner)
        )
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_different_covariances_are_no_parameters():
    w = World()
    assert w.family.allows(w.theta, w.at)
    other = w.theta.copy()
    other[w.at.positions(4)[0]] *= 1.5
    assert not w.family.allows(other, w.at)
