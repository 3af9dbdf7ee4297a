"""Read data with missing values from files and dataframes, and the data sets of the package."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from lacunet.data import checks
from lacunet.data.columns import ColumnTyper, ranked
from lacunet.data.design import (
    Clusters,
    DesignColumns,
    WeightsAs,
    as_cases,
    is_survey,
    question_counts,
)
from lacunet.data.discover import markers, shown
from lacunet.data.distinct import DistinctRows, SpillingRows, in_order, merge, places
from lacunet.data.kinds import BY_RULE, Kinds, KindsLike, understand_kinds
from lacunet.data.reading import Rows, SourceReader, recoded, until_read
from lacunet.data.source import Source, open_source
from lacunet.data.table import Column, Table, words_of_empty
from lacunet.errors import DataError, OptionError, unknown_value
from lacunet.runtime.arrays import CodeArray
from lacunet.runtime.processes import bytes_of, give_back, in_bytes
from lacunet.runtime.rows import room_in
from lacunet.runtime.states import BinLike, State, by_name, understand_bins
from lacunet.wording import worded

T = TypeVar("T", str, State)

# Options of `read_table` for each bundled data set.
DATASETS: dict[str, dict[str, Any]] = {
    "carcinoma": {"weights": "count"},
    "values": {"weights": "count"},
    "myocardial": {"weights": "count"},
    "survey": {},
    "fear": {"weights": "count"},
    "gss82": {"weights": "count"},
    "trust": {
        "weights": "weight",
        "strata": "region",
        "clusters": "town",
        "missing": ["refused"],
        "exclude": ["id", "sex", "age", "education", "satisfaction", "votes"],
    },
}


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
    bin: BinLike = None,  # noqa: A002  # the public name
    ignore_case: bool = False,
    memory: str | float | None = None,
) -> Table:
    """Read a table in batches, count its distinct rows, and code its values; keep every row.

    Parameters
    ----------
    source
        Path of a file (.csv, .tsv, .txt, .parquet, .arrow, .feather; .sav and .dta with labels and
        missing codes; .xlsx), of a folder, or a pattern (`part-*.parquet`); a dataframe (pandas,
        Polars, PyArrow, Dask, DuckDB), a dict of columns, a list of rows, or a 2-d array.
    missing
        Values that mean missing, compared by their text: "99" is also 99 and 99.0. None and NaN
        always are; in text files also empty cells, NA, NaN, null and ?.
    weights, weights_as, strata, clusters, kinds, bin, ignore_case, memory
        As in `ReadSettings`. A single kind or number of bins is that of all columns. Other columns
        are numbers if they hold more than 20 whole numbers, or more than 5 with fractions.
    columns, exclude
        The columns to use, in this order (default: all), and columns not to use.
    states, also
        States of the columns to use, for data that must fit a model: another value is an error.
        Further columns to use, with the states that they hold.

    Examples
    --------
    >>> table = read_table(np.array([[0, 1], [1, 0], [0, 1], [1, 1]]))
    >>> table.codes.tolist(), table.counts.tolist()
    ([[0, 1], [1, 0], [1, 1]], [2.0, 1.0, 1.0])
    """
    if weights_as not in list(WeightsAs):
        raise unknown_value("weights_as", weights_as, WeightsAs)
    opened, drawn = open_source(source, counted=True), DesignColumns.of(strata, clusters)
    checks.check_names(() if strata is None else (strata,), "--strata", opened)
    checks.check_names(drawn.clusters, "--clusters", opened)
    wanted = None if columns is None else _listed(columns)
    left_out = [*_listed(exclude), *(drawn.names if wanted is None and states is None else ())]
    names = _chosen(opened, weights, wanted, left_out, states, also)
    _check_design(drawn, weights, names)
    stated, absent = _kinds(opened, names, states, kinds, bin), markers(_listed(missing))
    ranks, weighted = ranked(opened, stated, absent), weights is not None
    typer = ColumnTyper(ranks, stated, absent, weighted=weighted, ignore_case=ignore_case)
    limit = None if memory is None else bytes_of(memory)
    reader, began = SourceReader(typer, names, states, weights, drawn, limit), time.perf_counter()
    table = until_read(reader, lambda one: _table(one, WeightsAs(weights_as)))
    return replace(table, seconds=time.perf_counter() - began)


def _check_design(drawn: DesignColumns, weights: str | None, names: Sequence[str]) -> None:
    """Refuse design columns that are the weight or a variable."""
    for name in drawn.names:
        if name == weights or name in names:
            what = "the weight" if name == weights else "a variable"
            raise OptionError(
                f"column {name!r} cannot be both {what} and part of the design (--strata, "
                "--clusters). Name it once."
            )


def _kinds(
    opened: Source,
    names: Sequence[str],
    states: Mapping[str, Sequence[State]] | None,
    kinds: KindsLike,
    bins: BinLike,
) -> Kinds:
    """Check and combine the kinds and the bins of columns."""
    declared, binning = understand_kinds(kinds), understand_bins(bins)
    for option, about in (("--kinds", declared.declared), ("--bin", binning.named)):
        checks.check_names(about, option, opened)
        checks.check_used(about, option, names)
    if states is not None and (binning.named or binning.every):
        raise OptionError("--bin: the network has states already. Leave it out, or the network.")
    return declared.binned(binning)


def dataset_path(name: str) -> Path:
    """Give the path of a bundled CSV file."""
    if name not in DATASETS:
        raise OptionError(
            f"there is no bundled data set {name!r}. There are: {', '.join(DATASETS)}."
        )
    return Path(__file__).parent / "bundled" / f"{name}.csv"


def load_dataset(name: str) -> Table:
    """Read a bundled data set: carcinoma, values, myocardial, fear, gss82, survey or trust.

    >>> load_dataset("carcinoma").weight
    118.0
    """
    table = read_table(dataset_path(name), **DATASETS[name])
    return replace(table, source=f"bundled data set {name!r}")


def _table(reader: SourceReader, weights_as: WeightsAs) -> Table:
    """Read all rows, and merge equal ones."""
    rows = DistinctRows() if reader.memory is None else SpillingRows(room_in(reader.memory))
    for batch, weight, copies in reader.batches():
        rows.add(batch, weight, copies)
    if isinstance(rows, SpillingRows) and rows.runs:
        return _spilled(reader, rows)
    codes, weight, copies = rows.joined()
    if not weight.any():
        raise DataError(
            f"weight column {reader.weights!r} is zero in every row. Choose another column with "
            "--weights."
        )
    codings = reader.codings(reader.counted or reader.weighed(codes, weight * copies))
    by_design = bool(reader.drawn.names)
    drawn, items = codes[:, len(codings) :].copy(), codes
    if by_design:
        items = np.ascontiguousarray(codes[:, : len(codings)])
    codes = recoded(items, codings)
    if by_design and reader.weights is not None and weights_as is WeightsAs.AUTO:
        weights_as = WeightsAs.SURVEY
    entries = None
    if by_design or (
        is_survey(weight, weights_as) and copies.sum() > 1
    ):  # before `merge` overwrites the codes
        entries = drawn, places(codes), weight, copies
    del items, drawn, batch
    give_back()
    codes, weight, copies = merge(codes, weight, copies)
    cases, survey = as_cases(weight, copies, weights_as)
    design = None if entries is None else reader.design_reader.design(*entries, survey)
    notes = reader.notes(codings)
    if reader.weights is not None and survey is None and (note := question_counts(weight, copies)):
        notes.append(note)
    about = reader.source.name, reader.weights, notes, survey, design
    table = Table.from_merged(reader.described(codings), codes, cases, copies, *about)
    del codes, weight, copies, cases
    give_back()
    return replace(table, memory=reader.memory)


def _spilled(reader: SourceReader, rows: SpillingRows) -> Table:
    """Make a table of rows on disk, with its columns in canonical order."""
    if reader.weights is not None or reader.drawn.names:
        raise DataError(
            f"{reader.source.name}: the distinct rows do not fit into --memory "
            f"{in_bytes(reader.memory or 0)}, and rows with weights or a design are not kept on "
            "disk. Raise --memory."
        )
    rows.spill()
    codings = reader.codings(reader.counted)
    described, order = reader.described(codings), by_name(reader.names)
    columns = tuple(replace(described[j], place=j) for j in order)

    def final(codes: CodeArray) -> CodeArray:
        return np.ascontiguousarray(recoded(codes, codings)[:, order])

    merged = in_order(rows, final, [len(column.states) for column in columns])
    notes = tuple(map(worded, (*reader.notes(codings), *words_of_empty(merged.empty))))
    about = merged.rows, merged.empty, reader.source.name, None, notes
    return Table(columns, merged.codes, merged.counts, *about, memory=reader.memory)


def read_rows(
    source: object,
    states: Mapping[str, Sequence[State]],
    *,
    missing: Sequence[State] = (),
    kinds: Kinds = BY_RULE,
    also: Sequence[str] = (),
) -> Rows:
    """Read every row in the order of the source, with the states of a model.

    Numeric columns have the values that occur, whatever their states. So have the columns in
    `also`, which follow the others.
    """
    opened = open_source(source)
    names = _chosen(opened, None, None, (), states, also)
    absent = markers(_listed(missing))
    typer = ColumnTyper(ranked(opened, kinds, absent), kinds, absent, queried=True)

    def rows(reader: SourceReader) -> Rows:
        codes = reader.codes()
        codings = reader.codings(reader.weighed(codes, np.ones(len(codes))))
        return Rows(reader.described(codings), recoded(codes, codings))

    return until_read(SourceReader(typer, names, states), rows)


def _chosen(
    source: Source,
    weights: str | None,
    columns: Sequence[str] | None,
    exclude: Sequence[str],
    states: Mapping[str, Sequence[State]] | None,
    also: Sequence[str] = (),
) -> list[str]:
    """Select the columns to use."""
    if weights is not None:
        checks.check_names([weights], "--weights", source)
    checks.check_names(exclude, "--exclude", source)
    checks.check_names(columns or (), "--columns", source)
    if states is not None:
        checks.check_has(states, source)
        checks.check_not_left_out(states, columns, exclude)
        for name, declared in states.items():
            if not declared:
                raise OptionError(f"column {name!r}: the list of its states is empty. List them.")
            Column(name, tuple(declared))  # refuses a state listed twice
        names = [*states, *also]
    else:
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
    """Turn a single name, as in exclude="id", into a list."""
    return [names] if isinstance(names, str) else list(names)
