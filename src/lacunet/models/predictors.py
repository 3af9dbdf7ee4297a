"""Covariates that predict the class of a latent class model, and the syntax of `--covariates`.

The class probabilities of a row follow from its covariates (`surgery.predicted`). The class sizes
among the parameters are averages over the rows that the model was fitted to.
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
    """One covariate and its coding: one standardised column, or one for each state."""

    name: str  # of its column
    centre: float = 0.0  # mean of a number in the training rows
    scale: float = 1.0  # its standard deviation there
    states: tuple[State, ...] = ()  # of categories; (): it is a number
    shown: tuple[int, ...] = ()  # states in the training rows, the reference first
    bins: Bins | None = None  # of numbers, if the states are bins

    @property
    def number(self) -> bool:
        """Whether it is a number."""
        return not self.states

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of the observed states, the reference first."""
        return tuple(label(self.states[k]) for k in self.shown)

    @property
    def titles(self) -> tuple[str, ...]:
        """Titles of its columns."""
        if self.number:
            return (self.name,)
        return tuple(f"{self.name} = {text}" for text in self.labels[1:])

    def columns(self, values: Sequence[State]) -> FloatArray:
        """Coded values, (values, columns); NaN for a state that was not observed."""
        if self.number:
            return (np.array(values, dtype=np.float64)[:, None] - self.centre) / self.scale
        contrasts = np.eye(len(self.shown))[:, 1:]  # against the first state
        each = dict(zip(self.labels, contrasts, strict=True))
        unknown = np.full(len(self.shown) - 1, np.nan)
        rows = [each.get(label(value), unknown) for value in values]
        return np.array(rows).reshape(len(values), -1)


@dataclass(frozen=True, eq=False)
class Covariates:
    """Covariates as columns of a design matrix, after the intercept."""

    covariates: tuple[Covariate, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns of the table."""
        return tuple(covariate.name for covariate in self.covariates)

    @property
    def titles(self) -> tuple[str, ...]:
        """Titles of the columns of the design."""
        return (INTERCEPT, *(title for one in self.covariates for title in one.titles))

    @property
    def places(self) -> list[slice]:
        """Slice of the columns of each covariate."""
        ends = np.cumsum([1, *(len(one.titles) for one in self.covariates)]).tolist()
        return [slice(a, b) for a, b in pairwise(ends)]

    @property
    def named_places(self) -> tuple[tuple[str, slice], ...]:
        """Name and slice of each covariate."""
        return tuple(zip(self.names, self.places, strict=True))

    @cached_property
    def to_units(self) -> FloatArray:
        """(p, p) matrix from standardised to original units of coefficients."""
        units = np.eye(len(self.titles))
        for one, place in zip(self.covariates, self.places, strict=True):
            units[place, place] /= one.scale
            units[0, place] -= one.centre / one.scale
        return units


@dataclass(frozen=True, eq=False)
class Predictors(Covariates):
    """Multinomial logit of classes on covariates; the first class has coefficients 0."""

    variable: str  # the class variable
    coefficients: FloatArray  # (K, p) of standardised columns: the estimate
    at_joint_mode: FloatArray  # (K, p) those of predictions: at the joint mode of all parameters
    coefficient_sd: float  # of the prior: see `Settings.coefficient_sd`

    @property
    def predictive(self) -> Self:
        """The predictors with the coefficients of posterior predictive queries."""
        return replace(self, coefficients=self.at_joint_mode)

    @property
    def in_units(self) -> FloatArray:
        """(K, p) log odds per original unit, and for states against their reference."""
        return np.asarray(self.coefficients @ self.to_units.T)

    @property
    def free(self) -> int:
        """Number of free coefficients."""
        return (len(self.coefficients) - 1) * len(self.titles)

    def sizes(self, matrix: FloatArray) -> FloatArray:
        """Class probabilities (patterns, K) of a design (patterns, p)."""
        return np.asarray(softmax(matrix @ self.coefficients.T, axis=1))

    def renumbered(self, order: Sequence[int]) -> Self:
        """Renumber classes: the new class k is the old class order[k]."""
        each = (x[list(order)] for x in (self.coefficients, self.at_joint_mode))
        coefficients, at_joint_mode = (x - x[0] for x in each)
        return replace(self, coefficients=coefficients, at_joint_mode=at_joint_mode)


CovariatesLike: TypeAlias = str | Sequence[str]

CATEGORIES = re.compile(r"C\(\s*(?P<name>.+?)\s*(?:,\s*ref(?:erence)?\s*=\s*(?P<ref>.+?)\s*)?\)")
OUTSIDE = r"(?![^(]*\))"  # of parentheses
ARITHMETIC = re.compile(r"[*:^|()]|\*\*|^-|^0$")


@dataclass(frozen=True)
class CovariateTerm:
    """One covariate as the user names it."""

    name: str  # of its column
    categories: bool = False  # whether its values are categories, even if they are numbers
    reference: str | None = None  # reference state; None: the first


def understand_terms(given: CovariatesLike, names: Sequence[str]) -> tuple[CovariateTerm, ...]:
    """Parse covariates; a text equal to a column name in `names` is that column.

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
    """Split a text at the signs of a formula or at commas."""
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
    """Parse one covariate."""
    if text in names:
        return CovariateTerm(text)
    if match := CATEGORIES.fullmatch(text):
        reference = match["ref"]
        return CovariateTerm(match["name"], True, reference and reference.strip("'\""))
    if ARITHMETIC.search(text):
        raise OptionError(
            f"--covariates: '{text}' is more than the name of a column. Names and C(name) are "
            "understood; for products, powers and logarithms put a column into the table."
        )
    return CovariateTerm(text)  # the table reader reports a missing column
