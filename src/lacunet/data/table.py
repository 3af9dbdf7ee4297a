"""A table of data with missing values, as distinct rows and their counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from lacunet.data.audit import audit_grid
from lacunet.data.design import MOST_CASES, SamplingDesign, SurveyWeights
from lacunet.data.distinct import collapse, merge, pack, smallest
from lacunet.data.kinds import ColumnKind, Kinds
from lacunet.errors import DataError
from lacunet.runtime.arrays import CodeArray, FloatArray, IntArray
from lacunet.runtime.checkpoint import fingerprint
from lacunet.runtime.rows import RowStorage, in_passing
from lacunet.runtime.states import (
    NOWHERE,
    Bins,
    Numbers,
    State,
    alike,
    as_shown,
    by_name,
    label,
    places_or_range,
)
from lacunet.tabular import Columns, Grid, Printable, described
from lacunet.wording import worded

AS_COUNTS = "--weights-as frequency counts them as they are."


@dataclass(frozen=True)
class Column:
    """A variable of the table: its name and its states."""

    name: str
    states: Sequence[State]  # states[k] has the code k; in natural order
    kind: ColumnKind = ColumnKind.CATEGORICAL  # states of numbers are the values that occur
    why: str = ""  # reason of the kind, if it was inferred
    bins: Bins | None = None  # of numbers that the states represent, if any
    place: int = field(default=NOWHERE, compare=False)  # among the columns of the source
    title: str = field(default="", compare=False)  # description in the source

    def __post_init__(self) -> None:
        if isinstance(self.states, Numbers):  # all different
            return
        labels = self.labels
        if len(set(labels)) < len(labels):
            twice = min(text for text, n in Counter(labels).items() if n > 1)
            raise DataError(
                f"column {self.name!r}: the state {twice!r} is listed twice. List it once."
            )

    @property
    def labels(self) -> tuple[str, ...]:
        """The canonical texts of the states."""
        return tuple(label(state) for state in self.states)

    @property
    def extent(self) -> dict[str, Any]:
        """The categories; of numbers, the kind and the range."""
        if not self.kind.number:
            return {"states": list(self.states)}
        return {"kind": self.kind.value, "range": [self.states[0], self.states[-1]]}


@dataclass(frozen=True, eq=False, repr=False)
class Table(Printable):
    """Data with missing values: each distinct row once, with the weight of its copies.

    The distinct rows are in lexicographic order of their codes, missing before every state. So the
    arrays do not depend on the order of the rows in the source.
    """

    columns: tuple[Column, ...]
    codes: CodeArray  # (m, n) distinct rows, C-contiguous, -1 = missing
    counts: FloatArray  # (m,) total weight of each distinct row
    rows: int  # rows in the source, unweighted
    empty_rows: int  # rows in the source with every cell missing: kept and counted
    source: str  # its name, for messages
    weights: str | None = None  # name of the weight column, if any
    notes: tuple[str, ...] = ()  # remarks on the data
    survey: SurveyWeights | None = None  # sums of survey weights
    design: SamplingDesign | None = None  # sampling design, if there is one
    memory: int | None = None  # memory limit of the process in bytes
    holder: RowStorage | None = None  # of the rows, if they are not in memory
    seconds: float | None = None  # of reading

    @property
    def fingerprint(self) -> str:
        """Compute a digest of columns and rows, without the places of columns."""
        columns = [replace(column, place=NOWHERE) for column in self.columns]
        return fingerprint(columns, self.codes, self.counts)

    @classmethod
    def from_codes(
        cls,
        codes: ArrayLike,
        columns: Sequence[Column] | None = None,
        counts: ArrayLike | None = None,
        source: str = "codes",
    ) -> Self:
        """Make a table of rows that are coded already.

        Parameters
        ----------
        codes
            (rows, n) integers; negative numbers are missing.
        columns
            Names and states of the columns. Default: x1 .. xn with the states 0 .. largest code.
        counts
            (rows,) weight of each row. Default: 1.

        Examples
        --------
        >>> Table.from_codes([[1, 0], [0, -1], [1, 0]]).counts
        array([1., 2.])
        """
        given = np.asarray(codes)
        if given.ndim != 2 or not np.issubdtype(given.dtype, np.integer):
            raise DataError(
                f"{source}: codes must be a 2-d array of integers, not {given.ndim}-d of "
                f"{given.dtype}. Use read_table for values that are not coded yet."
            )
        if 0 in given.shape:
            rows, n = given.shape
            raise DataError(f"{source}: there are {rows} rows and {n} columns.")
        if not np.issubdtype(given.dtype, np.signedinteger):
            given = given.astype(np.int64)
        top = given.max(axis=0)
        if columns is None:
            tops = np.maximum(top, 0).tolist()
            columns = [Column(f"x{i}", tuple(range(t + 1))) for i, t in enumerate(tops, 1)]
        _check_columns(columns, top, source)
        weight = _checked_counts(counts, len(given), source)
        kind = smallest(max(len(column.states) for column in columns))
        recoded: CodeArray = np.maximum(given, -1).astype(kind)
        return cls.from_merged(
            columns, *merge(recoded, weight, np.ones(len(recoded), np.int64)), source
        )

    @classmethod
    def from_merged(
        cls,
        columns: Sequence[Column],
        codes: CodeArray,
        weight: FloatArray,
        copies: IntArray,
        source: str,
        weights: str | None = None,
        notes: Sequence[str] = (),
        survey: SurveyWeights | None = None,
        design: SamplingDesign | None = None,
    ) -> Self:
        """Make a table from the result of `distinct.merge`: sorted rows, weights and copies."""
        rows = int(copies.sum())
        # Missing is before every state: rows without a value come first.
        shown = next((k for k, row in enumerate(codes) if (row >= 0).any()), len(codes))
        empty = int(copies[:shown].sum())
        notes = [*notes, *words_of_empty(empty)]
        if survey is not None:
            notes = [*notes, f"weights are taken as {survey}.{survey.sum_words} {AS_COUNTS}"]
        if design is not None and design.declared:
            notes = [*notes, f"the sample has {design}."]
        codes, counts = collapse(codes, weight, copies)
        _check_total(counts, weights, source)
        about = (source, weights, tuple(map(worded, notes)), survey, design)
        return cls(tuple(columns), codes, counts, rows, empty, *about)

    @property
    def weight(self) -> float:
        """The total weight N, which is the number of rows if there is no weight column.

        Survey weights sum to the effective sample size.
        """
        return float(self.counts.sum())

    @property
    def distinct_rows(self) -> int:
        """The number of distinct rows."""
        return len(self.codes)

    @property
    def missing(self) -> FloatArray:
        """(n,) weighted share of missing cells per column."""
        lost = np.zeros(len(self.columns))
        for part in in_passing(self.codes, self.counts):
            lost += [part.counts.sum(where=column < 0) for column in part.codes.T]
        return lost / self.weight

    @property
    def complete(self) -> bool:
        """Whether no cell is missing."""
        parts = in_passing(self.codes, self.counts)
        return not any(bool((part.codes < 0).any()) for part in parts)

    @property
    def kinds(self) -> Kinds:
        """Declarations that read the same columns with the same kinds again."""
        bins = {c.name: c.bins for c in self.columns if c.bins is not None}
        return Kinds({c.name: c.kind for c in self.columns if c.bins is None}, bins=bins)

    def tidy(self) -> Columns:
        """Give each distinct row, and its weight in a last column."""
        columns: dict[str, Sequence[State | float | None]] = {}
        for column, codes in zip(self.columns, self.codes.T.tolist(), strict=True):
            values = (*alike(column.states), None)  # a missing cell, -1, gets the last
            columns[column.name] = [values[code] for code in codes]
        name = self.weights or "count"
        while name in columns:
            name += "_"
        return {**columns, name: self.counts.tolist()}

    def to_dict(self) -> dict[str, Any]:
        """Give the document of `--json`: sizes, columns and remarks, without the rows."""
        each = ((self.columns[j], self.missing[j]) for j in self.shown)
        columns = [
            {"name": column.name, **column.extent, "missing": float(share)}
            for column, share in each
        ]
        design = self.design if self.design is not None and self.design.declared else None
        return {
            **described(self, "source rows distinct_rows weight empty_rows", columns=columns),
            **described(self, "survey?", notes=list(self.notes)),
            **({} if design is None else {"design": design.to_dict()}),
        }

    @property
    def shown(self) -> tuple[int, ...]:
        """Indices of the columns in the order of their source."""
        return as_shown([column.place for column in self.columns])

    @cached_property
    def in_canonical_order(self) -> Table:
        """The table in canonical order: columns by name, rows sorted; columns keep their places."""
        order = by_name([column.name for column in self.columns])
        if order == sorted(order):
            return self
        places = places_or_range([column.place for column in self.columns])
        columns = tuple(replace(self.columns[j], place=places[j]) for j in order)
        codes: CodeArray = np.ascontiguousarray(self.codes[:, order])
        rows = np.lexsort(pack(codes)[::-1])
        design = None if self.design is None else self.design.moved(np.argsort(rows))
        counts = self.counts[rows]
        return replace(self, columns=columns, codes=codes[rows], counts=counts, design=design)

    def grids(self) -> Sequence[Grid]:
        """Give what `print` and notebooks show."""
        return [audit_grid(self)]

    def brief(self) -> str:
        """Name the source and the size."""
        return f"{self.source}, {self.rows:,} rows, {len(self.columns)} columns"


def words_of_empty(rows: int) -> list[str]:
    """Write the remark on rows without a value, if there are any."""
    which = "1 row has" if rows == 1 else f"{rows:,} rows have"
    return [f"{which} every cell missing: kept and counted."] if rows else []


def _check_columns(columns: Sequence[Column], top: CodeArray, source: str) -> None:
    if len(columns) != len(top):
        raise DataError(f"{source}: {len(top)} columns of codes, but {len(columns)} are described.")
    for column, code in zip(columns, top, strict=True):
        if code >= len(column.states):
            raise DataError(
                f"{source}: column {column.name!r} holds the code {code}, but has "
                f"{len(column.states)} states (codes 0 to {len(column.states) - 1})."
            )


def _checked_counts(counts: ArrayLike | None, rows: int, source: str) -> FloatArray:
    weight = np.ones(rows) if counts is None else np.asarray(counts, dtype=np.float64)
    if weight.shape != (rows,):
        raise DataError(f"{source}: counts have the shape {weight.shape}, not ({rows},).")
    if not np.isfinite(weight).all() or (weight < 0).any() or not weight.any():
        raise DataError(f"{source}: counts must be finite, not negative, and not all zero.")
    return weight


def _check_total(counts: FloatArray, weights: str | None, source: str) -> None:
    """Refuse less than one case, and more than log probabilities can resolve."""
    with np.errstate(over="ignore"):
        total = float(counts.sum())
    column = "counts" if weights is None else f"weight column '{weights}'"
    if len(counts) and total < 1.0:
        raise DataError(
            f"{source}: {column}: rows add up to {total:.3g} cases, and one is the least. Multiply "
            "the weights, or take them as those of a survey (--weights-as survey)."
        )
    if not total <= MOST_CASES:
        raise DataError(
            f"{source}: {column}: rows add up to {total:.3g} cases, and {MOST_CASES:g} are the "
            "most: beyond, log probabilities are lost in rounding. Divide the weights, or take "
            "them as those of a survey (--weights-as survey)."
        )
