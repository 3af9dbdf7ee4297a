"""Dataframes with missing values filled in: same kind, same types, every value as it was."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import lacunet
from lacunet import Imputer, LatentClassModel

ROWS = 60
MONTHS = tuple(map(dt.datetime.fromisoformat, ("2020-01-01", "2020-02-01")))
PAIRS = {"a": "xy", "b": (1.0, 2.5), "c": (True, False), "d": MONTHS, "e": ("01", "2"), "f": (9, 8)}


def columns(missing=0.15):
    """Two classes, and columns of every type that agree with them more or less."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, ROWS)
    results = {}
    for name, pair in PAIRS.items():
        which = group ^ (rng.random(ROWS) < 0.1)
        masked = rng.random(ROWS) < missing
        results[name] = [None if h else pair[k] for k, h in zip(which, masked, strict=True)]
    return results


def pandas_frame():
    frame = columns()
    return pd.DataFrame(
        {
            "a": pd.Categorical(frame["a"], categories=["z", "y", "x"], ordered=True),
            "b": frame["b"],
            "c": pd.array(frame["c"], dtype="boolean"),
            "d": pd.to_datetime(frame["d"]),
            "e": frame["e"],
            "f": pd.array(frame["f"], dtype="Int64"),
        },
        index=np.arange(ROWS) * 3 + 5,
    )


def polars_frame():
    frame = pl.DataFrame(columns())
    return frame.with_columns(
        pl.col("a").cast(pl.Enum(["z", "y", "x"])), pl.col("f").cast(pl.Int16)
    )


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


AGE, AMOUNT = (18, 90), 2  # the ends of one column; the decimals of another


def people(rows=90, missing=0.25):
    """Ages in whole years, and amounts with cents that are never negative, often nothing."""
    rng = np.random.default_rng(1)
    old = rng.random(rows) < 0.5
    age = np.clip(np.rint(rng.normal(30 + 40 * old, 12)), *AGE).astype(int)
    amount = np.where(rng.random(rows) < 0.4, 0.0, rng.lognormal(2 + 2 * old).round(AMOUNT))
    masked = rng.random((2, rows)) < missing
    age[:2], masked[0, :2] = AGE, False
    return [
        [None if h else x for h, x in zip(mask, column.tolist(), strict=True)]
        for mask, column in zip(masked, (age, amount), strict=True)
    ]


def as_pandas(age, amount, kind="Int64"):
    return pd.DataFrame({"age": pd.Series(age, dtype=kind), "amount": amount})


def as_texts(age, amount):
    return pl.DataFrame({"age": age, "amount": amount}).cast(pl.String)


TABLES = {
    "pandas Int64": as_pandas,
    "pandas floats": lambda age, amount: as_pandas(age, amount, "float64"),
    "pandas objects": lambda age, amount: as_pandas(age, amount, "object"),
    "pandas Arrow": lambda age, amount: as_pandas(age, amount, pd.ArrowDtype(pa.int16())),
    "Polars": lambda age, amount: pl.DataFrame(
        {"age": age, "amount": amount}, schema_overrides={"age": pl.UInt8, "amount": pl.Float32}
    ),
    "Polars decimals": lambda age, amount: pl.DataFrame(
        {"age": age, "amount": pl.Series(amount).cast(pl.Decimal(12, 2))}
    ),
    "texts": as_texts,
    "Arrow": lambda age, amount: pa.table({"age": age, "amount": amount}),
    "array": lambda age, amount: np.array([age, amount], dtype=float).T,
    "objects": lambda age, amount: np.array([age, amount], dtype=object).T,
}


def cells(table):
    """Columns of any table, as lists of their cells."""
    if isinstance(table, np.ndarray):
        return table.T.tolist()
    return [
        table[name].tolist()
        if isinstance(table, pd.DataFrame)
        else table[name].to_pylist()
        if isinstance(table, pa.Table)
        else table[name].to_list()
        for name in ("age", "amount")
    ]


def types(table):
    """The types of its columns."""
    if isinstance(table, np.ndarray):
        return table.dtype
    return table.schema if isinstance(table, pl.DataFrame | pa.Table) else [*table.dtypes]


@pytest.mark.parametrize("made", TABLES.values(), ids=TABLES)
def test_numbers_keep_their_type_their_range_and_their_decimals(made):
    age, amount = people()
    X = made(age, amount)
    imputer = Imputer("classes", random_state=0, n_jobs=1).fit(X)
    tables = [imputer.transform(X), *imputer.draw(X, 2), fitted(X).impute(X)]
    for number, filled in enumerate(tables):
        assert types(filled) == types(X)
        for given, imputed, original in zip((age, amount), cells(filled), cells(X), strict=True):
            held = [x for x in given if x is not None]
            assert {*map(type, imputed)} <= {type(x) for x in original} - {type(None), type(pd.NA)}
            result = [float(x) for x in imputed]
            assert min(held) <= min(result)
            assert max(result) <= max(held) * (1 + 1e-6)  # of single precision
            if number in (1, 2):  # draws are values that occur
                assert {round(x, 4) for x in result} <= {round(x, 4) for x in held}
            rounded = [round(x, AMOUNT if given is amount else 0) for x in result]
            assert result == pytest.approx(rounded, rel=1e-6)


def test_a_model_from_a_file_keeps_ranges_and_whole_numbers(tmp_path):
    age, amount = people()
    data = pl.DataFrame({"age": age, "amount": amount})
    fit = lacunet.fit(data, 1, kinds={"age": "gaussian", "amount": "gaussian"}, starts=2)
    lacunet.write_model(fit.model, tmp_path / "m.json")
    for model in (fit, tmp_path / "m.json"):
        for draw in (False, True):
            frame = lacunet.assign(data, model, impute=True, draw=draw).to_frame()
            ages, amounts = (frame[f"{name} (imputed)"] for name in ("age", "amount"))
            assert ages.dtype == pl.Int64
            assert ages.is_between(*AGE).all()
            assert amounts.min() >= 0
            assert amounts.to_list() == pytest.approx(amounts.round(AMOUNT).to_list())
    one = data.head(1).with_columns(pl.lit(None, pl.Int64).alias("age"))
    (alone,) = lacunet.assign(one, tmp_path / "m.json", impute=True).numbers
    assert alone.cells == [round(alone.mean[0])]
