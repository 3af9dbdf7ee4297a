"""`lacunet evidence` and `select --evidence/--calibrate` as a user meets them."""

import math

import pytest


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "small.csv"
    path.write_text("a,b,c\n" + "0,0,1\n0,1,1\n1,1,0\n1,0,\n,0,1\n0,0,0\n" * 2, encoding="utf-8")
    return path


def test_a_small_table_is_summed_exactly(invoke, table):
    ran = invoke("evidence", table, "--states", 2, "--json")
    assert ran.code == 0
    document = ran.json
    assert (document["verdict"], document["method"], document["stderr"]) == ("exact", "exact", 0.0)
    assert document["ess"] is None
    assert document["one_labelling"] == pytest.approx(document["value"] - math.log(2))
    assert document["seconds"] >= 0


@pytest.mark.slow
@pytest.mark.parametrize("method", ["ais", "smc"])
def test_sampling_agrees_with_the_sum(invoke, table, method):
    exact = invoke("evidence", table, "--states", 2, "--method", "exact", "--json").json
    ran = invoke("evidence", table, "--states", 2, "--method", method, "--target", 0.05, "--json")
    document = ran.json
    assert document["method"] == method
    assert document["verdict"] == "reliable"
    assert document["ess"] >= 10
    assert abs(document["value"] - exact["value"]) < 4 * document["stderr"]


def test_the_text_has_value_error_and_verdict(invoke, table):
    ran = invoke("evidence", table, "--states", 3, "--method", "smc")
    assert "log p(D|S) = " in ran.out
    assert "nats: reliable" in ran.out
    assert "for one labelling" in ran.out


@pytest.mark.slow
def test_both_sides_on_simulated_data(invoke, tmp_path):
    model, data = tmp_path / "m.json", tmp_path / "d.csv"
    assert invoke("random", "--classes", 2, "--leaves", 5, "-o", model, "--seed", 1).code == 0
    assert invoke("simulate", "--model", model, "--rows", 40, "-o", data).code == 0
    document = invoke("evidence", data, "--model", model, "--sandwich", "--json").json
    assert document["lower"] <= document["upper"] + 4 * (
        document["lower_stderr"] + document["upper_stderr"]
    )
    assert document["gap"] == pytest.approx(document["upper"] - document["lower"])
    plain = invoke("evidence", data, "--model", model, "--json").json
    assert plain["value"] > document["lower"] - 4 * (document["lower_stderr"] + plain["stderr"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "give --classes for a latent class model, or --network"),
        (["--states", 2, "--model", "x.json"], "one of the two"),
        (["--states", 0], "at least 1"),
        (["--states", 2, "--sandwich"], "needs the model"),
        (["--states", 2, "--hidden", "H"], "--network"),
        (["--states", 2, "--target", 0], "must be above 0"),
        (["--states", 2, "--budget", "soon"], "60s, 5m or 1h"),
        (["--states", 2, "--alpha", 0], "above 0"),
        (["--states", 2, "--seed", -1], "seed -1"),
    ],
)
def test_mistakes_are_named(invoke, table, arguments, words):
    ran = invoke("evidence", table, *arguments)
    assert ran.code == 2
    assert words in " ".join(ran.err.split())


def test_too_many_completions_are_refused_with_their_number(invoke, tmp_path):
    path = tmp_path / "large.csv"
    rows = "\n".join(f"{i % 2},{i // 2 % 2},{i // 4 % 2},{i // 8 % 2}" for i in range(400))
    path.write_text(f"a,b,c,d\n{rows}\n", encoding="utf-8")
    ran = invoke("evidence", path, "--states", 4, "--method", "exact")
    assert ran.code == 2
    assert "completions" in ran.err or "terms" in ran.err
    assert "--method" in ran.err or "sampl" in ran.err


def test_the_reading_of_survey_weights_is_reported(invoke, tmp_path):
    path = tmp_path / "w.csv"
    path.write_text("a,b,w\n0,1,1.5\n1,0,2\n1,1,1\n", encoding="utf-8")
    ran = invoke("evidence", path, "--states", 2, "--weights", "w", "--json")
    assert ran.code == 0
    assert ran.json["notes"][0].startswith("weights are not whole numbers")
    survey = ran.json["data"]["survey"]
    assert survey == {
        "rows": 3,
        "total": 4.5,
        "effective": pytest.approx(4.5**2 / 7.25),
        "design_effect": pytest.approx(3 * 7.25 / 4.5**2),
    }
    assert "survey weights, scaled to the effective sample size" in " ".join(ran.err.split())
    raw = invoke(
        "evidence", path, "--states", 2, "--weights", "w", "--weights-as", "frequency", "--json"
    )
    assert "survey" not in raw.json["data"]
    assert raw.json["data"]["weight"] == 4.5


@pytest.mark.slow
def test_selection_by_the_evidence_itself(invoke, table):
    ran = invoke("select", table, "--states", "1:3", "--evidence", "--starts", 4, "--json")
    document = ran.json
    assert document["headline"] == "evidence"
    assert document["states"] in (1, 2, 3)
    for candidate in document["candidates"]:
        assert candidate["measured"]["verdict"] in ("exact", "reliable")
        assert candidate["scores"]["evidence"]["value"] == candidate["measured"]["value"]
    assert math.fsum(document["posterior"]["evidence"].values()) == pytest.approx(1.0)
    errors = document["calibration"]["errors"]
    one = document["candidates"][1]
    expected = one["scores"]["cs"]["value"] - one["measured"]["one_labelling"]
    assert errors["cs"]["2"] == pytest.approx(expected)


@pytest.mark.slow
def test_calibration_measures_the_best_few(invoke, table):
    ran = invoke("select", table, "--states", "1:5", "--quick", "--calibrate", "--starts", 4, "-v")
    assert ran.code == 0
    assert "Score − measured evidence, in nats" in ran.out
    assert "Nearest here:" in ran.out
    assert ran.out.count("measured evidence of") == 3


@pytest.mark.slow
def test_structures_compared_by_the_evidence(invoke, table, tmp_path):
    ran = invoke("fit", table, "--states", 2, "--save", tmp_path / "two.json", "--starts", 2)
    assert ran.code == 0
    ran = invoke("fit", table, "--states", 3, "--save", tmp_path / "three.json", "--starts", 2)
    networks = [tmp_path / "two.json", tmp_path / "three.json"]
    ran = invoke("compare", table, *networks, "--evidence", "--starts", 2, "--json")
    assert ran.code == 0, ran.err
    assert ran.json["headline"] == "evidence"
