"""The interface of a likelihood: how the values of a child depend on parameters.

Given a configuration of its parents, a value x of a child has the log density

    log p(x | θ) = T(x) · η(θ) + log h(x),

with *statistics* T(x) and *natural parameters* η(θ). T, η and θ have the same number of places a
configuration, and share positions in flat vectors (`models.layout`). Optimisers use coordinates φ
of the same length, with J = dη/dφ. `conjugate_prior` adds closed-form integrals over θ.

Arrays cover a `Segment`: the concatenated blocks of all variables with one likelihood.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

import numpy as np

from lacunet.likelihoods.unit import Unit
from lacunet.runtime.arrays import BoolArray, FloatArray, IndexArray, IntArray
from lacunet.runtime.states import State

TINY = 1e-20  # a complex step, whose square is negligible
STEP = 1e-5  # of central differences; their error is of the order of its square

Vector: TypeAlias = FloatArray  # over the positions of a segment, (..., s)


@dataclass(frozen=True, eq=False)
class Segment:
    """All blocks of one likelihood in a layout: s positions, q configurations, n variables."""

    family: Likelihood
    where: slice | IntArray  # its positions in a flat vector
    ij: IndexArray  # (s,) configuration of a position, from 0
    k: IndexArray  # (s,) place of a position in its configuration
    configurations: int  # q
    blocks: IntArray  # (n,) first position of each variable
    first: IntArray  # (n,) first configuration of each
    variables: IntArray  # (n,) indices of the variables

    @classmethod
    def of_table(cls, family: Likelihood, configurations: int, width: int) -> Segment:
        """The segment of a single table, one configuration after the other."""
        ij = np.repeat(np.arange(configurations, dtype=np.int32), width)
        k = np.tile(np.arange(width, dtype=np.int32), configurations)
        none = np.zeros(1, dtype=np.int64)
        return cls(family, slice(None), ij, k, configurations, none, none, none)

    def sum(self, x: FloatArray) -> FloatArray:
        """Sum over the places of each configuration, (q,)."""
        return np.asarray(np.bincount(self.ij, weights=x, minlength=self.configurations))

    def totals(self, x: FloatArray) -> FloatArray:
        """The sum of its configuration at every position, (s,)."""
        return self.sum(x)[self.ij]

    def by_variable(self, cells: FloatArray, configurations: FloatArray) -> FloatArray:
        """Sum the terms of positions and of configurations over each variable, (n,)."""
        return np.add.reduceat(cells, self.blocks) + np.add.reduceat(configurations, self.first)

    @cached_property
    def owners(self) -> IntArray:
        """(q,) index, among these variables, of each configuration's variable."""
        return np.repeat(np.arange(len(self.first)), np.diff([*self.first, self.configurations]))

    @cached_property
    def _places(self) -> IntArray:
        """(width, q) positions of each place; all configurations have the same width."""
        return np.lexsort((self.ij, self.k)).reshape(-1, self.configurations)

    def positions(self, *places: int) -> IntArray:
        """Positions of the given places, ordered by configuration."""
        return self._places[list(places)].T.reshape(-1)

    def by_place(self, x: FloatArray) -> FloatArray:
        """Split by place, (..., s) → (width, ..., q)."""
        by_place = x[..., self._places]
        return by_place if x.ndim == 1 else np.moveaxis(by_place, -2, 0)

    def tables(self, x: FloatArray) -> FloatArray:
        """One row a configuration, (..., s) → (..., q, width)."""
        return x[..., self._places.T]

    def from_tables(self, tables: FloatArray) -> FloatArray:
        """The inverse of `tables`."""
        x = np.empty((*tables.shape[:-2], len(self.ij)), dtype=tables.dtype)
        x[..., self._places.T] = tables
        return x

    def at_places(self, *columns: FloatArray) -> FloatArray:
        """The inverse of `by_place`, `width` times (..., q) → (..., s)."""
        x = np.empty((*columns[0].shape[:-1], len(self.ij)), dtype=columns[0].dtype)
        for place, column in zip(self._places, columns, strict=True):
            x[..., place] = column
        return x


