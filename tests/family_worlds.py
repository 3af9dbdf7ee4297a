"""A family of numbers, data and a place near their mode: what every family must keep to there."""

import numpy as np
import pytest

from lacunet.likelihoods.joint_normal import joint_statistics

STEP = 1e-6


class FamilyWorld:
    """A segment of a family, a prior, data by configuration, and θ somewhere near."""

    def __init__(self, family, at, hyper, x, rng):
        self.family, self.at, self.hyper, self.x, self.rng = family, at, hyper, x, rng
        self.N = np.concatenate([joint_statistics(values).sum(axis=0) for values in x])
        self.theta = family.mean(hyper + self.N, at)
        self.free = family.free(self.theta, at)[0]

    def direction(self):
        v = np.zeros(len(self.theta))
        v[self.free] = self.rng.standard_normal(len(self.free))
        return v

    def along(self, function, v):
        ends = [self.family.moved(self.theta, s * STEP * v, self.at) for s in (1, -1)]
        return (function(ends[0]) - function(ends[1])) / (2 * STEP)

    def check_derivatives(self):
        """All of them are finite differences."""
        v, family, at, theta = self.direction(), self.family, self.at, self.theta
        slope = self.along(lambda t: family.log_density(self.N, t, at), v)
        assert family.pull_back(theta, self.N, at) @ v == pytest.approx(slope, rel=1e-7)
        curved = -self.along(lambda t: family.pull_back(t, self.N, at), v)
        np.testing.assert_allclose(family.information(theta, self.N, v, at), curved, atol=1e-6)
        pushed = self.along(lambda t: family.natural(t, at), v)
        np.testing.assert_allclose(family.push(theta, v, at), pushed, atol=1e-7)
        nearby = family.moved(theta, v, at)
        np.testing.assert_allclose(family.log_map(theta, nearby, at, edge=False), v, atol=1e-12)
        to_interval_scale = family.to_interval_scale(v[:, None], theta, at)[:, 0]
        moved = self.along(lambda t: t, v)
        np.testing.assert_allclose(
            family.scale_slope(theta, at) * to_interval_scale, moved, atol=1e-7
        )

    def check_jacobian(self):
        """It is that of the coordinates."""
        columns = [
            self.along(lambda t: t[self.free], e) for e in np.eye(len(self.theta))[self.free]
        ]
        expected = np.linalg.slogdet(np.stack(columns))[1]
        assert self.family.log_jacobian(self.theta, self.at) == pytest.approx(expected, rel=1e-6)

    def checked_draws(self, draws=20_000):
        """Draws of η, (draws, size), which have the moments that are expected."""
        drawn = self.family.draw(np.tile(self.hyper + self.N, (draws, 1)), self.at, self.rng)
        expected = self.family.expected_natural(self.hyper + self.N, self.at)
        error = drawn.std(axis=0) / np.sqrt(draws)
        assert (np.abs(drawn.mean(axis=0) - expected) < 5 * error + 1e-12).all()
        return drawn

    def check_maximum(self):
        """The M step ends where statistics pull nowhere; give it, and the curvature there."""
        best = self.family.maximize(self.N, np.zeros_like(self.N), self.theta, self.at)
        np.testing.assert_allclose(self.family.pull_back(best, self.N, self.at), 0.0, atol=1e-10)
        each = np.eye(len(best))[self.free]
        A = np.stack([self.family.information(best, self.N, e, self.at) for e in each])
        A = A[:, self.free]
        log_det = self.family.complete_log_det(best, self.N, self.at)
        assert log_det == pytest.approx(np.linalg.slogdet(A)[1], rel=1e-9)
        return best, A
