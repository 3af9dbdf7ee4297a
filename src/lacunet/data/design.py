"""Sampling designs of surveys: strata, primary sampling units, and weights.

Clustering reduces the information of a sample, and stratification increases it. Weights are
frequencies, or survey weights scaled to the effective sample size. Equal rows are merged, so a
design holds the weight of each distinct row in each unit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Self, TypeAlias

import numpy as np

from lacunet.data.distinct import firsts
from lacunet.errors import DataError
from lacunet.flags import Flag, Kind
from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray
from lacunet.tabular import Documented
from lacunet.wording import clusters_words

SAME_SUM = 5e-4  # relative: weights whose sum is this near the number of rows are scaled to it
MOST_CASES = 1e12  # whose log probabilities are still accurate to 0.01 nat


@dataclass(frozen=True, eq=False)
class SamplingDesign(Documented):
    """Primary sampling units, their strata, and the weight of each distinct row in each unit.

    Without clusters every row is a unit; equal units are stored once, with their number.
    """

    KEYS = "units degrees people alone strata=number_of_strata columns"

    row: IntArray  # (e,) distinct row of the table
    unit: IntArray  # (e,) unit of the row, 0 .. u - 1
    weight: FloatArray  # (e,) cases of the row in one copy of the unit
    stratum: IntArray  # (u,) stratum of each unit, 0 .. s - 1; every stratum has 2 units or more
    copies: IntArray  # (u,) number of equal units
    people: float  # number of respondents
    strata: str | None = None  # name of the column, if there is one
    clusters: tuple[str, ...] = ()  # names of the columns that identify units
    alone: int = 0  # number of single-unit strata that were merged

    @property
    def units(self) -> int:
        """The number of primary sampling units."""
        return int(self.copies.sum())

    @property
    def number_of_strata(self) -> int:
        """The number of strata; 1 if none are named."""
        return int(self.stratum.max()) + 1

    @property
    def degrees(self) -> int:
        """Degrees of freedom: units less strata."""
        return self.units - self.number_of_strata

    @property
    def columns(self) -> dict[str, Any]:
        """The names of the columns of strata and clusters."""
        return {"strata": self.strata, "clusters": list(self.clusters)}

    @property
    def declared(self) -> bool:
        """Whether strata or clusters are named, and not weights alone."""
        return self.strata is not None or bool(self.clusters)

    @property
    def flags(self) -> tuple[Flag, ...]:
        """Warn that evidence and tests ignore the design; nothing for a simple random sample."""
        if not self.declared:
            return ()
        what = "units in strata" if self.strata is not None else "units"
        detail: dict[str, str | float] = {"units": self.units, "people": self.people, "what": what}
        return (Flag(Kind.ROWS_AS_INDEPENDENT, detail=detail),)

    def counts(self, times: FloatArray, rows: int) -> FloatArray:
        """Sum the cases of each distinct row, with units reweighted by `times`, (u,)."""
        weight = self.weight * times[self.unit]
        return np.bincount(self.row, weight, minlength=rows).astype(np.float64, copy=False)

    def moved(self, places: IntArray) -> Self:
        """Give the design of a table whose distinct row r has moved to places[r]."""
        cluster = self.unit if self.clusters else None
        entries = (self.weight, self.stratum[self.unit], self.copies[self.unit])
        row, unit, weight, stratum, copies = _arranged(places[self.row], cluster, *entries)
        return replace(self, row=row, unit=unit, weight=weight, stratum=stratum, copies=copies)

    def only(self, selected: BoolArray, share: float) -> Self:
        """Give the design of the `selected` distinct rows, which have this share of the cases.

        All units stay, because the number of kept rows in a unit is random.
        """
        entries = selected[self.row]
        row = (np.cumsum(selected) - 1)[self.row[entries]]
        unit, weight = self.unit[entries], self.weight[entries]
        return replace(self, row=row, unit=unit, weight=weight, people=self.people * share)

    def __str__(self) -> str:
        clusters = " and ".join(f"'{name}'" for name in self.clusters)
        what = f"{self.units:,} units" + (f" ({clusters})" if clusters else ", a row each")
        s = self.number_of_strata
        strata = f" in {s:,} strata ('{self.strata}')" if self.strata is not None else ""
        if self.alone:
            were = f"{self.alone:,} strata of one unit were joined"
            one = "1 stratum of one unit was joined with the smallest other one"
            strata += f"; {one if self.alone == 1 else were}"
        return f"{what}{strata}, {self.degrees:,} degrees of freedom"


def sampling_design(
    row: IntArray,
    weight: FloatArray,
    copies: IntArray,
    stratum: IntArray | None = None,
    cluster: IntArray | None = None,
    *,
    people: float,
    strata: str | None = None,
    clusters: Sequence[str] = (),
) -> SamplingDesign:
    """Make the design of rows, given their distinct rows in a table and their weights in cases.

    Strata and clusters are numbered from 0, independently of the order of the rows.

    >>> row, ones, pairs = np.arange(4), np.ones(4, int), np.array([0, 0, 1, 1])
    >>> design = sampling_design(row, 1.0 * ones, ones, cluster=pairs, people=4)
    >>> design.units, design.degrees
    (2, 1)
    """
    stratum = np.zeros(len(row), np.int64) if stratum is None else stratum
    row, unit, weight, stratum, copies = _arranged(row, cluster, weight, stratum, copies)
    stratum, alone = _merge_small_strata(stratum, copies)
    names = strata, tuple(clusters)
    return SamplingDesign(row, unit, weight, stratum, copies, people, *names, alone)


def _arranged(
    row: IntArray, cluster: IntArray | None, weight: FloatArray, stratum: IntArray, copies: IntArray
) -> tuple[IntArray, IntArray, FloatArray, IntArray, IntArray]:
    """Sort entries, merge equal ones, and number the units."""
    if cluster is None:  # each row is a unit; equal ones are stored once
        order = np.lexsort((weight, stratum, row))
        first = np.flatnonzero(firsts(len(row), (x[order] for x in (row, stratum, weight))))
        alike: IntArray = np.add.reduceat(copies[order], first)
        selected = order[first]
        units: IntArray = np.arange(len(selected), dtype=np.int64)
        return row[selected], units, weight[selected], stratum[selected], alike
    order = np.lexsort((weight, cluster, row))
    first = np.flatnonzero(firsts(len(row), (x[order] for x in (row, cluster))))
    cases: FloatArray = np.add.reduceat((weight * copies)[order], first)
    different, at = np.unique(cluster, return_index=True)
    units = np.searchsorted(different, cluster[order[first]]).astype(np.int64, copy=False)
    return row[order[first]], units, cases, stratum[at], np.ones(len(different), np.int64)


def _merge_small_strata(stratum: IntArray, copies: IntArray) -> tuple[IntArray, int]:
    """Merge strata of one unit, which have no variance estimate, and renumber strata.

    Several become one stratum; a single one joins the smallest of the others. Both are
    conservative.
    """
    _, stratum = np.unique(stratum, return_inverse=True)
    units = np.bincount(stratum, copies)
    if units.sum() < 2:
        raise DataError(
            "the whole sample is one unit, so the variance between units is unknown. Give "
            "clusters of which "
            "there are several (--clusters), or leave the design out."
        )
    alone = np.flatnonzero(units == 1)
    if not len(alone):
        return stratum, 0
    others = np.where(units == 1, np.inf, units)
    into = alone[0] if len(alone) > 1 else int(np.argmin(others))
    joined = np.where(np.isin(stratum, alone), into, stratum)
    return np.unique(joined, return_inverse=True)[1], len(alone)


def flags_of(design: SamplingDesign | None) -> tuple[Flag, ...]:
    """Give the flags of a design, if there is one."""
    return () if design is None else design.flags


class WeightsAs(StrEnum):
    """Interpretation of weights."""

    AUTO = "auto"  # frequency if all of them are whole numbers, else survey
    FREQUENCY = "frequency"
    SURVEY = "survey"


@dataclass(frozen=True)
class SurveyWeights(Documented):
    """Sums of survey weights, and their effective sample size."""

    KEYS = "rows total effective design_effect"

    rows: int  # with a weight above 0
    total: float  # sum of the given weights
    effective: float  # (Σw)²/Σw², at most `rows`: what they are scaled to sum to

    @property
    def design_effect(self) -> float:
        """Variance inflation by unequal weights (Kish): rows / effective.

        >>> SurveyWeights(rows=742, total=1e6, effective=412.0).design_effect
        1.800...
        """
        return self.rows / self.effective

    @property
    def scale(self) -> float:
        """The factor that turns weights into cases."""
        return self.effective / self.total

    @property
    def sum_words(self) -> str:
        """A note if the weights do not sum to the number of rows; "" if they do."""
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


def question_counts(weight: FloatArray, copies: IntArray) -> str | None:
    """Warn of weights that are taken as counts but look scaled.

    Counts with a common divisor, and counts that are not whole, probably come from scaling.
    Standard errors, intervals and evidence then assume a wrong number of cases.

    >>> question_counts(np.array([20.0, 10.0]), np.array([1, 1]))
    'weights are taken as counts of copies: 2 rows are 30 cases, and standard errors and evidence
    are those of so many. But every weight is a multiple of 10. ...
    >>> question_counts(np.array([2.0, 1.0]), np.array([1, 1]))
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
        f"standard errors and evidence are those of so many. But {why}. If the sample has fewer "
        "people, give --weights-as survey."
    )


