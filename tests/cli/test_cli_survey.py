"""`lacunet fit` with strata and clusters."""

import json

import numpy as np
import pytest

import lacunet
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
    intervals = ran.json["intervals"]
    assert intervals["method"].startswith("Linearised (sandwich) standard errors: scores of units")
    assert intervals["design_effect"] > 1
    assert len(intervals["variables"]["class"]["deff"]) == 2
    assert ran.json["data"]["design"] == {
        "units": 24,
        "strata": 4,
        "degrees": 20,
        "people": 360.0,
        "alone": 0,
        "columns": {"strata": "stratum", "clusters": ["unit"]},
    }
    assert "the sample has 24 units ('unit') in 4 strata" in " ".join(ran.err.split())


INDEPENDENT = "24 units were drawn, and evidence, probabilities of models"


@pytest.mark.parametrize(
    "command_line",
    [
        ("select", "--classes", "1:2", "--quick"),
        ("select", "--classes", "1:2"),
        ("fit", "--classes", 2, "--covariates", "E"),
        ("fit", "--classes", 2, "--group", "E", "--quick"),
    ],
)
def test_probabilities_are_reported_as_of_independent_rows(invoke, people, command_line):
    """The design is in standard errors, not in the evidence: text and JSON say so."""
    command, *options = command_line
    settings = (*options, "--starts", 2, "--exclude", "stratum,w", "--clusters", "unit")
    ran = invoke(command, people, *settings)
    assert ran.code == 0, ran.err
    assert " ".join(ran.out.split()).count(INDEPENDENT) == 1
    ran = invoke(command, people, *settings, "--json")
    assert INDEPENDENT in json.dumps(ran.json)


def test_tests_and_evidence_report_it_too():
    frame = clustered(2).drop(columns=["stratum", "w"])
    frame["F"] = frame["A"].where(np.arange(len(frame)) % 4 > 0, frame["B"])  # beside the classes
    table = lacunet.read_table(frame, clusters="unit")
    options = {"starts": 2, "threads": 1}
    actual = [
        lacunet.likelihood_ratio_test(table, 1, replicates=2, **options),
        lacunet.log_evidence(table, 1),
        lacunet.add_direct_effects(table, 2, **options),
    ]
    plain = lacunet.read_table(frame.drop(columns="unit"))
    assert [INDEPENDENT in str(result) for result in actual] == [True] * 3
    assert "units were drawn" not in str(lacunet.log_evidence(plain, 1))


def test_profiles_are_drawn(invoke, people, tmp_path):
    command = ("fit", people, "--classes", 2, "--starts", 2, *DESIGN)
    ran = invoke(*command, "--plot", "profiles.svg")
    assert ran.code == 0, ran.err
    assert "<svg" in (tmp_path / "profiles.svg").read_text(encoding="utf-8")
    assert "written: profiles.svg" in ran.err
    ran = invoke(*command, "--plot", "profiles.gif")
    assert "figures are written to .svg, .pdf or .png files" in ran.err
    ran = invoke(*command, "--plot", "profiles.svg", "--edge", "A:B")
    assert "--plot has no meaning with --edge" in ran.err


def test_units_are_drawn_anew(invoke, people):
    ran = invoke("fit", people, "--classes", 2, "--starts", 2, *DESIGN, "--bootstrap", 3)
    assert ran.code == 0, ran.err
    assert "From 3 bootstrap replicates of units within strata" in ran.out


def test_rounding_of_weights_is_never_advised(invoke, people):
    ran = invoke("lrt", people, "--classes", 1, "--weights", "w", "--exclude", "stratum,unit")
    assert ran.code == 2
    message = " ".join(ran.err.split())
    assert "lacunet select compares numbers of classes with weights" in message
    assert "Round" not in message


def test_numbers_of_units_that_begin_anew(invoke, tmp_path):
    frame = clustered(2)
    frame.assign(unit=frame["unit"] % 6).to_csv(tmp_path / "anew.csv", index=False)
    ran = invoke("fit", "anew.csv", "--classes", 1, *DESIGN)
    assert ran.code == 2
    assert "--clusters stratum,unit" in " ".join(ran.err.split())
    both = (*DESIGN[:-1], "stratum,unit")
    assert invoke("fit", "anew.csv", "--classes", 1, *both).code == 0
