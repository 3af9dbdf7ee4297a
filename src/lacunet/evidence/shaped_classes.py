"""Latent classes of sinh-arcsinh distributed numbers, skewed and heavy-tailed, and their evidence.

In class c a number is x = ξ_c + σ_c u, where sinh(δ asinh(u) − ε) is standard normal (Jones and
Pewsey 2009). The skewness is ε, δ < 1 gives heavy tails, and ε = 0, δ = 1 the normal distribution.
A column has one shape (ε, δ) in all classes, so it costs two more parameters. Otherwise the model
is a latent class model with diagonal covariances. Laplace's method at the best mode integrates the
parameters out, and all K! labellings count.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import gammaln, logsumexp

from lacunet.evidence import laplace_at_mode as laplace
from lacunet.evidence.laplace_at_mode import ColumnLink, LevelsLink, NormalLink
from lacunet.inference.problem import Problem
from lacunet.likelihoods import GAUSSIAN
from lacunet.models import conjugacy
from lacunet.models.latent_class import find_classes
from lacunet.runtime.arrays import BoolArray, FloatArray

SKEWNESS = 0.7  # prior standard deviation of ε
TAILS = 0.5  # the same of log δ: in the tails of t with 3 degrees of freedom it is −0.5, about
STEEPEST = 30.0  # bound of δ asinh(u) − ε, against overflow
LARGEST = 400  # parameters of the largest Hessian
FIRST_STEPS = 40  # from each start, before the best is followed to the end


@dataclass(frozen=True, eq=False)
class Shaped:
    """A fit of K classes of numbers with free shapes."""

    classes: int
    log_evidence: float  # log p(D | K classes of such numbers)
    dimension: int
    skewness: dict[str, float]  # ε by column
    tails: dict[str, float]  # δ by column


def log_shape(
    x: FloatArray, z: FloatArray, shape: FloatArray
) -> tuple[FloatArray, tuple[FloatArray, FloatArray, FloatArray, FloatArray]]:
    """Log density of numbers (m, 1) in classes z = (ξ, log σ²), (2, K), of shape (ε, log δ).

    Gradients by ξ, log σ², ε and log δ are (m, K) each.
    """
    delta, size = math.exp(shape[1]), np.exp(0.5 * z[1])
    u = (x - z[0]) / size
    root = np.sqrt(1.0 + u * u)
    y = np.arcsinh(u)
    w = np.clip(delta * y - shape[0], -STEEPEST, STEEPEST)
    v, cosh = np.sinh(w), np.cosh(w)
    log_f = shape[1] + np.log(cosh / root) - 0.5 * (v * v + math.log(2.0 * math.pi) + z[1])
    by_w = v / cosh - v * cosh
    by_u = by_w * delta / root - u / (root * root)
    return log_f, (-by_u / size, -0.5 * (u * by_u + 1.0), -by_w, 1.0 + delta * by_w * y)


@dataclass(frozen=True, eq=False)
class ShapedProblem:
    """A table in the form that fits with any number of classes need."""

    x: FloatArray  # (m, D) numbers in the scale of their family, 0 where missing
    seen: BoolArray  # (m, D)
    of_numbers: tuple[FloatArray, ...]  # hyperparameters, (4,) each
    names: tuple[str, ...]  # of numbers
    links: tuple[ColumnLink, ...]  # of all other columns
    of_others: tuple[FloatArray, ...]  # hyperparameters of these
    X: FloatArray  # (m, width of these) statistics of these
    counts: FloatArray
    log_base: float
    weight: float  # Dirichlet exponent of the share of each class

    def size(self, K: int) -> int:
        """The number of parameters of K classes."""
        D = len(self.names)
        return K - 1 + K * (2 * D + sum(link.size for link in self.links)) + 2 * D

    def parts(self, p: FloatArray, K: int) -> tuple[FloatArray, list[FloatArray], FloatArray]:
        """Split p: shares (K − 1, 1), coordinates (size, K), numbers first, and shapes (D, 2)."""
        sizes = [2] * len(self.names) + [link.size for link in self.links]
        ends = np.cumsum([K - 1, *(K * s for s in sizes)])
        shares, *rest = np.split(p, ends)
        tables = [part.reshape(s, K) for part, s in zip(rest[:-1], sizes, strict=True)]
        return shares.reshape(-1, 1), tables, rest[-1].reshape(-1, 2)

    def log_density(self, p: FloatArray, K: int) -> tuple[float, FloatArray]:
        """Log p(D, p), and its gradient."""
        with np.errstate(all="ignore"):
            return laplace.if_finite(*self._log_density(p, K))

    def _log_density(self, p: FloatArray, K: int) -> tuple[float, FloatArray]:
        shares, tables, shapes = self.parts(p, K)
        D, of_classes, normal = len(self.names), LevelsLink(K), NormalLink()
        numbers, others = tables[:D], tables[D:]
        joint = np.broadcast_to(of_classes.natural(shares)[:, 0], (len(self.X), K)).copy()
        slopes = []
        for j in range(D):
            log_f, by = log_shape(self.x[:, j : j + 1], numbers[j], shapes[j])
            joint += np.where(self.seen[:, j : j + 1], log_f, 0.0)
            slopes.append(by)
        if others:
            pairs = zip(self.links, others, strict=True)
            joint += self.X @ np.concatenate([link.natural(z) for link, z in pairs])
        log_p = logsumexp(joint, axis=1)
        R = np.exp(joint - log_p[:, None]) * self.counts[:, None]
        value = float(self.counts @ log_p) + self.log_base
        exponents, of_shares = np.full(K, self.weight), R.sum(axis=0)
        value += laplace.log_prior(of_classes, exponents, shares)
        gradient = [of_classes.pull(shares, (of_shares + exponents)[:, None]).reshape(-1)]
        of_shapes = np.empty((D, 2))
        for j, (z, hyper) in enumerate(zip(numbers, self.of_numbers, strict=True)):
            n, (by_mean, by_size, by_skew, by_tail) = self.where_seen(R, j), slopes[j]
            g = np.stack([(n * by_mean).sum(axis=0), (n * by_size).sum(axis=0)])
            of_prior = normal.pull(z, np.repeat(hyper[:, None], K, axis=1))
            gradient.append((g + of_prior).reshape(-1))
            value += laplace.log_prior(normal, hyper, z)
            of_shapes[j] = (n * by_skew).sum(), (n * by_tail).sum()
        E, first = self.X.T @ R, 0
        for link, z, hyper in zip(self.links, others, self.of_others, strict=True):
            seen = E[first : first + len(hyper)] + hyper[:, None]
            first += len(hyper)
            gradient.append(link.pull(z, seen).reshape(-1))
            value += laplace.log_prior(link, hyper, z)
        scale = np.array([SKEWNESS, TAILS])
        value -= float(0.5 * ((shapes / scale) ** 2).sum())
        value -= D * float(np.log(2.0 * math.pi * scale.prod()))
        gradient.append((of_shapes - shapes / scale**2).reshape(-1))
        return value, np.concatenate(gradient)

    def where_seen(self, n: FloatArray, j: int) -> FloatArray:
        """Shares of rows in classes, (m, K); 0 where number j is missing."""
        return np.where(self.seen[:, j : j + 1], n, 0.0)

    def start(self, R: FloatArray) -> FloatArray:
        """Parameters from shares of rows in classes, (m, K): moments, and normal shapes."""
        n = R * self.counts[:, None]
        K = R.shape[1]
        p = [LevelsLink(K).at_mean((n.sum(axis=0) + self.weight)[:, None]).reshape(-1)]
        for j, hyper in enumerate(self.of_numbers):
            x = self.x[:, j : j + 1]
            w = self.where_seen(n, j)
            cases = w.sum(axis=0)
            T = np.stack([(w * x).sum(axis=0), cases, (w * x * x).sum(axis=0), cases])
            p.append(NormalLink().at_mean(T + hyper[:, None]).reshape(-1))
        E, first = self.X.T @ n, 0
        for link, hyper in zip(self.links, self.of_others, strict=True):
            p.append(link.at_mean(E[first : first + len(hyper)] + hyper[:, None]).reshape(-1))
            first += len(hyper)
        return np.concatenate([*p, np.zeros(2 * len(self.names))])

    def fitted(self, starts: Sequence[FloatArray]) -> Shaped | None:
        """Fit K classes from shares of rows, (m, K) each; None if K has too many parameters."""
        K = starts[0].shape[1]
        if self.size(K) > LARGEST:
            return None
        density = partial(self.log_density, K=K)
        first = [laplace.mode_of(density, self.start(R), FIRST_STEPS, volume=False) for R in starts]
        best = max(first, key=lambda mode: mode.log_density)
        mode = laplace.mode_of(density, best.x)
        _, _, shapes = self.parts(mode.x, K)
        evidence = mode.log_evidence + float(gammaln(K + 1.0))
        skewness = dict(zip(self.names, shapes[:, 0].tolist(), strict=True))
        tails = dict(zip(self.names, np.exp(shapes[:, 1]).tolist(), strict=True))
        return Shaped(K, evidence, self.size(K), skewness, tails)


def shaped_problem(problem: Problem) -> ShapedProblem | None:
    """A latent class problem whose numbers have free shapes; None without numbers or with blocks.

    Priors are those of its first class.
    """
    network, classes = problem.network, find_classes(problem.network)
    if classes is None:
        return None
    hyper = conjugacy.by_configuration(problem.alpha, network.layout)
    x, seen, of_numbers, names, links, of_others, X = [], [], [], [], [], [], []
    for column, i in enumerate(network.observed):
        v, codes = network.variables[i], problem.codes[:, column]
        of_column, link = network.layout.table(hyper, i)[0], laplace.link_of(v)
        if link is None:
            return None
        shown = codes >= 0
        if v.family == GAUSSIAN:
            x.append(np.where(shown, np.asarray(v.values)[codes], 0.0))
            seen.append(shown)
            of_numbers.append(of_column)
            names.append(v.name)
        elif link.size:
            X.append(np.where(shown[:, None], v.statistics[codes], 0.0))
            links.append(link)
            of_others.append(of_column)
    if not names:
        return None
    counts = np.asarray(problem.counts, dtype=np.float64)
    shared = float(network.layout.table(hyper, classes.root).mean())
    # `log_shape` includes the base measure of the normal density, so it is removed from log_base.
    base = problem.log_base + 0.5 * math.log(2.0 * math.pi) * float(counts @ np.sum(seen, axis=0))
    return ShapedProblem(
        np.stack(x, axis=1),
        np.stack(seen, axis=1),
        tuple(of_numbers),
        tuple(names),
        tuple(links),
        tuple(of_others),
        np.hstack(X) if X else np.zeros((len(counts), 0)),
        counts,
        base,
        shared,
    )


def merged(R: FloatArray, problem: ShapedProblem, to: int) -> list[FloatArray]:
    """Merge the two nearest classes, (m, K) shares of rows, again and again down to `to` classes.

    Distances of means are in standard deviations of the wider class. So a class of outliers merges
    with the class that it surrounds.
    """
    partitions = [R]
    while R.shape[1] > to:
        n, K = R * problem.counts[:, None], R.shape[1]
        apart = np.zeros((K, K))
        for j in range(len(problem.names)):
            w = problem.where_seen(n, j)
            cases, x = w.sum(axis=0) + 1e-9, problem.x[:, j : j + 1]
            mean = (w * x).sum(axis=0) / cases
            size = np.maximum((w * (x - mean) ** 2).sum(axis=0) / cases, 1e-6)
            apart += (mean[:, None] - mean) ** 2 / np.maximum(size[:, None], size)
        apart[np.triu_indices(K)] = np.inf
        a, b = divmod(int(apart.argmin()), K)
        joined = R[:, a] + R[:, b]
        R = np.column_stack([np.delete(R, [a, b], axis=1), joined])
        partitions.append(R)
    return partitions
