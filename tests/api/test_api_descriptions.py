"""Intervals, statistics, tests and readings of missing values, from Python."""

import numpy as np
import pandas as pd
import pytest

import lacunet
from lacunet import DataError, ModelError, OptionError
from problems import build


@pytest.fixture(scope="module")
def table():
    return lacunet.load_dataset("carcinoma")


@pytest.fixture(scope="module")
def fit(table):
    return lacunet.fit(table, 2, starts=8)


@pytest.fixture(scope="module")
def missing():
    """Answers of two classes; in one of them 'b' is often not given."""
    rng = np.random.default_rng(3)
    one = rng.random(300) < 0.5
    yes = np.where(one, 0.85, 0.2)
    frame = pd.DataFrame({c: np.where(rng.random(300) < yes, "yes", "no") for c in "abcd"})
    frame = frame.astype(object)
    frame.loc[one & (rng.random(300) < 0.6), "b"] = None
    frame.loc[rng.random(300) < 0.1, "c"] = None
    return frame


def test_intervals_from_a_fit_a_model_and_a_file(table, fit, tmp_path):
    intervals = lacunet.intervals(table, fit)
    path = tmp_path / "m.json"
    lacunet.write_model(fit.model, path)
    data = lacunet.dataset_path("carcinoma")
    for same in (
        lacunet.intervals(table, fit.model),
        lacunet.intervals(data, path, weights="count"),
    ):
        np.testing.assert_allclose(same.stderr, intervals.stderr, rtol=1e-6)
    size = intervals.table("class")
    assert (size.low < size.estimate).all()
    assert size.stderr == pytest.approx([0.0463, 0.0463], abs=1e-4)
    with pytest.raises(ModelError, match="'nil' is not a variable"):
        intervals.table("nil")
    with pytest.raises(ModelError, match="not at the ML maximum"):
        lacunet.intervals(table, fit.model, estimate="ml")
    with pytest.raises(OptionError, match="level 2 is not allowed"):
        lacunet.intervals(table, fit, level=2)
    with pytest.raises(OptionError, match="estimate 'mle' is not known"):
        lacunet.intervals(table, fit.model, estimate="mle")


def test_bootstrap_intervals_are_seeded(table, fit):
    one, two, three = (
        lacunet.intervals(table, fit, bootstrap=6, seed=seed, threads=threads)
        for seed, threads in ((1, 1), (1, 2), (2, 1))
    )
    np.testing.assert_array_equal(one.stderr, two.stderr)
    assert (np.nan_to_num(one.stderr) != np.nan_to_num(three.stderr)).any()
    with pytest.raises(OptionError, match="-1 bootstrap replicates: there must be at least 2"):
        lacunet.intervals(table, fit, bootstrap=-1)


def test_criteria_of_a_selection(table):
    selection = lacunet.select(table, [1, 2, 3], starts=8, estimate="ml", scores="bic")
    result = lacunet.information_criteria(selection)
    assert result.chosen["BIC"] == selection.chosen["bic"] == 3
    by = {c.candidate.label: c for c in result.candidates}
    # poLCA's documentation: AIC and BIC of three classes.
    assert by[3].criteria["AIC"] == pytest.approx(633.41, abs=5e-3)
    assert by[3].criteria["BIC"] == pytest.approx(697.1357, abs=5e-3)
    assert np.isnan(by[1].classification[0].entropy_r2)
    assert 0.9 < by[3].classification[0].entropy_r2 < 1
    text = str(result)
    assert text.startswith("Fit statistics (lower is better)")
    assert "*697.14" in text


def test_statistics_of_a_model_and_of_a_fit(table, fit):
    assert lacunet.fit_statistics(table, fit).estimate == "map"
    statistics = lacunet.fit_statistics(table, fit.model)
    assert statistics.estimate is None
    assert statistics.log_lik == pytest.approx(fit.log_lik)


def test_classes_are_matched(table, fit):
    moved = fit.model.permuted(0, [1, 0])
    again = lacunet.match_classes(fit, moved)
    assert isinstance(again, lacunet.Fit)
    np.testing.assert_array_equal(again.model.theta, moved.theta)
    assert isinstance(lacunet.match_classes(moved, fit), lacunet.Model)
    np.testing.assert_array_equal(lacunet.match_classes(moved, fit).theta, fit.model.theta)


