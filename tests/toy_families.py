"""Two families that the package does not have: the proof that a family is one file.

Counts have a Poisson distribution with a Gamma prior on its rate: no simplex, one parameter in two
places, a base measure. Waiting times have a geometric distribution with a Beta prior.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import digamma, gammaln

from lacunet.model.families.categorical import Categorical
from lacunet.model.families.family import Family


@dataclass(frozen=True)
class Geometric(Categorical):
    """p(x) = θ (1 − θ)^x: like two states, of which the second is seen x times."""

    tabular = False

    def width(self, states):
        return 2

    def statistics(self, states):
        x = np.array(states, dtype=float)
        return np.stack([np.ones_like(x), x], axis=1)

    def mean_statistics(self, theta, at):
        success = np.where(at.k == 0, theta, 1.0 - theta)
        return np.where(at.k == 0, 1.0, (1.0 - success) / success)

    def cases(self, N, at):
        return at.totals(np.where(at.k == 0, N, 0.0))


@dataclass(frozen=True)
class Poisson(Family):
    """Places are (Σ x, n): θ = (λ, λ), η = (log λ, −λ), hyperparameters (shape, rate)."""

    def width(self, states):
        return 2

    def statistics(self, states):
        x = np.array(states, dtype=float)
        return np.stack([x, np.ones_like(x)], axis=1)

    def log_base(self, states):
        return -gammaln(np.array(states, dtype=float) + 1.0)

    @staticmethod
    def pair(x, at):
        """Both places of each configuration, (..., q) each."""
        first, second = np.flatnonzero(at.k == 0), np.flatnonzero(at.k == 1)
        first, second = first[np.argsort(at.ij[first])], second[np.argsort(at.ij[second])]
        return x[..., first], x[..., second]

    @staticmethod
    def at_places(first, second, at):
        return np.where(at.k == 0, first[..., at.ij], second[..., at.ij])

    def natural(self, theta, at):
        with np.errstate(divide="ignore"):
            return np.where(at.k == 0, np.log(theta), -theta)

    def parameters(self, natural, at):
        rate = np.exp(self.pair(natural, at)[0])
        return self.at_places(rate, rate, at)

    def has_mode(self, hyper, at):
        return bool((self.pair(hyper, at)[0] >= 1.0).all())

    def in_theta(self, hyper, at):
        return hyper - (at.k == 0)

    def log_prior(self, theta, hyper, at):
        added = self.in_theta(hyper, at) * self.natural(theta, at)
        return self.log_constant(hyper, at) + float(added.sum())

    def log_constant(self, hyper, at):
        a, b = self.pair(hyper, at)
        return float(np.sum(a * np.log(b) - gammaln(a)))

    def log_marginal(self, N, hyper, at):
        a, b = self.pair(hyper, at)
        s, n = self.pair(N, at)
        each = a * np.log(b) - gammaln(a) + gammaln(a + s) - (a + s) * np.log(b + n)
        return at.by_variable(np.zeros(len(at.ij)), each)

    def log_integral(self, hyper, at):
        a, b = self.pair(hyper, at)
        return np.sum(gammaln(a) - a * np.log(b), axis=-1)

    def expected_natural(self, hyper, at):
        a, b = self.pair(hyper, at)
        return self.at_places(digamma(a) - np.log(b), -a / b, at)

    def mean(self, hyper, at):
        a, b = self.pair(hyper, at)
        return self.at_places(a / b, a / b, at)

    def mean_statistics(self, theta, at):
        return np.where(at.k == 0, theta, 1.0)

    def cases(self, N, at):
        n = self.pair(N, at)[1]
        return self.at_places(n, n, at)

    def draw(self, hyper, at, rng):
        a, b = self.pair(hyper, at)
        rate = rng.gamma(a) / b
        return self.at_places(np.log(rate), -rate, at)

    def random(self, at, rng):
        rate = 4.0 * rng.standard_exponential(at.configurations)
        return self.at_places(rate, rate, at)

    def maximize(self, N, pseudo, theta, at):
        s, n = self.pair(N + pseudo, at)
        old = self.pair(theta, at)[0]
        rate = np.where(n > 0, s / np.where(n > 0, n, 1.0), old)
        return self.at_places(rate, rate, at)

    def pull_back(self, theta, g, at):
        first, second = self.pair(g, at)
        rate = self.pair(theta, at)[0]
        return self.at_places(first - rate * second, np.zeros_like(rate), at)

    def push(self, theta, phi, at):
        along, rate = self.pair(phi, at)[0], self.pair(theta, at)[0]
        return self.at_places(along, -rate * along, at)

    def information(self, theta, N, phi, at):
        return self.sharpness(theta, N, at) * phi

    def longest_move(self, *, edge):
        return 4.0

    def slope(self, theta, gradient, at, *, edge):
        return gradient

    def sharpness(self, theta, N, at, *, edge=False):
        rate, n = self.pair(theta, at)[0], self.pair(N, at)[1]
        return self.at_places(rate * n, np.zeros_like(n), at)

    def idle(self, theta, v, at):
        return np.zeros_like(v)

    def moved(self, theta, move, at, *, edge=False):
        rate = self.pair(theta, at)[0] * np.exp(self.pair(move, at)[0])
        return self.at_places(rate, rate, at)

    def between(self, old, new, at, *, edge):
        return np.log(new / old)

    def free(self, theta, at):
        free = np.flatnonzero(at.k == 0)
        free = free[np.argsort(at.ij[free])]
        return free, free

    def log_jacobian(self, theta, at):
        return float(np.sum(np.log(self.pair(theta, at)[0])))

    def complete_log_det(self, theta, N, at):
        return float(np.sum(np.log(self.pair(theta, at)[0] * self.pair(N, at)[1])))
