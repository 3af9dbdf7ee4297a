"""Numbers of any scale: the evidence moves by −N log c, and nothing else does; or it is refused."""

import json
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lacunet
import precise
from examples import examples
from lacunet import api
from lacunet.errors import DataError, OptionError
from lacunet.scores import choose_scores

RNG = np.random.default_rng(7)
Z = RNG.integers(0, 2, 24)
BASE = np.stack([RNG.normal(3.0 * Z, 1.0), RNG.normal(-2.0 * Z, 1.5), RNG.normal(size=24)], axis=1)
BASE[3, 1] = BASE[7, 0] = np.nan
SCORES = "laplace,csl,vb,cs,mled,bic,draper"
KINDS = [(kind, cov) for kind in ("gaussian", "lognormal") for cov in ("diagonal", "full")]


def invariants(c, kind, covariance):
    """All log probabilities with the Jacobian taken back, and the classes."""
    x = (np.exp(BASE) if kind == "lognormal" else BASE) * c
    options = {"kinds": kind, "covariance": covariance, "threads": 1}
    fit = lacunet.fit(x, 2, starts=2, **options)
    scores = api.score(x, fit.model, scores=SCORES, threads=1)
    values = [fit.log_lik, *(e.value for e in scores.evidence.values())]
    if covariance == "diagonal":
        values.append(api.log_evidence(x, 1, **options).value)
    rows = api.assign(x, fit.model)
    back = np.isfinite(BASE).sum() * math.log(c)
    return np.array(values) + back, np.asarray(rows.probabilities)


@pytest.fixture(scope="module")
def at_one():
    return {which: invariants(1.0, *which) for which in KINDS}


@pytest.mark.slow
@examples(12)
@given(exponent=st.floats(-300.0, 300.0), which=st.sampled_from(KINDS))
def test_times_c_moves_the_evidence_by_the_jacobian_alone(at_one, exponent, which):
    values, rows = invariants(10.0**exponent, *which)
    expected, wanted_rows = at_one[which]
    np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(rows, wanted_rows, atol=1e-6)


@pytest.mark.parametrize("c", [1e-300, 1e-160, 1e-154, 1.0, 3.0, 1e154, 1e300])
def test_exact_evidence_of_numbers_at_any_scale(c):
    x = BASE[:, 2] * c
    estimate = api.log_evidence(x[:, None], 1, kinds="gaussian", threads=1)
    assert estimate.verdict == "exact"
    assert estimate.value == pytest.approx(float(precise.log_gaussian(x)), rel=1e-11)


@pytest.mark.parametrize("mean", [0, 1, -300, 1e5])
@pytest.mark.parametrize(("weight", "scale"), [(0.01, 1), (1e-300, 1), (0.01, 100), (0.001, 10)])
def test_exact_evidence_with_any_prior_that_is_allowed(mean, weight, scale):
    x, prior = BASE[:, 2], {"mean": mean, "weight": weight, "scale": scale}
    estimate = api.log_evidence(x[:, None], 1, kinds="gaussian", number_prior=prior, threads=1)
    expected = precise.log_gaussian(x, str(mean), str(weight), "3", str(scale))
    assert estimate.value == pytest.approx(float(expected), rel=1e-9)


@pytest.mark.parametrize("mean", [1e6, -1e160, 1e300])
def test_a_prior_too_far_away_is_refused(mean):
    with pytest.raises(OptionError, match=r"mean .* is not allowed.*the scale 1 is lost"):
        api.log_evidence(BASE, 1, kinds="gaussian", number_prior={"mean": mean})


def test_a_prior_that_drowns_the_data_is_refused():
    with pytest.raises(OptionError, match=r"scale 1e\+300 is not allowed.*lost in rounding"):
        api.log_evidence(BASE, 1, kinds="gaussian", number_prior={"scale": 1e300})


def test_counts_of_which_none_weighs_anything_are_refused():
    counts = [0] * 6 + [1, 2] * 3
    table = pl.DataFrame({"c": counts, "a": ["x", "y"] * 6, "w": [1.0] * 6 + [0.0] * 6})
    with pytest.raises(DataError, match=r"column 'c': no row that weighs .*exclude=\['c'\]"):
        api.log_evidence(table, 2, kinds="c=poisson", weights="w")


def test_a_prior_without_variances_is_refused():
    with pytest.raises(OptionError, match=r"not allowed together.*must be 1e-06 or more"):
        api.log_evidence(BASE, 1, kinds="gaussian", number_prior={"weight": 1e-9, "scale": 1e-9})


@pytest.mark.parametrize("top", [9, 1e3, 1e6, 1e9])
def test_exact_evidence_of_counts(top):
    x = np.floor(np.random.default_rng(3).random(20) * top)
    for kind, oracle in (("poisson", precise.log_poisson), ("ordinal", precise.log_binomial)):
        estimate = api.log_evidence(x[:, None], 1, kinds=kind, alpha=1.0, threads=1)
        assert estimate.value == pytest.approx(float(oracle(x)), rel=1e-12)