def is_survey(weight: FloatArray, weights_as: WeightsAs) -> bool:
    """Whether weights are survey weights."""
    if weights_as is not WeightsAs.AUTO:
        return weights_as is WeightsAs.SURVEY
    return not bool((weight == np.round(weight)).all())


def as_cases(
    weight: FloatArray, copies: IntArray, weights_as: WeightsAs
) -> tuple[FloatArray, SurveyWeights | None]:
    """Turn weights into cases per row, and summarise survey weights.

    Each weight applies to `copies` rows; at least one is positive.

    >>> as_cases(np.array([2.0, 1.0]), np.array([1, 1]), WeightsAs.AUTO)
    (array([2., 1.]), None)
    >>> cases, survey = as_cases(np.array([0.3, 0.1]), np.array([1, 1]), WeightsAs.AUTO)
    >>> cases.round(3).tolist(), round(survey.effective, 3), survey.rows
    ([1.2, 0.4], 1.6, 2)
    """
    if not is_survey(weight, weights_as):
        return weight, None
    # Relative weights: equal ones are 1 exactly. Exact sums: the order of the rows changes nothing.
    largest = float(weight.max())
    relative = weight / largest
    total, squares = math.fsum(relative * copies), math.fsum(relative**2 * copies)
    rows = int(copies[weight > 0].sum())
    survey = SurveyWeights(rows, total * largest, total**2 / squares)
    return relative * (total / squares), survey


