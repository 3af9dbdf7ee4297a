"""Tables in several files: a folder, a pattern; what is refused, and where a bad row is."""

from itertools import pairwise

import numpy as np
import polars as pl
import pytest

import lacunet
from lacunet.errors import DataError

WRITERS = {
    ".csv": pl.DataFrame.write_csv,
    ".parquet": pl.DataFrame.write_parquet,
    ".arrow": pl.DataFrame.write_ipc,
}


@pytest.fixture
def whole():
    rng = np.random.default_rng(0)
    columns = {name: rng.choice(["a", "b", "c"], 300) for name in "xyz"}
    missing = pl.Series(rng.random(300) < 0.1)
    frame = pl.DataFrame(columns).with_columns(n=pl.Series(rng.integers(1, 4, 300)))
    return frame.with_columns(y=pl.when(missing).then(None).otherwise(pl.col("y")))


def cut(whole, folder, ending, *, cuts=(0, 120, 121, 300)):
    folder.mkdir(exist_ok=True)
    for k, (first, last) in enumerate(pairwise(cuts)):
        part = whole[first:last]
        WRITERS[ending](
            part if k % 2 else part.select(reversed(part.columns)), folder / f"part-{k}{ending}"
        )
    (folder / "_SUCCESS").write_text("")
    (folder / "notes.md").write_text("not a table")
    return folder


@pytest.mark.parametrize("ending", WRITERS)
def test_a_folder_and_a_pattern_are_one_table(ending, whole, tmp_path):
    WRITERS[ending](whole, tmp_path / f"whole{ending}")
    expected = lacunet.read_table(tmp_path / f"whole{ending}", weights="n")
    folder = cut(whole, tmp_path / "parts", ending)
    (folder / f".hidden{ending}").write_text("not to be read")
    for source in (folder, f"{folder}/*", f"{folder}/part-?{ending}", str(folder)):
        table = lacunet.read_table(source, weights="n")
        by_name = [[c.name for c in table.columns].index(c.name) for c in expected.columns]
        in_order = np.lexsort(table.codes[:, by_name].T[::-1])
        assert [table.columns[j].states for j in by_name] == [c.states for c in expected.columns]
        np.testing.assert_array_equal(table.codes[in_order][:, by_name], expected.codes)
        np.testing.assert_array_equal(table.counts[in_order], expected.counts)


def test_a_pattern_from_here(whole, tmp_path, monkeypatch):
    cut(whole, tmp_path / "parts", ".csv")
    monkeypatch.chdir(tmp_path)
    assert lacunet.read_table("parts/p*", exclude=["n"]).rows == 300
    (tmp_path / "[odd].csv").write_text("x\na\nb\n")  # a name, not a pattern
    assert lacunet.read_table("[odd].csv").rows == 2


def test_rows_are_found_in_their_files(tmp_path):
    for k in range(3):
        rows = [f"a,{i}" for i in range(5)]
        rows[2] = "a,-1" if k == 1 else rows[2]
        (tmp_path / f"{k}.csv").write_text("\n".join(["x,w", *rows]) + "\n")
    with pytest.raises(DataError, match=r"1\.csv, row 3 \(line 4\)"):
        lacunet.read_table(tmp_path, weights="w")


def test_files_that_do_not_go_together_are_refused(whole, tmp_path):
    folder = cut(whole, tmp_path / "parts", ".parquet")
    whole.drop("z").write_parquet(folder / "part-9.parquet")
    with pytest.raises(DataError, match=r"part-9\.parquet has no column 'z', which .*part-0\.parq"):
        lacunet.read_table(folder)
    whole.with_columns(more=pl.col("x")).write_parquet(folder / "part-9.parquet")
    with pytest.raises(DataError, match=r"part-0\.parquet has no column 'more', which .*part-9\.p"):
        lacunet.read_table(folder)
    whole.with_columns(pl.col("n").cast(pl.Float64)).write_parquet(folder / "part-9.parquet")
    with pytest.raises(DataError, match=r"column 'n' is Int64 in .*part-0.* and Float64 in .*-9"):
        lacunet.read_table(folder)
    nothing = whole.with_columns(n=pl.lit(None), x=pl.lit(None))
    nothing.write_parquet(
        folder / "part-9.parquet"
    )  # a column of nothing but missing values goes with any
    assert lacunet.read_table(folder).rows == 600
    whole.write_csv(folder / "part-9.csv")
    with pytest.raises(DataError, match=r"end in \.csv and in \.parquet: they may be copies"):
        lacunet.read_table(folder)


def test_nothing_to_read_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"no table fits .*\*\.csv: no file that ends in .* Check"):
        lacunet.read_table(tmp_path / "*.csv")
    (tmp_path / "year=2024").mkdir()
    with pytest.raises(DataError, match=r"has no table in it.* Give the pattern '.*/\*/\*'\."):
        lacunet.read_table(tmp_path)
