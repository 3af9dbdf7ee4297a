"""Vectors and matrices at the places of a block of numbers, and its prior."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from lacunet.arrays import FloatArray, IntArray

LOG_2PI = float(np.log(2.0 * np.pi))


class Joint(NamedTuple):
    """What stands at the places of a block: statistics, hyperparameters, parameters or moves."""

    first: FloatArray  # (..., d)
    cases: FloatArray  # (...) of the mean
    second: FloatArray  # (..., d, d)
    for_variance: FloatArray  # (...) cases of the covariance


@dataclass(frozen=True)
class BlockPlaces:
    """Places of d numbers: d for a vector, one, a triangle for a matrix, one."""

    d: int

    @property
    def width(self) -> int:
        """How many there are."""
        return self.d + 1 + self.d * (self.d + 1) // 2 + 1

    @cached_property
    def pairs(self) -> tuple[IntArray, IntArray]:
        """The two numbers of each place of the triangle: first the diagonal, then those above."""
        diagonal = np.arange(self.d)
        a, b = np.triu_indices(self.d, 1)
        return np.concatenate([diagonal, a]), np.concatenate([diagonal, b])

    @property
    def free(self) -> list[int]:
        """Places of coordinates."""
        return [*range(self.d), *range(self.d + 1, self.width - 1)]

    def read(self, tables: FloatArray) -> Joint:
        """From places, (..., width), to vectors and symmetric matrices."""
        a, b = self.pairs
        second = np.empty((*tables.shape[:-1], self.d, self.d), dtype=tables.dtype)
        second[..., a, b] = second[..., b, a] = tables[..., self.d + 1 : -1]
        return Joint(tables[..., : self.d], tables[..., self.d], second, tables[..., -1])

    def write(self, joint: Joint) -> FloatArray:
        """The other way; of a matrix the lower triangle."""
        a, b = self.pairs
        parts = (
            joint.first,
            joint.cases[..., None],
            joint.second[..., b, a],
            joint.for_variance[..., None],
        )
        return np.concatenate(parts, axis=-1)

    def natural(
        self, h: FloatArray, square: FloatArray, precise: FloatArray, log_det: FloatArray
    ) -> FloatArray:
        """η at places; a pair of two numbers stands for both of its orders."""
        a, b = self.pairs
        pairs = precise[..., b, a] * np.where(a == b, -0.5, -1.0)
        return np.concatenate([h, square[..., None], pairs, log_det[..., None]], axis=-1)

    def read_natural(self, tables: FloatArray) -> Joint:
        """Λμ, −½ μᵀΛμ, Λ and ½ log |Λ| of η at places."""
        a, b = self.pairs
        factor = np.where(a == b, -2.0, -1.0)
        joint = self.read(tables)
        matrix = np.zeros((self.d, self.d))
        matrix[a, b] = matrix[b, a] = factor
        return joint._replace(second=joint.second * matrix)


class InverseWishart(NamedTuple):
    """A prior of one mean and one covariance, (..., q) each."""

    m: FloatArray  # (..., q, d) where the mean is expected
    kappa: FloatArray  # cases that this is worth
    nu: FloatArray  # degrees of freedom of Σ
    S: FloatArray  # (..., q, d, d) scale of Σ

    @classmethod
    def of(cls, hyper: Joint) -> "InverseWishart":
        """Read it off hyperparameters, (κ m, κ, S + κ m mᵀ, ν + 1)."""
        m = hyper.first / hyper.cases[..., None]
        return cls(m, hyper.cases, hyper.for_variance - 1.0, hyper.second - outer(hyper.first, m))

    @property
    def log_integral(self) -> FloatArray:
        """Log ∫ exp(hyper · η) dφ."""
        d = self.m.shape[-1]
        mean = 0.5 * d * (LOG_2PI - np.log(self.kappa))
        half = self.nu / 2.0
        gammas = gammaln(half[..., None] - np.arange(d) / 2.0).sum(axis=-1)
        constant = half * d * np.log(2.0) + gammas + 0.25 * d * (d - 1) * np.log(np.pi)
        integral: FloatArray = mean + constant - half * np.linalg.slogdet(self.S)[1]
        return integral


def hyperparameters(d: int, m: float, kappa: float, nu: float, scale: float) -> tuple[float, ...]:
    """Write a prior that is the same for all numbers, none of them with another."""
    one = np.ones(d)
    second = scale * np.eye(d) + kappa * m**2 * np.ones((d, d))
    joint = Joint(kappa * m * one, np.array(kappa), second, np.array(nu + 1.0))
    return tuple(BlockPlaces(d).write(joint).tolist())


def joint_statistics(x: FloatArray) -> FloatArray:
    """T(x) of whole rows of numbers, (rows, d) → (rows, width)."""
    one = np.ones(len(x))
    return BlockPlaces(x.shape[1]).write(Joint(x, one, outer(x, x), one))


def outer(x: FloatArray, y: FloatArray) -> FloatArray:
    """X yᵀ of vectors, (..., d) each."""
    product: FloatArray = x[..., :, None] * y[..., None, :]
    return product


def triangle(covariance: FloatArray) -> FloatArray:
    """λ on the diagonal, and u below it, of Σ = L Lᵀ."""
    L = cholesky(covariance)
    own = np.einsum("...ii->...i", L)
    found: FloatArray = np.tril(L / own[..., :, None], -1)
    found[..., range(L.shape[-1]), range(L.shape[-1])] = 2.0 * np.log(own)
    return found


def lower(coordinates: FloatArray) -> FloatArray:
    """L of λ and u."""
    d = coordinates.shape[-1]
    own = np.exp(np.einsum("...ii->...i", coordinates) / 2.0)
    units = np.tril(coordinates, -1) + np.eye(d)
    L: FloatArray = own[..., :, None] * units
    return L


def slope(mean: FloatArray, coordinates: FloatArray, g: Joint) -> Joint:
    """Gradient of g · η in μ, and in λ and u, a lower triangle; of complex numbers too."""
    L = lower(coordinates)
    precise = inverse(L @ np.swapaxes(L, -1, -2))
    left = g.first - g.cases[..., None] * mean
    R = g.second - outer(g.first, mean) - outer(mean, left)
    G = precise @ R @ precise @ L
    rows = np.einsum("...ij,...ij->...i", G, L)
    own = np.einsum("...ii->...i", L)
    found = np.tril(G * own[..., :, None], -1)
    d = L.shape[-1]
    found[..., range(d), range(d)] = 0.5 * (rows - g.for_variance[..., None])
    nothing = np.zeros_like(g.cases)
    return Joint(np.einsum("...ab,...b->...a", precise, left), nothing, found, nothing)


def inverse(matrices: FloatArray) -> FloatArray:
    """The inverse of each, (..., d, d)."""
    return np.asarray(np.linalg.inv(matrices), dtype=matrices.dtype)


def cholesky(matrices: FloatArray) -> FloatArray:
    """L of Σ = L Lᵀ for each, (..., d, d)."""
    return np.asarray(np.linalg.cholesky(matrices), dtype=np.float64)


def moved_covariance(covariance: FloatArray, step: FloatArray) -> FloatArray:
    """dΣ along a direction of λ and u, a lower triangle."""
    L = cholesky(covariance)
    own = np.einsum("...ii->...i", L)
    change = 0.5 * np.einsum("...ii->...i", step)[..., :, None] * L
    change = (change + own[..., :, None] * np.tril(step, -1)) @ np.swapaxes(L, -1, -2)
    both: FloatArray = change + np.swapaxes(change, -1, -2)
    return both
