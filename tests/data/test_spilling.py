"""Rows beyond a limit of memory: on disk, in the same order, with the same numbers."""

import errno
import os
import pickle

import numpy as np
import polars as pl
import pytest

import lacunet
from lacunet.errors import DataError, OptionError, OutputError
from lacunet.runtime.processes import bytes_of
from lacunet.runtime.rows import Disk, FileRange, Parcel, Scratch

rng = np.random.default_rng(2)
FRAME = pl.DataFrame(
    {
        # no order of names, texts, missing values, numbers, and more states than a byte holds
        "z": rng.choice(["no", "yes", None], 5000).tolist(),
        "b": rng.integers(0, 4, 5000),
        "a": [None if x == 9 else x for x in rng.integers(0, 10, 5000).tolist()],
        "n": rng.integers(0, 300, 5000),
    }
)
KINDS = {"kinds": "categorical"}


@pytest.fixture
def little(monkeypatch):
    """Let few rows be many: runs and ranges of some hundred rows, parts of a thousand."""
    monkeypatch.setattr("lacunet.runtime.rows.PROGRAM", 0)
    monkeypatch.setattr("lacunet.runtime.rows.LEAST", 0)
    monkeypatch.setattr("lacunet.data.distinct.FIRST_MERGE", 200)
    monkeypatch.setattr("lacunet.data.distinct.SAMPLED", 4)
    monkeypatch.setattr("lacunet.data.source.CELLS", 1 << 9)
    monkeypatch.setattr("lacunet.runtime.rows.PART", 1000)
    monkeypatch.setattr("lacunet.runtime.rows.LARGE", 1000)


def test_the_table_is_the_one_in_memory_in_the_order_of_work(little):
    table = lacunet.read_table(FRAME, memory="60KB", **KINDS)
    expected = lacunet.read_table(FRAME, **KINDS).in_canonical_order
    assert not table.codes.flags.owndata  # it is mapped from a file
    np.testing.assert_array_equal(table.codes, expected.codes)
    np.testing.assert_array_equal(table.counts, expected.counts)
    assert table.columns == expected.columns
    assert [c.place for c in table.columns] == [c.place for c in expected.columns]
    assert (table.rows, table.empty_rows, table.notes) == (
        5000,
        expected.empty_rows,
        expected.notes,
    )
    assert table.in_canonical_order is table
    np.testing.assert_allclose(table.missing, expected.missing, rtol=1e-12)


def test_a_disk_that_fills_during_a_fit_is_reported(little, monkeypatch):
    table = lacunet.read_table(FRAME, memory="60KB", **KINDS)
    written = []

    def no_room(fd, data):
        written.append(len(data))
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("lacunet.runtime.rows.os.write", no_room)
    with pytest.raises(OutputError, match=r"is full: with memory=.*TMPDIR"):
        lacunet.fit(table, 2, starts=2)
    assert len(written) == 1


def test_small_arrays_of_what_is_read_do_not_keep_all_of_it():
    scratch = Scratch()
    value = {"large": np.arange(100_000.0), "small": np.arange(3)}
    parcel = Parcel.written(scratch, value)
    table = parcel.read(scratch)
    np.testing.assert_array_equal(table["large"], value["large"])
    assert table["small"].flags.owndata or table["small"].base.nbytes < 1000
    assert parcel.place.size >= value["large"].nbytes


def test_what_fits_into_memory_stays_there():
    table = lacunet.read_table(FRAME, memory="2GB", **KINDS)
    assert table.memory == 2_000_000_000
    assert not Disk(table.memory).wants(table)
    np.testing.assert_array_equal(table.codes, lacunet.read_table(FRAME, **KINDS).codes)


def test_fits_and_scores_are_those_of_memory(little):
    frame, options = FRAME.drop("n"), {"starts": 2, "scores": "bic,cs,laplace", "quick": True}
    alone = lacunet.select(frame, [1, 2], **options)
    selection = lacunet.select(frame, [1, 2], memory="1KB", **options)
    assert selection.table.holder is not None
    for one, other in zip(selection.candidates, alone.candidates, strict=True):
        values = [[c.scores[name].value for name in one.scores] for c in (one, other)]
        np.testing.assert_allclose(*values, rtol=1e-10)
    again = pickle.loads(pickle.dumps(selection.candidates[1].fit))
    assert again.log_lik == selection.candidates[1].fit.log_lik
    forecast = lacunet.forecast(frame, 2, memory="1KB", threads=1)
    assert forecast.engine == "disk, 1 threads read parts of the rows from it"


def test_weights_stay_in_memory_and_too_many_are_refused(little):
    frame = FRAME.with_columns(w=pl.lit(2.0))
    with pytest.raises(DataError, match="do not fit into memory"):
        lacunet.read_table(frame, memory="20KB", weights="w", **KINDS)


def test_less_than_the_program_takes_is_refused():
    with pytest.raises(OptionError, match="650 MB or more"):
        lacunet.read_table(FRAME, memory="100MB")


@pytest.mark.parametrize("size", ["much", "-1GB", "0", "GB"])
def test_what_is_no_size_is_refused(size):
    with pytest.raises(OptionError, match="is not a size of memory"):
        lacunet.read_table(FRAME, memory=size)


@pytest.mark.parametrize(
    ("size", "expected"), [("2GB", 2e9), ("500 mb", 5e8), ("1GiB", 1e9), (12, 12)]
)
def test_sizes_are_read_as_people_write_them(size, expected):
    assert bytes_of(size) == expected


def test_a_full_disk_is_reported_with_the_next_step(little, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("lacunet.runtime.rows.os.write", full)
    with pytest.raises(OutputError, match=r"is full: .* Set TMPDIR"):
        lacunet.read_table(FRAME, memory="20KB", **KINDS)


def test_files_have_no_name_and_hold_what_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    scratch = Scratch()
    first, second = scratch.append(b"one"), scratch.append(np.arange(3.0))
    assert (first, bytes(scratch.read(first))) == (FileRange(0, 3), b"one")
    np.testing.assert_array_equal(np.frombuffer(scratch.read(second)), [0, 1, 2])
    assert list(tmp_path.iterdir()) == []
