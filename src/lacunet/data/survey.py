"""Weights of rows: counts of copies, or weights of a survey, and how many cases these are worth.

A survey weight says how many people a row speaks for. It goes into a pseudo-likelihood
Π p(row|θ)^w, whose maximum is that of the population. How sure it may be is another matter: the sum
of the weights is the size of the population, which nobody asked. So weights are scaled to sum to
the effective sample size, (Σw)²/Σw² (Kish 1965): as many rows of equal weight would say as much.
"""

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from lacunet.errors import OptionError
from lacunet.runtime.arrays import FloatArray, IntArray

SAME_SUM = 5e-4  # of the rows: sums this near are those of weights that somebody scaled to them


class WeightsAs(StrEnum):
    """What weights are taken for."""

    AUTO = "auto"  # frequency if all of them are whole numbers, else survey
    FREQUENCY = "frequency"
    SURVEY = "survey"


def understand_weights(text: str) -> WeightsAs:
    """Read what weights are to be taken for."""
    if text not in list(WeightsAs):
        raise OptionError(f"weights_as '{text}' is not known. Choose from {', '.join(WeightsAs)}.")
    return WeightsAs(text)


@dataclass(frozen=True)
class SurveyWeights:
    """What the weights of a survey are worth."""

    rows: int  # with a weight above 0
    total: float  # sum of the weights, as they were given
    effective: float  # (Σw)²/Σw², at most `rows`: what they are scaled to sum to

    @property
    def design_effect(self) -> float:
        """By how much unequal weights make variances larger: rows / effective.

        >>> SurveyWeights(rows=742, total=1e6, effective=412.0).design_effect
        1.800...
        """
        return self.rows / self.effective

    @property
    def scale(self) -> float:
        """What weights are multiplied by."""
        return self.effective / self.total

    @property
    def sum_words(self) -> str:
        """Say that they do not sum to the rows, and that this changes nothing; "" if they do."""
        if abs(self.total - self.rows) <= SAME_SUM * self.rows:
            return ""
        return (
            f" They sum to {self.total:,.6g}, not to the number of rows: whatever their sum, "
            "answers are the same."
        )

    def __str__(self) -> str:
        return (
            f"survey weights, scaled to the effective sample size: {self.effective:,.4g} of "
            f"{self.rows:,} rows (design effect {self.design_effect:.2f})"
        )


def doubt_counts(weight: FloatArray, copies: IntArray) -> str | None:
    """Say how many cases weights are that are taken as counts, where they may be none.

    Counts that are all multiples of one number, or that are not whole, were made by scaling: then
    standard errors, intervals and evidence are those of a number of cases that nobody asked.

    >>> doubt_counts(np.array([20.0, 10.0]), np.array([1, 1]))
    'weights are taken as counts of copies: 2 rows are 30 cases, and standard errors and evidence
    are those of so many. But every weight is a multiple of 10. ...
    >>> doubt_counts(np.array([2.0, 1.0]), np.array([1, 1]))
    """
    weighty = weight > 0
    given, rows = weight[weighty], int(copies[weighty].sum())
    if (given == np.round(given)).all() and given.max() < 2.0**53:
        common = int(np.gcd.reduce(given.astype(np.int64)))
        why = f"every weight is a multiple of {common:,}" if common > 1 and rows > 1 else ""
    else:
        why = "they are not whole numbers"
    if not why:
        return None
    cases = math.fsum(given * copies[weighty])
    return (
        f"weights are taken as counts of copies: {rows:,} rows are {cases:,.6g} cases, and "
        f"standard errors and evidence are those of so many. But {why}. If nobody asked so many, "
        "give --weights-as survey."
    )


def is_survey(weight: FloatArray, how: WeightsAs) -> bool:
    """Whether weights are taken for those of a survey."""
    if how is not WeightsAs.AUTO:
        return how is WeightsAs.SURVEY
    return not bool((weight == np.round(weight)).all())


def as_cases(
    weight: FloatArray, copies: IntArray, how: WeightsAs
) -> tuple[FloatArray, SurveyWeights | None]:
    """Give the cases that each row counts for, and what survey weights are worth.

    Parameters
    ----------
    weight
        (rows,) weight of each row, not all of them 0.
    copies
        (rows,) rows that have it.

    Examples
    --------
    >>> as_cases(np.array([2.0, 1.0]), np.array([1, 1]), WeightsAs.AUTO)
    (array([2., 1.]), None)
    >>> cases, survey = as_cases(np.array([0.3, 0.1]), np.array([1, 1]), WeightsAs.AUTO)
    >>> cases.round(3).tolist(), round(survey.effective, 3), survey.rows
    ([1.2, 0.4], 1.6, 2)
    """
    if not is_survey(weight, how):
        return weight, None
    # Relative weights: equal ones are 1 exactly. Exact sums: the order of the rows changes nothing.
    largest = float(weight.max())
    relative = weight / largest
    total, squares = math.fsum(relative * copies), math.fsum(relative**2 * copies)
    rows = int(copies[weight > 0].sum())
    survey = SurveyWeights(rows, total * largest, total**2 / squares)
    return relative * (total / squares), survey
