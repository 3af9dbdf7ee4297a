"""Kinds of columns: categories, or numbers with a distribution.

The default rule takes the first case that holds:

- texts, true/false and declared categories are categorical;
- whole numbers are categorical within 20 steps, or if at most 20 different ones are expected;
- up to 5 different numbers with fractions are categorical;
- whole numbers from 0 with a mean of at most 10 are counts;
- all other numbers are Gaussian.

The expected number of different values (Chao 1984, Scand. J. Statist. 11, 265–270) replaces the
observed one, so that a fold is read like the whole table. `checks` refuses identifiers and dates.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import pairwise
from typing import TypeAlias

from lacunet.errors import OptionError, did_you_mean
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.states import USUAL_BINS, Binning, BinSpec, State

MOST_NUMBERS = 20  # different whole numbers that are categories; more are measurements
DENSE = 0.3  # least share of a wide range that measurements fill
MOST_FRACTIONS = 5  # the same for numbers with fractions: doses, halves
MOST_DATES = 20  # different dates that are categories
LARGEST_MEAN = 10.0  # of counts; above, they are nearly normal
DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}([ T].*)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}")
AUTO = "auto"


class ColumnKind(StrEnum):
    """The distribution of the values of a column."""

    CATEGORICAL = "categorical"  # each state has a probability of its own
    GAUSSIAN = "gaussian"  # numbers with a mean and a variance
    LOGNORMAL = "lognormal"  # numbers above 0 whose logarithms are Gaussian
    POISSON = "poisson"  # counts with a rate
    ORDINAL = "ordinal"  # whole numbers from a lowest to a highest: ordered answers, scores

    @property
    def number(self) -> bool:
        """Whether values are numbers, not names of states."""
        return self is not ColumnKind.CATEGORICAL


@dataclass(frozen=True)
class Decision:
    """The kind of a column, and the reason."""

    kind: ColumnKind
    why: str
    bin_spec: BinSpec | None = None  # bins of its numbers, if any


@dataclass(frozen=True)
class Kinds:
    """Declared kinds and bins of columns."""

    declared: Mapping[str, ColumnKind] = field(default_factory=dict)  # by column
    other: ColumnKind | None = None  # of columns that are not declared; None: by the rule
    bins: Mapping[str, BinSpec] = field(default_factory=dict)  # columns that are put into bins
    every: int = 0  # bins of columns that are numbers by the rule; 0: they stay numbers
    ends: Mapping[str, tuple[float, float]] = field(
        default_factory=dict
    )  # range of numbers in a model
    forced: bool = False  # whether `every` is set because only categories are allowed
    wanted: frozenset[str] = frozenset()  # columns requested by name: none is an identifier

    @property
    def said(self) -> bool:
        """Whether the user declared anything."""
        return bool(self.declared or self.bins or self.every or self.other) and not self.forced

    def also(self, other: Kinds) -> Kinds:
        """Add the declarations of `other`; those of `self` take precedence."""
        declared, ends = {**other.declared, **self.declared}, {**other.ends, **self.ends}
        return replace(self, declared=declared, ends=ends, bins={**other.bins, **self.bins})

    def binned(self, binning: Binning) -> Kinds:
        """Put columns into bins."""
        for name in binning.named:
            if name in self.declared:
                raise OptionError(
                    f"column '{name}' is {self.declared[name]} in --kinds, and in bins by --bin. "
                    "Leave out one of the two."
                )
        every = binning.every or self.every
        bins = {**self.bins, **binning.named}
        return replace(self, bins=bins, every=every, forced=self.forced and not binning.every)

    @property
    def categories_alone(self) -> Kinds:
        """The same kinds, with bins for columns that the rule reads as numbers."""
        return self if self.every else replace(self, every=USUAL_BINS, forced=True)

    def may_be_number(self, name: str) -> bool:
        """Whether a column may be read as numbers."""
        free = name not in self.declared and self.other is None
        return free or self.declares_number(name)

    def declares_number(self, name: str) -> bool:
        """Whether a column is declared to hold numbers."""
        kind = self.declared.get(name, self.other)
        return name in self.bins or (kind is not None and kind.number)

    def decide(
        self, name: str, states: Sequence[State], mean: float, rows: FloatArray | None = None
    ) -> Decision:
        """Decide the kind of a column from its sorted states, and their mean if they are numbers.

        `rows` (states,) are the numbers of rows; None if rows have weights.
        """
        if name in self.bins:
            return Decision(ColumnKind.CATEGORICAL, "in bins, as declared", self.bins[name])
        declared = self.declared.get(name, self.other)
        if declared is not None:
            return Decision(declared, "as declared")
        decided = by_rule(states, mean, rows)
        if decided.kind.number and self.every:
            return Decision(ColumnKind.CATEGORICAL, f"in bins: {decided.why}", self.every)
        return decided


def by_rule(states: Sequence[State], mean: float, rows: FloatArray | None = None) -> Decision:
    """Decide the kind of a column without a declaration.

    >>> by_rule(range(152), 75.5).kind.value, by_rule((0.5, 1.0, 1.5), 1.0).kind.value
    ('gaussian', 'categorical')
    """
    if not states or isinstance(states[0], str | bool):
        return Decision(ColumnKind.CATEGORICAL, "not numbers")
    low = states[0]
    fractions = isinstance(low, float)
    many = f"{len(states):,} different numbers{' with fractions' if fractions else ''}"
    if _are_few(states, rows):
        return Decision(ColumnKind.CATEGORICAL, many if len(states) > 1 else "one number")
    if not fractions and rows is not None and len(states) <= MOST_NUMBERS:
        many = f"{many} in {int(rows.sum()):,} rows, more expected"
    if not fractions and low >= 0 and mean <= LARGEST_MEAN:
        return Decision(ColumnKind.POISSON, f"{many}, whole, from {low}, mean {mean:.3g}")
    return Decision(ColumnKind.GAUSSIAN, many)


def _are_few(states: Sequence[State], rows: FloatArray | None) -> bool:
    """Whether different numbers, in order, are few enough to be categories."""
    if isinstance(states[0], float):  # with fractions
        each_once = rows is not None and len(states) > 2 and bool((rows == 1).all())
        return len(states) <= MOST_FRACTIONS and not each_once
    steps = steps_of(states)
    if steps < MOST_NUMBERS:
        return True
    if rows is None:
        return len(states) <= MOST_NUMBERS
    # Measurements fill most of a wide range; codes leave gaps.
    return len(states) < DENSE * steps and different_in_all(rows) <= MOST_NUMBERS


def different_in_all(rows: FloatArray) -> float:
    """Estimate the number of different values (Chao 1984) from observed counts, (values,).

    >>> import numpy as np
    >>> different_in_all(np.array([3.0, 2.0, 4.0])), different_in_all(np.ones(8))
    (3.0, 36.0)
    """
    seen = rows[rows > 0]
    once, twice = float((seen == 1).sum()), float((seen == 2).sum())
    return len(seen) + once * (once - 1.0) / (2.0 * (twice + 1.0))


def steps_of(states: Sequence[State]) -> int:
    """Count the steps from the lowest to the highest of sorted distinct whole numbers.

    A step is the greatest common divisor of their differences.

    >>> steps_of((1, 2, 5)), steps_of((10, 20, 50)), steps_of((3,))
    (4, 4, 0)
    """
    whole = [int(x) for x in states]
    step = math.gcd(*(b - a for a, b in pairwise(whole)))
    return (whole[-1] - whole[0]) // step if step else 0


BY_RULE = Kinds()  # nothing is declared
KindsLike: TypeAlias = Kinds | str | Mapping[str, str] | None


def understand_kinds(kinds: KindsLike) -> Kinds:
    """Parse kinds: NAME=KIND with commas between, or one KIND for all columns.

    >>> understand_kinds("auto,visits=poisson").declared["visits"].value
    'poisson'
    >>> understand_kinds("categorical").other.value
    'categorical'
    """
    if kinds is None or isinstance(kinds, Kinds):
        return kinds or BY_RULE
    if isinstance(kinds, Mapping):
        return Kinds({name: _kind(name, kind) for name, kind in kinds.items()})
    other, declared = None, dict[str, ColumnKind]()
    for part in filter(None, (p.strip() for p in kinds.split(","))):
        name, mark, kind = part.rpartition("=")
        if mark:
            declared[name.strip()] = _kind(name.strip(), kind.strip())
        elif part in list(ColumnKind):
            other = ColumnKind(part)
        elif part != AUTO:
            raise OptionError(
                f"kinds: '{part}' is not understood. Give NAME=KIND, one kind for all columns, or "
                "auto."
            )
    return Kinds(declared, other)


def _kind(name: str, kind: str) -> ColumnKind:
    allowed = [k.value for k in ColumnKind]
    if kind not in allowed:
        raise OptionError(
            f"kinds: '{kind}' of column '{name}' is not known.{did_you_mean(kind, allowed)} "
            f"Choose from {', '.join(allowed)}."
        )
    return ColumnKind(kind)


def looks_like_dates(states: Sequence[State]) -> bool:
    """Whether all states are dates."""
    return all(isinstance(s, str) and DATE.fullmatch(s) for s in states)
