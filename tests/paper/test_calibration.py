"""The calibration study, tiny: what is counted, going on, and a judge that cannot be fooled."""

import math

import numpy as np
import pytest

from lacunet.errors import OptionError
from lacunet.evidence.annealing import Goal
from lacunet.settings import Settings
from problems import make_case
from studies.calibration import reliability as r
from studies.calibration.best_known import best_known
from studies.calibration.calibration_grids import findings
from studies.calibration.cell import DrawSettings
from studies.calibration.cells import CALIBRATION, CalibrationDesign
from studies.calibration.coverage_tables import coverage_table, judged
from studies.calibration.judging import VerdictCell
from studies.calibration.known_networks import KNOWN
from studies.calibration.other_priors import OtherCell
from studies.calibration.posteriors import PosteriorCell, draw
from studies.calibration.shapes import SHAPES
from studies.calibration.study import calibrate

CELL = PosteriorCell("small", 3, 2, 30, 0.2, datasets=3, measured=1)
TINY = CalibrationDesign(
    posteriors=(CELL,),
    verdicts=(VerdictCell("chain", SHAPES["chain"], (5, 8), datasets=2, weight=1.0),),
    others=(OtherCell("tiny", 12, levels=(2, 3), numbers=1, missing=0.2, datasets=2),),
)
OPTIONS = Settings(starts=4, threads=1, target=0.3, budget=600.0)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("calibration")
    return folder, calibrate(folder, design=TINY, settings=OPTIONS)


