"""A model of one continuous latent trait, and its evidence on the scale of latent class models.

The trait t is standard normal, and columns are independent given t. The coordinates of a column
(`ColumnLink`) are linear in t, z = a + b t:

    answers of r levels    contrasts of the log odds; of two levels the two-parameter logistic model
                           of item response theory, of more the nominal one (Bock 1972)
    ordered scores         the log odds of each step
    counts                 the log rate
    numbers                the mean: one linear factor

At t = 0 a column has its prior in a class; slopes b are normal around 0, with one of three standard
deviations. So a trait without slopes is one class. Integrals over t are sums over an equidistant
grid, and Laplace's method integrates the parameters out. Changing the sign of the trait gives an
equal mode: both count.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import logsumexp

from lacunet.evidence import laplace_at_mode as laplace
from lacunet.evidence.laplace_at_mode import ColumnLink, LevelsLink, NormalLink
from lacunet.inference.problem import Problem
from lacunet.models import conjugacy
from lacunet.models.latent_class import find_classes
from lacunet.runtime.arrays import FloatArray

REACH = 4.2  # standard deviations of the trait on either side
POINTS, FINE = 25, 49  # grid points; numbers need a finer grid
FAR = 40.0  # nats below the wanted evidence at which other scales are not tried
SCALES = {1.0: 0.5, 2.0: 0.25, 0.5: 0.25}  # factors of the next two, and their probabilities
SLOPE = 1.0  # prior standard deviation of slopes of contrasts: 1.4 in log odds of two levels
OF_NUMBERS = 0.7  # the same of numbers, in standard deviations of the column, and of log rates
LARGEST = 400  # parameters of the largest Hessian
MOST_WORK = 4e9  # multiplications in all steps, about: some seconds


@dataclass(frozen=True, eq=False)
class Trait:
    """A fit of one continuous trait."""

    log_lik: float  # log p(D | the most probable parameters)
    log_evidence: float  # log p(D | one trait)
    dimension: int
    slopes: dict[str, FloatArray]  # by column; of r levels those of log probabilities, (r,), sum 0


@dataclass(frozen=True, eq=False)
class TraitItem:
    """A column with parameters (a, b): its link, its prior, and its place among statistics."""

    name: str
    link: ColumnLink
    hyper: FloatArray  # (width,) at t = 0
    place: slice

    @property
    def size(self) -> int:
        """The number of parameters."""
        return self.link.size + self.link.sloped

    def coordinates(self, p: FloatArray, t: FloatArray) -> FloatArray:
        """Coordinates of the link at points of the trait, (size of the link, points)."""
        a, b = np.split(p, [self.link.size])
        z = np.repeat(a[:, None], len(t), axis=1)
        z[: len(b)] += b[:, None] * t
        return z

    def prior(self, p: FloatArray, scale: float) -> tuple[float, FloatArray]:
        """Log prior density of parameters, and its gradient; `scale` multiplies the slope sd."""
        a, b = np.split(p, [self.link.size])
        spread = scale * (SLOPE if isinstance(self.link, LevelsLink) else OF_NUMBERS)
        at_zero = a[:, None]
        of_slopes = -0.5 * float(b @ b) / spread**2
        of_slopes -= len(b) * (0.5 * math.log(2.0 * math.pi) + math.log(spread))
        first = self.link.pull(at_zero, self.hyper[:, None])[:, 0]
        value = laplace.log_prior(self.link, self.hyper, at_zero) + of_slopes
        return value, np.concatenate([first, -b / spread**2])

    def pull(self, p: FloatArray, t: FloatArray, E: FloatArray) -> FloatArray:
        """Gradient of E · natural(p) for statistics E (width, points)."""
        d = self.link.pull(self.coordinates(p, t), E)
        return np.concatenate([d.sum(axis=1), d[: self.link.sloped] @ t])

    def start(self, X: FloatArray, t: FloatArray, counts: FloatArray) -> FloatArray:
        """Initial parameters from a guess of the trait of each row, (m,)."""
        x = X[:, self.place]
        n, moved = counts @ x, (counts * t) @ x
        a = self.link.at_mean((n + self.hyper)[:, None])[:, 0]
        # One step of Fisher scoring for the slopes.
        pulled = self.link.pull(a[:, None], moved[:, None])[:, 0]
        cases = max(float(counts.sum()), 1.0)
        share = 1.0 if isinstance(self.link, NormalLink) else 2.0
        b = share * pulled[: self.link.sloped] / cases
        return np.concatenate([a, np.clip(b, -1.5, 1.5)])


@dataclass(frozen=True, eq=False)
class TraitProblem:
    """Rows as statistics, and their columns."""

    items: tuple[TraitItem, ...]
    X: FloatArray  # (m, width of all columns) T(x); 0 where missing
    counts: FloatArray  # (m,)
    log_base: float
    t: FloatArray  # (points,)

    @property
    def size(self) -> int:
        """The number of parameters."""
        return sum(item.size for item in self.items)

    def parts(self, x: FloatArray) -> list[FloatArray]:
        """The parameters of each column."""
        return np.split(x, np.cumsum([item.size for item in self.items])[:-1])

    def log_lik(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Log p(D | x), and its gradient."""
        each, weight = list(zip(self.items, self.parts(x), strict=True)), -0.5 * self.t**2
        natural = [item.link.natural(item.coordinates(p, self.t)) for item, p in each]
        joint = self.X @ np.concatenate(natural) + (weight - logsumexp(weight))
        log_p = logsumexp(joint, axis=1)
        E = self.X.T @ (np.exp(joint - log_p[:, None]) * self.counts[:, None])
        gradient = [item.pull(p, self.t, E[item.place]) for item, p in each]
        return float(self.counts @ log_p) + self.log_base, np.concatenate(gradient)

    def log_density(self, x: FloatArray, scale: float = 1.0) -> tuple[float, FloatArray]:
        """Log p(D, x), and its gradient; `scale` multiplies the prior sd of slopes."""
        with np.errstate(all="ignore"):
            value, gradient = self.log_lik(x)
            each = zip(self.items, self.parts(x), strict=True)
            priors = [item.prior(p, scale) for item, p in each]
            value += sum(log_p for log_p, _ in priors)
            gradient = gradient + np.concatenate([g for _, g in priors])
        return laplace.if_finite(value, gradient)

    def start(self) -> FloatArray:
        """Initial parameters, with the first principal component of the statistics as trait."""
        Z = np.zeros_like(self.X)
        for item in self.items:
            x = self.X[:, item.place]
            shown = np.asarray(x.any(axis=1))
            weight = self.counts * shown
            mean = weight @ x / max(float(weight.sum()), 1e-300)
            Z[:, item.place] = np.where(shown[:, None], x - mean, 0.0)
        size = np.sqrt(self.counts @ Z**2)
        Z /= np.where(size > 1e-9, size, 1.0)
        _, vectors = np.linalg.eigh(Z.T @ (Z * self.counts[:, None]))
        t: FloatArray = Z @ vectors[:, -1]
        t = t / max(math.sqrt(float(self.counts @ t**2 / self.counts.sum())), 1e-300)
        return np.concatenate([item.start(self.X, t, self.counts) for item in self.items])


