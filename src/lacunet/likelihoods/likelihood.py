"""What a conjugate exponential family owns: the one contract of everything that has a prior.

Given a configuration of its parents, a value x of the child has the log density

    log p(x | θ) = T(x) · η(θ) + log h(x),

with T(x) its *statistics*, η the *natural parameters*. The prior is conjugate: its logarithm is, up
to a constant, hyperparameters · η, so that statistics add to hyperparameters. Statistics, natural
parameters, hyperparameters and θ each have the same number of places for a configuration, and
stand at the same positions of flat vectors (`model.layout`).

For climbing, a family has coordinates φ of the same length, with J = dη/dφ. As a density of φ the
prior adds just its hyperparameters to the statistics; as one of θ, in general, a little less.

All arrays are over a `Segment`: the blocks of all variables of one family, one after the other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from lacunet.likelihoods.unit import Unit
from lacunet.runtime.arrays import FloatArray, IndexArray, IntArray
from lacunet.runtime.states import State


@dataclass(frozen=True, eq=False)
class Segment:
    """All blocks of one family in a layout. s positions, q configurations, n variables."""

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
        found = x[..., self._places]
        return found if x.ndim == 1 else np.moveaxis(found, -2, 0)

    def tables(self, x: FloatArray) -> FloatArray:
        """What each configuration has, (..., s) → (..., q, width)."""
        return x[..., self._places.T]

    def from_tables(self, tables: FloatArray) -> FloatArray:
        """Put back what `tables` gives."""
        x = np.empty((*tables.shape[:-2], len(self.ij)))
        x[..., self._places.T] = tables
        return x

    def at_places(self, *columns: FloatArray) -> FloatArray:
        """Put back what `by_place` gives, `width` times (..., q) → (..., s)."""
        x = np.empty((*columns[0].shape[:-1], len(self.ij)))
        for place, column in zip(self._places, columns, strict=True):
            x[..., place] = column
        return x


class Likelihood(ABC):
    """A conjugate pair of likelihood and prior."""

    name: ClassVar[str]  # as in files
    tabular: ClassVar[bool] = False  # whether each value has a parameter of its own, T(x) = e_x
    simplex: ClassVar[bool] = False  # whether θ of a configuration are probabilities that sum to 1
    whole: ClassVar[bool] = False  # whether values are whole numbers
    on_a_scale: ClassVar[bool] = False  # whether θ ends with how far up values are, 0 to 1
    apart: ClassVar[bool] = True  # whether configurations of the parents share no parameters

    @property
    def ends(self) -> tuple[float, float]:
        """The lowest and the highest value that there can be, of numbers."""
        return -np.inf, np.inf

    @abstractmethod
    def width(self, states: Sequence[State]) -> int:
        """Number of places that a configuration takes."""

    @abstractmethod
    def statistics(self, states: Sequence[State]) -> FloatArray:
        """T(x) of each value, (values, width)."""

    @property
    def stands_at(self) -> str | None:
        """The variable at which its parameters stand, if it shares them; None: each has its own."""
        return None

    @property
    def written(self) -> dict[str, Any]:
        """What a model file says of it."""
        return {"family": self.name}

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

    @property
    def by_itself(self) -> Likelihood:
        """What a variable of it is by itself, whatever it shares with others."""
        return self

    @property
    def powers(self) -> FloatArray | None:
        """T(x) of a number x as Σ_p powers[:, p] x^p, (width, 3); None where it is nothing such.

        A family with them can be seen by its statistics (`model.cells`).
        """
        return None

    @abstractmethod
    def log_base(self, states: Sequence[State]) -> FloatArray:
        """Log h(x) of each value, (values,)."""

    def told(self, theta: FloatArray, unit: Unit) -> dict[str, FloatArray]:
        """What a person reads of tables of θ, (q, width), by its title, (q,) each."""
        return {f"parameter {k + 1}": x for k, x in enumerate(theta.T)}

    # What values are like that are numbers, of tables of θ, or with θ integrated out: the mean
    # and the variance of each configuration, (..., width) → (...), and draws

    def moments(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of a value given θ."""
        raise NotImplementedError(f"values of a {self.name} family are no numbers")

    def averaged_moments(self, hyper: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of a value given hyperparameters."""
        raise NotImplementedError(f"values of a {self.name} family are no numbers")

    def draw_values(self, theta: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw a value for each table of θ."""
        raise NotImplementedError(f"values of a {self.name} family are no numbers")

    def alone(self, theta: FloatArray) -> tuple[Likelihood, FloatArray]:
        """What a value is like by itself: a family, and tables of its θ; of a block, its own."""
        return self, theta

    def measured(self, hyper: FloatArray) -> FloatArray | None:
        """What a Gaussian family has of a value by itself, (width,) → (4,); None: nothing."""
        return None

    def draw_averaged(self, hyper: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Draw a value given hyperparameters, (n, width) → (n,): first θ, then the value."""
        at = Segment.of_table(self, 1, hyper.shape[-1])
        return self.draw_values(self.parameters(self.draw(hyper, at, rng), at), rng)

    def deviations(self, theta: FloatArray) -> FloatArray:
        """Standard deviations that could become 0, of tables of θ: (q, width) → (q,)."""
        return np.full(len(theta), np.inf)

    # The conjugate pair

    def by_configuration(self, hyper: FloatArray, at: Segment) -> FloatArray:
        """Hyperparameters of each configuration by itself, with all that it shares with others."""
        return hyper

    def shared_out(self, hyper: FloatArray, times: float) -> FloatArray:
        """Hyperparameters of a configuration, (..., width), where there are `times` as many."""
        return hyper

    @abstractmethod
    def natural(self, theta: FloatArray, at: Segment) -> FloatArray:
        """η(θ)."""

    def near(self, hyper: FloatArray, moves: FloatArray, at: Segment) -> FloatArray:
        """η near what is expected given hyperparameters, moves away in standard deviations of φ."""
        theta = self.parameters(self.expected_natural(hyper, at), at)
        sharp = np.sqrt(self.sharpness(theta, hyper, at))
        phi = np.divide(moves, sharp, out=np.zeros_like(moves), where=sharp > 0)
        return self.natural(self.moved(theta, phi, at), at)

    def log_density(self, N: FloatArray, theta: FloatArray, at: Segment) -> float:
        """N · η(θ), where nothing times −∞ is nothing."""
        used = N != 0.0
        return float(N[used] @ self.natural(theta, at)[used])

    @abstractmethod
    def parameters(self, natural: FloatArray, at: Segment) -> FloatArray:
        """θ(η)."""

    @abstractmethod
    def has_mode(self, hyper: FloatArray, at: Segment) -> bool:
        """Whether the density of θ has a maximum whatever the data say."""

    def keeps_off_zero(self, pseudo: FloatArray, at: Segment) -> bool:
        """Whether statistics with these added have their maximum inside, not on the boundary."""
        return bool((pseudo > 0).all())

    def allows(self, theta: FloatArray, at: Segment) -> bool:
        """Whether numbers can be parameters at all, each by itself."""
        return bool((theta >= 0).all())

    def on_boundary(self, theta: FloatArray, at: Segment) -> bool:
        """Whether a parameter is where its coordinate φ is infinite."""
        return bool((theta <= 0).any())

    def widened(self, hyper: FloatArray, at: Segment, *, factor: float) -> FloatArray:
        """Expect variances so many times as large; of what has none, nothing changes."""
        return hyper

    @abstractmethod
    def in_theta(self, hyper: FloatArray, at: Segment) -> FloatArray:
        """What the prior adds to statistics where its density is that of θ, not of φ."""

    @abstractmethod
    def log_prior(self, theta: FloatArray, hyper: FloatArray, at: Segment) -> float:
        """Log density of θ, with its normalising constant."""

    @abstractmethod
    def log_constant(self, hyper: FloatArray, at: Segment) -> float:
        """What of the log density is left without its linear part in η."""

    @abstractmethod
    def log_marginal(self, N: FloatArray, hyper: FloatArray, at: Segment) -> FloatArray:
        """Log of the probability of statistics N with θ integrated out, for each variable, (n,)."""

    @abstractmethod
    def log_integral(self, hyper: FloatArray, at: Segment) -> FloatArray:
        """Log ∫ exp(hyper · η) dφ over all configurations together: (batch, s) → (batch,)."""

    def log_quotient(self, N: FloatArray, hyper: FloatArray, at: Segment) -> FloatArray:
        """Log of what that integral grows by when statistics come: (batch, s), (s,) → (batch,)."""
        return self.log_integral(hyper + N, at) - self.log_integral(hyper[None, :], at)

    def log_predictive(self, hyper: FloatArray, T: FloatArray) -> FloatArray:
        """Log density of values with θ integrated out, without h(x): (..., width) each → (...)."""
        width = hyper.shape[-1]
        at = Segment.of_table(self, 1, width)

        def integral(x: FloatArray) -> FloatArray:
            rows = np.ascontiguousarray(x.reshape(-1, width))
            return self.log_integral(rows, at).reshape(x.shape[:-1])

        return integral(hyper + T) - integral(hyper)

    @abstractmethod
    def expected_natural(self, hyper: FloatArray, at: Segment) -> FloatArray:
        """E[η] under the prior with these hyperparameters."""

    @abstractmethod
    def mean(self, hyper: FloatArray, at: Segment) -> FloatArray:
        """E[θ]."""

    @abstractmethod
    def mean_statistics(self, theta: FloatArray, at: Segment) -> FloatArray:
        """E[T | θ] of one case."""

    @abstractmethod
    def cases(self, N: FloatArray, at: Segment) -> FloatArray:
        """How many cases statistics stand for, at every position."""

    @abstractmethod
    def draw(self, hyper: FloatArray, at: Segment, rng: Any) -> FloatArray:
        """Draw η given hyperparameters, (batch, s) → (batch, s)."""

    def draw_theta(self, hyper: FloatArray, at: Segment, rng: np.random.Generator) -> FloatArray:
        """Draw θ given hyperparameters, (s,)."""
        return self.parameters(self.draw(hyper[None, :], at, rng)[0], at)

    @abstractmethod
    def random(self, hyper: FloatArray, at: Segment, rng: np.random.Generator) -> FloatArray:
        """Draw θ to start from; the prior says no more than how large values are."""

    # The maximum, and the way to it

    @abstractmethod
    def maximize(
        self, N: FloatArray, pseudo: FloatArray, theta: FloatArray, at: Segment
    ) -> FloatArray:
        """Give the θ that is best for statistics N + pseudo; without cases it stays."""

    @abstractmethod
    def pull_back(self, theta: FloatArray, g: FloatArray, at: Segment) -> FloatArray:
        """Jᵀ g: from natural parameters to φ. Of statistics it is the gradient."""

    @abstractmethod
    def push(self, theta: FloatArray, phi: FloatArray, at: Segment) -> FloatArray:
        """J φ: from a direction in φ to that of the natural parameters."""

    @abstractmethod
    def information(
        self, theta: FloatArray, N: FloatArray, phi: FloatArray, at: Segment
    ) -> FloatArray:
        """Curvature of statistics N in φ, times a direction."""

    # `edge`: coordinates in which a maximum on the boundary is reached, where φ runs off to ∞

    @abstractmethod
    def longest_move(self, *, edge: bool) -> float:
        """How far a coordinate may move in one step; beyond it a quadratic model says nothing."""

    def slope(
        self, theta: FloatArray, gradient: FloatArray, at: Segment, *, edge: bool
    ) -> FloatArray:
        """Turn the gradient in φ into that of the coordinates, which mostly are φ."""
        return gradient

    @abstractmethod
    def sharpness(
        self, theta: FloatArray, N: FloatArray, at: Segment, *, edge: bool = False
    ) -> FloatArray:
        """Diagonal of a metric: about that of the curvature of N; 0 where nothing moves."""

    @abstractmethod
    def moved(
        self, theta: FloatArray, move: FloatArray, at: Segment, *, edge: bool = False
    ) -> FloatArray:
        """Move the coordinates, and give the θ that they then say."""

    @abstractmethod
    def between(self, old: FloatArray, new: FloatArray, at: Segment, *, edge: bool) -> FloatArray:
        """Give the move from one θ to another."""

    @abstractmethod
    def idle(self, theta: FloatArray, v: FloatArray, at: Segment) -> FloatArray:
        """Project onto directions that change no probability, v measured in that metric."""

    @abstractmethod
    def free(self, theta: FloatArray, at: Segment) -> tuple[IntArray, IntArray]:
        """Positions of free coordinates, and of what makes up for each (itself, if nothing does).

        Ordered by configuration.
        """

    # Intervals are symmetric on a scale that has no ends, of each place by itself

    @abstractmethod
    def on_scale(self, phi: FloatArray, theta: FloatArray, at: Segment) -> FloatArray:
        """Carry changes of φ to that scale, (s, m) → (s, m)."""

    @abstractmethod
    def off_scale(self, theta: FloatArray, move: FloatArray, at: Segment) -> FloatArray:
        """Move every place on that scale, and give the θ that it is then."""

    @abstractmethod
    def scale_slope(self, theta: FloatArray, at: Segment) -> FloatArray:
        """By how much θ changes for a small step on that scale."""

    @abstractmethod
    def log_jacobian(self, theta: FloatArray, at: Segment) -> float:
        """Log |dθ/dφ| over the free coordinates."""

    @abstractmethod
    def complete_log_det(self, theta: FloatArray, N: FloatArray, at: Segment) -> float:
        """Log of the determinant of the curvature of statistics N in free φ."""


# Families whose prior is known by one integral for each configuration.


class ByIntegral(Likelihood):
    """A family that gives log ∫ exp(hyper · η) dφ: all else that is said of its prior follows."""

    @abstractmethod
    def log_integrals(self, hyper: FloatArray, at: Segment) -> FloatArray:
        """The integral of each configuration, (..., s) → (..., q)."""

    def log_prior(self, theta: FloatArray, hyper: FloatArray, at: Segment) -> float:
        """See Likelihood."""
        return self.log_constant(hyper, at) + self.log_density(self.in_theta(hyper, at), theta, at)

    def log_constant(self, hyper: FloatArray, at: Segment) -> float:
        """See Likelihood."""
        return -float(self.log_integrals(hyper, at).sum())

    def log_marginal(self, N: FloatArray, hyper: FloatArray, at: Segment) -> FloatArray:
        """See Likelihood."""
        after, before = (self.log_integrals(x, at) for x in (hyper + N, hyper))
        return at.by_variable(np.zeros(len(at.ij)), after - before)

    def log_integral(self, hyper: FloatArray, at: Segment) -> FloatArray:
        """See Likelihood."""
        return np.asarray(self.log_integrals(hyper, at).sum(axis=-1))


# √θ, the coordinates of maxima on the boundary.


def slope_of_root(theta: FloatArray, gradient: FloatArray) -> FloatArray:
    """Turn the gradient in φ = log θ into that of √θ, dφ/d√θ = 2/√θ; at 0 nothing moves."""
    slope = np.zeros_like(gradient)
    np.divide(2.0 * gradient, np.sqrt(theta), out=slope, where=theta > 0)
    return slope
