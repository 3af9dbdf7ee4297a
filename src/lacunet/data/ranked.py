"""Ordered answers that have names: the numbers behind the names, where they are read as numbers.

Files of SPSS and Stata have a code behind each label; declared categories have an order.

The column that says which group a row belongs to: what it must be like.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from lacunet.data.audit import Remark
from lacunet.data.discover import number_of
from lacunet.data.kinds import ColumnKind, Kinds
from lacunet.data.source import Source
from lacunet.data.table import Table
from lacunet.errors import DataError
from lacunet.runtime.arrays import BoolArray
from lacunet.runtime.states import State, label

MOST = 12  # names that are told with their numbers


@dataclass(frozen=True)
class Ranked:
    """A source some of whose columns are numbers in place of names."""

    source: Source
    numbers: Mapping[str, Mapping[str, float]]  # by column and name

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.source.name

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns."""
        return self.source.columns

    @property
    def markers(self) -> frozenset[str]:
        """Texts that stand for a hole."""
        return self.source.markers

    @property
    def categories(self) -> Mapping[str, tuple[State, ...]]:
        """Declared categories, of the other columns."""
        return {n: c for n, c in self.source.categories.items() if n not in self.numbers}

    @property
    def scales(self) -> Mapping[str, Mapping[str, float]]:
        """Numbers behind names, of the other columns."""
        return {n: c for n, c in self.source.scales.items() if n not in self.numbers}

    @property
    def titles(self) -> Mapping[str, str]:
        """What columns are about."""
        return self.source.titles

    @property
    def types(self) -> Mapping[str, pl.DataType]:
        """What values the columns hold."""
        return {n: kind for n, kind in self.source.types.items() if n not in self.numbers}

    @property
    def remarks(self) -> Mapping[str, tuple[str | Remark, ...]]:
        """What to know of how columns are read, and which name is which number."""
        found = dict(self.source.remarks)
        for name, told in self.numbers.items():
            each = [f"{x:g} = {text}" for text, x in sorted(told.items(), key=lambda pair: pair[1])]
            more = [f"{len(each) - MOST} more"] if len(each) > MOST else []
            scale = Remark(name, f"{', '.join([*each[:MOST], *more])}.")
            found[name] = (*found.get(name, ()), scale)
        return found

    def batches(self, wanted: Sequence[str], /) -> Iterator[pl.DataFrame]:
        """Give the wanted columns, some rows at a time."""
        for frame in self.source.batches(wanted):
            changed = [
                pl.Series(n, [self._number(n, v) for v in frame[n].to_list()], pl.Float64)
                for n in self.numbers
                if n in frame.columns
            ]
            yield frame.with_columns(changed)

    def _number(self, name: str, value: State | None) -> float | None:
        return None if value is None else self.numbers[name].get(label(value))

    def where(self, row: int) -> str:
        """Say where a row is; the first row is 1."""
        return self.source.where(row)


def ranked(source: Source, kinds: Kinds, missing: Collection[str] = ()) -> Source:
    """Give names as numbers where columns are said to be numbers, and it is known which."""
    numbers = {}
    for name, states in source.categories.items():
        kind = kinds.declared.get(name, kinds.other)
        if kind is None or not kind.number or all(number_of(s) is not None for s in states):
            continue
        told = {label(s): float(k) for k, s in enumerate(_kept(states, missing), start=1)}
        if name in source.scales:
            told = {text: x for text, x in source.scales[name].items() if text not in missing}
        elif kind is not ColumnKind.ORDINAL:
            continue
        numbers[name] = told
    return Ranked(source, numbers) if numbers else source


def _kept(states: Sequence[State], missing: Collection[str]) -> list[State]:
    return [state for state in states if label(state) not in missing]


MOST_GROUPS = 30  # each has parameters of its own
FEWEST_CASES = 10  # of a group: below, nothing can be told of its classes


def with_groups(table: Table, name: str) -> Table:
    """Give the rows that show their group; refuse a column that makes no groups.

    Groups that no row is in are no states any more.
    """
    column = [c.name for c in table.columns].index(name)
    given = table.columns[column]
    if given.kind.number:
        raise DataError(
            f"group '{name}' holds numbers. Put them into bins with --bin {shlex.quote(name)}=3, "
            f"or say that they are categories with --kinds {shlex.quote(name)}=categorical."
        )
    if len(table.columns) == 1:
        raise DataError(f"'{name}' is the only column: there are no items. Use more columns.")
    told = table.codes[:, column] >= 0
    cases = np.bincount(table.codes[told, column], table.counts[told], len(given.states))
    used = np.flatnonzero(cases > 0)
    labels = [given.labels[g] for g in used]
    if len(used) < 2:
        only = f"in all rows it is '{labels[0]}'" if labels else "it is missing in every row"
        raise DataError(
            f"group '{name}' makes no groups: {only}. Name a column with two values or more, or "
            "leave out --group."
        )
    if len(used) > MOST_GROUPS:
        raise DataError(
            f"group '{name}' has {len(used):,} values, and {MOST_GROUPS} groups are the most. Put "
            f"numbers into bins with --bin {shlex.quote(name)}=3, or put groups together; what "
            "predicts classes one value at a time is a covariate: --covariates."
        )
    for g in used:
        if cases[g] < FEWEST_CASES:
            raise DataError(
                f"group '{given.labels[g]}' of '{name}' has {cases[g]:,.4g} cases, and "
                f"{FEWEST_CASES} are the fewest to tell anything of its classes. Put it together "
                "with another group, or take its rows out of the data."
            )
    return _only(table, column, told, used.tolist())


def _only(table: Table, column: int, told: BoolArray, used: list[int]) -> Table:
    """Leave out rows without a group, and groups without rows."""
    states = tuple(table.columns[column].states[g] for g in used)
    columns = list(table.columns)
    columns[column] = replace(columns[column], states=states)
    codes = table.codes[told].copy()
    codes[:, column] = np.searchsorted(used, codes[:, column])
    lost = float(table.counts[~told].sum())
    share = 1.0 - lost / table.weight
    design = table.design if table.design is None or not lost else table.design.only(told, share)
    note = f"{lost:,g} of {table.weight:,g} cases do not show their group: they are left out."
    return replace(
        table,
        columns=tuple(columns),
        codes=codes,
        counts=table.counts[told],
        rows=table.rows - round(lost) if table.weights is None else table.rows,
        notes=(*table.notes, note) if lost else table.notes,
        design=design,
    )
