"""The algebra between sums over partitions into m blocks, Z_m, and the evidence of k classes.

The rates at which chains move up and down estimate ratios of neighbouring sums. The errors of the
rates determine the visits to each number of blocks. Several priors of one class may share a walk.
M numbers of blocks, K numbers of classes, S priors.
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

BESIDES = 0.01  # share of p(D|k) that may come from other numbers of blocks
LEAST_SHARE = 1e-3  # least share of partitions into k blocks in a guessed p(D|k)
RARE = 0.01  # least posterior of a prior, given the number of blocks, for its visits
NEVER = -700.0  # log of a share that counts as zero
OPTIMISTIC_RATE = 0.1  # assumed rate of return from a number of blocks without visits
LEAST_RATE = math.exp(-50.0)  # assumed rate of a step that was tried but never noted
WORTH = 1e-3  # least posterior of a number of blocks that rounds visit after the survey
RAREST = 0.2  # least visits, relative to the most: chains must pass through


@dataclass(frozen=True)
class Occupancy:
    """The numbers of classes, and the factors of Z_m in their evidence."""

    numbers: tuple[int, ...]  # (K,) k, rising
    a: float  # exponent of each class weight
    cases: float  # N, the cases with an observed value
    first: int  # the smallest number of blocks, m
    last: int  # and the largest

    @property
    def blocks(self) -> FloatArray:
        """Every number of blocks, (M,)."""
        return np.arange(self.first, self.last + 1, dtype=np.float64)

    def of_every_number(self) -> Self:
        """The same with every number of classes from `first` to `last`."""
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
        """Posterior of the number of blocks, under equal priors of k, (M,)."""
        return _shares(logsumexp(self.log_factors() + log_z, axis=0))


def _shares(logs: FloatArray, axis: int | None = None) -> FloatArray:
    return np.asarray(np.exp(logs - logsumexp(logs, axis=axis, keepdims=axis is not None)))


@dataclass(frozen=True, eq=False)
class PriorMixture:
    """The same with several priors of one class; the evidence is the average over them."""

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
        """Log terms of the evidence by number of blocks and prior, (K, M, S)."""
        factors = np.stack([one.log_factors() for one in self.each], axis=-1)
        return np.asarray(factors + log_z + self.log_weights)

    def shares(self, log_z: FloatArray) -> FloatArray:
        """Posterior of the number of blocks, under equal priors of k, (M,)."""
        return _shares(logsumexp(self._parts(log_z), axis=(0, 2)))

    def shares_by_prior(self, log_z: FloatArray) -> FloatArray:
        """The same under each single prior, (M, S)."""
        return np.stack([one.shares(log_z[:, s]) for s, one in enumerate(self.each)], axis=-1)

    def shares_of_priors(self, log_z: FloatArray) -> FloatArray:
        """Posterior of the prior given the number of blocks, (M, S)."""
        return _shares(logsumexp(self._parts(log_z), axis=0), axis=1)

    def used_of(self, log_z: FloatArray) -> FloatArray:
        """Posterior of the number of blocks given each number of classes, (K, M)."""
        return _shares(logsumexp(self._parts(log_z), axis=2), axis=1)

    def made_of(self, log_z: FloatArray, first: int, last: int) -> frozenset[int]:
        """The numbers of classes whose evidence comes almost only from first to last blocks."""
        parts = logsumexp(self._parts(log_z), axis=2)
        shares = np.exp(logsumexp(parts[:, first - 1 : last], axis=1) - logsumexp(parts, axis=1))
        return frozenset(k for k, s in zip(self.numbers, shares, strict=True) if s > 1 - BESIDES)


def guess_levels(occupancy: Occupancy, guesses: Mapping[int, float]) -> FloatArray:
    """Log Z_m from guesses of log p(D|k), (M,), interpolated between numbers with guesses.

    Partitions into k blocks get the part of p(D|k) that fewer blocks do not explain. It is at least
    `LEAST_SHARE` of p(D|k), because guesses may contradict each other.
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
    """Hyperparameters in the layout of the problem, and their weights in the average."""

    alphas: tuple[FloatArray, ...]  # (S,) of (size,)
    weights: FloatArray  # (S,) adding up to 1; 0: walked, but not in the average
    base: int = 0  # the prior under which fits and guesses were made

    @classmethod
    def only(cls, alpha: FloatArray) -> Self:
        """A single prior with weight 1."""
        return cls((alpha,), np.ones(1))