class Likelihood(ABC):
    """The density of a child's values given parameters θ, with coordinates to maximise it in.

    A subclass implements width, statistics, log_base, natural, cases, mean_statistics, random,
    maximize, moved, log_map and coordinate_places. Derivatives default to complex steps through
    `natural` and `moved`; closed forms are faster.
    """

    name: ClassVar[str]  # as in files
    tabular: ClassVar[bool] = False  # whether each value has a separate parameter, T(x) = e_x
    simplex: ClassVar[bool] = False  # whether θ of a configuration are probabilities that sum to 1
    whole: ClassVar[bool] = False  # whether values are whole numbers
    on_a_scale: ClassVar[bool] = (
        False  # whether the last θ is the mean relative to the range, 0 to 1
    )
    positive: ClassVar[bool] = True  # whether θ ≥ 0, with 0 at the boundary
    rooted: ClassVar[bool] = False  # whether coordinates at the boundary are √θ, inside log θ
    # Longest steps of φ and of coordinates at the boundary for which a quadratic model is valid.
    longest_moves: ClassVar[tuple[float, float]] = 4.0, 4.0
    # (width, 3) coefficients of T(x) = Σ_p powers[:, p] x^p; None: T is not such a polynomial.
    powers: ClassVar[FloatArray | None] = None

    @property
    def ends(self) -> tuple[float, float]:
        """The lowest and the highest possible number."""
        return -np.inf, np.inf

    @property
    def apart(self) -> bool:
        """Whether parent configurations have separate parameters."""
        return True

    @property
    def stands_at(self) -> str | None:
        """The variable whose block has the shared parameters; None: nothing is shared."""
        return None

    @property
    def univariate(self) -> Likelihood:
        """The univariate likelihood of the variable, without its block."""
        return self

    def fewest_values(self, configurations: int) -> float:
        """Number of different values below which a mixture's likelihood is unbounded."""
        return 0.0

    def fewest_pairs(self, configurations: int) -> float:
        """Number of cases with both of two numbers that identifies their covariance."""
        return 0.0

    @property
    def bounded(self) -> bool:
        """Whether the likelihood of a mixture is bounded given enough different values."""
        return bool(np.isfinite(self.fewest_values(1)))

    # Values

    @abstractmethod
    def width(self, states: Sequence[State]) -> int:
        """Number of places of a configuration."""

    @abstractmethod
    def statistics(self, states: Sequence[State]) -> FloatArray:
        """T(x) of each value, (values, width)."""

    @abstractmethod
    def log_base(self, states: Sequence[State]) -> FloatArray:
        """Log h(x) of each value, (values,)."""

    @abstractmethod
    def mean_statistics(self, theta: Vector, at: Segment) -> Vector:
        """E[T | θ] of one case."""

    @abstractmethod
    def cases(self, N: Vector, at: Segment) -> Vector:
        """Number of cases in the statistics, at every position."""

    def summary(self, theta: FloatArray, unit: Unit) -> dict[str, FloatArray]:
        """Parameters to display, by title: tables of θ, (q, width) → (q,) each."""
        return {f"parameter {k + 1}": x for k, x in enumerate(theta.T)}

    def moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of a number given tables of θ, (..., width) → (...)."""
        raise NotImplementedError(f"values of a {self.name} family are not numbers")

    def draw_values(self, theta: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw a number, or a block of numbers, from each table of θ."""
        raise NotImplementedError(f"values of a {self.name} family are not numbers")

    def alone(self, theta: FloatArray) -> tuple[Likelihood, FloatArray]:
        """The univariate likelihood of a value, and tables of its θ."""
        return self, theta

    def deviations(self, theta: FloatArray) -> FloatArray:
        """Standard deviations, which can degenerate to 0: tables of θ, (q, width) → (q,)."""
        return np.full(len(theta), np.inf)

    # The prior: flat, without hyperparameters, unless a conjugate one is defined

    def has_mode(self, hyper: Vector, at: Segment) -> bool:
        """Whether the density of θ has a maximum for all data."""
        return True

    def in_theta(self, hyper: Vector, at: Segment) -> Vector:
        """Pseudo-statistics of the prior as a density of θ instead of φ."""
        return np.zeros_like(hyper)

    def log_prior(self, theta: Vector, hyper: Vector, at: Segment) -> float:
        """Log density of θ, with its normalising constant."""
        return self.log_constant(hyper, at) + self.log_density(self.in_theta(hyper, at), theta, at)

    def log_constant(self, hyper: Vector, at: Segment) -> float:
        """The part of the log density that is not linear in η."""
        return 0.0

    def mean(self, hyper: Vector, at: Segment) -> Vector:
        """E[θ] given hyperparameters; without a prior, the maximum-likelihood θ."""
        return self.maximize(hyper, np.zeros_like(hyper), np.zeros_like(hyper), at)

    def by_configuration(self, hyper: Vector, at: Segment) -> Vector:
        """Hyperparameters of each configuration alone, including its shared parameters."""
        return hyper

    def shared_out(self, hyper: FloatArray, times: float) -> FloatArray:
        """Hyperparameters of one of `times` configurations that share a prior, (..., width)."""
        return hyper

    def measured(self, hyper: FloatArray) -> FloatArray | None:
        """Hyperparameters of a single Gaussian, (width,) → (4,); None: not Gaussian."""
        return None

    # Parameters, and their maximisation

    @abstractmethod
    def natural(self, theta: Vector, at: Segment) -> Vector:
        """η(θ)."""

    def log_density(self, N: Vector, theta: Vector, at: Segment) -> float:
        """N · η(θ), with 0 · −∞ = 0."""
        used = N != 0.0
        return float(N[used] @ self.natural(theta, at)[used])

    @abstractmethod
    def random(self, hyper: Vector, at: Segment, rng: np.random.Generator) -> Vector:
        """Draw θ to start an optimiser from, at the scale of the prior."""

    @abstractmethod
    def maximize(self, N: Vector, pseudo: Vector, theta: Vector, at: Segment) -> Vector:
        """The θ that maximises the likelihood of N + pseudo; unchanged without cases."""

    def keeps_off_zero(self, pseudo: Vector, at: Segment) -> bool:
        """Whether these pseudo-statistics keep the maximum off the boundary."""
        return not self.positive or bool((pseudo > 0).all())

    def allows(self, theta: Vector, at: Segment) -> bool:
        """Whether numbers are valid parameters, each by itself."""
        return not self.positive or bool((theta >= 0).all())

    def on_boundary(self, theta: Vector, at: Segment) -> bool:
        """Whether a parameter has an infinite coordinate φ."""
        return self.positive and bool((theta <= 0).any())

    # Coordinates φ; with `edge`, coordinates that are finite on the boundary

    @property
    def coordinate_places(self) -> Sequence[int]:
        """Places of a configuration that have coordinates."""
        raise NotImplementedError

    @abstractmethod
    def moved(self, theta: Vector, move: Vector, at: Segment, *, edge: bool = False) -> Vector:
        """The θ after a move of the coordinates."""

    @abstractmethod
    def log_map(self, old: Vector, new: Vector, at: Segment, *, edge: bool) -> Vector:
        """The move of the coordinates from one θ to another."""

    def free(self, theta: Vector, at: Segment) -> tuple[IntArray, IntArray]:
        """Positions of free coordinates and of their references, ordered by configuration.

        A coordinate without a reference refers to itself.
        """
        free = at.positions(*self.coordinate_places)
        return free, free

    def null_projection(self, theta: Vector, v: Vector, at: Segment) -> Vector:
        """Project v, in the metric, onto directions that change no probability."""
        return np.zeros_like(v)

    def _units(self, at: Segment) -> list[Vector]:
        """Unit directions, one a coordinate place, in all configurations at once."""
        return [np.where(at.k == place, 1.0, 0.0) for place in self.coordinate_places]

    def _derivative(
        self,
        function: Callable[[Vector, Segment], Vector],
        theta: Vector,
        phi: Vector,
        at: Segment,
    ) -> Vector:
        """Derivative of a function of θ along a direction of φ, by a complex step."""
        step: Any = TINY * 1j * phi
        moved = self.moved(theta.astype(np.complex128), step, at)
        return np.asarray(np.imag(function(moved, at)) / TINY)

    def pull_back(self, theta: Vector, g: Vector, at: Segment) -> Vector:
        """Jᵀ g: from natural parameters to φ; for statistics, the gradient."""
        gradient, by_place = np.zeros_like(theta), at.by_place(g)
        for place in range(len(by_place)):
            unit = np.where(at.k == place, 1.0, 0.0)
            column = at.by_place(self._derivative(self.natural, theta, unit, at))
            gradient[at.positions(place)] = (column * by_place).sum(axis=0)
        return gradient

    def push(self, theta: Vector, phi: Vector, at: Segment) -> Vector:
        """J φ: from a direction in φ to that of the natural parameters."""
        return self._derivative(self.natural, theta, phi, at)

    def slope(self, theta: Vector, gradient: Vector, at: Segment, *, edge: bool) -> Vector:
        """Convert the gradient in φ to the coordinates: φ, or √θ with `edge`."""
        if not (edge and self.rooted):
            return gradient
        of_root = np.zeros_like(gradient)  # φ = log θ, dφ/d√θ = 2/√θ; 0 at θ = 0
        np.divide(2.0 * gradient, np.sqrt(theta), out=of_root, where=theta > 0)
        return of_root

    def information(self, theta: Vector, N: Vector, phi: Vector, at: Segment) -> Vector:
        """Curvature of statistics N in φ, times a direction."""
        up, down = (self.pull_back(self.moved(theta, h * phi, at), N, at) for h in (STEP, -STEP))
        return np.asarray((down - up) / (2.0 * STEP))

    def metric(self, theta: Vector, N: Vector, at: Segment, *, edge: bool = False) -> Vector:
        """Diagonal of a metric that approximates the curvature of N; 0 at fixed coordinates."""
        expected = self.cases(N, at) * self.mean_statistics(theta, at)
        return sum(
            (unit * self.information(theta, expected, unit, at) for unit in self._units(at)),
            start=np.zeros_like(theta),
        )

    def log_jacobian(self, theta: Vector, at: Segment) -> float:
        """Log |dθ/dφ| over the free coordinates."""
        return self._log_dets(
            [self._derivative(lambda x, _: x, theta, unit, at) for unit in self._units(at)], at
        )

    def complete_log_det(self, theta: Vector, N: Vector, at: Segment) -> float:
        """Log determinant of the curvature of statistics N in free φ."""
        return self._log_dets(
            [self.information(theta, N, unit, at) for unit in self._units(at)], at
        )

    def _log_dets(self, columns: Sequence[Vector], at: Segment) -> float:
        """Sum over configurations of log determinants of the matrices with these columns."""
        places = list(self.coordinate_places)
        matrices = np.stack([at.tables(column)[:, places] for column in columns], axis=-1)
        return float(np.linalg.slogdet(matrices)[1].sum())

    # Confidence intervals are symmetric on an unbounded scale of each place

    def on_log_scale(self, at: Segment) -> BoolArray:
        """(s,) whether the scale of a position is the logarithm; otherwise the identity."""
        return np.zeros(len(at.ij), dtype=np.bool_)

    def to_interval_scale(self, phi: FloatArray, theta: Vector, at: Segment) -> FloatArray:
        """Convert changes of φ to changes on the unbounded scale, (s, m) → (s, m)."""
        changes = [self._derivative(lambda x, _: x, theta, one, at) for one in phi.T]
        return np.stack(changes, axis=1) / self.scale_slope(theta, at)[:, None]

    def from_interval_scale(self, theta: Vector, move: Vector, at: Segment) -> Vector:
        """The θ after a move of every place on the unbounded scale."""
        log = self.on_log_scale(at)
        return np.where(log, theta * np.exp(np.where(log, move, 0.0)), theta + move)

    def scale_slope(self, theta: Vector, at: Segment) -> Vector:
        """Derivative of θ with respect to the unbounded scale."""
        return np.where(self.on_log_scale(at), theta, 1.0)


def move_of_logs(old: FloatArray, new: FloatArray, *, edge: bool) -> FloatArray:
    """The move of log θ, 0 where θ = 0; with `edge`, the move of √θ."""
    if edge:
        return np.sqrt(new) - np.sqrt(old)
    move = np.zeros_like(old)
    positive = (old > 0) & (new > 0)
    move[positive] = np.log(new[positive] / old[positive])
    return move
