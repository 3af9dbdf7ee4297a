"""Joint normal distributions: flat places, normal-inverse-Wishart prior, missing numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from lacunet.likelihoods import kernels
from lacunet.likelihoods.kernels import ObservedSplit, Precision
from lacunet.runtime.arrays import FloatArray, IntArray

LOG_2PI = float(np.log(2.0 * np.pi))


class Joint(NamedTuple):
    """Statistics, hyperparameters, parameters or moves of a block as vectors and matrices."""

    first: FloatArray  # (..., d)
    cases: FloatArray  # (...) of the mean
    second: FloatArray  # (..., d, d)
    for_variance: FloatArray  # (...) cases of the covariance


@dataclass(frozen=True)
class BlockPlaces:
    """Places of d numbers: a vector, a count, the triangle of a matrix, a count."""

    d: int

    @property
    def width(self) -> int:
        """Number of places."""
        return self.d + 1 + self.d * (self.d + 1) // 2 + 1

    @cached_property
    def _pairs(self) -> tuple[IntArray, IntArray]:
        """Row and column of each place of the triangle: first the diagonal, then above it."""
        a, b = np.triu_indices(self.d, 1)
        return np.concatenate([np.arange(self.d), a]), np.concatenate([np.arange(self.d), b])

    @property
    def free(self) -> list[int]:
        """Places of coordinates."""
        return [*range(self.d), *range(self.d + 1, self.width - 1)]

    @cached_property
    def _at(self) -> IntArray:
        """(d, d) place of each pair of numbers."""
        a, b = self._pairs
        at = np.empty((self.d, self.d), dtype=np.int64)
        at[a, b] = at[b, a] = np.arange(self.d + 1, self.width - 1)
        return at

    @cached_property
    def _shares(self) -> FloatArray:
        """(d, d) factor of Λ in η; off the diagonal a place counts for both orders."""
        return np.where(np.eye(self.d) > 0, -0.5, -1.0)

    def read(self, tables: FloatArray) -> Joint:
        """Read vectors and symmetric matrices from places, (..., width)."""
        d = self.d
        return Joint(tables[..., :d], tables[..., d], tables[..., self._at], tables[..., -1])

    def write(self, joint: Joint) -> FloatArray:
        """Write to places, with the lower triangle of the matrix."""
        a, b = self._pairs
        flat = joint.second.reshape(*joint.second.shape[:-2], self.d * self.d)
        triangle = flat[..., b * self.d + a]
        parts = (joint.first, joint.cases[..., None], triangle, joint.for_variance[..., None])
        return np.concatenate(parts, axis=-1)

    def natural(
        self, h: FloatArray, square: FloatArray, precise: FloatArray, log_det: FloatArray
    ) -> FloatArray:
        """Write η: Λμ, −½ μᵀΛμ, Λ and ½ log |Λ|."""
        return self.write(Joint(h, square, precise * self._shares, log_det))

    def read_natural(self, tables: FloatArray) -> Joint:
        """Read Λμ, −½ μᵀΛμ, Λ and ½ log |Λ| from η."""
        joint = self.read(tables)
        return joint._replace(second=joint.second / self._shares)


places_of = cache(BlockPlaces)


class InverseWishart(NamedTuple):
    """The normal-inverse-Wishart prior of a mean and a covariance, (..., q) each."""

    m: FloatArray  # (..., q, d) expected mean
    kappa: FloatArray  # its weight, in cases
    nu: FloatArray  # degrees of freedom of Σ
    S: FloatArray  # (..., q, d, d) scale of Σ

    @classmethod
    def of(cls, hyper: Joint) -> InverseWishart:
        """The prior of hyperparameters (κ m, κ, S + κ m mᵀ, ν + 1)."""
        m = hyper.first / hyper.cases[..., None]
        return cls(m, hyper.cases, hyper.for_variance - 1.0, hyper.second - outer(hyper.first, m))

    @property
    def hyper(self) -> Joint:
        """The hyperparameters of this prior."""
        first = self.kappa[..., None] * self.m
        return Joint(first, self.kappa, self.S + outer(first, self.m), self.nu + 1.0)

    @property
    def log_integral(self) -> FloatArray:
        """Log ∫ exp(hyper · η) dφ."""
        d, half = self.m.shape[-1], self.nu / 2.0
        mean = 0.5 * d * (LOG_2PI - np.log(self.kappa))
        gammas = gammaln(half[..., None] - np.arange(d) / 2.0).sum(axis=-1)
        constant = half * d * np.log(2.0) + gammas + 0.25 * d * (d - 1) * np.log(np.pi)
        integral: FloatArray = mean + constant - half * np.linalg.slogdet(self.S)[1]
        return integral


def block_hyperparameters(
    d: int, m: float, kappa: float, nu: float, scale: float | FloatArray
) -> tuple[float, ...]:
    """Hyperparameters of one configuration; the scale is (d, d), or multiplies the identity."""
    S = scale * np.eye(d) if isinstance(scale, float) else scale
    prior = InverseWishart(np.full(d, m), np.array(kappa), np.array(nu), S)
    return tuple(places_of(d).write(prior.hyper).tolist())


def joint_statistics(x: FloatArray) -> FloatArray:
    """T(x) of complete rows of numbers, (rows, d) → (rows, width)."""
    one = np.ones(len(x))
    return places_of(x.shape[1]).write(Joint(x, one, outer(x, x), one))


# Matrices, (..., d, d), and coordinates of Σ = L Lᵀ: λ_i = log L_ii², u_ij = L_ij/L_ii


def outer(x: FloatArray, y: FloatArray) -> FloatArray:
    """Outer products x yᵀ of vectors, (..., d) each."""
    product: FloatArray = x[..., :, None] * y[..., None, :]
    return product


def inverse(matrices: FloatArray) -> FloatArray:
    """Inverses of matrices."""
    return np.asarray(np.linalg.inv(matrices), dtype=matrices.dtype)


def cholesky(matrices: FloatArray) -> FloatArray:
    """Cholesky factors L of Σ = L Lᵀ."""
    return np.asarray(np.linalg.cholesky(matrices), dtype=np.float64)


def triangle(covariance: FloatArray) -> FloatArray:
    """Coordinates of Σ: λ on the diagonal, u below it."""
    L = cholesky(covariance)
    diagonal, d = np.einsum("...ii->...i", L), range(L.shape[-1])
    coordinates: FloatArray = np.tril(L / diagonal[..., :, None], -1)
    coordinates[..., d, d] = 2.0 * np.log(diagonal)
    return coordinates


def lower(coordinates: FloatArray) -> FloatArray:
    """The Cholesky factor L of coordinates λ and u."""
    diagonal = np.exp(np.einsum("...ii->...i", coordinates) / 2.0)
    unit = np.tril(coordinates, -1) + np.eye(diagonal.shape[-1])
    L: FloatArray = diagonal[..., :, None] * unit
    return L


def slope(mean: FloatArray, coordinates: FloatArray, g: Joint) -> Joint:
    """Gradient of g · η in μ, and in λ and u as a lower triangle; also for complex input."""
    L = lower(coordinates)
    precise, d = inverse(L @ np.swapaxes(L, -1, -2)), range(L.shape[-1])
    left = g.first - g.cases[..., None] * mean
    R = g.second - outer(g.first, mean) - outer(mean, left)
    G = precise @ R @ precise @ L
    gradient = np.tril(G * np.einsum("...ii->...i", L)[..., :, None], -1)
    gradient[..., d, d] = 0.5 * (np.einsum("...ij,...ij->...i", G, L) - g.for_variance[..., None])
    nothing = np.zeros_like(g.cases)
    return Joint(np.einsum("...ab,...b->...a", precise, left), nothing, gradient, nothing)


def natural_of(mean: FloatArray, coordinates: FloatArray) -> Joint:
    """Λμ, −½ μᵀΛμ, Λ and ½ log |Λ|; also for complex input."""
    L = lower(coordinates)
    precise = inverse(L @ np.swapaxes(L, -1, -2))
    h = np.einsum("...ab,...b->...a", precise, mean)
    square = np.einsum("...a,...a->...", h, mean)
    return Joint(h, -0.5 * square, precise, -0.5 * np.einsum("...aa->...", coordinates))


# Distributions of observed and of missing numbers in each class


class BlockSpread(NamedTuple):
    """Joint normals of K classes, or joint Student t distributions with θ integrated out."""

    mean: FloatArray  # (K, d)
    scale: FloatArray  # (K, d, d)
    degrees: FloatArray  # (K,) infinite: a normal distribution

    @classmethod
    def at(cls, theta: FloatArray, d: int) -> BlockSpread:
        """Joint normals at tables of θ, (K, width)."""
        mean, _, covariance, _ = places_of(d).read(theta)
        return cls(mean, covariance, np.full(len(mean), np.inf))

    @classmethod
    def over(cls, hyper: FloatArray, d: int) -> BlockSpread:
        """Joint Student t distributions given tables of hyperparameters, (K, width)."""
        m, kappa, nu, S = InverseWishart.of(places_of(d).read(hyper))
        degrees = nu - d + 1.0
        return cls(m, S * ((kappa + 1.0) / (kappa * degrees))[:, None, None], degrees)

    @property
    def _finite(self) -> FloatArray:
        """Degrees of freedom; 1 for normal distributions, which do not use them."""
        return np.where(np.isinf(self.degrees), 1.0, self.degrees)

    @property
    def covariance(self) -> FloatArray:
        """(K, d, d) covariances; infinite up to two degrees of freedom."""
        n = self._finite
        more = np.where(n > 2.0, n / np.where(n > 2.0, n - 2.0, 1.0), np.inf)
        return self.scale * np.where(np.isinf(self.degrees), 1.0, more)[:, None, None]

    def _off(self, x: FloatArray, shown: IntArray) -> tuple[FloatArray, FloatArray]:
        """Squared Mahalanobis distances of observed numbers, (rows, K), and log |scale|, (K,)."""
        scale = self.scale[:, shown[:, None], shown]
        off = x[:, None, :] - self.mean[:, shown]
        solved = np.einsum("kab,rkb->rka", inverse(scale), off)
        return np.einsum("rko,rko->rk", off, solved), np.linalg.slogdet(scale)[1]

    def log_density(self, x: FloatArray, shown: IntArray) -> FloatArray:
        """Log density of observed numbers, (rows, K), times (2π)^(o/2)."""
        o, n = len(shown), self._finite
        square, log_det = self._off(x, shown)
        constant = gammaln((n + o) / 2.0) - gammaln(n / 2.0) - o / 2.0 * np.log(n / 2.0)
        student = constant - (n + o) / 2.0 * np.log1p(square / n)
        return np.where(np.isinf(self.degrees), -0.5 * square, student) - 0.5 * log_det

    def given(
        self, x: FloatArray, shown: IntArray, missing: IntArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Conditional mean (rows, K, a), scale (rows, K, a, a) and degrees of freedom (K,)."""
        square, _ = self._off(x, shown)
        across = self.scale[:, missing[:, None], shown]
        turn = across @ inverse(self.scale[:, shown[:, None], shown])
        off = x[:, None, :] - self.mean[:, shown]
        mean = self.mean[:, missing] + np.einsum("kao,rko->rka", turn, off)
        left = self.scale[:, missing[:, None], missing] - turn @ np.swapaxes(across, -1, -2)
        o, n = len(shown), self._finite
        wider = np.where(np.isinf(self.degrees), 1.0, (n + square) / (n + o))
        return mean, wider[..., None, None] * left, self.degrees + o

    def draw_given(
        self, x: FloatArray, shown: IntArray, missing: IntArray, rng: np.random.Generator
    ) -> FloatArray:
        """Draw missing numbers given the observed ones of a row, for each class, (K, a)."""
        mean, scale, degrees = self.given(x[None], shown, missing)
        return draw_student(mean[0], scale[0], degrees, rng)


