"""Several priors of one class in one walk: how often each is visited, and its share of every sum.

A walk over partitions z and priors s goes by c_m,s p(D, z|s). Its sums are Z_m = Σ_s c_m,s Z_m,s,
and the mean of p(s|z) over its partitions into m blocks is c_m,s Z_m,s / Z_m. So one walk gives
Z_m,s for every prior: their average, and what each of them says by itself.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import logsumexp

from lacunet.evidence.partitions.levels import Averaged
from lacunet.runtime.arrays import FloatArray

RARE = 0.01  # posterior of a prior, given the number of blocks, below which it is visited as often
NEVER = -700.0  # log of a share that is taken for none


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

    @property
    def log_weights(self) -> FloatArray:
        """Log of the weights, −inf where there is none."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.weights))


class SharesOfPriors:
    """The weights c_m,s, and what notes tell of Z_m,s by them. M numbers of blocks, S priors."""

    def __init__(self, levels: Averaged, one_block: FloatArray, base: int) -> None:
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