def lines(folder):
    return (folder / "calibration.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)


@pytest.mark.slow
def test_everything_is_written(whole):
    folder, result = whole
    endings = {f"calibration.{e}" for e in ("jsonl", "json", "md", "html")}
    assert {p.name for p in folder.iterdir()} == endings | {"reliability1.svg", "reliability1.png"}
    (row,) = result.reliability
    assert row["ways"]["select"]["datasets"] == 3
    assert row["ways"]["evidence"]["datasets"] == 1
    assert result.page.read_text(encoding="utf-8").count("<svg") == 1
    assert "mean log p(true k)" in str(result)
    (cell,) = (row for row in result.others if row["factor"] == "cell")
    assert (cell["which"], cell["datasets"]) == ("tiny", 2)
    assert "other priors" in str(result)


@pytest.mark.slow
@pytest.mark.long
def test_an_interrupted_study_resumes_with_the_same_numbers(whole, tmp_path):
    folder, result = whole
    before = lines(folder)
    (tmp_path / "calibration.jsonl").write_text("".join(before[:4]) + before[4][:30])
    again = calibrate(tmp_path, design=TINY, settings=OPTIONS)
    assert len(lines(tmp_path)) == len(before)
    ours, theirs = (x.reliability[0]["ways"]["select"] for x in (again, result))
    assert ours == theirs


@pytest.mark.slow
def test_some_cells_and_fewer_data_sets(whole, tmp_path):
    folder, _ = whole
    (tmp_path / "calibration.jsonl").write_text("".join(lines(folder)))
    part = calibrate(tmp_path, design=TINY, settings=OPTIONS, cells=["verdicts"], datasets=1)
    assert part.reliability == ()
    assert len(lines(tmp_path)) == len(lines(folder))
    assert sum(row["measurements"] for row in part.coverage if row["cell"] == "chain") >= 1


def test_unknown_cells_are_refused(tmp_path):
    with pytest.raises(OptionError, match="'nowhere' is not a cell"):
        calibrate(tmp_path / "x", cells=["nowhere"])
    with pytest.raises(OptionError, match="at least 1"):
        calibrate(tmp_path / "x", datasets=0)
    assert not (tmp_path / "x").exists()


def test_the_design_has_what_it_promises():
    cells = CALIBRATION.posteriors
    assert {c.leaves for c in cells} >= {4, 64}
    assert {c.rows for c in cells} >= {50, 5000}
    assert {c.missing for c in cells} >= {0.0, 0.3}
    assert max(c.most for c in cells) == 32
    assert sum(c.datasets for c in CALIBRATION.verdicts) >= 200
    assert len(CALIBRATION.cells) == sum(map(len, CALIBRATION.groups.values()))  # names differ
    for name, sizes in {"asia": (8, 8), "child": (20, 25), "insurance": (27, 52)}.items():
        network = KNOWN[name]
        assert (len(network.variables), sum(map(len, network.parents))) == sizes


def test_data_sets_have_every_number_of_classes_equally_often():
    numbers = [draw(CELL, n, seed=0)[0] for n in range(200)]
    assert abs(np.mean(numbers) - 1.5) < 0.15
    k, table = draw(CELL, 3, seed=0)
    assert [c.states for c in table.columns] == [(0, 1)] * 3
    assert table.rows == 30
    assert draw(CELL, 3, seed=0)[0] == k


def record(k, posterior, **scores):
    posterior_by_score = {"by": "csl", "values": [math.log(p) for p in posterior]}
    return {
        "cell": "small",
        "classes": k,
        "select": posterior_by_score,
        "scores": scores,
        "cpu": {"select": 1.0},
    }


def test_a_posterior_by_hand():
    """Of two data sets, 0.9 on the right one and 0.6 on the wrong one."""
    row = r.reliability_table([record(1, [0.9, 0.1]), record(2, [0.6, 0.4])], CELL)
    judged = row["ways"]["select"]
    assert judged["log_true"] == pytest.approx((math.log(0.9) + math.log(0.4)) / 2)
    assert (judged["right"], judged["largest"]) == (0.5, pytest.approx(0.75))
    first, second = judged["bins"]
    assert (first["from"], first["right"], first["number"]) == (0.6, 0.0, 1)
    assert second["error"] == pytest.approx(0.3)  # sqrt(0.9 · 0.1)
    assert sum(b["number"] for b in judged["every"]) == 4


def test_probabilities_are_those_that_were_stated():
    """Widened ones do not follow from the evidences beside them."""
    first = record(2, [0.9, 0.1])
    first["select"]["probabilities"] = [0.7, 0.3]
    assert np.exp(r.log_posterior(first, "select")) == pytest.approx([0.7, 0.3])


def test_evidences_that_are_bounds_are_no_posterior():
    sure, bounded = record(1, [0.9, 0.1]), record(2, [0.6, 0.4])
    sure["evidence"] = {"values": [-10.0, -11.0], "verdicts": ["exact", "reliable"]}
    bounded["evidence"] = {"values": [-10.0, -11.0], "verdicts": ["exact", "lower bound only"]}
    row = r.reliability_table([sure, bounded], CELL)
    assert row["ways"]["evidence"]["datasets"] == 1
    assert row["where_measured"]["log_true"] == pytest.approx(math.log(0.9))
    (line,) = findings([row], [])
    assert "in the 1 data sets whose evidences are all measured -0.11, by these -0.31" in line


def test_one_mode_gets_all_labellings():
    """Equal values at one mode: k! for each k, so 1 and 2 are as 1 to 2."""
    one = r.log_posterior(record(1, [0.5, 0.5], cs=[-10.0, -10.0]), "cs")
    assert np.exp(one) == pytest.approx([1 / 3, 2 / 3])
    every = r.log_posterior(record(1, [0.5, 0.5], **{"vb-occupied": [-10.0, -10.0]}), "vb-occupied")
    assert np.exp(every) == pytest.approx([0.5, 0.5])
    assert r.log_posterior(record(1, [0.5, 0.5], cs=[-10.0, None]), "cs") is None


def test_calibrated_statements_stay_within_their_errors():
    rng = np.random.default_rng(0)
    stated = rng.uniform(size=5000)
    honest = r.bins_of(stated, rng.uniform(size=5000) < stated, r.FINE)
    boastful = r.bins_of(stated, rng.uniform(size=5000) < stated**2, r.FINE)
    assert r.within(honest, 3.0) == len(honest)
    assert r.within(boastful, 3.0) < len(boastful)


def measurement(value, stderr, verdict="reliable"):
    fields = {"asked": "auto", "method": "smc", "verdict": verdict, "seconds": 1.0}
    return {**fields, "value": value, "stderr": stderr}


def test_coverage_by_hand():
    truth = {"by": "exact", "value": -10.0, "stderr": 0.0, "upper": -10.0}
    values = (-10.05, -10.15, -10.25, -10.7)
    records = [{"cell": "chain", "truth": truth, "measured": [measurement(v, 0.1)]} for v in values]
    bound = measurement(-12.0, None, "lower bound only")
    records.append({"cell": "chain", "truth": truth, "measured": [bound]})
    unknown = {**truth, "by": "particles", "stderr": 2.0, "upper": -5.0}
    records.append({"cell": "chain", "truth": unknown, "measured": [measurement(-3.0, 0.1)]})
    rows = {row["verdict"]: row for row in coverage_table(judged(records, 5.0))}
    reliable = rows["reliable"]
    assert (reliable["measurements"], reliable["judged"], reliable["open"]) == (5, 4, 1)
    assert reliable["within"] == {"1": 0.25, "2": 0.5, "3": 0.75}
    assert (reliable["beyond"], reliable["late"]) == (1, 0)
    assert rows["lower bound only"]["above"] == 0


@pytest.mark.slow
def test_the_judge_agrees_with_exact_sums(monkeypatch):
    """Without the sum, the parameters give the same evidence."""
    case = make_case([2, 2, 3], 2, 14, seed=3, alpha=1.0)
    exact = best_known(case.problem, case.theta, Goal(0.2, 600.0), 0)
    assert (exact.by, exact.stderr) == ("exact", 0.0)
    assert exact.value == pytest.approx(case.log_evidence(), abs=1e-8)
    monkeypatch.setattr("studies.calibration.best_known.EXACT_STEPS", 0)
    sampled = best_known(case.problem, case.theta, Goal(0.2, 600.0), 0)
    assert sampled.by != "exact"
    assert abs(sampled.value - exact.value) < 4 * sampled.stderr
    assert sampled.upper > exact.value - 3


@pytest.mark.slow
def test_every_shape_can_be_drawn_and_judged():
    options = DrawSettings(0, 4, Goal(2.0, 0.2))
    for cell in CALIBRATION.verdicts:
        if cell.name in ("chain", "factorial", "asia"):
            ran = VerdictCell(cell.name, cell.shape, (5, 9), 1, 1.0).run(0, options)
            assert ran["measured"]
            assert ran["truth"]["value"] is not None
    for name, shape in SHAPES.items():
        network = shape(np.random.default_rng(1))
        assert network.hidden, name
