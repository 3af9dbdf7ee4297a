"""Read data with holes from files and dataframes."""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np

from lacunet.arrays import CodeArray, FloatArray
from lacunet.data import column_checks as checks
from lacunet.data.discover import (
    Coding,
    RawValues,
    infer,
    is_missing,
    markers,
    match,
    mean_of,
    shown,
)
from lacunet.data.distinct import DistinctRows, merge, smallest
from lacunet.data.encode import (
    MOST_DIFFERENT,
    MOST_VALUES,
    ColumnEncoder,
    TooManyValuesError,
    read_weights,
)
from lacunet.data.kinds import CATEGORIES, Kinds, KindsLike, understand_kinds
from lacunet.data.notes import notes_on
from lacunet.data.number_checks import check_ends, check_numbers, check_some_numbers
from lacunet.data.number_columns import NotNumbersError, NumberEncoder, code_numbers
from lacunet.data.rows import Rows
from lacunet.data.source import Source, open_source
from lacunet.data.survey import WeightsAs, as_cases, understand_weights
from lacunet.data.table import Column, Table
from lacunet.errors import DataError, OptionError
from lacunet.state import Numbers, State

T = TypeVar("T", str, State)
R = TypeVar("R")


def read_table(
    source: object,
    *,
    missing: Sequence[State] = (),
    weights: str | None = None,
    weights_as: str = WeightsAs.AUTO,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    states: Mapping[str, Sequence[State]] | None = None,
    kinds: KindsLike = None,
) -> Table:
    """Read a table, count its distinct rows, and code its values.

    The source is read once, in batches, so it may be larger than memory: only the distinct rows
    are kept, as small integers. No row is ever dropped.

    Parameters
    ----------
    source
        Path of a file (.csv, .tsv, .txt, .parquet, .pq, .arrow, .feather, .ipc), a dataframe
        (pandas, Polars eager or lazy, PyArrow), or a 2-d NumPy array. In an array of integers a
        negative number is a state like any other; declare it with `missing` if it is a hole.
    missing
        Values that stand for a hole. They are compared by their text, so "99" is also the integer
        99 and the number 99.0. In files of text an empty cell, NA, NaN, null and ? are holes
        anyway; elsewhere None, NaN, a null and what an array masks are, and no text is.
    weights
        Column with the weight of each row.
    weights_as
        frequency: weight 2 is the row twice; survey: weights of a survey, which are scaled to sum
        to the effective sample size; auto: frequency if all are whole numbers, else survey.
    columns
        The columns to use, in this order; all of them without it.
    exclude
        Columns not to use.
    states
        The columns to use and their states, for data that must fit a model. Values are matched by
        their text; one that is not among the states is an error.
    kinds
        Columns of numbers: a mapping, or NAME=KIND with commas between. Kinds are gaussian,
        lognormal (a Gaussian logarithm), poisson (counts), ordinal (whole numbers with an order)
        and categorical. With auto, other columns with more than 20 different numbers are numbers
        too. Without it every column is categorical.

    Examples
    --------
    >>> table = read_table(np.array([[0, 1], [1, 0], [0, 1], [1, 1]]))
    >>> table.codes.tolist(), table.counts.tolist()
    ([[0, 1], [1, 0], [1, 1]], [2.0, 1.0, 1.0])
    """
    how = understand_weights(weights_as)
    opened = open_source(source)
    wanted = None if columns is None else _listed(columns)
    names = _chosen(opened, weights, wanted, _listed(exclude), states)
    said = understand_kinds(kinds)
    checks.check_names(said.declared, "--kinds", opened)
    checks.check_used(said.declared, "--kinds", names)
    reading = Reading(opened, names, states, markers(_listed(missing)), weights, said)
    return until_read(reading, lambda reading: _table(reading, how))


def until_read(reading: "Reading", read: Callable[["Reading"], R]) -> R:
    """Read; where a column turns out to hold more than numbers, begin again and take its texts."""
    while True:
        try:
            return read(reading)
        except NotNumbersError as error:
            reading = replace(reading, texts=reading.texts | {error.name})


