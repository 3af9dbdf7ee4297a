"""Commands for people who come from other programs: intervals, statistics, missing values."""

import csv
import io
import json

import pytest

import lacunet as package
from lacunet.tabular import to_json

WEIGHTED = ("--weights", "count")


@pytest.fixture
def missing(tmp_path):
    path = tmp_path / "holes.csv"
    rows = ["yes,yes,yes", "yes,,yes", "no,no,no", "no,no,", "yes,,no", "no,yes,no"] * 10
    path.write_text("a,b,c\n" + "\n".join(rows) + "\n")
    return path


@pytest.mark.slow
def test_fit_with_intervals_and_statistics(lacunet, carcinoma):
    ran = lacunet(
        "fit",
        carcinoma,
        *WEIGHTED,
        "--states",
        "2",
        "--starts",
        "8",
        "--intervals",
        "--level",
        "0.9",
        "--statistics",
    )
    assert ran.code == 0
    assert "Probabilities with standard errors and 90 % intervals" in ran.out
    assert "Fit statistics (lower is better)" in ran.out
    assert "- boundary: 10 of 30 probabilities are at 0 or 1 without cases" in ran.out
    assert "nan" not in ran.out


def test_fit_json_has_all_of_it(invoke, carcinoma):
    ran = invoke(
        "fit",
        carcinoma,
        *WEIGHTED,
        "--states",
        "2",
        "--starts",
        "8",
        "--bootstrap",
        "4",
        "--statistics",
        "--json",
    )
    document = ran.json
    assert document["intervals"]["bootstrap"] == 4
    size = document["intervals"]["variables"]["class"]
    assert len(size["estimate"]) == len(size["stderr"]) == len(size["low"]) == 2
    assert document["intervals"]["variables"]["A"]["parents"] == ["class"]
    assert document["fit_statistics"]["criteria"]["convention"] == "lower is better"
    assert len(document["fit_statistics"]["bivariate_residuals"]) == 21
    assert document["fit_statistics"]["goodness_of_fit"]["p_g2"] is None


def test_fit_numbers_its_classes_like_another_model(invoke, carcinoma, tmp_path):
    first = ("fit", carcinoma, *WEIGHTED, "--states", "3", "--starts", "8", "--json")
    plain = invoke(*first, "--save", "one.json")
    assert plain.code == 0
    model = json.loads((tmp_path / "one.json").read_text())
    from lacunet import read_model, write_model

    moved = read_model(tmp_path / "one.json").permuted(0, [2, 0, 1])
    write_model(moved, tmp_path / "moved.json")
    assert invoke(*first, "--like", "moved.json", "--save", "two.json").code == 0
    two = read_model(tmp_path / "two.json")
    assert two.theta == pytest.approx(moved.theta, abs=1e-6)
    assert model["format"] == json.loads((tmp_path / "two.json").read_text())["format"]


@pytest.mark.parametrize("form", ["csv", "markdown", "latex", "json", "text"])
def test_formats(invoke, carcinoma, form):
    ran = invoke(
        "select",
        carcinoma,
        *WEIGHTED,
        "--states",
        "1:2",
        "--starts",
        "4",
        "--scores",
        "cs,bic",
        "--criteria",
        "--format",
        form,
    )
    assert ran.code == 0
    if form == "json":
        assert ran.json["fit_statistics"]["convention"] == "lower is better"
        assert ran.json["fit_statistics"]["chosen"]["BIC"] == 2
    elif form == "csv":
        lines = list(csv.reader(io.StringIO(ran.out)))
        at = lines.index(["Fit statistics (lower is better)"])
        assert lines[at + 1][:4] == ["classes", "d", "log L", "AIC"]
        assert float(lines[at + 3][2]) == pytest.approx(-317.307, abs=1e-3)
    else:
        start = "**" if form == "markdown" else ""
        assert ran.out.startswith(f"{start}At least 2 classes")
        assert ("\\begin{tabular}" in ran.out) == (form == "latex")
        assert ("| ---: |" in ran.out) == (form == "markdown")


def test_lrt(invoke, carcinoma):
    ran = invoke(
        "lrt", carcinoma, *WEIGHTED, "--states", "1", "--replicates", "9", "--starts", "4", "--json"
    )
    assert ran.code == 0
    assert ran.json["p_value"] == pytest.approx(0.1)
    assert ran.json["states"] == [1, 2]
    assert len(ran.json["replicates"]) == 9
    assert "bootstrap 9 of 9" in ran.err


def test_what_an_unstable_search_advises_can_be_done(invoke, carcinoma):
    """The flag of a fit says --schedule thorough: every command that shows it must have it."""
    for command in ("fit", "select", "compare", "compare-missing", "lrt"):
        assert "--schedule" in invoke(command, "--help").out
    few = ("--replicates", "1", "--starts", "2", "--schedule", "thorough", "--json")
    ran = invoke("lrt", carcinoma, *WEIGHTED, "--classes", "1", *few)
    assert ran.code == 0, ran.err
    assert ran.json["p_value"] in (0.5, 1.0)


def test_evidence_names_its_prior(invoke, tmp_path):
    (tmp_path / "rows.csv").write_text("a,b\n0,1\n1,0\n0,1\n")
    usual = invoke("evidence", "rows.csv", "--classes", "1", "--json")
    assert (
        "alpha is 1, as in most published evidence; fit, select and compare use 1.01" in usual.err
    )
    given = invoke("evidence", "rows.csv", "--classes", "1", "--alpha", "1.01", "--json")
    assert "published" not in given.err
    assert usual.json["alpha"], given.json["alpha"] == (1.0, 1.01)


