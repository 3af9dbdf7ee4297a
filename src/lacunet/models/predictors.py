"""What predicts the class of a latent class model: covariates, and the log odds that they give.

A model with predictors is asked about rows that show their covariates, and then has the class sizes
that these give (`surgery.predicted`). The class sizes among its parameters are those over the rows
that it was fitted to: what is true where nothing is known of the covariates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Self

import numpy as np
from scipy.special import softmax

from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.states import Bins, State, label

INTERCEPT = "(intercept)"


@dataclass(frozen=True)
class Covariate:
    """One covariate, and how its values become columns of numbers: one, or one for each state."""

    name: str  # of its column
    centre: float = 0.0  # of a number, in the rows that were learned from
    scale: float = 1.0  # its standard deviation there
    states: tuple[State, ...] = ()  # of categories; (): it is a number
    shown: tuple[int, ...] = ()  # states that these rows showed, the reference first
    bins: Bins | None = None  # of numbers that the states stand for, if they are bins

    @property
    def number(self) -> bool:
        """Whether it is a number."""
        return not self.states

    @property
    def labels(self) -> tuple[str, ...]:
        """Texts of the states that were shown, the reference first."""
        return tuple(label(self.states[k]) for k in self.shown)

    @property
    def titles(self) -> tuple[str, ...]:
        """What its columns are."""
        if self.number:
            return (self.name,)
        return tuple(f"{self.name} = {text}" for text in self.labels[1:])

    def columns(self, values: Sequence[State]) -> FloatArray:
        """(values, columns) what values are as columns; NaN of a state that was never shown."""
        if self.number:
            return (np.array(values, dtype=np.float64)[:, None] - self.centre) / self.scale
        each = dict(zip(self.labels, _contrasts(len(self.shown)), strict=True))
        unknown = np.full(len(self.shown) - 1, np.nan)
        return np.array([each.get(label(value), unknown) for value in values]).reshape(
            len(values), -1
        )


def _contrasts(states: int) -> FloatArray:
    """(states, states − 1) of states against the first."""
    return np.eye(states)[:, 1:]


@dataclass(frozen=True, eq=False)
class Covariates:
    """Several covariates as columns of a design, behind that of the intercept."""

    covariates: tuple[Covariate, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of a table."""
        return tuple(covariate.name for covariate in self.covariates)

    @property
    def titles(self) -> tuple[str, ...]:
        """What the columns of the design are."""
        return (INTERCEPT, *(title for one in self.covariates for title in one.titles))

    @property
    def places(self) -> list[slice]:
        """Where the columns of each covariate are."""
        ends = np.cumsum([1, *(len(one.titles) for one in self.covariates)]).tolist()
        return [slice(a, b) for a, b in pairwise(ends)]

    @property
    def named_places(self) -> tuple[tuple[str, slice], ...]:
        """The same, with their names."""
        return tuple(zip(self.names, self.places, strict=True))

    @cached_property
    def to_units(self) -> FloatArray:
        """(p, p) from coefficients of standardised columns to those of the columns as given."""
        units = np.eye(len(self.titles))
        for one, place in zip(self.covariates, self.places, strict=True):
            units[place, place] /= one.scale
            units[0, place] -= one.centre / one.scale
        return units


@dataclass(frozen=True, eq=False)
class Predictors(Covariates):
    """The log odds of classes, linear in covariates: those of the first class are 0."""

    variable: str  # whose states the classes are
    coefficients: FloatArray  # (K, p) of standardised columns: the estimate
    asked: FloatArray  # (K, p) those that rows are asked with: at the mode of all parameters
    coefficient_sd: float  # of the prior: see `Settings.coefficient_sd`

    @property
    def predictive(self) -> Self:
        """The same for whoever asks about rows."""
        return replace(self, coefficients=self.asked)

    @property
    def in_units(self) -> FloatArray:
        """(K, p) log odds for one unit of each number, and for states against their reference."""
        return np.asarray(self.coefficients @ self.to_units.T)

    @property
    def free(self) -> int:
        """How many coefficients vary."""
        return (len(self.coefficients) - 1) * len(self.titles)

    def sizes(self, matrix: FloatArray) -> FloatArray:
        """(patterns, K) probability of each class, by a design (patterns, p)."""
        return np.asarray(softmax(matrix @ self.coefficients.T, axis=1))

    def renumbered(self, order: Sequence[int]) -> Self:
        """Give the new class k what the old class order[k] had."""
        each = (x[list(order)] for x in (self.coefficients, self.asked))
        coefficients, asked = (x - x[0] for x in each)
        return replace(self, coefficients=coefficients, asked=asked)
