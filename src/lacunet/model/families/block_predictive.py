"""A block of numbers in each class: a joint normal, or with θ integrated out a joint Student t.

Either is told by a mean, a scale matrix and degrees of freedom, infinite for a normal. Some of its
numbers alone are of the same kind; so are some of them given others, with more degrees of freedom,
and a scale that grows with how far the others are off.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from lacunet.model.families.block_places import InverseWishart, cholesky, inverse, places_of
from lacunet.runtime.arrays import FloatArray, IntArray


class BlockSpread(NamedTuple):
    """Where numbers of a block lie in each of K classes."""

    mean: FloatArray  # (K, d)
    scale: FloatArray  # (K, d, d)
    degrees: FloatArray  # (K,) infinite: a normal distribution

    @classmethod
    def at(cls, theta: FloatArray, d: int) -> BlockSpread:
        """Read it off tables of θ, (K, width)."""
        mean, _, covariance, _ = places_of(d).read(theta)
        return cls(mean, covariance, np.full(len(mean), np.inf))

    @classmethod
    def over(cls, hyper: FloatArray, d: int) -> BlockSpread:
        """Integrate θ out, given tables of hyperparameters, (K, width)."""
        m, kappa, nu, S = InverseWishart.of(places_of(d).read(hyper))
        degrees = nu - d + 1.0
        return cls(m, S * ((kappa + 1.0) / (kappa * degrees))[:, None, None], degrees)

    @property
    def covariance(self) -> FloatArray:
        """(K, d, d); infinite up to two degrees of freedom."""
        finite = np.where(np.isinf(self.degrees), 1.0, self.degrees)
        more = np.where(finite > 2.0, finite / np.where(finite > 2.0, finite - 2.0, 1.0), np.inf)
        return self.scale * np.where(np.isinf(self.degrees), 1.0, more)[:, None, None]

    def _off(self, x: FloatArray, shown: IntArray) -> tuple[FloatArray, FloatArray]:
        """Squared distances of rows that show some numbers, (rows, K), and log |scale|, (K,)."""
        own = self.scale[:, shown[:, None], shown]
        apart = x[:, None, :] - self.mean[:, shown]
        solved = np.einsum("kab,rkb->rka", inverse(own), apart)
        return np.einsum("rko,rko->rk", apart, solved), np.linalg.slogdet(own)[1]

    def log_density(self, x: FloatArray, shown: IntArray) -> FloatArray:
        """Log density of the numbers that rows show, (rows, K), times (2π)^(o/2)."""
        o = len(shown)
        square, log_det = self._off(x, shown)
        normal = np.isinf(self.degrees)
        n = np.where(normal, 1.0, self.degrees)
        constant = gammaln((n + o) / 2.0) - gammaln(n / 2.0) - o / 2.0 * np.log(n / 2.0)
        student = constant - (n + o) / 2.0 * np.log1p(square / n)
        return np.where(normal, -0.5 * square, student) - 0.5 * log_det

    def given(
        self, x: FloatArray, shown: IntArray, asked: IntArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Mean (rows, K, a) and scale (rows, K, a, a) of others, and degrees of freedom (K,)."""
        square, _ = self._off(x, shown)
        own = self.scale[:, shown[:, None], shown]
        across = self.scale[:, asked[:, None], shown]
        turn = across @ inverse(own)
        apart = x[:, None, :] - self.mean[:, shown]
        mean = self.mean[:, asked] + np.einsum("kao,rko->rka", turn, apart)
        left = self.scale[:, asked[:, None], asked] - turn @ np.swapaxes(across, -1, -2)
        degrees = self.degrees + len(shown)
        normal = np.isinf(self.degrees)
        n = np.where(normal, 1.0, self.degrees)
        wider = np.where(normal, 1.0, (n + square) / (n + len(shown)))
        return mean, wider[..., None, None] * left, degrees

    def draw_given(
        self, x: FloatArray, shown: IntArray, asked: IntArray, rng: np.random.Generator
    ) -> FloatArray:
        """Draw others given what one row shows, once for each class, (K, a)."""
        mean, scale, degrees = self.given(x[None], shown, asked)
        return draw_student(mean[0], scale[0], degrees, rng)


def draw_student(
    mean: FloatArray, scale: FloatArray, degrees: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Draw from joint Student t's, (n, a), (n, a, a) and (n,) → (n, a); infinite: normal."""
    noise = np.einsum("rab,rb->ra", cholesky(scale), rng.standard_normal(mean.shape))
    finite = np.where(np.isinf(degrees), 1.0, degrees)
    wide = np.where(np.isinf(degrees), 1.0, finite / rng.chisquare(finite))
    return np.asarray(mean + np.sqrt(wide)[:, None] * noise)
