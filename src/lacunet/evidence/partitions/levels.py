"""From sums over partitions into m blocks, Z_m, to the evidence of k classes and back."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.special import gammaln, logsumexp

from lacunet.likelihoods.gamma_functions import log_rising
from lacunet.runtime.arrays import FloatArray

BESIDES = 0.01  # of p(D|k) that may come from fewer blocks
LEAST_SHARE = 1e-3  # of p(D|k) that partitions into k blocks are taken to have, at a guess


@dataclass(frozen=True)
class Occupancy:
    """Which numbers of classes are asked for, and what their evidence is made of."""

    numbers: tuple[int, ...]  # (K,) k, rising
    a: float  # exponent of each class weight
    cases: float  # N: those that show anything
    first: int  # the smallest number of blocks, m
    last: int  # and the largest

    @property
    def blocks(self) -> FloatArray:
        """Every number of blocks, (M,)."""
        return np.arange(self.first, self.last + 1, dtype=np.float64)

    def log_factors(self) -> FloatArray:
        """Log of Γ(ka)/Γ(ka + N) · k!/(k − m)!, (K, M); −inf where m > k."""
        k, m = np.array(self.numbers, dtype=np.float64)[:, None], self.blocks[None, :]
        choices = gammaln(k + 1) - gammaln(np.maximum(k - m, 0) + 1)
        return np.where(m <= k, choices - log_rising(k * self.a, self.cases), -np.inf)

    def of_every_number(self) -> Self:
        """The same for every number of classes that there are blocks for."""
        return replace(self, numbers=tuple(range(self.first, self.last + 1)))

    def log_evidence(self, log_z: FloatArray) -> FloatArray:
        """Log p(D|k), given log Z_m: (..., M) → (..., K)."""
        return np.asarray(logsumexp(self.log_factors() + log_z[..., None, :], axis=-1))

    def shares(self, log_z: FloatArray) -> FloatArray:
        """Posterior of the number of blocks, all numbers of classes being as likely, (M,)."""
        parts = logsumexp(self.log_factors() + log_z, axis=0)
        return np.asarray(np.exp(parts - logsumexp(parts)))


@dataclass(frozen=True, eq=False)
class Averaged:
    """The same with several priors of one class, of which the evidence is an average."""

    each: tuple[Occupancy, ...]  # (S,) one for each prior
    log_weights: FloatArray  # (S,) of the priors in the average; −inf: none

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of classes, (K,)."""
        return self.each[0].numbers

    @property
    def last(self) -> int:
        """The largest number of blocks; the smallest is 1."""
        return self.each[0].last

    def by_prior(self, log_z: FloatArray) -> FloatArray:
        """Log p(D|k, s), given log Z_m,s: (..., M, S) → (..., K, S)."""
        each = [one.log_evidence(log_z[..., s]) for s, one in enumerate(self.each)]
        return np.stack(each, axis=-1)

    def log_evidence(self, log_z: FloatArray) -> FloatArray:
        """Log p(D|k) = log Σ_s w_s p(D|k, s): (..., M, S) → (..., K)."""
        return np.asarray(logsumexp(self.by_prior(log_z) + self.log_weights, axis=-1))

    def _parts(self, log_z: FloatArray) -> FloatArray:
        """What each number of blocks and prior is of the evidence, (K, M, S)."""
        factors = np.stack([one.log_factors() for one in self.each], axis=-1)
        return np.asarray(factors + log_z + self.log_weights)

    def shares(self, log_z: FloatArray) -> FloatArray:
        """Posterior of the number of blocks, all numbers of classes being as likely, (M,)."""
        parts = logsumexp(self._parts(log_z), axis=(0, 2))
        return np.asarray(np.exp(parts - logsumexp(parts)))

    def shares_by_prior(self, log_z: FloatArray) -> FloatArray:
        """The same under each prior by itself, (M, S)."""
        each = [one.shares(log_z[:, s]) for s, one in enumerate(self.each)]
        return np.stack(each, axis=-1)

    def shares_of_priors(self, log_z: FloatArray) -> FloatArray:
        """Posterior of the prior given the number of blocks, (M, S)."""
        parts = logsumexp(self._parts(log_z), axis=0)
        return np.asarray(np.exp(parts - logsumexp(parts, axis=1, keepdims=True)))

    def used_of(self, log_z: FloatArray) -> FloatArray:
        """Posterior of the number of blocks given each number of classes, (K, M)."""
        parts = logsumexp(self._parts(log_z), axis=2)
        return np.asarray(np.exp(parts - logsumexp(parts, axis=1, keepdims=True)))

    def made_of(self, log_z: FloatArray, first: int, last: int) -> frozenset[int]:
        """The numbers of classes whose evidence comes, but for a trifle, from so many blocks."""
        parts = logsumexp(self._parts(log_z), axis=2)
        shares = np.exp(logsumexp(parts[:, first - 1 : last], axis=1) - logsumexp(parts, axis=1))
        return frozenset(k for k, s in zip(self.numbers, shares, strict=True) if s > 1 - BESIDES)


def guess_levels(occupancy: Occupancy, guesses: Mapping[int, float]) -> FloatArray:
    """Log Z_m by guesses of log p(D|k), (M,); numbers without one are like their neighbours.

    The part of p(D|k) that fewer blocks do not explain is that of k blocks. Guesses that contradict
    each other leave it a small part.
    """
    known = sorted(guesses)
    log_z = np.zeros(len(occupancy.blocks))
    for n, m in enumerate(occupancy.blocks):
        value = float(np.interp(m, known, [guesses[k] for k in known])) if known else 0.0
        here = Occupancy((int(m),), occupancy.a, occupancy.cases, occupancy.first, int(m))
        factors = here.log_factors()[0]
        rest = logsumexp(factors[:n] + log_z[:n]) if n else -np.inf
        explained = min(float(np.exp(rest - value)), 1.0 - LEAST_SHARE)
        log_z[n] = value + np.log1p(-explained) - factors[n]
    return log_z
