"""What is refused, and in which words."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from make_published import PUBLISHED, write_published
from make_survey import write_survey

from lacunet.data.read import dataset_path, load_dataset, read_rows, read_table
from lacunet.errors import DataError, OptionError


@pytest.fixture
def write(tmp_path):
    def write(content: str | bytes, name: str = "data.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def refused(source, error=DataError, **options) -> str:
    with pytest.raises(error) as caught:
        read_table(source, **options)
    return str(caught.value)


def test_no_such_file(write):
    path = write("a,b\n")
    message = refused(path.with_name("dta.csv"))
    assert message == f"there is no file {path.with_name('dta.csv')}. Did you mean data.csv?"
    assert "Check the name and the folder." in refused(path.with_name("zzz"))
    assert "There is no folder" in refused(path.parent / "no" / "x.csv")


def test_folder(tmp_path):
    assert refused(tmp_path).startswith(f"{tmp_path} has no table in it: no file that ends in .csv")


@pytest.mark.parametrize("content", ["", "\n\n", "  \r\n", b"\xef\xbb\xbf"])
def test_empty_file(write, content):
    assert "is empty. The first line must name the columns." in refused(write(content))


@pytest.mark.parametrize("content", ["a,b\n", "a,b", "a,b\n\n\n", '"a",b\n'])
def test_no_rows(write, content):
    assert "has columns but no rows. Add at least one row." in refused(write(content))


def test_no_rows_in_frames():
    assert "has columns but no rows" in refused(pl.DataFrame({"a": []}))
    assert "has columns but no rows" in refused(pd.DataFrame({"a": []}))
    assert "has columns but no rows" in refused(np.zeros((0, 2)))


@pytest.mark.parametrize("quote", ["", '"'])
def test_ragged_rows(write, quote):
    path = write(f"a,b,c\n{quote}1{quote},2,3\n1,2\n3,4,5\n")
    assert refused(path) == (
        f"{path}, row 2 (line 3): 2 cells, but the header has 3 columns. Fill the row up; a "
        "missing value is an empty cell, not one left out."
    )
    path = write(f"a,b,c\n{quote}1{quote},2,3\n1,2,3,4\n3,4,5\n")
    assert "row 2 (line 3): 4 cells, but the header has 3 columns. Put cells that" in refused(path)
    path = write(f"a\n{quote}1{quote}\n1,2\n")
    assert "row 2 (line 3): 2 cells, but the header has 1 column. Put" in refused(path)
    path = write(f"a,b\n{quote}1{quote},2\n\n3,4\n")
    assert "(line 3): the line is blank, but the header has 2 columns. Delete" in refused(path)


def test_ragged_rows_in_later_pieces(write, monkeypatch):
    monkeypatch.setattr("lacunet.data.text.PIECE", 10)
    monkeypatch.setattr("lacunet.data.text.PIECE_PER_COLUMN", 0)
    assert "row 101 (line 102): 1 cell," in refused(write("a,b\n" + "1,2\n" * 100 + "3\n"))
    blank = write("a,b\n" + "1,2\n" * 100 + "\n" * 30 + "3,4\n")
    assert "row 101 (line 102): the line is blank" in refused(blank)
    quoted = write("a,b\n" + "1,2\n" * 100 + "\n" * 30 + '"3",4\n')
    assert "row 101 (line 102): the line is blank" in refused(quoted)


def test_rows_after_quoted_line_breaks_are_counted_right(write):
    path = write('a,b\n"x\ny",2\n"x\ny",1\n3\n')
    assert f"{path}, row 3: 1 cell," in refused(path)
    path = write('a,b\n"x\ny",2\n"x\ny",1\nz,1\n')
    assert "column 'a', row 3: 'z' is not" in refused(path, states={"a": ["x\ny", "u"]})


def test_quotation_mark_never_closed(write):
    assert "row 2: a quotation mark is opened and never closed" in refused(
        write('a,b\n1,2\n"3,4\n5,6\n')
    )
    long = write('a,b\n1,2\n"3,4\n' + "5,6\n" * 50_000)
    assert "row 2: a quotation mark is opened and never closed" in refused(long)


def test_header(write):
    assert "two columns are named 'a' (columns 1 and 3). Rename one" in refused(
        write("a,b, a\n1,2,3\n")
    )
    assert "column 2 of 3 has no name. Give it one in the header." in refused(
        write("a,,c\n1,2,3\n")
    )
    assert "bare carriage return" in refused(write("a,b\r1,2\r"))


def test_not_utf8(write):
    path = write("a,b\nx,y\ncafé,z\n".encode("latin-1"))
    assert refused(path) == (
        f"{path}, row 2 (line 3), byte 12: not UTF-8 text. Save the file as UTF-8 (in a "
        'spreadsheet program: "CSV UTF-8").'
    )
    assert "header, byte 4: not UTF-8" in refused(write("café,b\n".encode("latin-1")))
    assert "UTF-16 text. Save it as UTF-8." in refused(write("a,b\n1,2\n".encode("utf-16")))


def test_binary_with_a_text_ending(write, tmp_path):
    frame = pl.DataFrame({"a": [1, 2]})
    frame.write_parquet(tmp_path / "p.csv")
    assert "a Parquet file. Rename it to end in .parquet." in refused(tmp_path / "p.csv")
    frame.write_ipc(tmp_path / "i.csv")
    assert "it looks like an Arrow file" in refused(tmp_path / "i.csv")
    assert "it looks like a spreadsheet or zip file" in refused(write(b"PK\x03\x04 ..."))
    assert "it holds zero bytes" in refused(write(b"a,b\n\x00\x01\n"))
    assert "it holds zero bytes" in refused(write(b"a,b\n" + b"1,2\n" * 1000 + b"\x00,1\n"))


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_damaged_files(write, tmp_path, ending):
    frame = pl.DataFrame({"a": list(range(1000)), "b": ["x", "y"] * 500})
    path = tmp_path / f"d.{ending}"
    frame.write_parquet(path) if ending == "parquet" else frame.write_ipc(path)
    whole = path.read_bytes()
    for content in (whole[: len(whole) // 2], b"a,b\n1,2\n", whole[:6]):
        assert "cannot be read (" in refused(write(content, f"e.{ending}"))
    assert "is empty" in refused(write(b"", f"e.{ending}"))


def test_unknown_ending(write):
    message = refused(write("a\n", "data.rtf"))
    assert "the ending '.rtf' is not known. Files may end in .csv, .tsv, .txt, .parquet" in message


def test_uninformative_columns():
    constant = read_table(pl.DataFrame({"a b": ["x"] * 3, "c": [1, 2, 1]}))
    assert constant.notes == ("column 'a b' has only one state, 'x': it carries no information.",)
    for empty in ([None] * 3, [float("nan")] * 3):
        assert refused(pl.DataFrame({"a": empty})) == (
            "column 'a' has no observed value: every cell is missing. "
            "Exclude it with exclude=['a']."
        )


def test_identifier():
    frame = pl.DataFrame({"id": ["u", "v", "w", None], "a": [1, 2, 1, 2]})
    assert refused(frame) == (
        "column 'id' has 3 different values in 3 observed rows, so it looks like an identifier. "
        "Exclude it with exclude=['id']. If it is not one, give kinds='id=categorical'."
    )
    assert read_table(frame, exclude=["id"]).rows == 4
    assert read_table(pl.DataFrame({"a": [1, 2]})).rows == 2


def test_long_identifier_stops_early(tmp_path):
    path = tmp_path / "id.csv"
    path.write_text("id,a\n" + "".join(f"person {i},{i % 2}\n" for i in range(30_000)))
    assert "observed rows, so it looks like an identifier. Exclude" in refused(path)


def test_patterns_with_weights_are_no_identifiers():
    frame = pl.DataFrame({"a": [1, 2, 3], "n": [5, 6, 7]})
    assert read_table(frame, weights="n").counts.tolist() == [5, 6, 7]


def test_continuous_numbers():
    values = [i / 7 for i in range(1, 31)] * 2
    (height,) = read_table(pl.DataFrame({"height": values})).columns
    assert (height.kind.value, height.why) == ("gaussian", "30 different numbers with fractions")
    assert read_table(pl.DataFrame({"dose": [0.5, 1.5, 2.5] * 3})).rows == 9


def test_too_many_states():
    values = [f"z{i % 1001}" for i in range(3000)]
    assert refused(pl.DataFrame({"zip": values})) == (
        "column 'zip' has more than 1,000 states (1,001 found). Group them first, or exclude it "
        "with exclude=['zip']."
    )
    many = read_table(pl.DataFrame({"zip": [f"z{i % 1000}" for i in range(3000)]}))
    assert many.codes.dtype == np.int16


def test_infinite_number():
    message = refused(pl.DataFrame({"a": [1.0, float("inf"), 1.0]}))
    assert "column 'a', row 2: inf is not a finite number. Correct it, or declare" in message
    assert read_table(pl.DataFrame({"a": [1.0, float("inf"), 2.0, 1.0]}), missing=["inf"]).rows == 4


def test_unknown_names():
    frame = pl.DataFrame({"smoke": [1, 2, 1], "age": [1, 2, 2]})
    assert refused(frame, OptionError, exclude=["smok"]) == (
        "exclude: there is no column 'smok' in polars DataFrame. Did you mean 'smoke'? Its "
        "columns are 'smoke', 'age'."
    )
    assert "columns: there is no column 'x'" in refused(frame, OptionError, columns=["x"])
    assert "weights: there is no column 'x'" in refused(frame, OptionError, weights="x")
    assert "columns names 'age' twice" in refused(frame, OptionError, columns=["age", "age"])
    assert "cannot be both the weight and a variable" in refused(
        frame, OptionError, weights="age", columns=["age", "smoke"]
    )
    assert "no column of polars DataFrame is left" in refused(
        frame, OptionError, exclude=frame.columns
    )
    assert "no column of polars DataFrame is left" in refused(frame, OptionError, columns=[])
    assert refused(frame, OptionError, states={"age": [1, 2]}, exclude=["age"]) == (
        "exclude: column 'age' is left out, but the network has it. Keep it, or declare it hidden: "
        "hidden='age'."
    )
    assert read_table(frame, states={"age": [1, 2]}, exclude=["smoke"]).weight == 3
    assert "there is no column 'agee' in polars DataFrame. Did you mean 'age'?" in refused(
        frame, states={"agee": [1, 2]}
    )
    with pytest.raises(DataError, match="there is no column 'zz'"):
        read_rows(frame, {"zz": [1]})


@pytest.mark.parametrize(
    ("weights", "what"),
    [
        ([1.0, -2.0, 1.0], "row 2: -2.0 is negative"),
        ([1.0, None, 1.0], "row 2: the weight is missing"),
        ([1.0, float("nan"), 1.0], "row 2: the weight is missing"),
        ([1.0, 1.0, float("inf")], "row 3: inf is infinite"),
        (["1", "two", "1"], "row 2: 'two' is not a number"),
        (["1", "NA", "1"], "row 2: the weight is missing"),
        ([True, False, True], "row 1: True is not a number"),
        ([None, None, None], "row 1: the weight is missing"),
    ],
)
def test_weights_refused(weights, what):
    message = refused(pl.DataFrame({"a": [1, 2, 1], "w": weights}), weights="w")
    assert message == (
        f"weight column 'w', {what}. A weight must be a number that is not negative; correct it, "
        "or choose another column with weights=."
    )


def test_weights_all_zero(write):
    path = write("a,w\n1,0\n2,0\n")
    assert refused(path, weights="w") == (
        "weight column 'w' is zero in every row. Choose another column with weights=."
    )
    path = write("a,w\n1,0\n2,x\n")
    assert "weight column 'w', row 2 (line 3): 'x' is not a number" in refused(path, weights="w")


def test_line_of_a_value_that_is_not_a_state(write):
    path = write("\nsmoke\nno\nmaybe\n")
    assert refused(path, states={"smoke": ["no", "yes"]}).startswith(
        "column 'smoke', row 2 (line 4): 'maybe' is not one of its 2 states 'no', 'yes'."
    )


def test_no_columns_and_no_states():
    for empty in (pl.DataFrame(), pd.DataFrame(), np.zeros((3, 0))):
        assert "has no columns. Give a table with at least one." in refused(empty)
    frame = pl.DataFrame({"a": [1, 2]})
    assert "column 'a': the list of its states is empty." in refused(
        frame, OptionError, states={"a": []}
    )


def test_state_listed_twice():
    with pytest.raises(DataError, match="the state '1' is listed twice"):
        read_table(pl.DataFrame({"a": [1]}), states={"a": [1, "1"]})


def test_sources_of_unknown_kind():
    assert "has 1 dimension; rows and columns are needed" in refused(np.zeros(3))
    assert "has 3 dimensions" in refused(np.zeros((2, 2, 2)))
    assert "a NumPy array of complex128 cannot be read" in refused(np.zeros((2, 2), complex))
    for strange in (7, None, {1, 2}):
        words = f"{type(strange).__name__} cannot be read as a table. Give a path, a dataframe"
        assert words in refused(strange)


def test_column_names_of_dataframes():
    twice = pd.DataFrame([[1, 2]], columns=["1", 1])
    assert refused(twice) == "pandas DataFrame: two columns are named '1'. Rename one of them."
    same = pd.DataFrame([[1, 2]], columns=["a", "a"])
    assert "two columns are named 'a'" in refused(same)
    pairs = pd.DataFrame([[1, 2]], columns=pd.MultiIndex.from_tuples([("a", 1), ("a", 2)]))
    assert "the column name ('a', 1) is not text. Rename" in refused(pairs)
    assert "column 1 has no name" in refused(pl.DataFrame({"": [1, 2]}))
    arrow = pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])
    assert "two columns are named 'a'" in refused(arrow)


def test_types_that_are_no_categories():
    frame = pl.DataFrame({"a": [[1], [2]], "b": [1, 2]})
    assert "column 'a' of polars DataFrame holds List(Int64); text, integers" in refused(frame)
    spans = pd.DataFrame({"t": pd.to_timedelta([1, 2, 1], "D")})
    assert "column 't' of pandas DataFrame holds Duration" in refused(spans)


def test_a_query_that_fails():
    lazy = pl.LazyFrame({"a": ["x", "y"]}).with_columns(pl.col("a").cast(pl.Int64))
    assert "polars LazyFrame cannot be read (" in refused(lazy)
    assert "polars LazyFrame cannot be read (" in refused(pl.LazyFrame({"a": [1]}).select("b"))


def test_bundled_data_sets():
    known = {"carcinoma": 118, "values": 216, "myocardial": 94, "fear": 93, "gss82": 1202}
    assert {name: load_dataset(name).weight for name in known} == known
    assert [len(c.states) for c in load_dataset("fear").columns] == [4, 3, 3]
    names = [c.name for c in load_dataset("myocardial").columns]
    assert names == ["Q", "H", "LDH", "CPK"]
    assert all(c.states == (0, 1) for c in load_dataset("carcinoma").columns)
    survey = load_dataset("survey")
    assert (survey.rows, len(survey.columns)) == (1500, 8)
    assert 0.1 < survey.missing.mean() < 0.14
    assert survey.empty_rows >= 1
    assert dataset_path("survey").exists()
    with pytest.raises(
        OptionError, match=r"'nil'\. There are: carcinoma, values, myocardial, survey"
    ):
        load_dataset("nil")


def test_bundled_files_are_what_their_scripts_write(tmp_path):
    write_published(tmp_path)
    write_survey(tmp_path / "survey.csv")
    patterns = PUBLISHED["carcinoma"][1]
    assert (len(patterns), sum(patterns.values())) == (20, 118)
    for path in tmp_path.glob("*.csv"):
        assert path.read_bytes() == dataset_path(path.stem).read_bytes()
    assert len(list(tmp_path.glob("*.csv"))) == 6
