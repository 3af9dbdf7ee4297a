"""Read data with holes from files and dataframes."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
import polars as pl

from lacunet.arrays import CodeArray, FloatArray
from lacunet.bins import BinLike, Binning, Bins, understand_bins
from lacunet.data import column_checks as checks
from lacunet.data.by_name import cells_of
from lacunet.data.columns import Judge
from lacunet.data.design_columns import (
    NO_DESIGN,
    Clusters,
    DesignColumns,
    DesignReader,
    check_no_items,
    design_columns,
)
from lacunet.data.discover import Coding, markers, shown, weighed
from lacunet.data.distinct import DistinctRows, Merged, alike, merge, places, smallest
from lacunet.data.encode import (
    MOST_BEFORE_NUMBERS,
    MOST_DIFFERENT,
    MOST_VALUES,
    ColumnEncoder,
    TooManyValuesError,
    read_weights,
)
from lacunet.data.kinds import BY_RULE, Kinds, KindsLike, understand_kinds
from lacunet.data.number_columns import NotNumbersError, NumberEncoder
from lacunet.data.ranked import ranked
from lacunet.data.remark import told_once
from lacunet.data.rows import Rows
from lacunet.data.source import COPIES, Source, open_source
from lacunet.data.spilling import SpillingRows, in_order
from lacunet.data.survey import (
    WeightsAs,
    as_cases,
    doubt_counts,
    is_survey,
    understand_weights,
)
from lacunet.data.table import Column, Table, words_of_empty
from lacunet.errors import DataError, OptionError
from lacunet.memory import bytes_of, give_back, in_bytes
from lacunet.on_disk import room_in
from lacunet.state import State
from lacunet.wording import worded
from lacunet.work_order import by_name

T = TypeVar("T", str, State)
R = TypeVar("R")


class ReadAgainError(Exception):
    """Columns are other than was thought while they were read."""

    def __init__(self, numbers: frozenset[str], texts: frozenset[str]) -> None:
        super().__init__(numbers, texts)
        self.numbers, self.texts = numbers, texts


def read_table(
    source: object,
    *,
    missing: Sequence[State] = (),
    weights: str | None = None,
    weights_as: str = WeightsAs.AUTO,
    strata: str | None = None,
    clusters: Clusters = None,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    states: Mapping[str, Sequence[State]] | None = None,
    also: Sequence[str] = (),
    kinds: KindsLike = None,
    bin: BinLike = None,  # noqa: A002  # what people call it
    ignore_case: bool = False,
    memory: str | float | None = None,
) -> Table:
    """Read a table, count its distinct rows, and code its values.

    It is read in batches, so it may be larger than memory. No row is ever dropped.

    Parameters
    ----------
    source
        Path of a file (.csv, .tsv, .txt, .parquet, .pq, .arrow, .feather, .ipc; .sav and .dta of
        SPSS and Stata, with labels and missing codes; .xlsx, the first sheet), of a folder of
        tables, or a pattern of their names (`part-*.parquet`); a dataframe (pandas, Polars,
        PyArrow, Dask, DuckDB), a dict of columns, a list of rows, or a 2-d array.
    missing
        Values that stand for a hole. They are compared by their text, so "99" is also the integer
        99 and the number 99.0. In files of text an empty cell, NA, NaN, null and ? are holes
        anyway; elsewhere None, NaN, a null and what an array masks are, and no text is.
    weights
        Column with the weight of each row.
    weights_as
        frequency: weight 2 is the row twice; survey: weights of a survey, which are scaled to sum
        to the effective sample size; auto: frequency if all are whole numbers and neither strata
        nor clusters are named, else survey.
    strata
        Column with the stratum that each row was drawn from. No item then; for standard errors.
    clusters
        Column with the primary sampling unit of each row: who was drawn together. Several columns
        tell units together, for numbers that begin anew in each stratum.
    columns
        The columns to use, in this order; all of them without it.
    exclude
        Columns not to use.
    states
        The columns to use and their states, for data that must fit a model. Values are matched by
        their text; one that is not among the states is an error.
    also
        Columns to use besides those of `states`, with the states or numbers that they hold.
    kinds
        Columns of numbers: a mapping, or NAME=KIND with commas between. Kinds are gaussian,
        lognormal (a Gaussian logarithm), poisson (counts), ordinal (whole numbers with an order)
        and categorical; one of them alone is that of all columns. Columns that are not named are
        numbers if they hold more than 20 different whole numbers, or more than 5 with fractions.
    bin
        Columns of numbers to put into bins: a mapping of names to a number of bins (of about as
        many rows each) or to a list of edges; one number is for all columns of numbers. As text:
        NAME=NUMBER, NAME=EDGE:EDGE:EDGE, with commas between. The edges are kept with the model.
    ignore_case
        Whether texts that differ in upper and lower case alone are one state, by the spelling that
        occurs most often.
    memory
        Memory that the process may have, "2GB" for instance, or a number of bytes: more distinct
        rows than that are kept on disk, and `fit`, `select` and `compare` leave them there.

    Examples
    --------
    >>> table = read_table(np.array([[0, 1], [1, 0], [0, 1], [1, 1]]))
    >>> table.codes.tolist(), table.counts.tolist()
    ([[0, 1], [1, 0], [1, 1]], [2.0, 1.0, 1.0])
    """
    how = understand_weights(weights_as)
    opened = open_source(source, counted=True)
    wanted = None if columns is None else _listed(columns)
    drawn = design_columns(strata, clusters, opened)
    no_items = drawn.names if wanted is None and states is None else ()
    names = _chosen(opened, weights, wanted, [*_listed(exclude), *no_items], states, also)
    check_no_items(drawn, names, weights)
    said = _said(understand_kinds(kinds), understand_bins(bin), opened, names, states)
    holes = markers(_listed(missing))
    opened = ranked(opened, said, holes)
    judge = Judge(opened, said, holes, weighted=weights is not None, ignore_case=ignore_case)
    limit = None if memory is None else bytes_of(memory)
    reading = Reading(judge, names, states, weights, drawn, limit)
    began = time.perf_counter()
    table = until_read(reading, lambda one: _table(one, how))
    return replace(table, seconds=time.perf_counter() - began)


def _said(
    kinds: Kinds,
    binning: Binning,
    source: Source,
    names: Sequence[str],
    states: Mapping[str, Sequence[State]] | None,
) -> Kinds:
    """Put together what is said of columns; refuse what is said of others."""
    for option, about in (("--kinds", kinds.declared), ("--bin", binning.named)):
        checks.check_names(about, option, source)
        checks.check_used(about, option, names)
    if states is not None and (binning.named or binning.every):
        raise OptionError("--bin: the network has states already. Leave it out, or the network.")
    return kinds.binned(binning)


def until_read(reading: "Reading", read: Callable[["Reading"], R]) -> R:
    """Read; where columns turn out to be other than was thought, begin again."""
    while True:
        try:
            return read(reading)
        except ReadAgainError as error:
            numbers, texts = reading.numbers | error.numbers, reading.texts | error.texts
            reading = replace(reading, numbers=numbers - texts, texts=texts)


def _table(reading: "Reading", how: WeightsAs) -> Table:
    """Read all rows, and merge those that are equal."""
    spilling = None if reading.memory is None else SpillingRows(room_in(reading.memory))
    rows = spilling or DistinctRows()
    for batch, weight, copies in reading.batches():
        rows.add(batch, weight, copies)
    if spilling is not None and spilling.runs:
        return _spilled(reading, spilling)
    codes, weight, copies = rows.joined()
    checks.check_some_weight(weight, reading.weights)
    counted = reading.counted or reading.weighed(codes, weight * copies)
    codings, told = reading.codings(counted), reading.drawn.names
    drawn, items = codes[:, len(codings) :].copy(), codes
    if told:
        items = np.ascontiguousarray(codes[:, : len(codings)])
    codes = recoded(items, codings)
    if told and reading.weights is not None and how is WeightsAs.AUTO:
        how = WeightsAs.SURVEY
    entries = None
    if told or (is_survey(weight, how) and copies.sum() > 1):  # before the array is used up
        entries = drawn, places(codes), weight, copies
    del items, drawn, batch
    give_back()
    codes, weight, copies = merge(codes, weight, copies)
    cases, survey = as_cases(weight, copies, how)
    design = None if entries is None else reading.design_reader.design(*entries, survey)
    notes = reading.notes(codings)
    if reading.weights is not None and survey is None and (doubt := doubt_counts(weight, copies)):
        notes.append(doubt)
    source = reading.source.name, reading.weights, notes, survey, design
    table = Table.from_merged(reading.described(codings), codes, cases, copies, *source)
    del codes, weight, copies, cases
    give_back()
    return replace(table, memory=reading.memory)


def _spilled(reading: "Reading", rows: SpillingRows) -> Table:
    """Make a table of rows that are on disk, its columns in the order of work."""
    if reading.weights is not None or reading.drawn.names:
        raise DataError(
            f"{reading.source.name}: the distinct rows do not fit into --memory "
            f"{in_bytes(reading.memory or 0)}, and rows with weights or a design are not kept on "
            "disk. Raise --memory."
        )
    rows.spill()
    codings = reading.codings(reading.counted)
    described, order = reading.described(codings), by_name(reading.names)
    columns = tuple(replace(described[j], place=j) for j in order)

    def final(codes: CodeArray) -> CodeArray:
        return np.ascontiguousarray(recoded(codes, codings)[:, order])

    found = in_order(rows, final, [len(column.states) for column in columns])
    notes = tuple(map(worded, (*reading.notes(codings), *words_of_empty(found.empty))))
    told = found.rows, found.empty, reading.source.name, None, notes
    return Table(columns, found.codes, found.counts, *told, memory=reading.memory)


def read_rows(
    source: object,
    states: Mapping[str, Sequence[State]],
    *,
    missing: Sequence[State] = (),
    kinds: Kinds = BY_RULE,
    also: Sequence[str] = (),
) -> Rows:
    """Read every row in the order of the source, with the states of a model.

    Columns of numbers have the values that occur, whatever states they are given; so have those
    that are read `also`, behind the others.
    """
    opened = open_source(source)
    names = _chosen(opened, None, None, (), states, also)
    holes = markers(_listed(missing))
    judge = Judge(ranked(opened, kinds, holes), kinds, holes, asked=True)
    return until_read(Reading(judge, names, states), _rows)


def _rows(reading: "Reading") -> Rows:
    """Read all rows, as they are."""
    codes = reading.codes()
    codings = reading.codings(reading.weighed(codes, np.ones(len(codes))))
    return Rows(reading.described(codings), recoded(codes, codings))


@dataclass(frozen=True)
class Reading:
    """One pass over a source."""

    judge: Judge  # who says what its columns are
    names: Sequence[str]  # the used columns
    states: Mapping[str, Sequence[State]] | None = None  # of a model: the data may look odd then
    weights: str | None = None
    drawn: DesignColumns = NO_DESIGN  # columns that say how rows were drawn
    memory: int | None = None  # bytes that the process may have
    numbers: frozenset[str] = frozenset()  # columns that are read as numbers
    texts: frozenset[str] = frozenset()  # columns that may be numbers, but hold something else

    @property
    def source(self) -> Source:
        """What is read."""
        return self.judge.source

    @cached_property
    def encoders(self) -> list[ColumnEncoder | NumberEncoder]:
        """One per used column."""
        return [self._encoder(name) for name in self.names]

    @cached_property
    def design_reader(self) -> DesignReader:
        """Reads the columns that say how rows were drawn."""
        return DesignReader(self.drawn, self.source, self.judge.holes)

    def _encoder(self, name: str) -> ColumnEncoder | NumberEncoder:
        """Read a column as numbers, if it must be that; else a value is anything."""
        said = self.judge.kinds.declares_number(name)
        if name not in self.texts and (said or name in self.numbers):
            return NumberEncoder(name, self.judge.holes)
        if said:
            return ColumnEncoder(name, MOST_DIFFERENT)  # so that what is no number can be named
        return ColumnEncoder(name, MOST_BEFORE_NUMBERS if self._open(name) else MOST_VALUES)

    def _open(self, name: str) -> bool:
        """Whether a column may still turn out to be numbers."""
        declared = self.source.categories if self.states is None else self.states
        known = name in declared or name in self.texts
        return not known and self.judge.kinds.may_be_number(name)

    def codes(self) -> CodeArray:
        """Give provisional codes of all rows, (rows, n)."""
        return np.concatenate([batch for batch, _, _ in self.batches()])

    def batches(self) -> Iterator[Merged]:
        """Give, batch by batch, provisional codes (rows, n), weights and copies (rows,).

        Behind the codes of the used columns come those of the design.
        """
        weighed_by = () if self.weights is None else (self.weights,)
        wanted, drawn = [*self.names, *weighed_by, *self.drawn.names], self.design_reader
        row = 0
        for frame in self.source.batches(wanted):
            if not len(frame):
                continue
            weight = (
                alike(1.0, len(frame))
                if self.weights is None
                else read_weights(cells_of(frame, self.weights), self.weights, row, self.source)
            )
            coded = [*self._coded(frame, row), *drawn.encode(frame, row)]
            every = (*self.encoders, *drawn.encoders)
            kind = smallest(max(len(encoder.raw.values) for encoder in every))
            copies = alike(1, len(frame), np.int64)
            if COPIES in frame.columns:
                copies = frame[COPIES].to_numpy()
                for encoder, codes in zip(every, coded, strict=True):
                    encoder.count(codes, copies - 1)
            yield np.stack(coded, axis=1, dtype=kind), weight, copies
            row += len(frame)
        if not row:
            raise DataError(f"{self.source.name} has columns but no rows. Add at least one row.")

    def _coded(self, frame: pl.DataFrame, row: int) -> list[CodeArray]:
        """Give the provisional codes of each column of a batch that begins after `row` rows."""
        coded, many, texts = [], set[str](), set[str]()
        for encoder in self.encoders:
            try:
                coded.append(encoder.encode(cells_of(frame, encoder.name), row, self.source))
            except NotNumbersError:
                texts.add(encoder.name)
            except TooManyValuesError:
                if not self._open(encoder.name):
                    raise self._too_many(encoder) from None
                many.add(encoder.name)
        if many or texts:  # all that are found here at once: few passes, however many columns
            raise ReadAgainError(frozenset(many), frozenset(texts))
        return coded

    def _too_many(self, encoder: ColumnEncoder | NumberEncoder) -> DataError:
        """Say what is wrong with a column of too many values."""
        raw = encoder.raw
        self._coding(encoder, raw.counts.astype(np.float64))  # says more, if it can
        return checks.unusable(encoder.name, f"has more than {len(raw.values):,} different values")

    @property
    def counted(self) -> list[FloatArray]:
        """How many rows have each provisional code of each column; nothing where rows weigh."""
        if self.weights is not None:
            return []
        return [encoder.raw.counts.astype(np.float64) for encoder in self.encoders]

    def weighed(self, codes: CodeArray, weight: FloatArray) -> list[FloatArray]:
        """What each provisional code of each column weighs in rows, (rows, n), so heavy each."""
        return [
            weighed(codes[:, j], weight, len(encoder.raw.values))
            for j, encoder in enumerate(self.encoders)
        ]

    def codings(self, cases: Sequence[FloatArray]) -> list[Coding]:
        """Find the states of each column, and refuse those that cannot be used.

        `cases` say what each of its provisional codes weighs.
        """
        return [self._coding(e, own) for e, own in zip(self.encoders, cases, strict=True)]

    def _coding(self, encoder: ColumnEncoder | NumberEncoder, cases: FloatArray) -> Coding:
        name, raw, judge = encoder.name, encoder.raw, self.judge
        known = None if self.states is None else self.states.get(name)
        bins = judge.kinds.bins.get(name)
        if known is not None and isinstance(bins, Bins):
            coding = judge.by_bins(name, raw, known, bins)
        elif judge.kinds.declares_number(name):
            return judge.inferred(name, raw, cases)
        elif known is not None:
            coding = judge.known(raw, known)
        elif name in self.source.categories:
            return judge.declared(name, raw, self.source.categories[name])
        else:
            return judge.inferred(name, raw, cases)
        checks.check_known(name, raw, coding, self.source)
        return replace(coding, why="its states were declared")

    def described(self, codings: Sequence[Coding]) -> tuple[Column, ...]:
        """Give the columns that were found."""
        found = described(self.names, codings, self.judge.kinds)
        titles = self.source.titles
        return tuple(replace(c, title=titles.get(c.name, "")) for c in found)

    def notes(self, codings: Sequence[Coding]) -> list[str]:
        """Say what a person may not expect of the states that were found."""
        remarks = self.source.remarks
        said = [note for name in ("", *self.names) for note in remarks.get(name, ())]
        if self.states is None:
            for e, coding in zip(self.encoders, codings, strict=True):
                said += self.judge.notes(e.name, e.raw, coding)
        return told_once(said)


def described(names: Sequence[str], codings: Sequence[Coding], kinds: Kinds) -> tuple[Column, ...]:
    """Give the columns that were found; where all are categories, there is nothing to explain."""
    told = kinds.said or any(c.kind.number or c.bins is not None for c in codings)
    pairs = zip(names, codings, strict=True)
    return tuple(Column(name, c.states, c.kind, c.why if told else "", c.bins) for name, c in pairs)


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
    also: Sequence[str] = (),
) -> list[str]:
    """Decide which columns are used."""
    if weights is not None:
        checks.check_names([weights], "--weights", source)
    checks.check_names(exclude, "--exclude", source)
    if states is not None:
        checks.check_names(columns or (), "--columns", source)
        checks.check_has(states, source)
        checks.check_not_left_out(states, columns, exclude)
        for name, declared in states.items():
            if not declared:
                raise OptionError(f"column {name!r}: the list of its states is empty. List them.")
            Column(name, tuple(declared))  # refuses a state listed twice
        names = [*states, *also]
    else:
        checks.check_names(columns or (), "--columns", source)
        others = [n for n in source.columns if n != weights]
        names = [n for n in (others if columns is None else columns) if n not in exclude]
    twice = next((name for name, n in Counter(names).items() if n > 1), None)
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
