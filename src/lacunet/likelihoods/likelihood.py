"""The contract of a likelihood: how the values of a child depend on parameters.

Given a configuration of its parents, a value x of a child has the log density

    log p(x | θ) = T(x) · η(θ) + log h(x),

with *statistics* T(x) and *natural parameters* η(θ). These and θ have the same number of places for
a configuration, and stand at the same positions of flat vectors (`models.layout`). For climbing, θ
has coordinates φ of the same length, with J = dη/dφ. `conjugate_prior` adds what has closed forms.

All arrays are over a `Segment`: the blocks of all variables of one likelihood, one after the other.
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

TINY = 1e-20  # of a complex step: its square is nothing
STEP = 1e-5  # of central differences: their error is about its square

Vector: TypeAlias = FloatArray  # over the positions of a segment, (..., s)


@dataclass(frozen=True, eq=False)
class Segment:
    """All blocks of one likelihood in a layout: s positions, q configurations, n variables."""

    family: Likelihood
    where: slice | IntArray  # its positions in a flat vector
    ij: IndexArray  # (s,) which configuration a position belongs to, numbered from 0
    k: IndexArray  # (s,) which statistic it stands for
    configurations: int  # q
    blocks: IntArray  # (n,) where the block of each variable starts
    first: IntArray  # (n,) the first configuration of each
    variables: IntArray  # (n,) which variables they are

    @classmethod
    def of_table(cls, family: Likelihood, configurations: int, width: int) -> Segment:
        """A table by itself, one configuration after the other."""
        ij = np.repeat(np.arange(configurations, dtype=np.int32), width)
        k = np.tile(np.arange(width, dtype=np.int32), configurations)
        none = np.zeros(1, dtype=np.int64)
        return cls(family, slice(None), ij, k, configurations, none, none, none)

    def sum(self, x: FloatArray) -> FloatArray:
        """Sum over the places of each configuration, (q,)."""
        return np.asarray(np.bincount(self.ij, weights=x, minlength=self.configurations))

    def totals(self, x: FloatArray) -> FloatArray:
        """Give every position the sum of its configuration, (s,)."""
        return self.sum(x)[self.ij]

    def by_variable(self, cells: FloatArray, configurations: FloatArray) -> FloatArray:
        """Add up what positions and configurations bring, for each variable, (n,)."""
        return np.add.reduceat(cells, self.blocks) + np.add.reduceat(configurations, self.first)

    @cached_property
    def owners(self) -> IntArray:
        """(q,) which variable, by its number among these, a configuration belongs to."""
        return np.repeat(np.arange(len(self.first)), np.diff([*self.first, self.configurations]))

    @cached_property
    def _places(self) -> IntArray:
        """(width, q) positions of each place, where all configurations have as many."""
        return np.lexsort((self.ij, self.k)).reshape(-1, self.configurations)

    def positions(self, *places: int) -> IntArray:
        """Positions of some places, ordered by configuration."""
        return self._places[list(places)].T.reshape(-1)

    def by_place(self, x: FloatArray) -> FloatArray:
        """What each place of every configuration has, (..., s) → (width, ..., q)."""
        by_place = x[..., self._places]
        return by_place if x.ndim == 1 else np.moveaxis(by_place, -2, 0)

    def tables(self, x: FloatArray) -> FloatArray:
        """What each configuration has, (..., s) → (..., q, width)."""
        return x[..., self._places.T]

    def from_tables(self, tables: FloatArray) -> FloatArray:
        """Put back what `tables` gives."""
        x = np.empty((*tables.shape[:-2], len(self.ij)), dtype=tables.dtype)
        x[..., self._places.T] = tables
        return x

    def at_places(self, *columns: FloatArray) -> FloatArray:
        """Put back what `by_place` gives, `width` times (..., q) → (..., s)."""
        x = np.empty((*columns[0].shape[:-1], len(self.ij)), dtype=columns[0].dtype)
        for place, column in zip(self._places, columns, strict=True):
            x[..., place] = column
        return x


class Likelihood(ABC):
    """How the values of a child depend on parameters θ, and how to climb in these.

    To write one: width, statistics, log_base, natural, cases, mean_statistics, random, maximize,
    moved, between and coordinate_places. Derivatives follow from these by complex steps through
    `natural` and `moved`; closed forms are faster.
    """

    name: ClassVar[str]  # as in files
    tabular: ClassVar[bool] = False  # whether each value has a parameter of its own, T(x) = e_x
    simplex: ClassVar[bool] = False  # whether θ of a configuration are probabilities that sum to 1
    whole: ClassVar[bool] = False  # whether values are whole numbers
    on_a_scale: ClassVar[bool] = False  # whether θ ends with how far up values are, 0 to 1
    positive: ClassVar[bool] = True  # whether all of θ is, with 0 at the boundary
    rooted: ClassVar[bool] = False  # whether coordinates of the boundary are √θ, those inside log θ
    # How far φ, and coordinates of the boundary, may move in one step: beyond it a quadratic model
    # says nothing.
    longest_moves: ClassVar[tuple[float, float]] = 4.0, 4.0
    # (width, 3) T(x) of a number x as Σ_p powers[:, p] x^p; None where it is nothing such.
    powers: ClassVar[FloatArray | None] = None

    @property
    def ends(self) -> tuple[float, float]:
        """The lowest and the highest value that there can be, of numbers."""
        return -np.inf, np.inf

    @property
    def apart(self) -> bool:
        """Whether configurations of the parents share no parameters."""
        return True

    @property
    def stands_at(self) -> str | None:
        """The variable at which its parameters stand, if it shares them; None: each has its own."""
        return None

    @property
    def by_itself(self) -> Likelihood:
        """The likelihood of the variable alone, whatever it shares with others."""
        return self

    def fewest_values(self, configurations: int) -> float:
        """Different values without which the likelihood of a mixture has no highest value."""
        return 0.0

    def fewest_pairs(self, configurations: int) -> float:
        """Cases that must show two of its numbers for the data to say how these vary together."""
        return 0.0

    @property
    def bounded(self) -> bool:
        """Whether it has one where there are enough of them."""
        return bool(np.isfinite(self.fewest_values(1)))

    # Values

    @abstractmethod
    def width(self, states: Sequence[State]) -> int:
        """Number of places that a configuration takes."""

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
        """How many cases statistics stand for, at every position."""

    def summary(self, theta: FloatArray, unit: Unit) -> dict[str, FloatArray]:
        """What people read of tables of θ, (q, width), by its title, (q,) each."""
        return {f"parameter {k + 1}": x for k, x in enumerate(theta.T)}

    def moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of a number given tables of θ, (..., width) → (...)."""
        raise NotImplementedError(f"values of a {self.name} family are no numbers")

    def draw_values(self, theta: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw a number for each table of θ; of a block, all of them."""
        raise NotImplementedError(f"values of a {self.name} family are no numbers")

    def alone(self, theta: FloatArray) -> tuple[Likelihood, FloatArray]:
        """The likelihood of a value by itself, and tables of its θ."""
        return self, theta

    def deviations(self, theta: FloatArray) -> FloatArray:
        """Standard deviations that could become 0, of tables of θ: (q, width) → (q,)."""
        return np.full(len(theta), np.inf)

    # The prior: a likelihood without a conjugate one has a flat one, and no hyperparameters

    def has_mode(self, hyper: Vector, at: Segment) -> bool:
        """Whether the density of θ has a maximum whatever the data say."""
        return True

    def in_theta(self, hyper: Vector, at: Segment) -> Vector:
        """What the prior adds to statistics where its density is that of θ, not of φ."""
        return np.zeros_like(hyper)

    def log_prior(self, theta: Vector, hyper: Vector, at: Segment) -> float:
        """Log density of θ, with its normalising constant."""
        return 0.0

    def log_constant(self, hyper: Vector, at: Segment) -> float:
        """The part of the log density that is not linear in η."""
        return 0.0

    def mean(self, hyper: Vector, at: Segment) -> Vector:
        """E[θ] given hyperparameters; without a prior, the θ that is best for statistics."""
        return self.maximize(hyper, np.zeros_like(hyper), np.zeros_like(hyper), at)

    def by_configuration(self, hyper: Vector, at: Segment) -> Vector:
        """Hyperparameters of each configuration by itself, with all that it shares with others."""
        return hyper

    def shared_out(self, hyper: FloatArray, times: float) -> FloatArray:
        """Hyperparameters of a configuration, (..., width), where there are `times` as many."""
        return hyper

    def measured(self, hyper: FloatArray) -> FloatArray | None:
        """Hyperparameters of a Gaussian value by itself, (width,) → (4,); None: it is none."""
        return None

    # Parameters, and their maximum

    @abstractmethod
    def natural(self, theta: Vector, at: Segment) -> Vector:
        """η(θ)."""

    def log_density(self, N: Vector, theta: Vector, at: Segment) -> float:
        """N · η(θ), where nothing times −∞ is nothing."""
        used = N != 0.0
        return float(N[used] @ self.natural(theta, at)[used])

    @abstractmethod
    def random(self, hyper: Vector, at: Segment, rng: np.random.Generator) -> Vector:
        """Draw θ to start from; the prior says no more than how large values are."""

    @abstractmethod
    def maximize(self, N: Vector, pseudo: Vector, theta: Vector, at: Segment) -> Vector:
        """Give the θ that is best for statistics N + pseudo; without cases it stays."""

    def keeps_off_zero(self, pseudo: Vector, at: Segment) -> bool:
        """Whether statistics with these added have their maximum inside, not on the boundary."""
        return not self.positive or bool((pseudo > 0).all())

    def allows(self, theta: Vector, at: Segment) -> bool:
        """Whether numbers can be parameters at all, each by itself."""
        return not self.positive or bool((theta >= 0).all())

    def on_boundary(self, theta: Vector, at: Segment) -> bool:
        """Whether a parameter is where its coordinate φ is infinite."""
        return self.positive and bool((theta <= 0).any())

    # Coordinates φ, and with `edge` those in which a maximum on the boundary is reached

    @property
    def coordinate_places(self) -> Sequence[int]:
        """Places of a configuration at which coordinates stand."""
        raise NotImplementedError

    @abstractmethod
    def moved(self, theta: Vector, move: Vector, at: Segment, *, edge: bool = False) -> Vector:
        """Move the coordinates, and give the θ that they then say."""

    @abstractmethod
    def between(self, old: Vector, new: Vector, at: Segment, *, edge: bool) -> Vector:
        """Give the move from one θ to another."""

    def free(self, theta: Vector, at: Segment) -> tuple[IntArray, IntArray]:
        """Positions of free coordinates, and of what makes up for each (itself, if nothing does).

        Ordered by configuration.
        """
        free = at.positions(*self.coordinate_places)
        return free, free

    def idle(self, theta: Vector, v: Vector, at: Segment) -> Vector:
        """Project onto directions that change no probability, v measured in the metric."""
        return np.zeros_like(v)

    def _units(self, at: Segment) -> list[Vector]:
        """A direction for each place of coordinates, the same in all configurations."""
        return [np.where(at.k == place, 1.0, 0.0) for place in self.coordinate_places]

    def _derivative(
        self,
        function: Callable[[Vector, Segment], Vector],
        theta: Vector,
        phi: Vector,
        at: Segment,
    ) -> Vector:
        """Along a direction of φ, by a complex step."""
        step: Any = TINY * 1j * phi
        there = self.moved(theta.astype(np.complex128), step, at)
        return np.asarray(np.imag(function(there, at)) / TINY)

    def pull_back(self, theta: Vector, g: Vector, at: Segment) -> Vector:
        """Jᵀ g: from natural parameters to φ. Of statistics it is the gradient."""
        gradient, own = np.zeros_like(theta), at.by_place(g)
        for place in range(len(own)):
            unit = np.where(at.k == place, 1.0, 0.0)
            column = at.by_place(self._derivative(self.natural, theta, unit, at))
            gradient[at.positions(place)] = (column * own).sum(axis=0)
        return gradient

    def push(self, theta: Vector, phi: Vector, at: Segment) -> Vector:
        """J φ: from a direction in φ to that of the natural parameters."""
        return self._derivative(self.natural, theta, phi, at)

    def slope(self, theta: Vector, gradient: Vector, at: Segment, *, edge: bool) -> Vector:
        """Turn the gradient in φ into that of the coordinates, which mostly are φ."""
        if not (edge and self.rooted):
            return gradient
        of_root = np.zeros_like(gradient)  # φ = log θ, dφ/d√θ = 2/√θ; at 0 nothing moves
        np.divide(2.0 * gradient, np.sqrt(theta), out=of_root, where=theta > 0)
        return of_root

    def information(self, theta: Vector, N: Vector, phi: Vector, at: Segment) -> Vector:
        """Curvature of statistics N in φ, times a direction."""
        there, back = (self.pull_back(self.moved(theta, h * phi, at), N, at) for h in (STEP, -STEP))
        return np.asarray((back - there) / (2.0 * STEP))

    def sharpness(self, theta: Vector, N: Vector, at: Segment, *, edge: bool = False) -> Vector:
        """Diagonal of a metric: about that of the curvature of N; 0 where nothing moves."""
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
        """Log of the determinant of the curvature of statistics N in free φ."""
        return self._log_dets(
            [self.information(theta, N, unit, at) for unit in self._units(at)], at
        )

    def _log_dets(self, columns: Sequence[Vector], at: Segment) -> float:
        """Sum of the log determinants, over configurations, of matrices with these columns."""
        places = list(self.coordinate_places)
        matrices = np.stack([at.tables(column)[:, places] for column in columns], axis=-1)
        return float(np.linalg.slogdet(matrices)[1].sum())

    # Intervals are symmetric on a scale that has no ends, of each place by itself

    def on_log_scale(self, at: Segment) -> BoolArray:
        """(s,) whether that of a position is its logarithm; else it is itself."""
        return np.zeros(len(at.ij), dtype=np.bool_)

    def on_scale(self, phi: FloatArray, theta: Vector, at: Segment) -> FloatArray:
        """Carry changes of φ to that scale, (s, m) → (s, m)."""
        changes = [self._derivative(lambda x, _: x, theta, one, at) for one in phi.T]
        return np.stack(changes, axis=1) / self.scale_slope(theta, at)[:, None]

    def off_scale(self, theta: Vector, move: Vector, at: Segment) -> Vector:
        """Move every place on that scale, and give the θ that it is then."""
        log = self.on_log_scale(at)
        return np.where(log, theta * np.exp(np.where(log, move, 0.0)), theta + move)

    def scale_slope(self, theta: Vector, at: Segment) -> Vector:
        """By how much θ changes for a small step on that scale."""
        return np.where(self.on_log_scale(at), theta, 1.0)


def move_of_logs(old: FloatArray, new: FloatArray, *, edge: bool) -> FloatArray:
    """Give the move of log θ; of a θ that is 0 nothing. With `edge`, that of √θ."""
    if edge:
        return np.sqrt(new) - np.sqrt(old)
    move = np.zeros_like(old)
    alive = (old > 0) & (new > 0)
    move[alive] = np.log(new[alive] / old[alive])
    return move
