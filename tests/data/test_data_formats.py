"""The same data give the same table, whatever they are kept in."""

import datetime as dt
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from examples import examples
from lacunet.data import Column, Table
from lacunet.data.read import read_rows, read_table
from lacunet.data.write import append_columns, column_names, labelled_frame, write_codes
from lacunet.errors import DataError, OptionError


def same(a: Table, b: Table) -> None:
    assert a.columns == b.columns
    assert [type(s) for c in a.columns for s in c.states] == [
        type(s) for c in b.columns for s in c.states
    ]
    assert a.codes.dtype == b.codes.dtype
    assert a.codes.tolist() == b.codes.tolist()
    assert a.counts.tobytes() == b.counts.tobytes()
    assert (a.rows, a.empty_rows) == (b.rows, b.empty_rows)


@pytest.fixture
def frame() -> pl.DataFrame:
    rng = np.random.default_rng(5)
    n = 300
    data = pl.DataFrame(
        {
            "text": rng.choice(["q2", "q10", "Q1"], n),
            "whole": rng.integers(0, 4, n),
            "half": rng.choice([0.5, 1.0], n),
            "float": rng.integers(1, 3, n).astype(float),
            "flag": rng.random(n) < 0.5,
        }
    )
    missing = {name: pl.Series(rng.random(n) < 0.4) for name in data.columns}
    missing = {name: mask | (pl.Series(range(n)) == 7) for name, mask in missing.items()}
    return data.with_columns(
        pl.when(missing[name]).then(None).otherwise(pl.col(name)).alias(name)
        for name in data.columns
    )


def test_every_kind_of_source(frame, tmp_path):
    expected = read_table(frame)
    assert expected.columns[0].states == ("Q1", "q2", "q10")
    assert expected.columns[4].states == (False, True)
    assert expected.empty_rows >= 1
    frame.write_csv(tmp_path / "a.csv")
    frame.write_csv(tmp_path / "q.csv", quote_style="always")
    frame.write_csv(tmp_path / "a.tsv", separator="\t")
    frame.write_csv(tmp_path / "semicolon.csv", separator=";")
    frame.write_csv(tmp_path / "bar.txt", separator="|")
    frame.write_csv(tmp_path / "bom.csv", include_bom=True)
    frame.write_csv(tmp_path / "windows.csv", line_terminator="\r\n")
    frame.write_parquet(tmp_path / "a.parquet")
    frame.write_parquet(tmp_path / "a.pq", row_group_size=50)
    for ending in ("arrow", "feather", "ipc"):
        frame.write_ipc(tmp_path / f"a.{ending}")
    for path in tmp_path.iterdir():
        same(read_table(path), expected)
        same(read_table(str(path)), expected)
    pandas = frame.to_pandas()
    sources = [
        frame.lazy(),
        frame.to_arrow(),
        pandas,
        pandas.astype(object),
        pandas.convert_dtypes(),
        frame.cast(pl.String),
        frame.with_columns(pl.col("text").cast(pl.Categorical)),
    ]
    for source in sources:
        same(read_table(source), expected)


def test_numpy_arrays():
    values = np.array([[0, 1], [1, 0], [1, 1], [0, 1]])
    expected = read_table(values)
    assert [c.name for c in expected.columns] == ["x1", "x2"]
    same(read_table(values.astype(np.uint8)), expected)
    same(read_table(values.astype(float)), expected)
    same(read_table(values.astype(str)), expected)
    same(read_table(values.astype(object)), expected)
    same(read_table(np.asfortranarray(values)), expected)
    missing = np.array([[0.0, 1.0], [np.nan, 0.0], [1.0, 1.0]])
    assert read_table(missing).columns[0].states == (0, 1)
    assert read_table(missing).codes.tolist() == [[-1, 0], [0, 1], [1, 1]]


def test_lazy_queries_are_run_in_batches(monkeypatch):
    monkeypatch.setattr("lacunet.data.source.CELLS", 3000)
    rng = np.random.default_rng(6)
    big = pl.DataFrame({name: rng.integers(0, 3, 20_000) for name in "abc"})
    expected = read_table(big)
    lazy = big.lazy().with_columns(d=pl.col("a") + 10)
    table = read_table(lazy, exclude=["d"])
    same(table, expected)
    assert table.distinct_rows == 27
    given = dict.fromkeys("abc", (0, 1, 2))
    assert np.array_equal(read_rows(lazy, given).codes, big.to_numpy())


