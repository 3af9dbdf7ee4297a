"""Whatever people hand over is read, or refused in our words."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

import lacunet
from lacunet.data.frames import in_memory
from lacunet.data.read import read_table
from lacunet.errors import DataError, LacunetError

COLUMNS = {"a": [0, 1, 0, None] * 5, "b": ["x", "y", "y", "x"] * 5, "c": [0.5, 2.0, None, 2.0] * 5}
WANTED = read_table(pl.DataFrame(COLUMNS))


def of_duckdb():
    duckdb = pytest.importorskip("duckdb")
    frame = pl.DataFrame(COLUMNS).to_arrow()
    return duckdb.from_arrow(frame)


def of_dask():
    dask = pytest.importorskip("dask.dataframe")
    return dask.from_pandas(pl.DataFrame(COLUMNS).to_pandas(), npartitions=2)


def of_path(folder):
    pl.DataFrame(COLUMNS).write_csv(folder / "t.csv", null_value="NA")
    return folder / "t.csv"


TABLES = {
    "lazy": lambda _: pl.DataFrame(COLUMNS).lazy(),
    "arrow": lambda _: pa.table(COLUMNS),
    "dict": lambda _: COLUMNS,
    "dicts": lambda _: pl.DataFrame(COLUMNS).to_dicts(),
    "complete dicts": lambda _: [
        {k: v for k, v in row.items() if v is not None} for row in pl.DataFrame(COLUMNS).to_dicts()
    ],
    "records": lambda _: np.array(
        pl.DataFrame(COLUMNS).rows(), dtype=[("a", object), ("b", object), ("c", object)]
    ),
    "path": of_path,
    "duckdb": lambda _: of_duckdb(),
    "dask": lambda _: of_dask(),
}


@pytest.mark.parametrize("kind", TABLES)
def test_tables_of_every_kind_are_one(kind, tmp_path):
    source = TABLES[kind](tmp_path)
    table = read_table(source)
    assert [c.name for c in table.columns] == [*COLUMNS]
    assert [c.states for c in table.columns] == [c.states for c in WANTED.columns]
    np.testing.assert_array_equal(table.codes, WANTED.codes)
    frame = in_memory(source)  # what estimators do first
    np.testing.assert_array_equal(read_table(frame).codes, WANTED.codes)


def test_rows_in_a_list_have_the_columns_of_an_array():
    rows = pl.DataFrame(COLUMNS).rows()
    table = read_table(rows)
    assert [c.name for c in table.columns] == ["x1", "x2", "x3"]
    np.testing.assert_array_equal(table.codes, WANTED.codes)
    with pytest.warns(PendingDeprecationWarning):
        matrix = np.matrix([[0, 1], [1, 0], [0, 0]])
    assert [c.states for c in read_table(matrix).columns] == [(0, 1), (0, 1)]


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ({"a": [1, 2], "b": [1]}, "column 'b' has 1 values and column 'a' 2"),
        ({"a": 3}, "column 'a' is 3. Give each column a list"),
        ({"a": "xyz"}, "column 'a' is 'xyz'"),
        ([[0, 1], [1]], "list, row 2: 1 values, and row 1 has 2"),
        ([0, 1, 0], "list, row 1: 0 is not a row"),
        ([{"a": 1}, [1]], "list, row 1"),
        ([], "list has no rows"),
        ((row for row in [[0, 1]]), r"generator cannot be read as a table. Give list\(X\)"),
        (pd.Series([0, 1]), r"Series cannot be read as a table. Give X.to_frame\(\)"),
        (scipy.sparse.csr_matrix(np.eye(2)), r"Give X.toarray\(\)"),
        (None, "NoneType cannot be read as a table. Give a path, a dataframe"),
        ({1, 2}, "set cannot be read"),
        (WANTED, "already a table"),
        (pd.DataFrame({"a": [[1, 2], [3]]}), "column 'a', row 1: a cell holds a list"),
        (pd.DataFrame({"a": ["x", {"u": 1}]}), "column 'a', row 2: a cell holds a dict"),
        (pd.DataFrame({"a": [object(), 1]}), "row 1: a cell holds a object"),
        (pd.DataFrame({"a": [b"x", b"y"]}), "a cell holds a bytes"),
        (pd.DataFrame({"a": [1 + 2j, 1j]}), "a cell holds a complex"),
        (np.array([[1j]]), "NumPy array of complex128"),
        (pd.DataFrame([[0, 1]] * 3, columns=["a", "a"]), "two columns are named 'a'"),
        (pd.DataFrame([[0]], columns=pd.MultiIndex.from_tuples([("a", 1)])), "is not text"),
    ],
)
def test_what_is_no_table_is_refused(source, words):
    with pytest.raises(DataError, match=words):
        read_table(source)


@pytest.mark.parametrize(
    "source",
    [
        None,
        3,
        {1, 2},
        (row for row in [[0]]),
        WANTED,
        pd.DataFrame([[0, 1]] * 3, columns=["a", "a"]),
    ],
    ids=str,
)
def test_estimators_warn_too(source):
    with warnings.catch_warnings(), pytest.raises(LacunetError):
        lacunet.LatentClassModel(1).fit(source)


def test_rows_may_lack_columns_and_have_others():
    model = lacunet.fit(WANTED, 2, starts=2).model
    lacking = pl.DataFrame({"b": ["x", "y"], "new": [1, 2]})
    assignment = lacunet.assign(lacking, model)
    missing = pl.DataFrame({"a": [None, None], "b": ["x", "y"], "c": [None, None]})
    np.testing.assert_array_equal(
        assignment.probabilities, lacunet.assign(missing, model).probabilities
    )
    np.testing.assert_array_equal(
        lacunet.query(model, "class", lacking), lacunet.query(model, "class", missing)
    )
    assert assignment.notes == (
        "no column shows 'a', 'c': not observed in any row.",
        "not in the model, so not used: 'new'.",
    )
