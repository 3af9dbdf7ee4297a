"""Covariates that predict the class of a latent class model, and how a person names them.

Rows that show their covariates have the class sizes that these give (`surgery.predicted`); the
class sizes among the parameters are those over the rows that the model was fitted to.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Self, TypeAlias

import numpy as np
from scipy.special import softmax

from lacunet.errors import OptionError
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
        contrasts = np.eye(len(self.shown))[:, 1:]  # of states against the first
        each = dict(zip(self.labels, contrasts, strict=True))
        unknown = np.full(len(self.shown) - 1, np.nan)
        rows = [each.get(label(value), unknown) for value in values]
        return np.array(rows).reshape(len(values), -1)


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
        """The same with the coefficients for posterior predictive queries."""
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


CovariatesLike: TypeAlias = str | Sequence[str]

CATEGORIES = re.compile(r"C\(\s*(?P<name>.+?)\s*(?:,\s*ref(?:erence)?\s*=\s*(?P<ref>.+?)\s*)?\)")
OUTSIDE = r"(?![^(]*\))"  # of parentheses
ARITHMETIC = re.compile(r"[*:^|()]|\*\*|^-|^0$")


@dataclass(frozen=True)
class CovariateTerm:
    """One covariate."""

    name: str  # of its column
    categories: bool = False  # whether its values are names of states, even if they are numbers
    reference: str | None = None  # state that the others are held against; None: the first


def understand_terms(given: CovariatesLike, names: Sequence[str]) -> tuple[CovariateTerm, ...]:
    """Read covariates; a text that is one of `names`, those of the columns, is taken whole.

    >>> understand_terms("~ age + C(region, ref=North)", ["age", "region"])[1].reference
    'North'
    >>> [term.name for term in understand_terms("age, sex", ["age", "sex"])]
    ['age', 'sex']
    """
    texts = _parts(given, names) if isinstance(given, str) else [str(part) for part in given]
    terms = tuple(_term(text.strip(), names) for text in texts if text.strip() != "1")
    twice = next((name for name, n in Counter(t.name for t in terms).items() if n > 1), None)
    if twice is not None:
        raise OptionError(f"--covariates names '{twice}' twice. Name it once.")
    return terms


def _parts(text: str, names: Sequence[str]) -> list[str]:
    """Take a text apart, at the signs of a formula or at commas."""
    if text.strip() in names:
        return [text]
    formula = text.strip().startswith("~")
    sign = r"\+" if formula else ","
    parts = re.split(f"{sign}{OUTSIDE}", text.strip().removeprefix("~"))
    if any(not part.strip() for part in parts):
        raise OptionError(
            f"--covariates '{text}' is not understood. Give names with commas between, or a "
            "formula as '~ age + C(region)'; '~ 1' is none at all."
        )
    return parts


def _term(text: str, names: Sequence[str]) -> CovariateTerm:
    """Read one covariate."""
    if text in names:
        return CovariateTerm(text)
    if found := CATEGORIES.fullmatch(text):
        reference = found["ref"]
        return CovariateTerm(found["name"], True, reference and reference.strip("'\""))
    if ARITHMETIC.search(text):
        raise OptionError(
            f"--covariates: '{text}' is more than the name of a column. Names and C(name) are "
            "understood; for products, powers and logarithms put a column into the table."
        )
    return CovariateTerm(text)  # the reader of the table says that it has no such column
