"""`lacunet fit` with strata and clusters."""

import pytest

from surveys import clustered

DESIGN = ("--weights", "w", "--strata", "stratum", "--clusters", "unit")


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.csv"
    clustered(2).to_csv(path, index=False)
    return path


def test_a_design_brings_standard_errors(invoke, people):
    ran = invoke("fit", people, "--classes", 2, "--starts", 4, *DESIGN, "--json")
    assert ran.code == 0, ran.err
    told = ran.json["intervals"]
    assert told["method"].startswith("Linearised (sandwich) standard errors: scores of units")
    assert told["design_effect"] > 1
    assert len(told["variables"]["class"]["deff"]) == 2
    assert ran.json["data"]["design"] == {
        "units": 24,
        "strata": 4,
        "degrees": 20,
        "people": 360.0,
        "alone": 0,
        "columns": {"strata": "stratum", "clusters": ["unit"]},
    }
    assert "the sample has 24 units ('unit') in 4 strata" in " ".join(ran.err.split())


def test_profiles_are_drawn(invoke, people, tmp_path):
    asked = ("fit", people, "--classes", 2, "--starts", 2, *DESIGN)
    ran = invoke(*asked, "--plot", "profiles.svg")
    assert ran.code == 0, ran.err
    assert "<svg" in (tmp_path / "profiles.svg").read_text(encoding="utf-8")
    assert "written: profiles.svg" in ran.err
    ran = invoke(*asked, "--plot", "profiles.gif")
    assert "figures are written to .svg, .pdf or .png files" in ran.err
    ran = invoke(*asked, "--plot", "profiles.svg", "--edge", "A:B")
    assert "--plot has no meaning with --edge" in ran.err


def test_units_are_drawn_anew(invoke, people):
    ran = invoke("fit", people, "--classes", 2, "--starts", 2, *DESIGN, "--bootstrap", 3)
    assert ran.code == 0, ran.err
    assert "From 3 bootstrap replicates of units within strata" in ran.out


def test_nobody_is_told_to_round_weights(invoke, people):
    ran = invoke("lrt", people, "--classes", 1, "--weights", "w", "--exclude", "stratum,unit")
    assert ran.code == 2
    told = " ".join(ran.err.split())
    assert "lacunet select tells with weights" in told
    assert "Round" not in told


def test_numbers_of_units_that_begin_anew(invoke, tmp_path):
    frame = clustered(2)
    frame.assign(unit=frame["unit"] % 6).to_csv(tmp_path / "anew.csv", index=False)
    ran = invoke("fit", "anew.csv", "--classes", 1, *DESIGN)
    assert ran.code == 2
    assert "--clusters stratum,unit" in " ".join(ran.err.split())
    both = (*DESIGN[:-1], "stratum,unit")
    assert invoke("fit", "anew.csv", "--classes", 1, *both).code == 0
