"""Inputs that once ended in a traceback, or did not end: each finding by its name."""

import contextlib
import multiprocessing
import time

import numpy as np
import polars as pl
import pytest

from lacunet.data.read import read_table
from lacunet.errors import DataError, LacunetError, ModelError, OutputError
from lacunet.models.formats import read_network
from lacunet.runtime.files import check_file, check_folder

ROWS = "a,b\n" + "x,u\ny,v\n" * 20


def refused(path):
    with pytest.raises(LacunetError) as caught:
        read_table(path) if str(path).endswith((".csv", ".parquet", ".arrow")) else read_network(
            path
        )
    return str(caught.value)


def test_a_panic_of_polars_is_a_damaged_file(tmp_path, monkeypatch):
    path = tmp_path / "data.parquet"
    pl.DataFrame({"a": ["x", "y"]}).write_parquet(path)

    def panics(*args, **options):
        raise pl.exceptions.PanicException("index out of bounds")

    monkeypatch.setattr(pl.LazyFrame, "collect", panics)
    assert "cannot be read (index out of bounds). A file may be damaged" in refused(path)


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_damaged_columns_end_in_a_table_or_a_sentence(tmp_path, ending):
    path, rng = tmp_path / f"data.{ending}", np.random.default_rng(0)
    frame = pl.DataFrame({"a": ["x", "y"] * 50, "b": ["u", "v"] * 50})
    (frame.write_parquet if ending == "parquet" else frame.write_ipc)(path)
    whole = path.read_bytes()
    for _ in range(60):
        damaged = bytearray(whole)
        for at in rng.integers(8, len(whole), size=2):
            damaged[at] = rng.integers(256)
        path.write_bytes(damaged)
        with contextlib.suppress(DataError):  # anything else is a failure
            read_table(path)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_more_values_than_small_integers_hold(tmp_path, ending):
    path = tmp_path / f"data.{ending}"
    frame = pl.DataFrame({"a": [f"v{i}" for i in range(33_000)] * 2, "b": ["u", "v"] * 33_000})
    (frame.write_csv if ending == "csv" else frame.write_parquet)(path)
    message = refused(path)
    assert (
        "column 'a' has more than 1,000 states" in message or "looks like an identifier" in message
    )


def seconds(function):
    began = time.process_time()
    with pytest.raises(LacunetError):
        function()
    return time.process_time() - began


# Inputs that take a parser the longest for their size, and how they are made.
WORST = {
    "comments.bif": lambda n: "/* a */" * n,
    "open comments.bif": lambda n: "/*" * n,
    "open line comments.bif": lambda n: "//" * n + "/*",
    "blanks.bif": lambda n: "variable a { type discrete [ 2 ] { a, b };" + " " * n,
    "brackets.bif": lambda n: "variable a {" + "(" * n,
    "quotes.bif": lambda n: 'variable "' + "\\\\" * n,
    "elements.xml": lambda n: "<BIF>" + "<a>" * n,
    "brackets.json": lambda n: "[" * n,
    "objects.json": lambda n: '{"a":' * n,
    "quotes.csv": lambda n: 'a,b\n"' * n,
    "names.csv": lambda n: ",".join(f"c{i}" for i in range(n)) + ",c0\n",
    "blank lines.csv": lambda n: "a,b\n" + "\n" * n + "x,y\n",
}


@pytest.mark.parametrize("name", WORST)
def test_no_parser_takes_longer_than_its_input_is_long(tmp_path, name):
    """Eight times the input, at most sixteen times the time, and that below a second."""
    read = read_table if name.endswith(".csv") else read_network
    path = tmp_path / name
    taken = []
    for size in (2_000, 16_000):
        path.write_text(WORST[name](size))
        taken.append(min(seconds(lambda: read(path)) for _ in range(2)))
    assert taken[1] < max(16 * taken[0], 0.1)
    assert taken[1] < 1.0


def test_a_default_that_stands_for_a_hundred_million_numbers(tmp_path):
    path = tmp_path / "large.bif"
    states = ", ".join(f"s{k}" for k in range(10))
    parents = [f"p{i}" for i in range(8)]
    text = "".join(f"variable {p} {{ type discrete [ 10 ] {{ {states} }}; }}\n" for p in parents)
    text += "variable c { type discrete [ 2 ] { a, b }; }\n"
    text += "".join(f"probability ( {p} ) {{ default {'0.1, ' * 9}0.1; }}\n" for p in parents)
    path.write_text(text + f"probability ( c | {', '.join(parents)} ) {{ default 0.5, 0.5; }}\n")
    with pytest.raises(ModelError, match="'c' would have 200,000,000 numbers"):
        read_network(path)


@pytest.mark.parametrize("quote", ["", '"'])
def test_header_cells_longer_than_the_csv_module_allows(tmp_path, quote):
    path = tmp_path / "data.csv"
    path.write_text(f"a,{quote}{'b' * 140_000}{quote}\nx,y\n")
    assert "header: a name has more than 131,072 characters" in refused(path)


def test_a_quoted_cell_of_a_megabyte_is_not_called_open(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(f'a,b\nx,"{"q" * 1_000_000}"\n')
    assert read_table(path).columns[1].states == ("q" * 1_000_000,)
    path.write_text(f'a,b\nx,"{"q" * 1_000_000}" \n')  # a space behind it: not for Polars
    assert "row 1: a cell has more than 131,072 characters" in refused(path)


def test_json_nested_too_deep(tmp_path):
    path = tmp_path / "deep.json"
    for depth in (500, 100_000):
        path.write_text("[" * depth + "]" * depth)
        assert "not a model file" in refused(path)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("~nosuchuser/data.csv", "there is no user of that name"),
        ("x" * 300 + ".csv", "cannot be read: File name too long"),
        ("a\0b.csv", "it has a zero byte"),
        ("lone\udcff.csv", "there is no file"),
    ],
)
def test_names_of_files_that_cannot_be(name, text):
    assert text in refused(name)


def test_names_of_outputs_that_cannot_be():
    for check in (check_file, check_folder):
        with pytest.raises(OutputError, match="cannot be written: File name too long"):
            check("x" * 300)
        with pytest.raises(OutputError, match="it has a zero byte"):
            check("a\0b")


def _read_in_child(path, answer):
    try:
        read_table(path)
    except DataError as error:
        answer.send(str(error))


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_process_is_refused_and_does_not_hang(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text(ROWS)
    read_table(path)
    fork = multiprocessing.get_context("fork")
    ours, theirs = fork.Pipe()
    child = fork.Process(target=_read_in_child, args=(path, theirs))
    child.start()
    assert ours.poll(20)
    assert "forked from one which had loaded lacunet" in ours.recv()
    child.join(20)
    assert read_table(path).rows  # this process is none
