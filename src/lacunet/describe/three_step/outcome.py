"""An outcome by class: means or shares, their errors, and tests of whether classes differ."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit
from scipy.stats import t as student

from lacunet.arrays import FloatArray
from lacunet.describe.regression.coefficients import WaldTest, tests_grid, wald
from lacunet.describe.three_step.assigned import Correction
from lacunet.tabular import Columns, Grid, Printable, measured, number, probability, transposed

EVERY = "all classes"


@dataclass(frozen=True, eq=False, repr=False)
class Outcome(Printable):
    """An outcome in each class."""

    name: str
    variable: str  # name of the classes
    classes: tuple[str, ...]  # K labels
    titles: tuple[str, ...]  # "mean", or the states of a category
    correction: Correction
    estimate: FloatArray  # (K, c) means, or shares of the states
    covariance: FloatArray  # (K, c, K, c)
    level: float  # of confidence
    cases: float  # that show the outcome
    missing: float  # cases that do not, and are left out
    degrees: float = math.inf  # of freedom of errors: units less strata of a survey
    method: str = ""  # how errors of a survey were found, in words

    @property
    def categorical(self) -> bool:
        """Whether shares are told, not means."""
        return self.titles != ("mean",)

    @property
    def stderr(self) -> FloatArray:
        """(K, c) standard errors, robust."""
        K, c = self.estimate.shape
        flat = self.covariance.reshape(K * c, K * c).diagonal()
        return np.asarray(np.sqrt(np.maximum(flat, 0.0)).reshape(K, c))

    @property
    def interval(self) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends, (K, c) each; of shares on the scale of logits."""
        reach = float(student.ppf((1.0 + self.level) / 2.0, self.degrees)) * self.stderr
        if not self.categorical:
            return self.estimate - reach, self.estimate + reach
        p = self.estimate
        inside = (p > 0) & (p < 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            far = reach / (p * (1 - p))
            low, high = expit(logit(p) - far), expit(logit(p) + far)
        return np.where(inside, low, np.nan), np.where(inside, high, np.nan)

    @property
    def equality(self) -> WaldTest:
        """Test whether all classes are alike."""
        return self._test(EVERY, range(len(self.classes)))

    @property
    def pairs(self) -> tuple[WaldTest, ...]:
        """Test whether two classes are alike, for each two."""
        return tuple(
            self._test(f"{self.classes[a]} and {self.classes[b]}", (a, b))
            for a, b in itertools.combinations(range(len(self.classes)), 2)
        )

    def _test(self, name: str, which: Sequence[int]) -> WaldTest:
        """Test whether some classes are alike: differences from the first of them are 0."""
        free = slice(1, None) if self.categorical else slice(None)  # shares add up to 1
        first, *others = which
        turn = np.zeros((len(others), len(self.classes)))
        turn[np.arange(len(others)), others] = 1.0
        turn[:, first] = -1.0
        values = (turn @ self.estimate[:, free]).reshape(-1)
        own = self.covariance[:, free, :, free]
        V = np.einsum("at,tpuq,bu->apbq", turn, own, turn).reshape(len(values), -1)
        return wald(name, values, V, self.degrees)

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
        }

    def grids(self) -> Sequence[Grid]:
        """Give what `print` and notebooks show."""
        shown = probability if self.categorical else measured
        rows = tuple(
            (
                c,
                title,
                shown(x),
                number(se, 4) if self.categorical else measured(se),
                *map(_end, ends),
            )
            for c, title, x, se, *ends in self._rows()
        )
        how = self.correction.words
        title = f"{self.name} by {self.variable} ({how}), with {100 * self.level:g} % intervals"
        left_out = f"; {self.missing:,g} without the outcome are left out" if self.missing else ""
        notes = [f"{self.cases:,g} cases{left_out}.{self.method}"]
        if self.categorical and (self.estimate < 0).any():
            notes.append("- negative: BCH weights can give a share below 0; ML cannot.")
        header = (self.variable, "", "estimate", "s.e.", "low", "high")
        tests = (self.equality, *(self.pairs if len(self.classes) > 2 else ()))
        return [
            Grid(title, header, rows, frozenset({0, 1}), tuple(notes)),
            tests_grid(f"Is {self.name} the same in …? Wald tests", tests),
        ]


def _end(x: float) -> str:
    return number(x) if np.isnan(x) else measured(x)
