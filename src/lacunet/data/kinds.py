"""What the values of a column are: categories, or numbers of some kind.

The rule of `auto`, from the first that holds:

1. texts, true/false and declared categories are categories;
2. dates, and whole numbers of which every row has its own, are nothing that classes differ in;
3. up to 20 different numbers are categories;
4. whole numbers from 0 with a mean of at most 10 are counts;
5. all other numbers have a normal distribution.

Arrays and dataframes know numbers with fractions from whole ones. There (`fractions`) the former
have a normal distribution, however few they are, and all else are categories.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from lacunet.errors import OptionError, did_you_mean
from lacunet.state import State

MOST_NUMBERS = 20  # different numbers that are categories; beyond that they are measurements
LARGEST_MEAN = 10.0  # of whole numbers that are taken for counts; above, they have a normal shape
DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}([ T].*)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}")
AUTO = "auto"


class ColumnKind(StrEnum):
    """What the values of a column are."""

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
    """What a column is read as, and why."""

    kind: ColumnKind
    why: str


@dataclass(frozen=True)
class Kinds:
    """What is said of the kinds of columns."""

    declared: Mapping[str, ColumnKind] = field(default_factory=dict)  # by column
    auto: bool = False  # whether other columns of numbers may be numbers
    fractions: bool = False  # whether other columns with fractions are numbers
    ends: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # of numbers of a model

    @property
    def said(self) -> bool:
        """Whether anything was."""
        return self.auto or bool(self.declared)

    def also(self, other: Kinds) -> Kinds:
        """Say more, where nothing was said."""
        declared, ends = {**other.declared, **self.declared}, {**other.ends, **self.ends}
        return Kinds(declared, self.auto, self.fractions, ends)

    def may_be_number(self, name: str) -> bool:
        """Whether a column may turn out to hold numbers."""
        by_rule = self.auto or self.fractions
        return self.declares_number(name) or (by_rule and name not in self.declared)

    def declares_number(self, name: str) -> bool:
        """Whether a column is said to hold numbers."""
        return self.declared.get(name, ColumnKind.CATEGORICAL).number

    def decide(self, name: str, states: Sequence[State], mean: float) -> Decision:
        """Say what a column is whose states are these, in order, with this mean if numbers."""
        if name in self.declared:
            return Decision(self.declared[name], "as declared")
        if self.fractions and len(states) > 1 and isinstance(states[0], float):
            return Decision(ColumnKind.GAUSSIAN, "numbers with fractions")
        if not self.auto:
            return Decision(ColumnKind.CATEGORICAL, "no kind was declared" if self.said else "")
        if not states or isinstance(states[0], str | bool):
            return Decision(ColumnKind.CATEGORICAL, "not numbers")
        if len(states) <= MOST_NUMBERS:
            return Decision(ColumnKind.CATEGORICAL, f"{len(states)} different numbers")
        many = f"{len(states):,} different numbers"
        if isinstance(states[0], int) and states[0] == 0 and mean <= LARGEST_MEAN:
            return Decision(ColumnKind.POISSON, f"{many}, whole, from 0, mean {mean:.3g}")
        return Decision(ColumnKind.GAUSSIAN, many)


CATEGORIES = Kinds()  # every column is categorical
KindsLike: TypeAlias = Kinds | str | Mapping[str, str] | None


def understand_kinds(kinds: KindsLike) -> Kinds:
    """Read what a person says of kinds: NAME=KIND with commas between, and perhaps auto.

    >>> understand_kinds("auto,visits=poisson").declared["visits"].value
    'poisson'
    """
    if kinds is None:
        return CATEGORIES
    if isinstance(kinds, Kinds):
        return kinds
    auto, pairs = False, list[tuple[str, str]]()
    if isinstance(kinds, Mapping):
        pairs = list(kinds.items())
    else:
        for part in filter(None, (p.strip() for p in kinds.split(","))):
            name, mark, kind = part.rpartition("=")
            if mark:
                pairs.append((name.strip(), kind.strip()))
            elif part == AUTO:
                auto = True
            else:
                raise OptionError(f"kinds: '{part}' is not understood. Give NAME=KIND, or auto.")
    return Kinds({name: _kind(name, kind) for name, kind in pairs}, auto)


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
