"""Columns of numbers are read as arrays, and give what reading them value by value gives."""

import pickle

import numpy as np
import polars as pl
import pytest

from lacunet.data import source as sources
from lacunet.data.columns import ColumnTyper
from lacunet.data.kinds import understand_kinds
from lacunet.data.read import read_table
from lacunet.data.reading import SourceReader, recoded
from lacunet.data.source import open_source
from lacunet.errors import DataError
from lacunet.runtime.states import Numbers

TEXTS = ["1.5", " 2", "+2.0", "NA", "-9", "", "1e3", "?", "-0", "0.0", "7.", ".5", "-9.0"]
KINDS = "x=gaussian,y=gaussian,z=gaussian"


def both_ways(frame, missing=frozenset()):
    """Codes and states of columns of numbers: read as arrays, and value by value."""
    for texts in (frozenset(), frozenset(frame.columns)):
        kinds = understand_kinds(KINDS)
        typer = ColumnTyper(open_source(frame), kinds, missing)
        reading = SourceReader(typer, frame.columns, texts=texts)
        codes = reading.codes()
        codings = reading.codings(reading.weighed(codes, np.ones(len(codes))))
        yield recoded(codes, codings).tolist(), [c.states for c in codings]


@pytest.mark.parametrize("batch", [4, 1 << 18])
def test_arrays_and_single_values_are_read_alike(batch, monkeypatch):
    monkeypatch.setattr(sources, "CELLS", batch)
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {
            "x": [*TEXTS, *map(str, rng.normal(size=700).round(2))],
            "y": [None, -9.0, np.nan, *rng.normal(size=len(TEXTS) + 697).round(1)],
            "z": rng.integers(-9, 40, len(TEXTS) + 700),
        }
    )
    arrays, values = both_ways(frame, frozenset({"-9", "NA", "", "?"}))
    assert arrays[0] == values[0]
    assert all(isinstance(states, Numbers) for states in arrays[1])
    assert arrays[1] == values[1]


def test_a_column_that_turns_to_text_is_read_again_as_text(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "CELLS", 4)
    path = tmp_path / "t.csv"
    rows = [f"{i % 30 / 4},{'1.50' if i % 2 else 'a'}" for i in range(900)]
    path.write_text("x,y\n" + "\n".join([*["0.25,1.50"] * 300, *rows]))
    table = read_table(path, kinds="auto")
    assert [c.kind.value for c in table.columns] == ["gaussian", "categorical"]
    assert table.columns[1].states == ("1.50", "a")  # as written: it is a text
    with pytest.raises(DataError, match=r"'y', row 301 .line 302.: 'a' is not a number"):
        read_table(path, kinds="x=gaussian,y=gaussian")


def test_identifiers_that_are_longer_than_a_float_are_no_numbers():
    long = [10**16 + i for i in range(50)]
    with pytest.raises(DataError, match="identifier"):
        read_table(pl.DataFrame({"x": long, "y": [0, 1] * 25}), kinds="auto")


def test_numbers_are_like_a_tuple():
    whole, other = Numbers(np.array([-1.0, 0.0, 3.0])), Numbers(np.array([0.25, 1.0]))
    assert (whole[0], whole[-1], whole[1:], list(other)) == (-1, 3, (0, 3), [0.25, 1.0])
    assert all(type(x) is int for x in whole)
    assert whole == (-1, 0, 3)
    assert whole != other
    assert {whole: 1}[Numbers(whole.array.copy())] == 1
    assert pickle.loads(pickle.dumps(whole)) == whole
    assert repr(other) == "(0.25, 1.0)"