def _table(reading: "Reading", how: WeightsAs) -> Table:
    """Read all rows, and merge those that are equal."""
    rows = DistinctRows()
    for batch, weight in reading.batches():
        rows.add(batch, weight)
    codings = reading.codings()
    codes, weight, copies = rows.joined()
    checks.check_some_weight(weight, reading.weights)
    codes, weight, copies = merge(recoded(codes, codings), weight, copies)
    cases, survey = as_cases(weight, copies, how)
    told = reading.source.name, reading.weights, reading.notes(codings), survey
    return Table.from_merged(described(reading.names, codings), codes, cases, copies, *told)


def read_rows(
    source: object,
    states: Mapping[str, Sequence[State]],
    *,
    missing: Sequence[State] = (),
    kinds: Kinds = CATEGORIES,
) -> Rows:
    """Read every row in the order of the source, with the states of a model.

    Columns of numbers have the values that occur, whatever states they are given.
    """
    opened = open_source(source)
    names = _chosen(opened, None, None, (), states)
    reading = Reading(opened, names, states, markers(_listed(missing)), None, kinds, asked=True)
    return until_read(reading, _rows)


def _rows(reading: "Reading") -> Rows:
    """Read all rows, as they are."""
    codes, codings = reading.codes(), reading.codings()
    return Rows(described(reading.names, codings), recoded(codes, codings))


@dataclass(frozen=True)
class Reading:
    """One pass over a source."""

    source: Source
    names: Sequence[str]  # the used columns
    states: Mapping[str, Sequence[State]] | None = None  # of a model: the data may look odd then
    missing: frozenset[str] = frozenset()
    weights: str | None = None
    kinds: Kinds = CATEGORIES  # what is said of columns of numbers
    asked: bool = False  # whether rows are asked about, so that nothing need be learned from them
    texts: frozenset[str] = frozenset()  # columns that may be numbers, but hold something else

    @property
    def holes(self) -> frozenset[str]:
        """All texts that stand for a hole."""
        return self.missing | self.source.markers

    @cached_property
    def encoders(self) -> list[ColumnEncoder | NumberEncoder]:
        """One per used column."""
        return [self._encoder(name) for name in self.names]

    def _encoder(self, name: str) -> ColumnEncoder | NumberEncoder:
        """Read a column as numbers, if it may be that; else a value is anything."""
        if not self.kinds.may_be_number(name):
            return ColumnEncoder(name, MOST_VALUES)
        declared = name in self.source.categories and not self.kinds.declares_number(name)
        if name in self.texts or declared:
            return ColumnEncoder(name, MOST_DIFFERENT)
        return NumberEncoder(name, self.holes)

    def codes(self) -> CodeArray:
        """Give provisional codes of all rows, (rows, n)."""
        return np.concatenate([batch for batch, _ in self.batches()])

    def batches(self) -> Iterator[tuple[CodeArray, FloatArray]]:
        """Give, batch by batch, provisional codes (rows, n) and weights (rows,)."""
        wanted = self.names if self.weights is None else [*self.names, self.weights]
        row = 0
        for frame in self.source.batches(wanted):
            if not len(frame):
                continue
            weight = (
                np.ones(len(frame))
                if self.weights is None
                else read_weights(frame[self.weights], row, self.source)
            )
            coded = []
            for encoder in self.encoders:
                try:
                    coded.append(encoder.encode(frame[encoder.name], row, self.source))
                except TooManyValuesError:
                    self._coding(encoder)  # says what is wrong with the column, if it can
                    why = f"has more than {len(encoder.raw.values):,} different values"
                    raise checks.unusable(encoder.name, why) from None
            kind = smallest(max(len(encoder.raw.values) for encoder in self.encoders))
            yield np.stack(coded, axis=1, dtype=kind), weight
            row += len(frame)
        if not row:
            raise DataError(f"{self.source.name} has columns but no rows. Add at least one row.")

    def codings(self) -> list[Coding]:
        """Find the states of each column, and refuse those that cannot be used."""
        return [self._coding(encoder) for encoder in self.encoders]

    def _coding(self, encoder: ColumnEncoder | NumberEncoder) -> Coding:
        name, raw = encoder.name, encoder.raw
        declared = self.source.categories if self.states is None else self.states
        if name not in declared or self.kinds.declares_number(name):
            return self._inferred(name, raw)
        states = declared[name]
        if self.states is None:  # categories of a dataframe, of which some may be declared missing
            states = [s for s in states if not is_missing(s, self.missing)]
        coding = match(raw.values, states, self.missing, self.source.markers)
        checks.check_known(name, raw, coding, self.source)
        if self.states is None:
            checks.check_categories(name, states, coding)
        return replace(coding, why="its states were declared") if self.kinds.said else coding

    def _inferred(self, name: str, raw: RawValues) -> Coding:
        """Find the states of a column that declares none, and what they are."""
        numbers = isinstance(raw.values, Numbers)
        coding = code_numbers(raw) if numbers else infer(raw.values, self.holes)
        decided = self.kinds.decide(name, coding.states, mean_of(coding, raw))
        if decided.kind.number:
            if not self.asked:
                check_some_numbers(name, coding.states)
            own = name not in self.kinds.ends
            check_numbers(name, decided.kind, raw, coding, self.source, own=own)
            check_ends(name, self.kinds.ends.get(name), raw, coding, self.source)
            if name not in self.kinds.declared and isinstance(coding.states[0], int):
                measured = f"If it is measured, say so with --kinds {shlex.quote(name)}=gaussian"
                weighted = self.weights is not None
                checks.check_not_identifier(name, raw, coding, weighted=weighted, instead=measured)
        elif name not in self.kinds.declared:
            checks.check_inferred(name, raw, coding, self.source, weighted=self.weights is not None)
        else:
            checks.check_categories(name, coding.states, coding)
        states = coding.states if decided.kind.number else tuple(coding.states)
        return replace(coding, states=states, kind=decided.kind, why=decided.why)

    def notes(self, codings: Sequence[Coding]) -> list[str]:
        """Say what a person may not expect of the states that were found."""
        if self.states is not None:
            return []
        each = zip(self.encoders, codings, strict=True)
        return [note for e, coding in each for note in notes_on(e.name, e.raw.values, coding)]