def test_files_in_many_pieces(monkeypatch, tmp_path):
    rng = np.random.default_rng(7)
    frame = pl.DataFrame({name: rng.choice(["a", "b\nc", 'd"', "e,f"], 2000) for name in "xyz"})
    frame.write_csv(tmp_path / "quoted.csv")
    plain = frame.with_columns(pl.all().str.slice(0, 1))
    plain.write_csv(tmp_path / "plain.csv")
    quoted_table, plain_table = read_table(frame), read_table(plain)
    monkeypatch.setattr("lacunet.data.text.PIECE", 100)
    monkeypatch.setattr("lacunet.data.text.PIECE_PER_COLUMN", 0)
    same(read_table(tmp_path / "quoted.csv"), quoted_table)
    same(read_table(tmp_path / "plain.csv"), plain_table)


def test_declared_categories_keep_their_order_and_the_unused_ones():
    values, categories = ["low", "high", None, "low"], ["low", "mid", "high"]
    pandas = pd.DataFrame({"a": pd.Categorical(values, categories=categories, ordered=True)})
    dictionary = pa.DictionaryArray.from_arrays(pa.array([0, 2, None, 0]), pa.array(categories))
    for source in (
        pl.DataFrame({"a": pl.Series(values, dtype=pl.Enum(categories))}),
        pandas,
        pandas.astype(pd.CategoricalDtype(categories)),
        pa.table({"a": dictionary}),
    ):
        table = read_table(source)
        assert table.columns[0].states == ("low", "mid", "high")
        assert table.codes.tolist() == [[-1], [0], [2]]
        assert table.notes[0] == "column 'a': declared but never observed: 'mid'."


def test_categories_of_other_types_and_markers():
    frame = pd.DataFrame(
        {
            "number": pd.Categorical([3, 1, None, 3], categories=[3, 2, 1]),
            "bin": pd.cut([1.0, 5.0, 9.0, 2.0], 3),
            "marker": pd.Categorical(["a", "NA", "b", "a"], categories=["NA", "b", "a"]),
        }
    )
    table = read_table(frame)
    assert table.columns[0].states == (3, 2, 1)
    assert len(table.columns[1].states) == 3
    assert table.columns[2].states == ("NA", "b", "a")  # Namibia, say
    assert table.missing.tolist() == [0.25, 0, 0]
    declared = read_table(frame, missing=["NA"])
    assert declared.columns[2].states == ("b", "a")
    assert declared.missing.tolist() == [0.25, 0, 0.25]


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_texts_of_dataframes_are_no_missing_values(library):
    """A library that can say that a cell is empty needs no texts for it."""
    countries = ["NA", "DE", "?", "", "null", None, "NaN", "DE"]
    table = read_table(library({"country": countries, "other": list("ababbaab")}))
    assert table.columns[0].states == ("", "?", "DE", "NA", "NaN", "null")
    assert table.missing[0] == 1 / 8
    (note,) = table.notes
    assert "column 'country': '', '?', 'NA', 'NaN', 'null' is used as a category" in note


def test_texts_in_parquet_are_no_missing_values_and_in_csv_they_are(tmp_path):
    frame = pl.DataFrame({"a": ["NA", "DE", "FR", "DE"], "b": [1, 2, 1, 2]})
    frame.write_parquet(tmp_path / "t.parquet")
    frame.write_csv(tmp_path / "t.csv")
    assert read_table(tmp_path / "t.parquet").missing.tolist() == [0, 0]
    assert read_table(tmp_path / "t.csv").missing.tolist() == [0.25, 0]


@pytest.mark.parametrize("kind", [np.int64, np.float64, object, "U2"])
def test_what_an_array_masks_is_a_missing_value(kind):
    values = np.array([[0, 1], [1, 0], [1, 1], [0, 0]]).astype(kind)
    masked = np.ma.masked_array(values, mask=[[0, 1], [0, 0], [1, 0], [0, 0]])
    table = read_table(masked)
    assert table.missing.tolist() == [0.25, 0.25]
    assert table.columns[0].states == (0, 1)


def test_texts_that_differ_in_spaces_are_one_with_a_word():
    table = read_table(
        pl.DataFrame({"a": ["yes", "yes ", " no", "no", "yes"], "b": [1, 2, 1, 2, 1]})
    )
    assert table.columns[0].states == ("no", "yes")
    assert "column 'a': 'yes', 'yes ' differ in spaces alone, and are one state." in table.notes


def test_a_declared_categorical_with_one_value_observed():
    kind = pl.Enum(["no", "yes"])
    assert read_table(pl.DataFrame({"a": pl.Series(["no"] * 3, dtype=kind)})).complete
    with pytest.raises(DataError, match="column 'a' has no observed value"):
        read_table(pl.DataFrame({"a": pl.Series([None] * 3, dtype=kind)}))
    one = read_table(pl.DataFrame({"a": pl.Series(["no"] * 3, dtype=pl.Enum(["no"]))}))
    assert "only one state, 'no'" in one.notes[0]


