"""From sums over partitions into m blocks, Z_m, to the evidence of k classes and back.

Ratios of neighbouring sums come from the rates at which chains go up and down; how often each
number of blocks is visited comes from the errors of these; several priors of one class may share a
walk. M numbers of blocks, K numbers of classes, S priors.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.special import gammaln, logsumexp

from lacunet.evidence.estimate import jackknife_error, leave_one_out
from lacunet.inference.kernels.blocks import DOWN, TRIES, UP
from lacunet.likelihoods.gamma_functions import log_rising
from lacunet.runtime.arrays import FloatArray

BESIDES = 0.01  # of p(D|k) that may come from fewer blocks
LEAST_SHARE = 1e-3  # of p(D|k) that partitions into k blocks are taken to have, at a guess
RARE = 0.01  # posterior of a prior, given the number of blocks, below which it is visited as often
NEVER = -700.0  # log of a share that is taken for none
HOPED = 0.1  # rate of the way back from where no chain has been yet, until one has
HARDLY = math.exp(-50.0)  # rate of a step that was tried often, and was never worth a note
WORTH = 1e-3  # posterior of a number of blocks that is worth more than the survey
RAREST = 0.2  # of the most visits any number has: chains must get through


@dataclass(frozen=True)
class Occupancy:
    """The numbers of classes, and what their evidence is made of."""

    numbers: tuple[int, ...]  # (K,) k, rising
    a: float  # exponent of each class weight
    cases: float  # N: those that show anything
    first: int  # the smallest number of blocks, m
    last: int  # and the largest

    @property
    def blocks(self) -> FloatArray:
        """Every number of blocks, (M,)."""
        return np.arange(self.first, self.last + 1, dtype=np.float64)

    def of_every_number(self) -> Self:
        """The same for every number of classes that there are blocks for."""
        return replace(self, numbers=tuple(range(self.first, self.last + 1)))

    def log_factors(self) -> FloatArray:
        """Log of Γ(ka)/Γ(ka + N) · k!/(k − m)!, (K, M); −inf where m > k."""
        k, m = np.array(self.numbers, dtype=np.float64)[:, None], self.blocks
        choices = gammaln(k + 1) - gammaln(np.maximum(k - m, 0) + 1)
        return np.where(m <= k, choices - log_rising(k * self.a, self.cases), -np.inf)

    def log_evidence(self, log_z: FloatArray) -> FloatArray:
        """Log p(D|k), given log Z_m: (..., M) → (..., K)."""
        return np.asarray(logsumexp(self.log_factors() + log_z[..., None, :], axis=-1))

    def shares(self, log_z: FloatArray) -> FloatArray:
        """Posterior of the number of blocks, all numbers of classes being as likely, (M,)."""
        return _shares(logsumexp(self.log_factors() + log_z, axis=0))


def _shares(logs: FloatArray, axis: int | None = None) -> FloatArray:
    return np.asarray(np.exp(logs - logsumexp(logs, axis=axis, keepdims=axis is not None)))


@dataclass(frozen=True, eq=False)
class PriorMixture:
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
        return _shares(logsumexp(self._parts(log_z), axis=(0, 2)))

    def shares_by_prior(self, log_z: FloatArray) -> FloatArray:
        """The same under each prior by itself, (M, S)."""
        return np.stack([one.shares(log_z[:, s]) for s, one in enumerate(self.each)], axis=-1)

    def shares_of_priors(self, log_z: FloatArray) -> FloatArray:
        """Posterior of the prior given the number of blocks, (M, S)."""
        return _shares(logsumexp(self._parts(log_z), axis=0), axis=1)

    def used_of(self, log_z: FloatArray) -> FloatArray:
        """Posterior of the number of blocks given each number of classes, (K, M)."""
        return _shares(logsumexp(self._parts(log_z), axis=2), axis=1)

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
    known, first = sorted(guesses), occupancy.first
    log_z = np.zeros(occupancy.last - first + 1)
    for n, m in enumerate(range(first, occupancy.last + 1)):
        value = float(np.interp(m, known, [guesses[k] for k in known])) if known else 0.0
        factors = Occupancy((m,), occupancy.a, occupancy.cases, first, m).log_factors()[0]
        rest = logsumexp(factors[:n] + log_z[:n]) if n else -np.inf
        explained = min(float(np.exp(rest - value)), 1.0 - LEAST_SHARE)
        log_z[n] = value + np.log1p(-explained) - factors[n]
    return log_z


@dataclass(frozen=True, eq=False)
class WalkedPriors:
    """Hyperparameters in the layout of the problem, and how much each weighs in the average."""

    alphas: tuple[FloatArray, ...]  # (S,) of (size,)
    weights: FloatArray  # (S,) adding up to 1; 0: for its own answer only
    base: int = 0  # the prior under which fits and guesses were made

    @classmethod
    def only(cls, alpha: FloatArray) -> Self:
        """One prior, which is all the average."""
        return cls((alpha,), np.ones(1))


class SharesOfPriors:
    """The weights c_m,s of priors, and what notes say of Z_m,s by them."""

    def __init__(self, levels: PriorMixture, one_block: FloatArray, base: int) -> None:
        """Start from the sums for one block, log Z_1,s, which have a closed form."""
        self.levels, self.one_block = levels, one_block
        self.log_c = np.tile(one_block[base] - one_block, (levels.last, 1))  # (M, S)

    @property
    def bottom(self) -> float:
        """Log Z_1."""
        return float(logsumexp(self.log_c[0] + self.one_block))

    @property
    def log_weights(self) -> FloatArray:
        """The weights for m = 0, 1, …, last + 1, (S, M + 2), as kernels take them."""
        return np.ascontiguousarray(np.concatenate([self.log_c[:1], self.log_c, self.log_c[-1:]]).T)

    def apart(self, priors: FloatArray, sweeps: FloatArray) -> FloatArray:
        """Log Z_m,s less log Z_m by notes, (..., M, S) and (..., M); NaN: never seen."""
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.maximum(np.log(priors / sweeps[..., None]), NEVER) - self.log_c
        shares[..., 0, :] = self.one_block - self.bottom
        return np.asarray(shares)

    def everywhere(self, apart: FloatArray) -> FloatArray:
        """The same with numbers of blocks that were never seen as their neighbours suggest."""
        known = np.flatnonzero(np.isfinite(apart).all(axis=-1))
        # Beyond those that were seen it stays the same: where a prior is visited too rarely at
        # first nothing is lost, but a guess that is too high would keep chains there.
        places = np.arange(len(apart))
        guessed = np.array([np.interp(places, known, own[known]) for own in apart.T]).T
        guessed -= logsumexp(guessed + self.log_c, axis=1, keepdims=True)
        return np.where(np.isfinite(apart), apart, guessed)

    def learn(self, log_z: FloatArray, apart: FloatArray) -> None:
        """Visit priors by their posteriors, but none too rarely; log Z_m stay as they are, (M,)."""
        whole = self.everywhere(apart)
        shares = self.levels.shares_of_priors(log_z[:, None] + whole)
        visits = np.sqrt(np.maximum(shares, RARE))
        self.log_c = np.log(visits / visits.sum(axis=1, keepdims=True)) - whole


def _log_rates(rates: FloatArray, often: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Log of the mean number of steps up and down in a sweep, by number of blocks; NaN: not seen.

    `rates` are (kinds of moves, numbers of blocks, 3), of one chain or added up over several;
    `often` is how often a sweep makes each move.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        each = (np.log(often @ (rates[..., way] / rates[..., TRIES])) for way in (UP, DOWN))
        up, down = (np.where(np.isfinite(x), x, np.nan) for x in each)
    return up, down


def log_ratios(rates: FloatArray, reference: FloatArray, often: FloatArray) -> FloatArray:
    """Log Z_{m+1}/Z_m for m = 0, 1, …; NaN where chains have not been on both sides.

    `reference` has the log weight of m + 1 less that of m, for which rates were noted.
    """
    up, down = _log_rates(rates, often)
    return up[:-1] - down[1:] - reference[:-1]


def hoped_ratios(rates: FloatArray, reference: FloatArray, often: FloatArray) -> FloatArray:
    """The same, to learn weights by: where one side was not seen, so that chains will go there."""
    up, down = _log_rates(rates, often)
    known = up[:-1] - down[1:]
    been = rates[..., TRIES].sum(axis=0) > 0
    up, down = (np.where(been & np.isnan(x), math.log(HARDLY), x) for x in (up, down))
    # As likely back as from the neighbour that was seen: with a smaller hope no chain would go.
    back = up[:-1] - np.fmax(down[:-1], np.log(HOPED))
    there = np.fmax(up[1:], np.log(HOPED)) - down[1:]
    one_side = np.where(np.isnan(down[1:]), back, there)
    return np.where(np.isnan(known), one_side, known) - reference[:-1]


def carried_on(changes: FloatArray) -> FloatArray:
    """Give steps of which nothing is known, NaN, the change of the nearest one below or above.

    Guesses that are wrong are so in the same way for neighbours. Step by step chains would take a
    round for each number of blocks to come to those that no chain has seen.

    >>> carried_on(np.array([np.nan, 1.0, np.nan, 3.0, np.nan])).tolist()
    [1.0, 1.0, 1.0, 3.0, 3.0]
    """
    known = np.flatnonzero(np.isfinite(changes))
    if not len(known):
        return np.zeros_like(changes)
    below = np.searchsorted(known, np.arange(len(changes)), side="right") - 1
    return np.asarray(changes[known[np.maximum(below, 0)]])


def by_shares(shares: FloatArray) -> FloatArray:
    """Log of visits by posteriors of numbers of blocks, before errors are known, (M,)."""
    return 0.5 * np.log(np.maximum(shares, WORTH))


def by_errors(
    rates: FloatArray, often: FloatArray, shares: FloatArray, first: int
) -> FloatArray | None:
    """Log of visits with which the posterior of the number of blocks is soonest known, (M,).

    The rate up from m, and that down from m + 1, are each known to an error that shrinks with the
    root of the visits there; each moves the posterior by what is below times what is above. A sum
    of such errors is smallest if visits go with the root of what one visit leaves of each. None: no
    error is known. `rates` are (chains, kinds of moves, numbers of blocks, 3), from no block up;
    `shares` are (M,), from one up; the way down from the `first` number of blocks is not needed.
    """
    one_less = np.array([_log_rates(rest, often) for rest in leave_one_out(rates)])
    up, down = np.nan_to_num(jackknife_error(one_less))[:, 1 : len(shares) + 1]
    visits = rates[:, -1, 1 : len(shares) + 1, TRIES].sum(axis=0)
    below = np.cumsum(shares)
    moved = below * (1.0 - below)  # by the step from m to m + 1
    error = np.hypot(moved * up, np.concatenate([[0.0], moved[:-1]]) * down)
    error[first - 1] = moved[first - 1] * up[first - 1]
    wanted = error * np.sqrt(visits)
    if not wanted.max() > 0:
        return None
    return np.asarray(np.log(np.maximum(wanted, RAREST * wanted.max())))
