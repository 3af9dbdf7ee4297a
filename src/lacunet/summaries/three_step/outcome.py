"""An outcome by class: means or shares, their errors, and tests of whether classes differ."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.special import expit, log_softmax, logit
from scipy.stats import t as student

from lacunet.flags import Flag
from lacunet.runtime.arrays import FloatArray, IntArray
from lacunet.summaries.coefficients import WaldTest, tests_grid
from lacunet.summaries.identification import Identified, Why
from lacunet.summaries.three_step.first_step import Correction
from lacunet.tabular import (
    Columns,
    Grid,
    Printable,
    Shown,
    measured,
    number,
    probability,
    transposed,
)

EVERY = "all classes"


@dataclass(frozen=True, eq=False, repr=False)
class Outcome(Printable):
    """An outcome in each class."""

    name: str
    variable: str  # name of the classes
    classes: tuple[str, ...]  # K labels
    titles: tuple[str, ...]  # "mean", or the states of a category
    correction: Correction
    identified: Identified  # (K, c) means, or shares of the states, that exist
    equality: WaldTest  # whether all classes are alike
    pairs: tuple[WaldTest, ...]  # whether two classes are alike, for each two
    level: float  # of confidence
    cases: float  # that show the outcome
    missing: float  # cases that do not, and are left out
    degrees: float = math.inf  # of freedom of errors: units less strata of a survey
    method: str = ""  # how errors of a survey were found, in words
    number: bool = True  # whether it has means, not shares

    @property
    def estimate(self) -> FloatArray:
        """(K, c) means or shares; NaN where there is none."""
        return self.identified.estimate

    @property
    def covariance(self) -> FloatArray:
        """(K, c, K, c) of these."""
        return self.identified.covariance

    @property
    def stderr(self) -> FloatArray:
        """(K, c) standard errors, robust."""
        return self.identified.stderr

    @property
    def flags(self) -> tuple[Flag, ...]:
        """What is not given, and why."""
        of_class = [[f"{self.variable} {c}"] * len(self.titles) for c in self.classes]
        of_share = [
            [f"{title} in {self.variable} {c}" for title in self.titles] for c in self.classes
        ]
        shares = dict.fromkeys([Why.BOUNDARY, Why.NOT_IDENTIFIED], of_share)
        names = {why: shares.get(why, of_class) for why in Why}
        return tuple(self.identified.flags(names))

    @property
    def interval(self) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends, (K, c) each; of shares on the scale of logits."""
        reach = float(student.ppf((1.0 + self.level) / 2.0, self.degrees)) * self.stderr
        if self.number:
            return self.estimate - reach, self.estimate + reach
        p = self.estimate
        inside = (p > 0) & (p < 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            far = reach / (p * (1 - p))
            low, high = expit(logit(p) - far), expit(logit(p) + far)
        return np.where(inside, low, np.nan), np.where(inside, high, np.nan)

    def _rows(self) -> Iterator[tuple[str, str, float, float, float, float]]:
        low, high = self.interval
        for t, k in itertools.product(range(len(self.classes)), range(len(self.titles))):
            numbers = (x[t, k] for x in (self.estimate, self.stderr, low, high))
            yield (self.classes[t], self.titles[k], *map(float, numbers))  # type: ignore[misc]

    def tidy(self) -> Columns:
        """Give a row for each class, and state of a category."""
        names = (self.variable, "of", "estimate", "stderr", "low", "high")
        return {
            "outcome": [self.name] * self.estimate.size,
            **transposed(names, self._rows()),
            "why": [w or "" for row in self.identified.words for w in row],
        }

    def grids(self) -> Sequence[Grid]:
        """Give what `print` and notebooks show."""
        write = measured if self.number else _share
        rows = tuple(
            (
                c,
                title,
                write(x),
                measured(se) if self.number else number(se, 4),
                *map(write, ends),
            )
            for c, title, x, se, *ends in self._rows()
        )
        how = self.correction.words
        title = f"{self.name} by {self.variable} ({how}), with {100 * self.level:g} % intervals"
        left_out = f"; {self.missing:,g} without the outcome are left out" if self.missing else ""
        notes = [f"{self.cases:,g} cases{left_out}.{self.method}"]
        notes += [f"- {flag}" for flag in self.flags]
        if not self.number and (self.estimate < 0).any():
            notes.append("- negative: BCH weights can give a share below 0; ML cannot.")
        header = (self.variable, "", "estimate", "s.e.", "low", "high")
        table = Grid(title, header, rows, frozenset({0, 1}), tuple(notes))
        if len(self.classes) < 2:
            return [table]
        tests = (self.equality, *(self.pairs if len(self.classes) > 2 else ()))
        return [table, tests_grid(f"Is {self.name} the same in …? Wald tests", tests)]


def _share(x: float) -> Shown:
    """Write a share; BCH weights can give one that is none."""
    return probability(x) if np.isnan(x) or 0.0 <= x <= 1.0 else number(x, 3)


LEAST = 1e-300  # a share that is none
SPREAD = 1e-10  # of the variance of all rows: a class with less has equal values


# An outcome of m rows with b free parameters in each class, (K, b), which says:
#   values            (m, c) numbers whose means are shown: a number, or which state a row has
#   best(weights)     (K, b) maximum likelihood, where rows count (m, K) for each class
#   log_density, scores, information: (m, K) log p(y | class), its slopes (m, K, b), and the
#                     negative second derivatives of its weighted sum (K, b, b)
#   shown, slopes     (K, c) means or shares, and (K, c, b) how they change with the parameters
#   degenerate        whether the likelihood has no end at these parameters


@dataclass(frozen=True, eq=False)
class NumberOutcome:
    """A number; parameters are μ and log σ²."""

    y: FloatArray  # (m,) standardised
    titles: tuple[str, ...] = ("mean",)
    number: bool = True
    width: int = 2  # b

    @property
    def values(self) -> FloatArray:
        return self.y[:, None]

    def degenerate(self, parameters: FloatArray) -> bool:
        return bool((parameters[:, 1] <= np.log(2.0 * SPREAD)).any())

    def best(self, weights: FloatArray) -> FloatArray:
        total = weights.sum(axis=0)
        mean = self.y @ weights / total
        squares = ((self.y[:, None] - mean) ** 2 * weights).sum(axis=0) / total
        return np.column_stack([mean, np.log(np.maximum(squares, SPREAD))])

    def log_density(self, parameters: FloatArray) -> FloatArray:
        mean, log_variance = parameters.T
        squares = (self.y[:, None] - mean) ** 2 / np.exp(log_variance)
        return np.asarray(-0.5 * (squares + log_variance + np.log(2.0 * np.pi)))

    def scores(self, parameters: FloatArray) -> FloatArray:
        mean, log_variance = parameters.T
        apart, variance = self.y[:, None] - mean, np.exp(log_variance)
        return np.stack([apart / variance, 0.5 * (apart**2 / variance - 1.0)], axis=2)

    def information(self, parameters: FloatArray, weights: FloatArray) -> FloatArray:
        mean, log_variance = parameters.T
        apart, variance = self.y[:, None] - mean, np.exp(log_variance)
        both = (weights * apart).sum(axis=0) / variance
        of_variance = 0.5 * (weights * apart**2).sum(axis=0) / variance
        rows = [[weights.sum(axis=0) / variance, both], [both, of_variance]]
        return np.asarray(np.transpose(np.array(rows), (2, 0, 1)))

    def shown(self, parameters: FloatArray) -> FloatArray:
        return parameters[:, :1]

    def slopes(self, parameters: FloatArray) -> FloatArray:
        return np.tile(np.array([[[1.0, 0.0]]]), (len(parameters), 1, 1))


@dataclass(frozen=True, eq=False)
class CategoryOutcome:
    """A category; parameters are logits of its states against the first."""

    codes: IntArray  # (m,)
    titles: tuple[str, ...]  # its states
    number: bool = False

    @property
    def width(self) -> int:
        return len(self.titles) - 1

    def degenerate(self, parameters: FloatArray) -> bool:
        return False

    @property
    def values(self) -> FloatArray:
        return np.eye(len(self.titles))[self.codes]

    def best(self, weights: FloatArray) -> FloatArray:
        share = np.log(np.maximum(weights.T @ self.values, LEAST))
        return np.asarray(share[:, 1:] - share[:, :1])

    def _log_shares(self, parameters: FloatArray) -> FloatArray:
        first = np.zeros((len(parameters), 1))
        return np.asarray(log_softmax(np.hstack([first, parameters]), axis=1))

    def log_density(self, parameters: FloatArray) -> FloatArray:
        return np.asarray(self._log_shares(parameters)[:, self.codes].T)

    def scores(self, parameters: FloatArray) -> FloatArray:
        return self.values[:, None, 1:] - self.shown(parameters)[None, :, 1:]

    def information(self, parameters: FloatArray, weights: FloatArray) -> FloatArray:
        return np.asarray(weights.sum(axis=0)[:, None, None] * self.slopes(parameters)[:, 1:])

    def shown(self, parameters: FloatArray) -> FloatArray:
        return np.asarray(np.exp(self._log_shares(parameters)))

    def slopes(self, parameters: FloatArray) -> FloatArray:
        p = self.shown(parameters)
        each = np.einsum("ti,ij->tij", p, np.eye(p.shape[1]))
        return np.asarray((each - p[:, :, None] * p[:, None, :])[:, :, 1:])


OutcomeKind: TypeAlias = NumberOutcome | CategoryOutcome