def test_dates_decimals_and_mixed_objects():
    day = dt.date(2024, 5, 1)
    frame = pl.DataFrame({"day": [day, day, None, day.replace(year=2020)], "n": [1, 2, 1, 2]})
    assert read_table(frame).columns[0].states == ("2020-05-01", "2024-05-01")
    decimal = frame.with_columns(pl.col("n").cast(pl.Decimal(5, 1)))
    assert read_table(decimal).columns[1].states == (1, 2)
    mixed = pd.DataFrame(
        {"a": pd.Series([1, "x", None, pd.NA, True, 1, float("nan")], dtype=object)}
    )
    assert read_table(mixed).columns[0].states == ("1", "true", "x")


def test_column_names_that_are_numbers():
    assert column_names(pd.DataFrame([[0, 1]])) == ["0", "1"]
    assert [c.name for c in read_table(pd.DataFrame([[0, 1], [1, 0]])).columns] == ["0", "1"]


def test_choice_of_columns(frame):
    assert [c.name for c in read_table(frame, columns=["flag", "text"]).columns] == ["flag", "text"]
    assert [c.name for c in read_table(frame, columns="flag").columns] == ["flag"]
    names = [c.name for c in read_table(frame, exclude=["flag", "half"]).columns]
    assert names == ["text", "whole", "float"]


def test_weight_two_is_the_row_twice(tmp_path):
    path = tmp_path / "w.csv"
    path.write_text("a,n,b\nx, 2 ,1\ny,1.0,0\nx,0,0\nx,1,1\n")
    table = read_table(path, weights="n")
    assert table.columns == (Column("a", ("x", "y")), Column("b", (0, 1)))
    assert table.codes.tolist() == [[0, 0], [0, 1], [1, 0]]
    assert table.counts.tolist() == [0, 3, 1]
    assert (table.rows, table.weight, table.weights) == (4, 4.0, "n")
    repeated = read_table(pl.DataFrame({"a": list("xxxy"), "b": [1, 1, 1, 0]}))
    assert repeated.counts.tolist() == [3, 1]
    assert "total weight 4 (column 'n')" in str(table)


def test_blank_lines(tmp_path):
    one = tmp_path / "one.csv"
    one.write_text("a\n1\n\n2\n\n")
    assert read_table(one).rows == 4
    assert read_table(one).empty_rows == 2
    one.write_text('a\n"1"\n\n2\n\n')
    assert read_table(one).rows == 4
    several = tmp_path / "several.csv"
    for text in ("a,b\n1,2\n2,1\n\n\r\n  \n", '\n\na,b\n"1",2\n2,1\n\n\n'):
        several.write_text(text)
        assert read_table(several).rows == 2


def test_quotes_as_people_write_them(tmp_path):
    path = tmp_path / "q.csv"
    path.write_text('"a", b\n"x, y" ,5" pipe\n "x, y","say ""hi"""\n"two\nlines",5" pipe\n')
    table = read_table(path)
    assert table.columns[0].states == ("two\nlines", "x, y")
    assert table.columns[1].states == ('5" pipe', 'say "hi"')