class PriorWeights:
    """The weights c_m,s of priors in the walk, and estimates of Z_m,s under these weights."""

    def __init__(self, levels: PriorMixture, one_block: FloatArray, base: int) -> None:
        """Start from log Z_1,s, the sums for one block, which have a closed form."""
        self.levels, self.one_block = levels, one_block
        self.log_c = np.tile(one_block[base] - one_block, (levels.last, 1))  # (M, S)

    @property
    def bottom(self) -> float:
        """Log Z_1."""
        return float(logsumexp(self.log_c[0] + self.one_block))

    @property
    def log_weights(self) -> FloatArray:
        """The weights for m = 0, 1, …, last + 1, (S, M + 2), for the kernels."""
        return np.ascontiguousarray(np.concatenate([self.log_c[:1], self.log_c, self.log_c[-1:]]).T)

    def offsets(self, priors: FloatArray, sweeps: FloatArray) -> FloatArray:
        """Log Z_m,s − log Z_m from visits to priors, (..., M, S), in sweeps, (..., M), or NaN."""
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.maximum(np.log(priors / sweeps[..., None]), NEVER) - self.log_c
        shares[..., 0, :] = self.one_block - self.bottom
        return np.asarray(shares)

    def filled_in(self, offsets: FloatArray) -> FloatArray:
        """The same, with numbers of blocks without visits interpolated from their neighbours."""
        known = np.flatnonzero(np.isfinite(offsets).all(axis=-1))
        # Constant extrapolation: too few visits to a prior are harmless, but a guess that is too
        # high would trap chains there.
        places = np.arange(len(offsets))
        guessed = np.array([np.interp(places, known, column[known]) for column in offsets.T]).T
        guessed -= logsumexp(guessed + self.log_c, axis=1, keepdims=True)
        return np.where(np.isfinite(offsets), offsets, guessed)

    def learn(self, log_z: FloatArray, offsets: FloatArray) -> None:
        """Set the weights so that visits go with the root of posteriors, with a minimum."""
        whole = self.filled_in(offsets)
        shares = self.levels.shares_of_priors(log_z[:, None] + whole)
        visits = np.sqrt(np.maximum(shares, RARE))
        self.log_c = np.log(visits / visits.sum(axis=1, keepdims=True)) - whole


def _log_rates(rates: FloatArray, often: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Log of the mean number of steps up and down in a sweep, by number of blocks; NaN: none.

    `rates` are (kinds of moves, numbers of blocks, 3), of one chain or summed over several;
    `often` is the number of moves of each kind in a sweep.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        each = (np.log(often @ (rates[..., way] / rates[..., TRIES])) for way in (UP, DOWN))
        up, down = (np.where(np.isfinite(x), x, np.nan) for x in each)
    return up, down


def log_ratios(rates: FloatArray, reference: FloatArray, often: FloatArray) -> FloatArray:
    """Log Z_{m+1}/Z_m for m = 0, 1, …; NaN where chains did not visit both sides.

    `reference` has the log weight of m + 1 less that of m under which rates were noted.
    """
    up, down = _log_rates(rates, often)
    return up[:-1] - down[1:] - reference[:-1]


def optimistic_ratios(rates: FloatArray, reference: FloatArray, often: FloatArray) -> FloatArray:
    """The same for learning weights: optimistic where chains visited only one side."""
    up, down = _log_rates(rates, often)
    known = up[:-1] - down[1:]
    been = rates[..., TRIES].sum(axis=0) > 0
    up, down = (np.where(been & np.isnan(x), math.log(LEAST_RATE), x) for x in (up, down))
    # The unvisited side gets the rate of its neighbour: with a lower rate no chain would go there.
    from_below = up[:-1] - np.fmax(down[:-1], np.log(OPTIMISTIC_RATE))
    from_above = np.fmax(up[1:], np.log(OPTIMISTIC_RATE)) - down[1:]
    one_side = np.where(np.isnan(down[1:]), from_below, from_above)
    return np.where(np.isnan(known), one_side, known) - reference[:-1]


def extrapolated(changes: FloatArray) -> FloatArray:
    """Replace unknown changes, NaN, by the nearest known change below, else above.

    Neighbouring guesses have similar errors. Without extrapolation chains would need a round for
    every unvisited number of blocks.

    >>> extrapolated(np.array([np.nan, 1.0, np.nan, 3.0, np.nan])).tolist()
    [1.0, 1.0, 1.0, 3.0, 3.0]
    """
    known = np.flatnonzero(np.isfinite(changes))
    if not len(known):
        return np.zeros_like(changes)
    below = np.searchsorted(known, np.arange(len(changes)), side="right") - 1
    return np.asarray(changes[known[np.maximum(below, 0)]])


def by_shares(shares: FloatArray) -> FloatArray:
    """Log of target visits from posteriors of numbers of blocks, before errors are known, (M,)."""
    return 0.5 * np.log(np.maximum(shares, WORTH))


def by_errors(
    rates: FloatArray, often: FloatArray, shares: FloatArray, first: int
) -> FloatArray | None:
    """Log of the target visits that minimise the error of the posterior of m, (M,); None: unknown.

    The errors of the rate up from m, and of the rate down from m + 1, shrink with the root of the
    visits. Each changes the posterior by the mass below times the mass above. The sum of such
    errors is smallest if visits are proportional to the error of one visit (Neyman allocation).
    `rates` are (chains, kinds of moves, numbers of blocks, 3), from no block up; `shares` are (M,),
    from one up. The rate down from the `first` number of blocks is not needed.
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