def test_assign_shows_one_table_of_all_columns_with_missing_values(invoke, missing):
    assert invoke("fit", missing, "--classes", "2", "--starts", "4", "--save", "m.json").code == 0
    ran = invoke("assign", missing, "--model", "m.json", "--impute", "-o", "out.csv")
    assert ran.out.count("rows assigned") == 1  # of the class
    assert "Filled in\ncolumn  cells  most often  mean probability\nb          20  " in ran.out
    assert "\nc          10  " in ran.out


@pytest.mark.slow
def test_compare_missing(lacunet, invoke, missing):
    ran = lacunet("compare-missing", missing, "--states", "2", "--starts", "8", "--both-ways")
    assert ran.code == 0
    assert ran.out.startswith("All missing values together: ")
    assert "What this means" in ran.out
    assert "given the others" in ran.out
    as_json = invoke("compare-missing", missing, "--states", "2", "--starts", "8", "--json")
    document = as_json.json
    assert [c["name"] for c in document["columns"]] == ["b", "c"]
    assert set(document["readings"]) == {"missing at random", "missing as an answer"}


def test_missing_values_as_states_on_the_command_line(invoke, missing, tmp_path):
    ran = invoke(
        "fit", missing, "--states", "2", "--starts", "8", "--missing-as-state", "--save", "m.json"
    )
    assert ran.code == 0
    assert "b = (missing)" in ran.out
    assert "cannot be compared with those of a run without --missing-as-state" in ran.err
    scored = invoke("score", missing, "--model", "m.json", "--missing-as-state", "--scores", "bic")
    log_lik = ran.out.split("log p(D|θ) = ")[1].split(",")[0]
    assert f"log p(D|θ) = {log_lik}" in scored.out
    forgot = invoke("score", missing, "--model", "m.json", "--scores", "bic")
    assert "the model has states '(missing)', but missing cells are left open" in forgot.err
    assigned = invoke("assign", missing, "--model", "m.json", "--missing-as-state", "-o", "out.csv")
    assert assigned.code == 0
    assert "left open" not in assigned.err
    selected = invoke(
        "select",
        missing,
        "--states",
        "1:2",
        "--starts",
        "4",
        "--missing-as-state",
        "--scores",
        "bic",
        "--json",
    )
    states = [c["states"] for c in selected.json["data"]["columns"]]
    assert states == [["no", "yes"], ["no", "yes", "(missing)"], ["no", "yes", "(missing)"]]
    complete = invoke(
        "select",
        missing,
        "--columns",
        "a",
        "--states",
        "1",
        "--scores",
        "bic",
        "--missing-as-state",
    )
    assert "no cell is missing, so --missing-as-state changes nothing" in complete.err


MISTAKES = [
    (("lrt", "--states", "0"), "--classes 0: there must be at least 1."),
    (("lrt", "--states", "2", "--replicates", "0"), "0 bootstrap replicates: there must be at"),
    (("lrt", "--states", "2", "--stop-after", "0"), "stop after 0 exceedances: there must be"),
    (("lrt", "--states", "2", "--hidden", "H"), "--hidden names variables of a network. Give"),
    (("lrt", "--states", "2", "--json", "--format", "csv"), "--json and --format csv: give one"),
    (("fit", "--states", "2", "--level", "95"), "level 95 is not allowed: give a number between"),
    (("fit", "--states", "2", "--bootstrap", "1"), "1 bootstrap replicates: there must be at"),
    (("fit", "--states", "2", "--like", "nil.json"), "nil.json: No such file or directory."),
    (("fit", "--states", "2", "--format", "tex"), "'text', 'csv', 'markdown', 'latex', 'json'"),
    (("compare-missing", "--states", "2"), "no cell is missing, so there is nothing to compare."),
    (("compare-missing", "--states", "1"), "'class' has 1 state: then both models are the"),
    (
        ("compare-missing",),
        "give --classes for a latent class model, or --network; one of the two.",
    ),
    (("compare-missing", "--states", "2", "--scores", "nope"), "'nope' is not a score."),
]


@pytest.mark.parametrize(("arguments", "text"), MISTAKES)
def test_mistakes(invoke, carcinoma, tmp_path, arguments, text):
    command, *options = arguments
    before = set(tmp_path.iterdir())
    ran = invoke(command, carcinoma, *WEIGHTED, *options)
    assert ran.code == 2
    assert ran.out == ""
    assert text in " ".join(ran.err.replace("│", " ").split())
    assert set(tmp_path.iterdir()) == before


def test_the_document_of_a_result_is_its_to_dict(invoke):
    path, settings = package.dataset_path("carcinoma"), {"weights": "count", "starts": 4}
    fit = package.fit(path, 2, **settings)
    words = ("--weights", "count", "--starts", 4, "--states", 2, "--statistics", "--json")
    document = invoke("fit", path, *words).json
    statistics = package.fit_statistics(path, fit, weights="count")
    for result, part in ((fit, document), (statistics, document["fit_statistics"])):
        expected = json.loads(to_json(result.to_dict()))
        del expected["format"]
        assert expected == {key: part[key] for key in expected}