def test_header_in_quotes_over_two_lines(tmp_path):
    path = tmp_path / "h.csv"
    path.write_text('"a\nb";c;"d,e"\n1;2;3\n2;1;4\n')
    assert column_names(path) == ["a\nb", "c", "d,e"]
    assert read_table(path).rows == 2


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "arrow", "feather"])
def test_append_columns_keeps_the_input(ending, tmp_path):
    path, out = tmp_path / "in.csv", tmp_path / f"out.{ending}"
    path.write_text('id;a;b\n007; x ;1.0\n8;"p;q\nr";NA\n9;;?\n')
    append_columns(path, {"class": np.array([1, 2, 1]), "p": np.array([0.5, 0.25, 1])}, out)
    read = {
        "csv": pl.read_csv,
        "tsv": lambda p, **k: pl.read_csv(p, separator="\t", **k),
        "parquet": lambda p, **k: pl.read_parquet(p),
        "arrow": lambda p, **k: pl.read_ipc(p),
        "feather": lambda p, **k: pl.read_ipc(p),
    }[ending]
    got = read(out, infer_schema=False).cast(pl.String)
    assert got.columns == ["id", "a", "b", "class", "p"]
    assert got["id"].to_list() == ["007", "8", "9"]
    assert got["a"].to_list() == [" x ", "p;q\nr", None]
    assert got["b"].to_list() == ["1.0", "NA", "?"]
    assert got["class"].to_list() == ["1", "2", "1"]
    assert got["p"].to_list() == ["0.5", "0.25", "1.0"]
    assert [p.name for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_append_columns_to_a_dataframe_keeps_types(frame, tmp_path):
    out = tmp_path / "out.parquet"
    append_columns(frame.to_pandas(), {"class": np.arange(300)}, out)
    got = pl.read_parquet(out)
    assert got["whole"].dtype.is_numeric()
    assert got["class"].to_list() == list(range(300))
    assert got["text"].to_list() == frame["text"].to_list()


def test_append_columns_refuses(frame, tmp_path):
    with pytest.raises(OptionError, match=r"ending '\.xlsx' is not known.*\.csv, \.tsv, \.parquet"):
        append_columns(frame, {}, tmp_path / "a.xlsx")
    with pytest.raises(OptionError, match=r"has a column 'text' already\. Choose another name"):
        append_columns(frame, {"text": np.zeros(300)}, tmp_path / "a.csv")
    for size in (299, 301):
        with pytest.raises(DataError, match=f"the new columns have {size} values, but"):
            append_columns(frame, {"class": np.zeros(size)}, tmp_path / "a.csv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "arrow"])
def test_write_codes_round_trip(ending, tmp_path):
    columns = [Column("a", ("no", "yes")), Column("b", (1, 2, 10)), Column("c", (False, True))]
    rng = np.random.default_rng(8)
    codes = np.stack([rng.integers(-1, len(c.states), 200) for c in columns], axis=1)
    path = tmp_path / f"sim.{ending}"
    write_codes(columns, codes, path)
    given = {c.name: c.states for c in columns}
    assert np.array_equal(read_rows(path, given).codes, codes)
    same(read_table(path), Table.from_codes(codes, columns))


def test_labelled_frame():
    frame = labelled_frame([Column("a", (1, True))], np.array([[1], [-1], [0]]))
    assert frame["a"].to_list() == ["true", None, "1"]


def test_write_codes_refuses(tmp_path):
    with pytest.raises(DataError, match="column 'a': the state ' x' could not be read back"):
        write_codes([Column("a", (" x", "y"))], np.array([[0]]), tmp_path / "a.csv")
    with pytest.raises(OptionError, match=r"the ending '' is not known"):
        write_codes([Column("a", ("x", "y"))], np.array([[0]]), tmp_path / "a")


names = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=5)
readable = names.filter(
    lambda s: s == s.strip() and s not in {"NA", "NaN", "nan", "null", "NULL", "?"}
)


@st.composite
def coded(draw):
    columns = [
        Column(name, tuple(draw(st.lists(readable, min_size=2, max_size=4, unique=True))))
        for name in draw(st.lists(readable, min_size=1, max_size=3, unique=True))
    ]
    rows = st.tuples(*(st.integers(-1, len(c.states) - 1) for c in columns))
    return columns, np.array(draw(st.lists(rows, min_size=1, max_size=20)))


@pytest.mark.slow
@examples(60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(coded())
def test_what_is_written_is_read_back(tmp_path, case):
    columns, codes = case
    path = tmp_path / "any.csv"
    write_codes(columns, codes, path)
    assert np.array_equal(read_rows(path, {c.name: c.states for c in columns}).codes, codes)


@examples(40)
@given(
    st.lists(st.tuples(*[st.sampled_from(["a", "b", None])] * 3), min_size=2, max_size=30),
    st.randoms(),
)
def test_the_order_of_rows_does_not_matter(rows, random):
    rows += [("a", "b", "a"), ("b", "a", "b")] * 2
    shuffled = list(rows)
    random.shuffle(shuffled)
    same(
        *(
            read_table(pl.DataFrame(r, schema=["x", "y", "z"], orient="row"))
            for r in (rows, shuffled)
        )
    )


PATTERNS = {"x": ["a", "b"] * 9, "*": ["c", "c", "d"] * 6, "^x.*$": ["1,5", "2,5"] * 9}


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "arrow", "frame", "quoted"])
def test_names_that_look_like_patterns(ending: str, tmp_path: Path) -> None:
    """Polars takes `*` for all columns, and `^…$` for those that match: a name is a name."""
    frame = pl.DataFrame(PATTERNS)
    path = tmp_path / f"data.{'csv' if ending == 'quoted' else ending}"
    match ending:
        case "csv":
            frame.write_csv(path, separator=";")
        case "quoted":
            frame.write_csv(path, quote_style="always")
        case "tsv":
            frame.write_csv(path, separator="\t")
        case "parquet":
            frame.write_parquet(path)
        case "arrow":
            frame.write_ipc(path)
    table = read_table(frame if ending == "frame" else path)
    assert [c.name for c in table.columns] == list(PATTERNS)
    assert table.columns[1].labels == ("c", "d")
    assert table.rows == 18
    alone = read_table(frame if ending == "frame" else path, exclude=["x", "^x.*$"])
    assert [c.name for c in alone.columns] == ["*"]
    assert alone.counts.sum() == 18
