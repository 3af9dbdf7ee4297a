"""A likelihood that the package does not have, not derived from one of its own: one class.

A linear Gaussian with a continuous parent: x given u is normal around a + b u, with a slope and an
intercept in every class, and noise that is known. It has no conjugate prior, and says only what the
contract asks for: gradients and curvature follow by complex steps. The inference sees the pair of u
and x as it sees all numbers that vary together. So the parent must be one that every row shows, and
it has no distribution of its own: what is fitted is p(x | u, class).
"""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from lacunet.errors import ModelError
from lacunet.fitting.fit import Options, learn
from lacunet.fitting.objective import Estimate, Objective
from lacunet.inference.problem import problem_of_codes
from lacunet.likelihoods import Likelihood
from lacunet.likelihoods.joint_normal import LOG_2PI, BlockPlaces
from lacunet.models import conjugacy
from lacunet.models.latent_class import over_leaves
from lacunet.models.network import Variable
from lacunet.models.prior import dirichlet


@dataclass(frozen=True)
class LinearGaussian(Likelihood):
    """Places are those of the sums of (u, x): Σu, Σx, n, Σu², Σx², Σux, n. θ = (a, b, 0, …)."""

    name = "linear_gaussian"
    positive = False
    coordinate_places = (0, 1)
    members: tuple[str, str]  # the parent, and its child
    noise: float  # variance of x around its line
    place: int = 0  # which of the two a variable is

    @property
    def stands_at(self):
        return self.members[0]

    def width(self, states):
        return 0 if self.place else BlockPlaces(2).width

    def statistics(self, states):
        raise NotImplementedError("of pairs only")

    def log_base(self, states):
        constant = -0.5 * (LOG_2PI + np.log(self.noise))
        return np.full(len(states), constant if self.place else 0.0)

    def natural(self, theta, at):
        a, b = at.by_place(theta)[:2]
        one, s = np.ones_like(a), self.noise
        parts = (-a * b, a * one, -a * a / 2, -b * b / 2, -one / 2, b, 0 * one)
        return at.at_places(*(x / s for x in parts))

    def maximize(self, N, pseudo, theta, at):
        u, x, n, uu, _, ux, _ = at.by_place(N + pseudo)
        old = at.by_place(theta)
        determined = uu * n - u * u > 1e-12
        b = np.where(
            determined, (ux * n - u * x) / np.where(determined, uu * n - u * u, 1.0), old[1]
        )
        a = np.where(n > 0, (x - b * u) / np.where(n > 0, n, 1.0), old[0])
        return at.at_places(a, b, *[np.zeros_like(a)] * 5)

    def random(self, hyper, at, rng):
        a, b = rng.standard_normal((2, at.configurations))
        return at.at_places(a, b, *[np.zeros_like(a)] * 5)

    def mean_statistics(self, theta, at):
        """Of a parent with mean 0 and variance 1."""
        a, b = at.by_place(theta)[:2]
        one, none = np.ones_like(a), np.zeros_like(a)
        return at.at_places(none, a, one, one, a**2 + b**2 + self.noise, b, one)

    def cases(self, N, at):
        return at.by_place(N)[2][at.ij]

    def moved(self, theta, move, at, *, edge=False):
        return theta + np.where(at.k < 2, move, 0.0)

    def log_map(self, old, new, at, *, edge):
        return np.where(at.k < 2, new - old, 0.0)


NOISE = 0.25
LINES = np.array([[1.0, 2.0], [-1.0, -0.5]])  # a and b of each class


@pytest.fixture(scope="module")
def world():
    rng = np.random.default_rng(4)
    z = rng.integers(0, 2, 300)
    u = rng.normal(size=300)
    x = LINES[z, 0] + LINES[z, 1] * u + rng.normal(0, np.sqrt(NOISE), 300)
    colour = (rng.random(300) < np.array([0.2, 0.7])[z]).astype(int)
    values = [np.unique(distinct) for distinct in (u, x)]
    codes = np.stack([*map(np.searchsorted, values, (u, x)), colour], axis=1).astype(np.int16)
    leaves = [
        Variable(name, tuple(distinct), family=LinearGaussian(("u", "x"), NOISE, place))
        for place, (name, distinct) in enumerate(zip("ux", values, strict=True))
    ]
    network = over_leaves([*leaves, Variable("colour", ("red", "blue"))], 2)
    problem = problem_of_codes(codes, np.ones(300), network, dirichlet(network, 1.0))
    return problem, u, x, colour


def log_lik_of(theta, problem, u, x, colour):
    """Log p(D | θ), of values and not of statistics."""
    layout = problem.layout
    sizes, p = layout.table(theta, 0), layout.table(theta, 3)
    a, b = layout.table(theta, 1)[:, :2].T
    density = stats.norm.logpdf(x[:, None], a + b * u[:, None], np.sqrt(NOISE))
    return logsumexp(np.log(sizes) + density + np.log(p[:, colour].T), axis=1).sum()


def test_it_is_fitted_by_em(world):
    problem, *data = world
    learned = learn(problem, Options(Estimate.ML, starts=10, seed=1))
    theta = learned.model.theta
    assert learned.log_lik == pytest.approx(log_lik_of(theta, problem, *data), rel=1e-12)
    lines = problem.layout.table(theta, 1)[:, :2]
    order = np.argsort(-lines[:, 0])
    np.testing.assert_allclose(lines[order], LINES, atol=0.2)


def test_its_gradient_is_that_of_the_likelihood(world):
    problem, *data = world
    layout = problem.layout
    theta = conjugacy.random_theta(layout, np.random.default_rng(2))
    N = Objective.build(problem, Estimate.ML).at(theta).N
    gradient = conjugacy.pull_back(theta, N, layout)
    for p in range(layout.size):
        step = np.zeros(layout.size)
        step[p] = 1e-5
        up, down = (
            log_lik_of(conjugacy.moved(theta, s * step, layout), problem, *data) for s in (1, -1)
        )
        assert gradient[p] == pytest.approx((up - down) / 2e-5, abs=1e-4)


def test_functions_that_need_a_prior_refuse_models_without(world):
    problem, *_ = world
    with pytest.raises(ModelError, match="linear_gaussian likelihood has no conjugate prior"):
        conjugacy.log_marginal(np.ones(problem.layout.size), problem.alpha, problem.layout)