@pytest.mark.parametrize("top", [1e12, 1e15, 1e18, 1e300])
@pytest.mark.parametrize("kind", ["poisson", "ordinal"])
def test_counts_that_drown_a_single_one_are_refused(kind, top):
    x = np.floor(np.random.default_rng(3).random((20, 1)) * top)
    with pytest.raises(DataError, match=r"column 'x1': its values count .* kinds=.x1=gaussian"):
        api.log_evidence(x, 1, kinds=kind)
    assert math.isfinite(api.log_evidence(x, 1, kinds="gaussian", threads=1).value)


def test_values_nearer_than_any_float_are_refused():
    x = np.array([1.0, 3.0, 7.0, 9.0, 20.0, 21.0] * 2)[:, None] * 5e-324
    with pytest.raises(DataError, match=r"column 'x1': its values differ by less than .*multiply"):
        api.log_evidence(x, 1, kinds="gaussian")


def test_lost_digits_are_reported():
    x = np.random.default_rng(0).normal(size=(30, 1)) + 1e15
    (note,) = lacunet.read_table(x).notes
    assert "column 'x1': its numbers, up to 1e+15, differ by" in note
    assert not lacunet.read_table(x - 1e15).notes


@pytest.mark.parametrize("c", [1e-300, 1e300])
def test_a_column_whose_square_no_float_holds_is_no_covariate_and_no_outcome(c):
    items = (np.random.default_rng(0).random((60, 4)) < 0.5).astype(int)
    y = np.random.default_rng(1).normal(size=60) * c
    frame = {f"q{j}": items[:, j] for j in range(4)} | {"y": y}
    table = pl.DataFrame(frame)
    with pytest.raises(DataError, match=r"column 'y': its values have the mean .* another unit"):
        lacunet.fit(table, 2, covariates="y", starts=2, threads=1)
    model = lacunet.fit(table, 2, exclude=["y"], starts=2, threads=1).model
    with pytest.raises(DataError, match=r"column 'y': its values have the mean .* another unit"):
        api.three_step(table, model, outcomes="y")


@pytest.mark.parametrize("correction", ["bch", "ml"])
def test_outcomes_are_the_same_in_any_unit(correction):
    rng = np.random.default_rng(5)
    z = rng.integers(0, 2, 80)
    items = (rng.random((80, 5)) < np.where(z, 0.85, 0.2)[:, None]).astype(int)
    y = rng.normal(3.0 * z)
    results = []
    for c in (1.0, 1e-100, 1e100):
        table = pl.DataFrame({f"q{j}": items[:, j] for j in range(5)} | {"y": y * c})
        model = lacunet.fit(table, 2, exclude=["y"], starts=4, threads=1).model
        of = api.three_step(table, model, outcomes="y", correction=correction).outcomes["y"]
        results.append([*of.estimate.ravel() / c, *of.stderr.ravel() / c, of.equality.statistic])
    np.testing.assert_allclose(results[1:], [results[0]] * 2, rtol=1e-6)


@pytest.mark.parametrize("far", [1e200, -1e300])
def test_a_row_too_far_from_a_model_is_refused(far):
    model = lacunet.fit(BASE, 2, kinds="gaussian", starts=2, threads=1).model
    with pytest.raises(DataError, match=r"column 'x1': .* standard deviations away"):
        api.assign(np.array([[far, 0.0, 0.0]]), model)


def test_a_weight_whose_sum_is_no_float_is_refused():
    table = pl.DataFrame({"a": ["x", "y"] * 6, "w": [1e308] * 12})
    with pytest.raises(DataError, match=r"weight column 'w': rows add up to more than 1e\+300"):
        api.log_evidence(table, 1, weights="w")


@pytest.mark.parametrize("c", [1e-300, 1e300])
def test_models_of_any_scale_are_saved_and_read(tmp_path, c):
    x = BASE * c
    fit = lacunet.fit(x, 2, kinds="gaussian", starts=2, threads=1)
    path = tmp_path / "model.json"
    lacunet.write_model(fit.model, path)
    json.loads(path.read_text("utf-8"), parse_constant=pytest.fail)
    one, other = (api.assign(x, m).probabilities for m in (fit.model, lacunet.read_model(path)))
    np.testing.assert_array_equal(one, other)


def test_scores_named_here_are_scores():
    assert len(choose_scores(SCORES)) == 7


def test_searches_and_imputations_take_the_same_steps_in_any_unit():
    fits, filled = [], []
    for c in (1.0, 3.0, 1e-300, 1e155):
        fit = lacunet.fit(BASE * c, 3, kinds="gaussian", covariance="full", starts=3, threads=1)
        fits.append([fit.log_lik + np.isfinite(BASE).sum() * math.log(c), *fit.model.theta[:3]])
        imputer = lacunet.Imputer(random_state=0, n_jobs=1)
        filled.append(imputer.fit_transform(BASE[:, :2] * c) / c)
    np.testing.assert_allclose(fits, [fits[0]] * len(fits), rtol=1e-9)
    np.testing.assert_allclose(filled, [filled[0]] * len(filled), rtol=1e-6)
