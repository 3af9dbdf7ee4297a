"""Dataframes whose holes were filled: the same kind, the same types, every value as it was."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from lacunet import LatentClassModel

ROWS = 60
MONTHS = tuple(map(dt.datetime.fromisoformat, ("2020-01-01", "2020-02-01")))
PAIRS = {"a": "xy", "b": (1.0, 2.5), "c": (True, False), "d": MONTHS, "e": ("01", "2"), "f": (9, 8)}


def columns(missing=0.15):
    """Two classes, and columns of every type that agree with them more or less."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, ROWS)
    found = {}
    for name, pair in PAIRS.items():
        which = group ^ (rng.random(ROWS) < 0.1)
        holes = rng.random(ROWS) < missing
        found[name] = [None if h else pair[k] for k, h in zip(which, holes, strict=True)]
    return found


def pandas_frame():
    own = columns()
    return pd.DataFrame(
        {
            "a": pd.Categorical(own["a"], categories=["z", "y", "x"], ordered=True),
            "b": own["b"],
            "c": pd.array(own["c"], dtype="boolean"),
            "d": pd.to_datetime(own["d"]),
            "e": own["e"],
            "f": pd.array(own["f"], dtype="Int64"),
        },
        index=np.arange(ROWS) * 3 + 5,
    )


def polars_frame():
    own = pl.DataFrame(columns())
    return own.with_columns(pl.col("a").cast(pl.Enum(["z", "y", "x"])), pl.col("f").cast(pl.Int16))


def fitted(X):
    return LatentClassModel(2, n_init=4, random_state=0).fit(X)


def test_pandas():
    X = pandas_frame()
    filled = fitted(X).impute(X)
    pd.testing.assert_series_equal(filled.dtypes, X.dtypes)
    assert filled.index.equals(X.index)
    assert not filled.isna().any(axis=None)
    pd.testing.assert_frame_equal(filled.where(X.notna()), X.where(X.notna()))
    assert set(filled["e"]) == {"01", "2"}  # as written


def test_polars():
    X = polars_frame()
    filled = fitted(X).impute(X)
    assert filled.schema == X.schema
    assert sum(filled.null_count().row(0)) == 0
    for name in X.columns:
        shown = X[name].is_not_null()
        assert filled[name].filter(shown).to_list() == X[name].filter(shown).to_list()


def test_arrow():
    X = pa.table(columns())
    filled = fitted(X).impute(X)
    assert filled.schema.types == X.schema.types
    assert sum(column.null_count for column in filled.columns) == 0


@pytest.mark.parametrize("frame", [pandas_frame, polars_frame])
def test_a_value_that_no_other_row_shows(frame):
    """One row, of which one cell is left: what fills the others comes from the model alone."""
    X = frame()
    model = fitted(X)
    if frame is pandas_frame:
        one = X.iloc[[0]].copy()
        for name in "acdef":
            one[name] = pd.Series([None], index=one.index, dtype=X[name].dtype)
        filled = model.impute(one)
        pd.testing.assert_series_equal(filled.dtypes, X.dtypes)
        row = filled.iloc[0].tolist()
    else:
        one = X[:1].with_columns(pl.lit(None, X.schema[n]).alias(n) for n in "acdef")
        filled = model.impute(one)
        assert filled.schema == X.schema
        row = list(filled.row(0))
    assert all(value in PAIRS[name] for name, value in zip(PAIRS, row, strict=True))


def test_means_of_whole_numbers_have_fractions():
    """A count that is read as a measurement: a column of integers cannot hold its mean."""
    rng = np.random.default_rng(1)
    x = pl.Series(rng.poisson(7, 80)).cast(pl.Int64)
    X = pl.DataFrame({"x": x.set(pl.Series(rng.random(80) < 0.2), None), "y": rng.normal(size=80)})
    model = LatentClassModel(1, kinds={"x": "gaussian", "y": "gaussian"}, random_state=0).fit(X)
    filled = model.impute(X)
    assert filled.schema == {"x": pl.Float64, "y": pl.Float64}
    mean = X["x"].mean()
    assert filled["x"].filter(X["x"].is_null()).to_list() == pytest.approx(
        [mean] * X["x"].null_count(), rel=1e-2
    )
