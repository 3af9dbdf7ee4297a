"""A tiny run of every figure and table; stopping and going on; files that are not ours."""

import csv
import itertools
import json
import re

import pytest

from lacunet.errors import LacunetError, OptionError, OutputError
from lacunet.paper import tables
from lacunet.paper.experiments import PAPER, RESULTS, Design, Experimenter, Task
from lacunet.paper.reproduce import reproduce
from lacunet.paper.tables import TABLE1, TABLE2
from lacunet.runtime.checkpoint import Ledger
from lacunet.runtime.executor import SERIAL
from lacunet.settings import Settings

pytestmark = pytest.mark.slow  # most look at one run, which takes long

TINY = Design(
    figures={
        1: ((3, 2, 40), (4, 2, 40), (5, 2, 40), (6, 2, 40)),
        2: ((6, 3, 40), (6, 2, 40), (5, 3, 40), (4, 3, 40)),
        3: ((4, 2, 20), (4, 2, 30), (4, 2, 40), (4, 2, 80)),
    },
    states={2: range(1, 4), 3: range(2, 4)},
    timed=(6, 3, 40),
    reality=((4, 2, 60), (5, 2, 60)),
    reality_states=range(1, 3),
    epsilon_panels=((4, 2, 40),),
    epsilons=(0.001, 0.01, 0.1),
)


def run(folder, *, models=2, datasets=2, **options):
    settings = Settings(**{"starts": 4, "threads": 1, **options})
    return reproduce(folder, models=models, datasets=datasets, settings=settings, design=TINY)


def timeless(records):
    return [{k: v for k, v in r.items() if k != "seconds"} for r in records]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("paper")
    return folder, run(folder)


def test_everything_is_written(whole):
    folder, result = whole
    names = {p.name for p in folder.iterdir()}
    figures = {f"figure{i}.{e}" for i in (1, 2, 3) for e in ("svg", "png", "csv")}
    tables_ = {"table1.json", "table2.json", "reality_check.json"}
    assert names == figures | tables_ | {"results.jsonl", "paper.html", "paper.md"}
    assert len(result.records) == len(list(TINY.tasks(2, 2)))
    with (folder / "figure1.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4 * 3
    fit = next(
        r for r in result.records if (r["kind"], r["n"], r["N"], r["states"]) == ("fit", 3, 40, 2)
    )
    row = next(r for r in rows if (r["n"], r["N"], r["states"]) == ("3", "40", "2"))
    assert float(row["laplace"]) == fit["scores"]["laplace"]
    assert (folder / "figure1.png").read_bytes().startswith(b"\x89PNG")


def test_the_page_stands_alone(whole):
    page = (whole[0] / "paper.html").read_text()
    assert page.count("<svg") == 3
    assert not re.search(
        r'(src|href)="(?!#)', page.replace("xlink:href", "href").replace('href="#', "")
    )
    assert "<script" not in page
    assert "2 random models and 2 data sets" in page
    for heading in ("Table 1", "Table 2", "Convergence", "Reality check", "How this was made"):
        assert heading in page


def test_an_interrupted_run_resumes_with_the_same_numbers(whole, tmp_path):
    folder, result = whole
    lines = (folder / "results.jsonl").read_text().splitlines(keepends=True)
    # Killed in the middle of writing a line.
    (tmp_path / "results.jsonl").write_text("".join(lines[:40]) + lines[40][:25])
    again = run(tmp_path)
    assert timeless(again.records) == timeless(result.records)
    ours, theirs = ((f / "table1.json").read_text() for f in (tmp_path, folder))
    assert ours == theirs
    # Nothing is done twice.
    assert len((tmp_path / "results.jsonl").read_text().splitlines()) == len(lines)


def test_threads_change_nothing(whole, tmp_path):
    assert timeless(run(tmp_path, threads=2).records) == timeless(whole[1].records)


def test_fewer_models_reuse_results(whole, tmp_path):
    folder, result = whole
    (tmp_path / "results.jsonl").write_text((folder / "results.jsonl").read_text())
    first = run(tmp_path, models=1)
    assert timeless(first.records) == timeless(r for r in result.records if r["model"] == 0)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda lines: ['{"format": "other"}\n', *lines[1:]], "not a results file"),
        (lambda lines: [*lines[:3], "{broken\n", *lines[3:]], "line 4 is damaged"),
        (lambda lines: [*lines[:3], "{}\n"], "line 4 is not a result"),
        (lambda lines: [lines[0].replace('"seed": 0', '"seed": 5')], "made with seed 5, not 0"),
    ],
)
def test_foreign_and_damaged_results_are_left_alone(whole, tmp_path, change, text):
    lines = (whole[0] / "results.jsonl").read_text().splitlines(keepends=True)
    content = "".join(change(lines))
    (tmp_path / "results.jsonl").write_text(content)
    with pytest.raises(OutputError, match=text):
        run(tmp_path)
    assert (tmp_path / "results.jsonl").read_text() == content