def draw_student(
    mean: FloatArray, scale: FloatArray, degrees: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Draw from joint Student t distributions, (n, a); infinite degrees of freedom: normal."""
    noise = np.einsum("rab,rb->ra", cholesky(scale), rng.standard_normal(mean.shape))
    finite = np.where(np.isinf(degrees), 1.0, degrees)
    wide = np.where(np.isinf(degrees), 1.0, finite / rng.chisquare(finite))
    return np.asarray(mean + np.sqrt(wide)[:, None] * noise)


class Conditional(NamedTuple):
    """Missing given observed numbers: normal with mean A x + b and covariance C. (P, K, …)."""

    A: FloatArray
    b: FloatArray
    C: FloatArray


def products(o: int) -> int:
    """Number of sufficient statistics of o observed numbers: count, sums and products."""
    return places_of(o).width - 1


def marginal(natural: FloatArray, split: ObservedSplit, d: int) -> FloatArray:
    """Natural parameters of observed products by pattern, (K, width) → (P, K, products)."""
    if not split.missing.shape[1]:  # all numbers are observed: products are places
        whole = natural[None, :, :-1].copy()
        whole[..., d] += natural[:, -1]
        return whole
    patterns, o = split.shown.shape
    weights = np.empty((patterns, len(natural), products(o)), dtype=natural.dtype)
    kernels.write_marginal(_precision(natural, d), split, weights)
    return weights


def completed(natural: FloatArray, split: ObservedSplit, S: FloatArray, d: int) -> FloatArray:
    """Expected statistics given observed products: (P, K, products) → (P, K, width)."""
    o = split.shown.shape[1]
    if o == d:
        return np.concatenate([S, S[..., o : o + 1]], axis=-1)
    expected = np.empty((*S.shape[:-1], natural.shape[-1]), dtype=natural.dtype)
    kernels.write_completed(_precision(natural, d), split, np.ascontiguousarray(S), expected)
    return expected


def conditional(natural: FloatArray, split: ObservedSplit, d: int) -> Conditional:
    """Conditional distributions of missing given observed numbers, by pattern and class."""
    h, _, precise = _precision(natural, d)
    shown, missing = split.shown[:, None, None, :], split.missing[:, None, :, None]
    every = np.arange(len(h))[None, :, None, None]
    C = inverse(precise[every, missing, np.swapaxes(missing, -1, -2)])
    A = -C @ precise[every, missing, shown]
    b = np.einsum("...mn,...n->...m", C, np.swapaxes(h[:, split.missing], 0, 1))
    return Conditional(A, b, C)


def _precision(natural: FloatArray, d: int) -> Precision:
    joint = places_of(d).read_natural(natural)
    constant = joint.cases + joint.for_variance
    return Precision(np.ascontiguousarray(joint.first), constant, joint.second)