def described(names: Sequence[str], codings: Sequence[Coding]) -> tuple[Column, ...]:
    """Give the columns that were found."""
    pairs = zip(names, codings, strict=True)
    return tuple(Column(name, c.states, c.kind, c.why) for name, c in pairs)


def recoded(codes: CodeArray, codings: Sequence[Coding]) -> CodeArray:
    """Replace provisional codes by those of the states, in place where the type allows it."""
    kind = smallest(max(len(coding.states) for coding in codings))
    final = codes if codes.dtype == kind else np.empty(codes.shape, kind)
    for j, coding in enumerate(codings):
        # A missing cell, -1, picks the last entry.
        final[:, j] = np.append(coding.codes, -1).astype(kind)[codes[:, j]]
    return final


def _chosen(
    source: Source,
    weights: str | None,
    columns: Sequence[str] | None,
    exclude: Sequence[str],
    states: Mapping[str, Sequence[State]] | None,
) -> list[str]:
    """Decide which columns are used."""
    if weights is not None:
        checks.check_names([weights], "--weights", source)
    checks.check_names(exclude, "--exclude", source)
    if states is not None:
        if columns is not None or exclude:
            raise OptionError("states name the columns already. Leave out --columns and --exclude.")
        checks.check_has(states, source)
        for name, declared in states.items():
            if not declared:
                raise OptionError(f"column {name!r}: the list of its states is empty. List them.")
            Column(name, tuple(declared))  # refuses a state listed twice
        names = list(states)
    else:
        checks.check_names(columns or (), "--columns", source)
        others = [n for n in source.columns if n != weights]
        names = [n for n in (others if columns is None else columns) if n not in exclude]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise OptionError(f"--columns names {twice!r} twice. Name it once.")
    if weights in names:
        raise OptionError(
            f"column {weights!r} cannot be both the weight and a variable. Take it out of the "
            "columns, or choose another one with --weights."
        )
    if not source.columns:
        raise DataError(f"{source.name} has no columns. Give a table with at least one.")
    if not names:
        raise OptionError(
            f"no column of {source.name} is left to use. Its columns are {shown(source.columns)}."
        )
    return names


def _listed(names: Sequence[T]) -> list[T]:
    """Take one name for a list of one: a person who writes exclude="id" means that."""
    return [names] if isinstance(names, str) else list(names)