@pytest.mark.parametrize("bad", [{"models": 0}, {"datasets": 0}, {"seed": -1}, {"starts": 0}])
def test_bad_arguments(tmp_path, bad):
    with pytest.raises(OptionError):
        run(tmp_path / "new", **bad)
    assert not (tmp_path / "new").exists()


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(LacunetError, match="a folder is needed"):
        run(tmp_path / "file")


def test_the_design_is_the_papers():
    assert len(PAPER.panels) == 10
    assert set(PAPER.panels) == set(TABLE1)
    assert [65 * k - 1 for k in TABLE2] == [
        1689, 1754, 1819, 1884, 1949, 2014, 2079, 2144, 2209, 2274, 2339
    ]  # fmt: skip
    fits = [t for t in PAPER.tasks(1, 5) if t.kind == "fit" and t.epsilon == 0.01]
    assert len(fits) == 565


def test_table1_counts_by_hand():
    def fit(model, dataset, states, **scores):
        return {
            "kind": "fit", "epsilon": 0.01, "n": 3, "c": 2, "N": 40,
            "model": model, "dataset": dataset, "states": states,
            "scores": {**dict.fromkeys(("cs", "mled", "draper"), 0.0), **scores},
        }  # fmt: skip

    records = [
        fit(m, d, k, laplace=-abs(k - 2), bic=-abs(k - 1 - d))
        for m, d, k in itertools.product((0, 1), (0, 1), (1, 2, 3))
    ]
    (row,) = tables.table1(records, TINY)
    assert row["laplace_states"]["mean"] == 2
    assert row["scores"]["bic"]["mean"] == -0.5
    assert row["scores"]["bic"]["stderr"] == 0.0  # both models have the same mean
    assert row["scores"]["bic"]["sd"] == pytest.approx(0.5773502691896257)
    assert row["scores"]["cs"]["mean"] == -1  # ties go to the first


def test_the_papers_findings_on_one_seed():
    """Table 1 in small: BIC chooses no more states than Laplace; CS = MLED for many leaves."""
    experimenter = Experimenter(PAPER, seed=0, starts=16)
    records = [
        experimenter.run(SERIAL, Task("fit", n, 4, N, 0, 0, k, 0.01))
        for n, N in ((64, 400), (32, 100), (32, 800))
        for k in range(2, 7)
    ]
    choices = tables.chosen(records)
    assert all(c["bic"] <= c["laplace"] for c in choices.values())
    assert choices[64, 4, 400, 0, 0]["cs"] == choices[64, 4, 400, 0, 0]["mled"] == 4
    drop = {}
    for N in (100, 800):
        curve = {
            r["states"]: r["scores"]["laplace"] for r in records if r["N"] == N and r["n"] == 32
        }
        drop[N] = max(curve.values()) - curve[2]
    assert drop[800] > drop[100]


def test_a_ledger_line_is_on_disk_at_once(tmp_path):
    ledger = Ledger(tmp_path / "r.jsonl", RESULTS, {"seed": 0}, Task)
    task = Task("fit", 3, 2, 40, 0, 0, 2, 0.01)
    assert task not in ledger
    ledger.add({**vars(task), "scores": {}})
    assert task in ledger
    assert json.loads((tmp_path / "r.jsonl").read_text().splitlines()[1])["states"] == 2
    del ledger  # it holds the file
    assert task in Ledger(tmp_path / "r.jsonl", RESULTS, {"seed": 0}, Task)