def trait_problem(problem: Problem) -> TraitProblem | None:
    """The problem with a trait in place of its classes; None where that is not supported."""
    network = problem.network
    if find_classes(network) is None:
        return None
    hyper = conjugacy.by_configuration(problem.alpha, network.layout)
    items, X, first = [], [], 0
    for column, i in enumerate(network.observed):
        v, codes = network.variables[i], problem.codes[:, column]
        link = laplace.link_of(v)
        if link is None:
            return None
        if not link.size:  # one level
            continue
        T = np.where(codes[:, None] >= 0, v.statistics[codes], 0.0)
        of_column = network.layout.table(hyper, i).mean(axis=0)
        place = slice(first, first + len(of_column))
        items.append(TraitItem(v.name, link, of_column, place))
        X.append(T)
        first = place.stop
    if len(items) < 2:
        return None
    fine = any(isinstance(item.link, NormalLink) for item in items)
    t = np.linspace(-REACH, REACH, FINE if fine else POINTS)
    counts = np.asarray(problem.counts, dtype=np.float64)
    return TraitProblem(tuple(items), np.hstack(X), counts, problem.log_base, t)


def trait_of(problem: Problem, wanted: float = -math.inf) -> Trait | None:
    """Fit one trait to the table of a latent class problem; None where it is not supported.

    An evidence far below `wanted` is computed with one scale of slopes only.
    """
    given = trait_problem(problem)
    if given is None or given.size > LARGEST:
        return None
    if given.X.size * len(given.t) * (100 + 2 * given.size) > MOST_WORK:
        return None
    modes: dict[float, laplace.Mode] = {}
    for factor in SCALES:
        start = given.start() if not modes else modes[1.0].x
        modes[factor] = laplace.mode_of(partial(given.log_density, scale=factor), start)
        if not modes[factor].log_evidence > wanted - FAR:
            break
    each = {f: math.log(SCALES[f]) + m.log_evidence for f, m in modes.items()}
    known = [value for value in each.values() if math.isfinite(value)]
    best = modes[max(modes, key=lambda f: each[f] if math.isfinite(each[f]) else -math.inf)]
    slopes = {}
    for item, p in zip(given.items, given.parts(best.x), strict=True):
        b = p[item.link.size :]
        slopes[item.name] = item.link.contrasts @ b if isinstance(item.link, LevelsLink) else b
    evidence = float(logsumexp(known)) + math.log(2.0) if known else math.nan
    return Trait(given.log_lik(best.x)[0], evidence, given.size, slopes)
