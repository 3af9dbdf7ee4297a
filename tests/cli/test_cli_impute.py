"""`lacunet impute`."""

import csv

import numpy as np
import polars as pl
import pytest


@pytest.fixture
def table(tmp_path):
    """Columns that say nearly the same, an identifier, and a column of numbers."""
    rng = np.random.default_rng(1)
    answers = rng.integers(0, 2, 60)
    cells = np.where(rng.random((60, 3)) < 0.9, answers[:, None], 1 - answers[:, None])
    texts = np.where(cells, "yes", "no").astype(object)
    texts[rng.random(texts.shape) < 0.2] = "?"
    with (tmp_path / "data.csv").open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["id", "a", "b", "c", "size"])
        for i, row in enumerate(texts):
            size = "NA" if i % 6 == 0 else f"{3 * answers[i] + rng.normal():.3f}"
            out.writerow([f"p{i}" if i else "NA", *row, size])
    return tmp_path / "data.csv"


OPTIONS = ("--exclude", "id", "--kinds", "size=gaussian", "--model", "classes", "--threads", 1)


def test_the_table_without_missing_values(invoke, table, tmp_path):
    done = invoke("impute", "data.csv", "-o", "f.csv", "--probabilities", "p.csv", *OPTIONS)
    assert done.code == 0
    before, after = (
        list(csv.DictReader(path.read_text().splitlines())) for path in (table, tmp_path / "f.csv")
    )
    assert len(after) == 60
    assert after[0]["id"] == "NA"  # a column that is left out is left alone
    for old, new in zip(before, after, strict=True):
        assert {new["a"], new["b"], new["c"]} <= {"yes", "no"}
        float(new["size"])
        assert all(new[name] == cell for name, cell in old.items() if cell not in ("?", "NA"))
    predicted = pl.read_csv(tmp_path / "p.csv")
    missing = sum(cell in ("?", "NA") for row in before for cell in [*row.values()][1:])
    assert predicted.group_by("row", "column").len().height == missing
    assert f"{missing} missing values imputed" in done.out
    assert "hidden cells" in done.out


def test_several_tables_in_one_file(invoke, table, tmp_path):
    done = invoke("impute", "data.csv", "-o", "f.parquet", "--imputations", 3, "--json", *OPTIONS)
    assert done.code == 0
    assert done.json["tables"] == 3
    assert done.json["weights"] == {"classes": pytest.approx(1.0)}
    assert done.json["columns"]["size"]["mean_sd"] > 0
    result = pl.read_parquet(tmp_path / "f.parquet")
    assert result.columns == ["imputation", "id", "a", "b", "c", "size"]
    assert result["imputation"].to_list() == [1] * 60 + [2] * 60 + [3] * 60
    first, second = (result.filter(imputation=k).drop("imputation") for k in (1, 2))
    assert not first.equals(second)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-o", "f.doc"), "the ending '.doc' is not known"),
        (("-o", "f.csv", "--kinds", "size=gaussian"), "looks like an identifier"),
        (("-o", "f.csv", "--imputations", 0, *OPTIONS), "0 imputations"),
        (("-o", "f.csv", "--columns", "a,b", "--model", "tree"), "three columns or more"),
    ],
)
def test_mistakes(invoke, table, tmp_path, arguments, message):
    done = invoke("impute", "data.csv", *arguments)
    assert done.code == 2
    assert message in done.err
    assert not (tmp_path / "f.csv").exists()