@pytest.mark.slow
def test_likelihood_ratio_tests_of_classes_and_of_networks(table):
    ratio = lacunet.likelihood_ratio_test(table, 1, replicates=9, starts=4)
    assert ratio.p_value == pytest.approx(0.1)
    letters = dict.fromkeys("HABCDEFG", 2)
    network = build(" ".join(f"H>{x}" for x in "ABCDEFG"), letters, "H")
    same = lacunet.likelihood_ratio_test(
        table, 1, network=network, hidden={"H": None}, replicates=9, starts=4
    )
    assert same.variable == "H"
    assert same.statistic == pytest.approx(ratio.statistic, abs=1e-4)
    for options, text in (
        ({"states": 0}, "0 hidden states: there must be at least 1"),
        ({"states": 1.5}, "are not whole numbers"),
        ({"states": 1, "replicates": -3}, "-3 bootstrap replicates"),
        ({"states": 1, "starts": 0}, "0 starts"),
    ):
        with pytest.raises(OptionError, match=text):
            lacunet.likelihood_ratio_test(table, **options)
    two = build("G>H H>A H>B G>C", dict.fromkeys("GHABC", 2), "GH")
    with pytest.raises(OptionError, match="2 hidden variables without a number of states: G, H"):
        lacunet.likelihood_ratio_test(table, 2, network=two)


def test_a_missing_value_as_a_state_everywhere(missing, tmp_path):
    fit = lacunet.fit(missing, 2, missing_as_state=True, starts=8)
    names = [v.name for v in fit.model.network.variables]
    assert [len(v.states) for v in fit.model.network.variables] == [2, 2, 3, 3, 2]
    assert fit.model.network.variables[names.index("b")].labels[-1] == "(missing)"
    # The same by hand: the missing value is a text like any other.
    by_hand = lacunet.fit(missing.fillna("~"), 2, starts=8)
    assert fit.log_lik == pytest.approx(by_hand.log_lik, abs=1e-6)
    # A model that was fitted so reads its data so: in files, tables and rows.
    path, data = tmp_path / "m.json", tmp_path / "d.csv"
    lacunet.write_model(fit.model, path)
    missing.to_csv(data, index=False)
    table = lacunet.read_table(missing)
    for given in (missing, table, data, lacunet.missing_as_state(table)):
        score = lacunet.score(given, path, missing_as_state=True, scores="bic")
        assert score.log_likelihood == pytest.approx(fit.log_lik, abs=1e-9)
        assert lacunet.fit_statistics(given, fit, missing_as_state=True).log_lik == pytest.approx(
            fit.log_lik, abs=1e-9
        )
        lacunet.intervals(given, fit, missing_as_state=True)
    open_ = lacunet.score(missing, path, scores="bic")
    assert open_.log_likelihood > fit.log_lik  # missing values left open are less to explain
    assignment = lacunet.assign(missing, path, missing_as_state=True)
    same = lacunet.assign(missing.fillna("(missing)"), path)
    np.testing.assert_allclose(assignment.probabilities, same.probabilities)


def test_selections_with_missing_values_as_states(missing):
    selection = lacunet.select(
        missing, [1, 2, 3], missing_as_state=True, starts=8, scores="cs,bic", quick=True
    )
    assert selection.states == 2
    assert selection.table.complete
    assert any("counts as its state '(missing)'" in note for note in selection.table.notes)
    states = dict.fromkeys("abcd", ("no", "yes"))
    network = lacunet.Network.build(
        [
            lacunet.Variable("H", (1, 2), hidden=True),
            *(lacunet.Variable(n, s) for n, s in states.items()),
        ],
        [(), (0,), (0,), (0,), (0,)],
    )
    options = {"missing_as_state": True, "starts": 8, "scores": "cs"}
    same = lacunet.select(missing, [2], network=network, **options)
    assert same.values("cs")[2] == pytest.approx(selection.values("cs")[2], abs=1e-6)
    compared = lacunet.compare(missing, {"one": network, "two": network}, **options)
    assert set(compared.values("cs").values()) == {same.values("cs")[2]}


def test_comparing_the_readings(missing):
    result = lacunet.compare_missing(missing, 2, starts=8)
    assert [c.name for c in result.columns] == ["b", "c"]
    assert result.columns[0].alone["csl"] > 10
    assert result.columns[1].alone["csl"] < 0
    assert result.log_bayes_factor > 10
    assert result.columns[0].missing == pytest.approx(missing["b"].isna().mean())
    with pytest.raises(OptionError, match="neither a number of states nor a network"):
        lacunet.compare_missing(missing)
    with pytest.raises(DataError, match="no cell is missing"):
        lacunet.compare_missing(missing.dropna(), 2)
    with pytest.raises(OptionError, match="'nope' is not a score"):
        lacunet.compare_missing(missing, 2, scores="nope")
