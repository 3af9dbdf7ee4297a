"""One rule for columns: the same decision in the same words, whatever door they come in by."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from lacunet.data.read import read_table
from lacunet.data.reading import code_rows
from lacunet.errors import DataError

ROWS = 303
RNG = np.random.default_rng(0)
WHOLE = np.append(np.arange(152), RNG.integers(0, 152, ROWS - 152)) + 100  # 152 different ones
MEASURED = RNG.normal(size=ROWS).round(2)
# What a column holds, and what it is: its kind, or why it is refused.
CASES = {
    "few whole numbers": (RNG.integers(1, 6, ROWS), "categorical"),
    "many whole numbers": (WHOLE, "gaussian"),
    "small counts": (np.append(np.arange(30), RNG.poisson(4, ROWS - 30)), "poisson"),
    "few fractions": (RNG.choice([0.5, 1.0, 2.5], ROWS), "categorical"),
    "many fractions": (MEASURED, "gaussian"),
    "texts": (RNG.choice(["a", "b", "c"], ROWS), "categorical"),
    "truth values": (RNG.random(ROWS) < 0.5, "categorical"),
    "whole identifiers": (np.arange(ROWS) + 7, "so it looks like an identifier"),
    "text identifiers": (
        np.array([f"p{i}" for i in range(ROWS)]),
        "so it looks like an identifier",
    ),
    "a constant": (np.full(ROWS, 3), "categorical"),
    "dates": (
        np.array(
            [str(dt.date(2020, 1, 1) + dt.timedelta(int(d))) for d in RNG.integers(0, 60, ROWS)]
        ),
        "dates. Turn them into a few periods",
    ),
}


def incomplete(values):
    """The same with the third cell missing, in Python's own types."""
    return [None if i == 2 else v for i, v in enumerate(values.tolist())]


def pandas_nullable(values, _folder):
    kind = {"i": "Int64", "f": "Float64", "b": "boolean", "U": "string"}[values.dtype.kind]
    return pd.DataFrame({"x": pd.array(incomplete(values), dtype=kind)})


def pandas_plain(values, _folder):
    """Integers with a missing value are floats there, truth values objects."""
    return pd.DataFrame({"x": incomplete(values)})


def numpy_array(values, _folder):
    return np.array(incomplete(values), dtype=float if values.dtype.kind in "if" else object)[
        :, None
    ]


def csv(values, folder):
    path = folder / "t.csv"
    pl.DataFrame({"x": incomplete(values)}, strict=False).write_csv(path, null_value="NA")
    return path


def parquet(values, folder):
    path = folder / "t.parquet"
    pl.DataFrame({"x": incomplete(values)}, strict=False).write_parquet(path)
    return path


FORMATS = {
    "pandas": pandas_plain,
    "pandas objects": lambda values, _: pd.DataFrame(
        {"x": pd.Series(incomplete(values), dtype=object)}
    ),
    "pandas nullable": pandas_nullable,
    "polars": lambda values, _: pl.DataFrame({"x": incomplete(values)}, strict=False),
    "polars lazy": lambda values, _: pl.DataFrame({"x": incomplete(values)}, strict=False).lazy(),
    "arrow": lambda values, _: pa.table({"x": incomplete(values)}),
    "array": numpy_array,
    "csv": csv,
    "parquet": parquet,
}


def decision(read, source):
    try:
        return read(source)
    except DataError as error:
        return str(error).replace("x1", "x")


def by_table(source):
    (column,) = read_table(source).columns
    return column.kind.value, column.states


def by_rows(source):
    (column,) = code_rows(source).columns
    return column.kind.value, column.states


@pytest.mark.parametrize("case", CASES)
def test_every_door_decides_alike(case, tmp_path):
    values, expected = CASES[case]
    result = {
        (name, read.__name__): decision(read, make(values, tmp_path))
        for name, make in FORMATS.items()
        for read in (by_table, by_rows)
    }
    first = next(iter(result.values()))
    assert all(other == first for other in result.values()), result
    assert expected in first if isinstance(first, str) else first[0] == expected


def test_declared_categories_and_moments():
    categories = pd.DataFrame({"x": pd.Categorical(WHOLE)})  # declared, however many
    assert by_table(categories) == by_rows(categories)
    assert by_table(categories)[0] == "categorical"
    days = pd.DataFrame({"x": pd.to_datetime("2020-01-01") + pd.to_timedelta(WHOLE, "D")})
    spans = pd.DataFrame({"x": pd.to_timedelta(WHOLE, "h")})
    for frame in (days, pl.from_pandas(days), spans, pl.from_pandas(spans)):
        (kind,) = {decision(read, frame) for read in (by_table, by_rows)}
        assert "holds 152 dates" in kind or "holds Duration" in kind


def test_spaces_are_one_state_and_cases_are_two(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a\n" + "yes\nyes \nYes\nno\n" * 3)
    for source in (path, pl.DataFrame({"a": ["yes", "yes ", "Yes", "no"] * 3})):
        table = read_table(source)
        assert table.columns[0].states == ("no", "Yes", "yes")
        assert "'yes', 'yes ' differ in spaces alone, and are one state" in table.notes[0]
        assert "differ in upper and lower case alone, and are different states" in table.notes[1]
        assert code_rows(source).notes == table.notes
