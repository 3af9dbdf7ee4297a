"""Tables that are known, on the command line: a file beside a network, and what is saved."""

import json

import numpy as np
import pytest

import lacunet as package
from lacunet import Knowledge, read_network

KNOWN = {
    "fixed": [{"child": "A", "parents": ["class"], "table": [[0.9, 0.1], [0.2, 0.8]]}],
    "tied": [["B", "C"]],
}


@pytest.fixture
def values():
    """Four questions with two answers each, A to D."""
    return package.dataset_path("values")


@pytest.fixture
def known(tmp_path):
    path = tmp_path / "known.json"
    path.write_text(json.dumps(KNOWN))
    return path


def test_fit_keeps_to_a_file_and_saves_it(invoke, values, known, tmp_path):
    options = ("--states", "2", "--weights", "count", "--starts", "4", "--knowledge", known)
    ran = invoke("fit", values, *options, "--save", "model.json", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["dimension"] == 1 + 2 + 2  # the classes, one table of two, that of D
    model = read_network(tmp_path / "model.json")
    assert np.array_equal(model.table("A"), KNOWN["fixed"][0]["table"])
    assert np.array_equal(model.table("B"), model.table("C"))
    # What was saved is learned anew with the same knowledge.
    again = invoke("fit", values, "--network", "model.json", "--weights", "count", "--json")
    assert again.json["dimension"] == ran.json["dimension"]
    assert again.json["log_posterior"] == pytest.approx(ran.json["log_posterior"], abs=1e-5)
    shown = invoke("fit", values, *options)
    assert "fixed tables: A" in shown.out
    assert "one table: B, C" in shown.out


def test_other_formats_keep_the_probabilities_and_report_losses(invoke, values, known, tmp_path):
    options = ("--states", "2", "--weights", "count", "--starts", "4", "--knowledge", known)
    ran = invoke("fit", values, *options, "--save", "model.bif")
    assert ran.code == 0, ran.err
    assert "BIF holds the probabilities, but not" in ran.err
    model = read_network(tmp_path / "model.bif")
    assert model.network.plain
    np.testing.assert_allclose(model.table("A"), KNOWN["fixed"][0]["table"])
    from_table = package.fit(values, 2, weights="count", knowledge=known, starts=2).model
    with pytest.warns(UserWarning, match=r"A \.json file does"):
        package.write_network(from_table, tmp_path / "model.xdsl")


def test_evidence_select_and_compare_take_the_file(invoke, values, known):
    options = ("--weights", "count", "--knowledge", known, "--json")
    exact = invoke(
        "evidence", values, "--states", "2", "--method", "smc", "--target", "0.3", *options
    )
    assert exact.code == 0, exact.err
    chosen = invoke(
        "select", values, "--states", "2", "--quick", "--starts", "4", "--scores", "csl", *options
    )
    assert chosen.code == 0, chosen.err
    score = chosen.json["candidates"][0]["scores"]["csl"]["value"]
    assert score == pytest.approx(exact.json["value"], abs=2.0)
    refused = invoke("select", values, "--states", "2:3", "--quick", *options)
    assert refused.code != 0
    assert "shape" in refused.err


def test_the_same_in_python_and_in_a_file(values, known):
    one = package.fit(values, 2, weights="count", knowledge=known, starts=4)
    other = package.fit(values, 2, weights="count", knowledge=Knowledge(**KNOWN), starts=4)
    assert np.array_equal(one.model.theta, other.model.theta)


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
@pytest.mark.parametrize("command", [("fit", "--states", "2"), ("evidence", "--states", "2")])
def test_rows_that_tables_forbid_are_refused_beside_numbers(invoke, tmp_path, command, covariance):
    table, known = tmp_path / "rows.csv", tmp_path / "known.json"
    table.write_text("a,x,y\n" + "\n".join(f"{n % 2},{n}.5,{n * n % 7}.25" for n in range(12)))
    never = {"child": "a", "parents": ["class"], "table": [[1.0, 0.0], [1.0, 0.0]]}
    known.write_text(json.dumps({"fixed": [never]}))
    options = ("--kinds", "x=gaussian,y=gaussian", "--covariance", covariance, "--knowledge", known)
    ran = invoke(command[0], table, *command[1:], *options)
    assert ran.code == 2
    assert "a row with a = 1 is impossible (6 different rows are like this)" in ran.err
    assert "the known table of 'a' has a zero there" in ran.err
