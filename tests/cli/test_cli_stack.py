"""`lacunet stack`, and what reads its file."""

import csv

import numpy as np
import pytest


@pytest.fixture
def tables(tmp_path):
    """Rows to learn from, and others with missing values."""
    rng = np.random.default_rng(1)
    hidden = rng.integers(0, 2, 90)
    cells = np.where(rng.random((90, 4)) < 0.9, hidden[:, None], 1 - hidden[:, None])
    missing = np.where(rng.random((90, 4)) < 0.2, "", np.where(cells, "yes", "no"))
    for name, part in (("seen.csv", missing[:60]), ("new.csv", missing[60:])):
        with (tmp_path / name).open("w", newline="") as file:
            csv.writer(file).writerows([["a", "b", "c", "d"], *part])


def test_learn_save_fill_in_draw(invoke, tables, tmp_path):
    done = invoke(
        "stack", "seen.csv", "--folds", 2, "--test", "new.csv", "--save", "s.json", "--json"
    )
    assert done.code == 0
    document = done.json
    assert document["in_order"]
    assert sum(m["weight"] for m in document["members"]) == pytest.approx(1.0)
    assert document["test"]["rows"] == 30
    assert document["test"]["log_likelihood"] < 0
    assert (
        invoke("assign", "new.csv", "--model", "s.json", "--impute", "-o", "filled.csv").code == 0
    )
    rows = list(csv.DictReader((tmp_path / "filled.csv").read_text().splitlines()))
    assert {row["a (imputed)"] for row in rows} == {"yes", "no"}
    assert invoke("simulate", "--model", "s.json", "--rows", 7, "-o", "drawn.csv").code == 0
    assert len((tmp_path / "drawn.csv").read_text().splitlines()) == 8


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("stack", "seen.csv", "--save", "s.bif"), "a stack is written as .json"),
        (("stack", "seen.csv", "--folds", 1), "1 folds are not allowed"),
        (("stack", "nowhere.csv"), "nowhere.csv"),
        (("stack", "seen.csv", "--columns", "a,x"), "x"),
    ],
)
def test_mistakes(invoke, tables, arguments, message):
    done = invoke(*arguments)
    assert done.code == 2
    assert message in done.err


def test_rows_of_the_table_itself(invoke, tables, tmp_path):
    options = ("stack", "seen.csv", "--folds", 2, "--only", "classes")
    done = invoke(*options, "-o", "judged.csv", "--save", "s.json", "--json")
    assert done.code == 0, done.err
    rows = list(csv.DictReader((tmp_path / "judged.csv").read_text().splitlines()))
    assert len(rows) == done.json["held_out_rows"]["rows"] == 60
    tails = np.array([float(row["tail_probability"]) for row in rows])
    assert done.json["held_out_rows"]["unusual"] == (tails < 0.01).sum()
    assert done.json["held_out_rows"]["file"] == "judged.csv"
    mean = np.mean([float(row["log_probability"]) for row in rows])
    assert mean == pytest.approx(done.json["held_out_log_likelihood"], abs=1e-9)
    seen = invoke("assign", "seen.csv", "--model", "s.json", "--anomalies", "-o", "x.csv")
    assert "the stack was learned from these rows" in seen.out
    new = invoke("assign", "new.csv", "--model", "s.json", "--anomalies", "-o", "y.csv", "--json")
    assert "note" not in new.json