Clusters: TypeAlias = str | Sequence[str] | None


@dataclass(frozen=True)
class DesignColumns:
    """Columns of the sampling design, which are never items."""

    strata: str | None = None
    clusters: tuple[str, ...] = ()  # several together identify a unit

    @classmethod
    def of(cls, strata: str | None, clusters: Clusters) -> Self:
        """Make it of user input: one cluster column may be a plain text."""
        return cls(strata, (clusters,) if isinstance(clusters, str) else tuple(clusters or ()))

    @property
    def names(self) -> list[str]:
        """The columns, each once."""
        strata = () if self.strata is None else (self.strata,)
        return list(dict.fromkeys([*strata, *self.clusters]))


NO_DESIGN = DesignColumns()


def design_of_codes(
    columns: DesignColumns,
    codes: Mapping[str, IntArray],
    texts: Mapping[str, Sequence[str]],
    row: IntArray,
    cases: FloatArray,
    copies: IntArray,
    people: float,
) -> SamplingDesign:
    """Make the design of rows from the codes, (rows,), of the design columns.

    `row` gives the distinct row of each, `cases` its weight, and `texts` the labels of codes.
    """
    stratum = None if columns.strata is None else codes[columns.strata]
    cluster = None
    if columns.clusters:
        each = np.stack([codes[name] for name in columns.clusters], axis=1)
        units, cluster = np.unique(each, axis=0, return_inverse=True)
        cluster = cluster.reshape(-1)
        if stratum is not None:
            _check_nested(columns, units, cluster, stratum, texts)
    rows = row, cases, copies, stratum, cluster
    return sampling_design(*rows, people=people, strata=columns.strata, clusters=columns.clusters)


def _check_nested(
    columns: DesignColumns,
    units: IntArray,
    cluster: IntArray,
    stratum: IntArray,
    texts: Mapping[str, Sequence[str]],
) -> None:
    """Refuse a unit that lies in two strata."""
    lowest = np.full(len(units), np.iinfo(np.int64).max)
    highest = np.full(len(units), -1)
    np.minimum.at(lowest, cluster, stratum)
    np.maximum.at(highest, cluster, stratum)
    twice = np.flatnonzero(lowest != highest)
    if not len(twice):
        return
    u, (strata, clusters) = int(twice[0]), (columns.strata or "", columns.clusters)
    unit = ", ".join(f"{n} {texts[n][k]!r}" for n, k in zip(clusters, units[u], strict=True))
    both = " and ".join(repr(texts[strata][k]) for k in (lowest[u], highest[u]))
    raise DataError(
        f"{unit} is in more than one stratum of {strata!r}: {both} ({len(twice):,} "
        "units are). A unit is drawn from one stratum. If numbers of units begin anew in each "
        f"stratum, both columns tell a unit: {clusters_words((strata, *clusters))}."
    )


def missing_words(name: str, where: str) -> str:
    """Write the error for a missing cell in a design column."""
    return (
        f"column {name!r}, {where}: the cell is missing. Every row was drawn from some stratum and "
        "unit: fill it in, or leave --strata and --clusters out."
    )
