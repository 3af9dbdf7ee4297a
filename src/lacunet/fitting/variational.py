"""Variational Bayes: the best posterior in which parameters and hidden values are independent.

q(θ) is a product of Dirichlets with exponents η = α + E_q[N]; q(hidden) is the posterior of the
hidden values under weights exp E_q[log θ] in place of θ. So a step is an E step at those weights,
and the bound is, with the expected counts N of q(hidden),

    log p(D|S) ≥ log BD(N) + H[q(hidden)],     H = log Z(weights) − N · log weights.

At the posterior under any θ that is Cheeseman–Stutz (barren variables left out): steps from there
only raise it.
"""

from dataclasses import dataclass

from lacunet.inference.expectation import dot, hidden_counts
from lacunet.inference.problem import Problem
from lacunet.models import conjugacy
from lacunet.models.network import Model
from lacunet.runtime.arrays import FloatArray

TOLERANCE = 1e-7  # nats gained by a step, below which the bound counts as reached
MAX_STEPS = 5000


@dataclass(frozen=True, eq=False)
class Variational:
    """An independent posterior, and the bound that it gives."""

    problem: Problem
    N: FloatArray  # (size,) expected counts under q(hidden), with what was seen
    bound: float  # ≤ log p(D|S)
    steps: int = 0

    @property
    def exponents(self) -> FloatArray:
        """η, the exponents of the best q(θ)."""
        return self.problem.alpha + self.N

    @property
    def model(self) -> Model:
        """The network with its expected parameters."""
        network, alpha, exponents = self.problem.network, self.problem.alpha, self.exponents
        return Model(network, conjugacy.mean(exponents, network.layout), alpha, exponents)

    @property
    def log_weights(self) -> FloatArray:
        """E_q[log θ]: what q(hidden) would best be made from."""
        return conjugacy.expected_natural(self.exponents, self.problem.layout)


def at_weights(problem: Problem, log_weights: FloatArray, steps: int = 0) -> Variational:
    """Take q(hidden) ∝ Π weights, over what is hidden, and the q(θ) that is best for it."""
    hidden = hidden_counts(problem, log_weights)
    entropy = hidden.log_lik - dot(hidden.N, log_weights)
    N = hidden.N + problem.seen
    families = conjugacy.log_marginal(N, problem.alpha, problem.layout)
    return Variational(problem, N, float(families.sum()) + entropy + problem.log_base, steps)


def at_hyperparameters(problem: Problem, hyper: FloatArray) -> Variational:
    """Take the q(hidden) that is best for a q(θ) with these hyperparameters."""
    return at_weights(problem, conjugacy.expected_natural(hyper, problem.layout))


def at_theta(problem: Problem, theta: FloatArray) -> Variational:
    """Take the posterior of the hidden values at θ: the bound is Cheeseman–Stutz's."""
    return at_weights(problem, conjugacy.natural(theta, problem.layout))


def step(q: Variational) -> Variational:
    """Improve q(θ), then q(hidden): the bound never falls."""
    return at_weights(q.problem, q.log_weights, q.steps + 1)


def vary(
    q: Variational, *, tolerance: float = TOLERANCE, max_steps: int = MAX_STEPS
) -> Variational:
    """Step until the bound stands still."""
    for _ in range(max_steps):
        before, q = q, step(q)
        if q.bound - before.bound < tolerance:
            break
    return q
