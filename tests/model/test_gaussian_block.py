"""Blocks of numbers: closed forms against SciPy, finite differences and draws."""

import numpy as np
import pytest
from scipy import stats

from lacunet.model.families import GAUSSIAN, GaussianBlock
from lacunet.model.families.block_places import Joint, hyperparameters, joint_statistics
from lacunet.model.families.family import Segment

STEP = 1e-6


class World:
    """Two configurations of three numbers, a prior, data, and θ somewhere near."""

    def __init__(self, d=3, seed=0):
        rng = np.random.default_rng(seed)
        self.rng, self.family = rng, GaussianBlock(tuple("abcdef"[:d]))
        self.at = Segment.of_table(self.family, 2, self.family.places.width)
        self.hyper = np.tile(hyperparameters(d, 0.3, 0.7, d + 2.0, 1.3), 2)
        self.x = [rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) for n in (8, 9)]
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


def test_densities_are_those_of_scipy():
    w = World()
    joint = w.family.places.read(w.at.tables(w.theta))
    wanted = sum(
        stats.multivariate_normal(joint.first[c], joint.second[c]).logpdf(x).sum()
        for c, x in enumerate(w.x)
    )
    base = -0.5 * np.log(2 * np.pi) * 3 * 17
    assert w.family.log_density(w.N, w.theta, w.at) + base == pytest.approx(wanted, rel=1e-12)
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
    found = w.family.log_marginal(w.N[:width], w.hyper[:width], first)[0]
    assert found - 0.5 * np.log(2 * np.pi) * w.x[0].size == pytest.approx(total, rel=1e-12)


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
    joint = w.family.places.read(w.at.tables(best))
    for c, x in enumerate(w.x):
        np.testing.assert_allclose(joint.first[c], x.mean(axis=0), atol=1e-12)
        np.testing.assert_allclose(joint.second[c], np.cov(x.T, bias=True), atol=1e-12)
    np.testing.assert_allclose(w.family.pull_back(best, w.N, w.at), 0.0, atol=1e-10)
    A = np.stack([w.family.information(best, w.N, e, w.at) for e in np.eye(len(best))[w.free]])
    A = A[:, w.free]
    sharp = w.family.sharpness(best, w.N, w.at)[w.free]
    np.testing.assert_allclose(np.diag(A), sharp, rtol=1e-9)
    log_det = w.family.complete_log_det(best, w.N, w.at)
    assert log_det == pytest.approx(np.linalg.slogdet(A)[1], rel=1e-9)


def test_draws_have_the_moments_that_are_expected():
    w, draws = World(), 20_000
    drawn = w.family.draw(np.tile(w.hyper + w.N, (draws, 1)), w.at, w.rng)
    wanted = w.family.expected_natural(w.hyper + w.N, w.at)
    error = drawn.std(axis=0) / np.sqrt(draws)
    assert (np.abs(drawn.mean(axis=0) - wanted) < 5 * error + 1e-12).all()


def test_a_jacobian_is_that_of_the_coordinates():
    w = World()
    columns = [w.along(lambda t: t[w.free], e) for e in np.eye(len(w.theta))[w.free]]
    wanted = np.linalg.slogdet(np.stack(columns))[1]
    assert w.family.log_jacobian(w.theta, w.at) == pytest.approx(wanted, rel=1e-6)


def test_a_block_of_one_number_is_a_gaussian():
    one, hyper = GaussianBlock(("a",)), np.array(hyperparameters(1, 0.3, 0.7, 3.0, 1.3))
    N = np.array([3.0, 5.0, 8.0, 5.0])
    for name in ("log_constant", "log_integral", "expected_natural", "in_theta"):
        found, wanted = (
            getattr(f, name)(hyper + N, Segment.of_table(f, 1, 4)) for f in (one, GAUSSIAN)
        )
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
    theta = one.places.write(Joint(np.array([[0.4]]), np.ones(1), np.array([[[2.0]]]), np.ones(1)))
    at, other = Segment.of_table(one, 1, 4), Segment.of_table(GAUSSIAN, 1, 4)
    assert one.log_prior(theta[0], hyper, at) == pytest.approx(
        GAUSSIAN.log_prior(np.array([0.4, 0.4, 2.0, 2.0]), hyper, other), rel=1e-12
    )
