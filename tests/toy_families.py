"""Two families that the package does not have: the proof that a family is one file.

Waiting times have a geometric distribution with a Beta prior. Lifetimes are exponential with a
Gamma prior on their rate: no simplex, one parameter in two places, values that are not whole.
"""

from dataclasses import dataclass

import numpy as np

from lacunet.likelihoods import Poisson
from lacunet.likelihoods.categorical import Categorical


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
class Exponential(Poisson):
    """p(x) = λ exp(−λ x): like a Poisson process, seen once in a time of x."""

    def statistics(self, states):
        x = np.array(states, dtype=float)
        return np.stack([np.ones_like(x), x], axis=1)

    def log_base(self, states):
        return np.zeros(len(states))

    def mean_statistics(self, theta, at):
        return np.where(at.k == 0, 1.0, 1.0 / theta)

    def cases(self, N, at):
        cases = at.by_place(N)[0]
        return at.at_places(cases, cases)
