"""What outcomes are: numbers with a mean and a variance in each class, or shares of states.

Each knows its densities and scores by free parameters (a row of them for each class), and how
to turn these into what is told: means, or shares.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax

from lacunet.runtime.arrays import FloatArray, IntArray

LEAST = 1e-300  # a share that is none
SPREAD = 1e-10  # of the variance of all rows: a class with less has equal values


class OutcomeKind(ABC):
    """An outcome of m rows, and how classes may differ in it."""

    titles: tuple[str, ...]  # what is told of each class

    number: bool  # whether means are told, not shares

    @property
    @abstractmethod
    def width(self) -> int:
        """b, the number of free parameters of a class."""

    @property
    def constant(self) -> bool:
        """Whether all rows show the same."""
        return bool((self.values == self.values[:1]).all())

    def degenerate(self, parameters: FloatArray) -> bool:
        """Whether the likelihood has no end at these parameters, (K, b)."""
        return False

    @property
    @abstractmethod
    def values(self) -> FloatArray:
        """(m, c) numbers whose means are what is told."""

    @abstractmethod
    def best(self, weights: FloatArray) -> FloatArray:
        """(K, b) parameters that are best for rows that count (m, K) for each class."""

    @abstractmethod
    def log_density(self, parameters: FloatArray) -> FloatArray:
        """(m, K) log p(y | class)."""

    @abstractmethod
    def scores(self, parameters: FloatArray) -> FloatArray:
        """(m, K, b) slopes of these by the class's own parameters."""

    @abstractmethod
    def information(self, parameters: FloatArray, weights: FloatArray) -> FloatArray:
        """(K, b, b) negative second derivatives of Σ weights log p."""

    @abstractmethod
    def told(self, parameters: FloatArray) -> FloatArray:
        """(K, c) what is told."""

    @abstractmethod
    def slopes(self, parameters: FloatArray) -> FloatArray:
        """(K, c, b) how that changes with the parameters."""


@dataclass(frozen=True, eq=False)
class NumberOutcome(OutcomeKind):
    """A number; parameters are μ and log σ²."""

    y: FloatArray  # (m,) standardised
    titles: tuple[str, ...] = ("mean",)
    number: bool = True

    @property
    def width(self) -> int:
        return 2

    @property
    def values(self) -> FloatArray:
        return self.y[:, None]

    def degenerate(self, parameters: FloatArray) -> bool:
        return bool((parameters[:, 1] <= np.log(2.0 * SPREAD)).any())

    def best(self, weights: FloatArray) -> FloatArray:
        total = weights.sum(axis=0)
        mean = self.y @ weights / total
        squares = ((self.y[:, None] - mean) ** 2 * weights).sum(axis=0) / total
        return np.column_stack([mean, np.log(np.maximum(squares, SPREAD))])

    def log_density(self, parameters: FloatArray) -> FloatArray:
        mean, log_variance = parameters.T
        squares = (self.y[:, None] - mean) ** 2 / np.exp(log_variance)
        return np.asarray(-0.5 * (squares + log_variance + np.log(2.0 * np.pi)))

    def scores(self, parameters: FloatArray) -> FloatArray:
        mean, log_variance = parameters.T
        apart, variance = self.y[:, None] - mean, np.exp(log_variance)
        return np.stack([apart / variance, 0.5 * (apart**2 / variance - 1.0)], axis=2)

    def information(self, parameters: FloatArray, weights: FloatArray) -> FloatArray:
        mean, log_variance = parameters.T
        apart, variance = self.y[:, None] - mean, np.exp(log_variance)
        both = (weights * apart).sum(axis=0) / variance
        of_variance = 0.5 * (weights * apart**2).sum(axis=0) / variance
        rows = [[weights.sum(axis=0) / variance, both], [both, of_variance]]
        return np.asarray(np.transpose(np.array(rows), (2, 0, 1)))

    def told(self, parameters: FloatArray) -> FloatArray:
        return parameters[:, :1]

    def slopes(self, parameters: FloatArray) -> FloatArray:
        return np.tile(np.array([[[1.0, 0.0]]]), (len(parameters), 1, 1))


@dataclass(frozen=True, eq=False)
class CategoryOutcome(OutcomeKind):
    """A category; parameters are logits of its states against the first."""

    codes: IntArray  # (m,)
    titles: tuple[str, ...]  # its states
    number: bool = False

    @property
    def width(self) -> int:
        return len(self.titles) - 1

    @property
    def values(self) -> FloatArray:
        return np.eye(len(self.titles))[self.codes]

    def best(self, weights: FloatArray) -> FloatArray:
        share = np.log(np.maximum(weights.T @ self.values, LEAST))
        return np.asarray(share[:, 1:] - share[:, :1])

    def _log_shares(self, parameters: FloatArray) -> FloatArray:
        first = np.zeros((len(parameters), 1))
        return np.asarray(log_softmax(np.hstack([first, parameters]), axis=1))

    def log_density(self, parameters: FloatArray) -> FloatArray:
        return np.asarray(self._log_shares(parameters)[:, self.codes].T)

    def scores(self, parameters: FloatArray) -> FloatArray:
        return self.values[:, None, 1:] - self.told(parameters)[None, :, 1:]

    def information(self, parameters: FloatArray, weights: FloatArray) -> FloatArray:
        return np.asarray(weights.sum(axis=0)[:, None, None] * self.slopes(parameters)[:, 1:])

    def told(self, parameters: FloatArray) -> FloatArray:
        return np.asarray(np.exp(self._log_shares(parameters)))

    def slopes(self, parameters: FloatArray) -> FloatArray:
        p = self.told(parameters)
        each = np.einsum("ti,ij->tij", p, np.eye(p.shape[1]))
        return np.asarray((each - p[:, :, None] * p[:, None, :])[:, :, 1:])
