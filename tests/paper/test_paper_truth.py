"""The study against the measured evidence, tiny: every table, going on, and what errors mean."""

import json
from dataclasses import replace

import pytest
from small_studies import TINY

from lacunet.errors import OptionError
from lacunet.settings import Settings
from studies.truth import comparison_tables as tables
from studies.truth.study import study

pytestmark = [pytest.mark.slow, pytest.mark.long]  # most look at one study, which takes long

QUICK = Settings(starts=4, threads=1, target=1.0, budget=60.0)
TINIER = replace(TINY, figures=dict.fromkeys(TINY.figures, TINY.figures[2]))  # four panels in all
OPTIONS = {"datasets": 1, "design": TINIER, "settings": QUICK}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("truth")
    return folder, study(folder, **OPTIONS)


def records(folder):
    lines = (folder / "truth.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines[1:]]


def test_everything_is_written(whole):
    folder, result = whole
    names = {p.name for p in folder.iterdir()}
    figures = {f"truth{i}.{ending}" for i in (1, 2, 3) for ending in ("svg", "png")}
    assert names == figures | {"truth.jsonl", "truth.json", "truth.html"}
    assert len(records(folder)) == len(list(TINIER.truth_tasks(1, 1)))
    page = (folder / "truth.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 3
    for row in result.errors:
        assert f"<td>{row['n']}</td><td>{row['c']}</td><td>{row['N']}</td>" in page
    assert "evidence" in str(result)


def test_what_is_measured_is_not_measured_again(whole):
    folder, result = whole
    before = (folder / "truth.jsonl").read_bytes()
    again = study(folder, **OPTIONS)
    assert (folder / "truth.jsonl").read_bytes() == before
    assert again.errors == result.errors


def test_bounds_are_below_the_evidence(whole):
    """CS and VB never exceed it, for one labelling they are further below: p ≥ k! modes."""
    folder, _ = whole
    for r in records(folder):
        slack = 4 * r["truth"]["stderr"] + 1e-9
        assert r["scores"]["cs"] <= r["truth"]["value"] + slack
        assert r["scores"]["cs"] <= r["scores"]["vb"] + 1e-9
        assert r["scores"]["vb"] <= r["truth"]["value"] + slack
        if r["states"] == 1:
            assert r["scores"]["csl"] == pytest.approx(r["truth"]["value"], abs=1e-6)


def test_errors_are_held_against_the_right_number_of_labellings(whole):
    folder, _ = whole
    r = next(r for r in records(folder) if r["states"] == 3)
    assert tables.error(r, "cs") == r["scores"]["cs"] - r["truth"]["one_labelling"]
    assert tables.error(r, "vb-occupied") == r["scores"]["vb-occupied"] - r["truth"]["value"]


def test_starts_are_compared_with_the_generating_parameters(whole):
    folder, _ = whole
    for r in records(folder):
        assert ("generating" in r["starts"]) == (r["states"] == r["c"])
    rows = tables.starts_table(records(folder), TINIER)
    assert {row["datasets"] for row in rows} == {1}
    assert all(row["ways"]["thorough"]["reached"] in (0, 1) for row in rows)


def test_settings_that_cannot_be(tmp_path):
    with pytest.raises(OptionError, match="at least 1"):
        study(tmp_path / "x", datasets=0, design=TINY)
    with pytest.raises(OptionError, match="must be above 0"):
        study(tmp_path / "x", settings=Settings(target=0.0), design=TINY)
