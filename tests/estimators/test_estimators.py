"""What the estimators do beyond scikit-learn's own checks."""

import pickle
import re
import subprocess
import sys
from copy import copy
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from scipy.special import logsumexp
from sklearn.base import clone, is_clusterer
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer

import lacunet
from lacunet import (
    BayesianNetworkModel,
    DataError,
    LatentClassModel,
    LatentClassSelector,
    ModelError,
    OptionError,
    api,
)
from lacunet.api.options import TAKEN, defaults_of
from lacunet.estimators.inputs import threads_of
from lacunet.fitting.ascent import Convergence
from lacunet.inference.queries.answers import row_log_lik
from lacunet.runtime.executor import cores
from lacunet.settings import OPTIONS

QUICK = {"n_init": 4, "random_state": 0}
# Ranges are short here, and end where more classes may be right.
pytestmark = pytest.mark.filterwarnings("ignore:[23] is the largest number that was tried")


@pytest.fixture(scope="module")
def carcinoma():
    data = pd.read_csv(lacunet.dataset_path("carcinoma"))
    return data.drop(columns="count"), data["count"].to_numpy()


@pytest.fixture(scope="module")
def missing(carcinoma):
    """One row per person, with missing values: floats and NaN."""
    X, counts = carcinoma
    full = X.loc[X.index.repeat(counts)].reset_index(drop=True).astype(float)
    return full.mask(np.random.default_rng(3).random(full.shape) < 0.15)


@pytest.fixture(scope="module")
def fitted(missing):
    return LatentClassModel(3, **QUICK).fit(missing)


@pytest.fixture(scope="module")
def selector(missing):
    return LatentClassSelector(range(1, 5), scores="cs,bic,laplace", **QUICK).fit(missing)


def plugged_in(estimator):
    """The same, fitted already, but asked at its estimate."""
    return pickle.loads(pickle.dumps(estimator)).set_params(plug_in=True)


def kinds(missing):
    """The same rows in every container and type."""
    words = missing.replace({0.0: "no", 1.0: "yes"}).astype(object)
    return {
        "numpy": missing.to_numpy(),
        "float32": missing.to_numpy().astype(np.float32),
        "objects": missing.astype(object).where(missing.notna(), None).to_numpy(),
        "list": missing.astype(object).where(missing.notna(), None).to_numpy().tolist(),
        "polars": pl.from_pandas(missing),
        "polars integers": pl.from_pandas(missing.astype("Int64")),
        "nullable": missing.astype("Int64"),
        "words": words.where(missing.notna(), None),
        "categories": words.where(missing.notna(), None).astype("category"),
    }


# Where the data come from makes no difference.


@pytest.mark.slow
def test_any_container_gives_the_same(missing, fitted):
    for name, X in kinds(missing).items():
        other = LatentClassModel(3, **QUICK).fit(X)
        np.testing.assert_array_equal(other.class_sizes_, fitted.class_sizes_, err_msg=name)
        np.testing.assert_array_equal(
            other.predict_proba(X), fitted.predict_proba(missing), err_msg=name
        )
        np.testing.assert_array_equal(
            other.score_samples(X), fitted.score_samples(missing), err_msg=name
        )


def test_it_is_what_the_api_does(missing, fitted):
    fit = lacunet.fit(missing, 3, starts=4, seed=0)
    np.testing.assert_array_equal(fit.model.theta, fitted.model_.theta)
    assert fitted.log_likelihood_ == fit.log_lik
    assert (fitted.n_iter_, fitted.flags_) == (fit.iterations, fit.flags)
    np.testing.assert_array_equal(
        fitted.predict_proba(missing), lacunet.query(fit.model, "class", missing)
    )
    assigned = lacunet.assign(missing, fit.model)
    np.testing.assert_array_equal(fitted.predict(missing), assigned.best)


def test_the_columns_of_an_array_have_scikit_learns_names(missing):
    model = LatentClassModel(2, **QUICK).fit(missing.to_numpy())
    assert list(model.categories_) == [f"x{j}" for j in range(7)]
    assert model.categories_["x0"] == (0, 1)
    assert not hasattr(model, "feature_names_in_")


def test_weights_are_repetitions(carcinoma):
    X, counts = carcinoma
    weighted = LatentClassModel(3, **QUICK).fit(X, sample_weight=counts)
    repeated = LatentClassModel(3, **QUICK).fit(X.loc[X.index.repeat(counts)])
    np.testing.assert_array_equal(weighted.model_.theta, repeated.model_.theta)
    shuffled = X.loc[X.index.repeat(counts)].sample(frac=1, random_state=1)
    again = LatentClassModel(3, **QUICK).fit(shuffled)
    np.testing.assert_array_equal(weighted.model_.theta, again.model_.theta)
    assert weighted.score(X, sample_weight=counts) == pytest.approx(repeated.score(shuffled))
    filled = LatentClassModel(3, **QUICK).fit_transform(X, sample_weight=counts)
    np.testing.assert_array_equal(filled, weighted.predict_proba(X))
    labels = LatentClassModel(3, **QUICK).fit_predict(X, sample_weight=counts)
    np.testing.assert_array_equal(labels, weighted.predict(X))


def test_rows_of_weight_0_add_neither_cases_nor_states():
    X = np.array([["a", "x"], ["b", "y"], ["c", "x"], ["a", "y"]])
    model = LatentClassModel(2, **QUICK).fit(X, sample_weight=[1, 2, 0, 1])
    assert model.categories_["x0"] == ("a", "b")


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, -1], "sample_weight of row 2 is -1"),
        ([0, 0], "every sample weight is zero"),
        ([1, 2, 3], r"shape \(3,\); X has 2 rows"),
        ([1, np.nan], "NaN"),
    ],
)
def test_weights_that_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        LatentClassModel().fit([[0, 1], [1, 0]], sample_weight=weights)


# What comes out.


def test_classes_are_in_the_order_of_their_size(fitted, missing):
    assert (np.diff(fitted.class_sizes_) <= 0).all()
    assert fitted.class_sizes_.sum() == pytest.approx(1)
    shares = plugged_in(fitted).predict_proba(missing).mean(axis=0)
    np.testing.assert_allclose(shares, fitted.class_sizes_, atol=0.01)
    for name, profile in fitted.profiles_.items():
        assert profile.shape == (3, len(fitted.categories_[name]))
        np.testing.assert_allclose(profile.sum(axis=1), 1)


def test_score_is_the_mean_of_log_p(fitted, missing):
    nothing = missing.iloc[:1] * np.nan
    for model in (fitted, plugged_in(fitted)):
        rows = model.score_samples(missing)
        assert model.score(missing) == pytest.approx(rows.mean(), rel=1e-12)
        assert model.score_samples(nothing)[0] == pytest.approx(0, abs=1e-12)
    assert rows.sum() == pytest.approx(fitted.log_likelihood_, rel=1e-12)
    np.testing.assert_allclose(model.predict_proba(nothing)[0], fitted.class_sizes_)


def test_rows_are_assigned_by_the_posterior_predictive(fitted, missing):
    predictive, model = fitted.model_.predictive, fitted.model_
    assert not np.allclose(predictive.theta, model.theta, atol=1e-3)
    codes = np.nan_to_num(missing.to_numpy(), nan=-1).astype(np.int32)
    np.testing.assert_array_equal(fitted.score_samples(missing), row_log_lik(predictive, codes))
    np.testing.assert_array_equal(
        plugged_in(fitted).score_samples(missing), row_log_lik(model, codes)
    )
    np.testing.assert_allclose(fitted.predict_proba(missing).sum(axis=1), 1)
    plain = lacunet.query(model, "class", missing, plug_in=True)
    np.testing.assert_array_equal(plugged_in(fitted).predict_proba(missing), plain)
    assert np.abs(plain - fitted.predict_proba(missing)).max() > 1e-3


def test_bic_and_aic_have_the_sign_of_scikit_learns_mixtures(fitted, missing):
    d, n = fitted.model_.network.dimension, len(missing)
    log_lik = n * plugged_in(fitted).score(missing)
    assert fitted.bic(missing) == pytest.approx(-2 * log_lik + d * np.log(n))
    assert fitted.aic(missing) == pytest.approx(-2 * log_lik + 2 * d)
    (bic,) = LatentClassModel(3, scores="bic", **QUICK).fit(missing).evidence_.values()
    assert fitted.bic(missing) == pytest.approx(-2 * bic.value)


def test_samples_come_from_the_model(fitted):
    X, labels = plugged_in(fitted).sample(20_000)
    assert X.shape == (20_000, 7)
    assert set(np.unique(X)) == {0, 1}
    np.testing.assert_allclose(np.bincount(labels) / 20_000, fitted.class_sizes_, atol=0.015)
    first = X[labels == 0, 0].mean()
    assert first == pytest.approx(fitted.profiles_["A"][0, 1], abs=0.015)
    again, _ = clone(fitted).set_params(random_state=0).fit(X[:50]).sample(5)
    assert again.shape == (5, 7)


def test_samples_of_words_are_words():
    X = np.array([["a", "x"], ["b", "y"], ["a", "x"], ["b", "x"]])
    drawn, labels = LatentClassModel(2, **QUICK).fit(X).sample(3)
    assert drawn.dtype == object
    assert set(drawn[:, 0]) <= {"a", "b"}
    assert labels.shape == (3,)


def test_missing_values_are_filled_with_what_is_most_probable(fitted, missing):
    filled = fitted.impute(missing).to_numpy()
    seen = missing.notna().to_numpy()
    np.testing.assert_array_equal(filled[seen], missing.to_numpy()[seen])
    assert not np.isnan(filled).any()
    for j, name in enumerate(missing.columns):
        p = lacunet.query(fitted.model_, name, missing)
        np.testing.assert_array_equal(filled[~seen[:, j], j], p.argmax(axis=1)[~seen[:, j]])


def test_missing_values_among_words_are_filled_with_words(missing):
    words = kinds(missing)["words"]
    filled = LatentClassModel(3, **QUICK).fit(words).impute(words)
    assert set(np.unique(filled)) == {"no", "yes"}
    masked = np.ma.masked_array(words.fillna("?").to_numpy().astype(str), words.isna().to_numpy())
    np.testing.assert_array_equal(LatentClassModel(3, **QUICK).fit(masked).impute(masked), filled)


def test_impossible_rows_are_reported():
    """A state that no row shows has probability 0 where the likelihood is greatest: only there."""
    X = np.array([[0, 0, 1], [0, 1, 0], [1, 1, 1], [1, 1, 0]])
    states = [[0, 1, 2], [0, 1], [0, 1]]
    odd = [[2, 0, 1], [0, 0, 1]]
    for model in (
        LatentClassModel(2, estimate="ml", categories=states, **QUICK),
        LatentClassSelector((2, 3), estimate="ml", average=True, categories=states, **QUICK),
    ):
        model.fit(X)
        assert np.isfinite(model.score_samples(odd)).all()
        np.testing.assert_allclose(model.predict_proba(odd).sum(axis=1), 1)
        model.set_params(plug_in=True)
        assert model.score_samples(odd)[0] == -np.inf
        assert np.isfinite(model.score_samples(odd)[1])
        assert np.isnan(model.predict_proba(odd)[0]).all()
        assert model.predict(odd)[0] == -1
        assert model.predict_proba(odd)[1].sum() == pytest.approx(1)
        incomplete = [[2, np.nan, 1], [0, np.nan, 1]]
        assert np.isnan(model.impute(incomplete)[:, 1]).tolist() == [True, False]


# scikit-learn's machinery.


def test_pickle_and_clone(fitted, selector, missing):
    str(selector.selection_)  # uses everything that a selection keeps for later
    for estimator in (fitted, selector):
        again = pickle.loads(pickle.dumps(estimator))
        np.testing.assert_array_equal(
            again.predict_proba(missing), estimator.predict_proba(missing)
        )
        assert again.evidence_ == estimator.evidence_
        fresh = clone(estimator)
        assert fresh.get_params() == estimator.get_params()
        with pytest.raises(NotFittedError):
            fresh.predict(missing)


@pytest.mark.parametrize(
    "method", ["predict", "predict_proba", "transform", "score_samples", "impute", "bic", "score"]
)
def test_not_fitted(method, missing):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(LatentClassModel(), method)(missing)
    with pytest.raises(NotFittedError):
        LatentClassModel().sample()


@pytest.mark.slow
def test_grid_search_finds_the_number_of_classes(missing):
    folds = KFold(4, shuffle=True, random_state=0)
    search = GridSearchCV(LatentClassModel(**QUICK), {"n_classes": [1, 2, 3]}, cv=folds)
    search.fit(missing)
    scores = search.cv_results_["mean_test_score"]
    assert np.isfinite(scores).all()
    assert search.best_params_["n_classes"] > 1
    assert scores.max() - scores[0] > 0.5  # nats for each row: one class is far worse


def test_pipelines(carcinoma, missing):
    X, counts = carcinoma
    y = X["A"].repeat(counts)  # the first pathologist, from what the others say
    line = make_pipeline(LatentClassModel(3, **QUICK), LogisticRegression())
    others = missing.drop(columns="A")
    assert line.fit(others, y).score(others, y) > 0.85
    measured = np.random.default_rng(0).normal(size=(100, 3))
    bins = KBinsDiscretizer(3, encode="ordinal", strategy="uniform")
    labels = make_pipeline(bins, LatentClassModel(2, **QUICK)).fit_predict(measured)
    assert set(labels) == {0, 1}


def test_set_output(missing):
    for kind, frame in (("pandas", pd.DataFrame), ("polars", pl.DataFrame)):
        model = LatentClassModel(3, **QUICK).set_output(transform=kind)
        filled = model.fit_transform(missing)
        assert isinstance(filled, frame)
        assert list(filled.columns) == ["class0", "class1", "class2"]
        np.testing.assert_array_equal(filled.to_numpy(), model.predict_proba(missing))
    assert list(model.set_output(transform="pandas").transform(missing).index) == list(
        missing.index
    )


def test_a_notebook_shows_the_parameters(fitted):
    page = fitted._repr_html_()
    assert "LatentClassModel" in page
    assert "n_classes" in page


def test_seeds(missing):
    def theta(state):
        return LatentClassModel(4, n_init=1, random_state=state).fit(missing).model_.theta

    np.testing.assert_array_equal(theta(7), theta(7))
    np.testing.assert_array_equal(theta(np.random.RandomState(5)), theta(np.random.RandomState(5)))
    shared = np.random.RandomState(5)
    assert (theta(shared) != theta(shared)).any()  # as in scikit-learn, its state moves on
    np.random.seed(3)  # noqa: NPY002 - what random_state=None goes by
    first = theta(None)
    np.random.seed(3)  # noqa: NPY002
    np.testing.assert_array_equal(first, theta(None))


def test_threads_change_nothing(missing, fitted):
    other = LatentClassModel(3, n_jobs=2, **QUICK).fit(missing)
    np.testing.assert_array_equal(other.model_.theta, fitted.model_.theta)


# What may stand in a column.


def test_unseen_states_are_named(fitted, missing):
    odd = missing.copy()
    odd.loc[16, "B"] = 2.0
    message = (
        r"column 'B', row 17: 2 is not among the states of the model: 0, 1\. "
        r"(It counts as missing\. .*|Set )unseen='missing'"
    )
    strict = copy(fitted).set_params(unseen="error")
    for name in ("predict", "predict_proba", "transform", "score_samples", "impute"):
        with pytest.warns(UserWarning, match=message) as caught:
            getattr(fitted, name)(odd)
        assert caught[0].filename == __file__
        with pytest.raises(ValueError, match=message):
            getattr(strict, name)(odd)
    odd.loc[18, "C"] = 7.0
    with pytest.raises(DataError, match="and 1 more such value"):
        strict.predict(odd)


def test_a_typo_gets_a_hint():
    frame = pd.DataFrame({"smokes": ["never", "often"] * 6, "drinks": ["yes", "no", "no"] * 4})
    model = LatentClassModel(1, **QUICK).fit(frame)
    with pytest.warns(UserWarning, match="'nevr' is not among .* Did you mean 'never'"):
        model.predict(frame.replace("never", "nevr"))


def test_unseen_states_may_be_missing_ones(missing):
    odd, gap = missing.copy(), missing.copy()
    odd.loc[16, "B"], gap.loc[16, "B"] = 2.0, np.nan
    lenient = LatentClassModel(3, unseen="missing", **QUICK).fit(missing)
    np.testing.assert_array_equal(lenient.predict_proba(odd), lenient.predict_proba(gap))
    with pytest.raises(OptionError, match="Choose from warn, error, missing"):
        LatentClassModel(unseen="ignore").fit(missing)


def test_states_may_be_declared(missing):
    """In three ways, which all give room to a state that no row shows."""
    table = LatentClassModel(2, **QUICK)
    by_name = clone(table).set_params(categories={"A": [0, 1, 2]}).fit(missing)
    lists = [[0, 1, 2], *([[0, 1]] * 6)]
    by_list = clone(table).set_params(categories=np.array(lists, dtype=object)).fit(missing)
    dtype = pd.CategoricalDtype([0, 1, 2])
    by_dtype = clone(table).fit(missing.assign(A=missing["A"].astype("Int64").astype(dtype)))
    for model in (by_name, by_list, by_dtype):
        assert model.categories_["A"] == (0, 1, 2)
        np.testing.assert_array_equal(model.profiles_["A"], by_name.profiles_["A"])
    odd = missing.assign(A=2.0)
    assert np.isfinite(by_name.score_samples(odd)).all()
    with pytest.raises(DataError, match=r"column 'A', row .*: 1 is not among the states that it"):
        clone(table).set_params(categories={"A": [0]}).fit(missing)


@pytest.mark.parametrize(
    ("categories", "message"),
    [
        ("all", "Give 'auto', or lists"),
        ([[0, 1]], "1 lists of states; X has 7 columns"),
        ({"Z": [0, 1]}, "'Z', which is not a column of X"),
    ],
)
def test_declarations_that_are_refused(missing, categories, message):
    with pytest.raises(OptionError, match=message):
        LatentClassModel(categories=categories).fit(missing)


def test_a_column_may_be_constant(missing):
    """A fold of a cross-validation may leave one state of a rare one."""
    constant = missing.assign(A=1.0)
    with pytest.warns(UserWarning, match="'A' has only one state, 1: it carries no information"):
        model = LatentClassModel(2, **QUICK).fit(constant)
    without = LatentClassModel(2, **QUICK).fit(missing.drop(columns="A"))
    assert model.log_likelihood_ == pytest.approx(without.log_likelihood_, abs=1e-6)


def test_columns_that_cannot_be_used(missing):
    with pytest.raises(DataError, match="column 'A', row 1: inf is not a finite number"):
        LatentClassModel().fit(missing.assign(A=[np.inf, *missing["A"][1:]]))
    with pytest.raises(ValueError, match="infinity"):
        LatentClassModel().fit([[0.0, np.inf], [1.0, 2.0]])


def test_an_identifier_is_refused_in_the_words_of_an_estimator(missing):
    odd = missing.assign(odd=np.arange(len(missing)))
    with pytest.raises(DataError, match=r"identifier. Exclude it with X.drop\(columns=\['odd'\]\)"):
        LatentClassModel(2, **QUICK).fit(odd)
    every = LatentClassModel(1, kinds={"odd": "categorical"}, **QUICK).fit(odd)
    assert len(every.categories_["odd"]) == len(missing)


def test_feature_names(fitted, missing):
    assert list(fitted.feature_names_in_) == list("ABCDEFG")
    with pytest.raises(ValueError, match="unseen at fit time:\n- Z"):
        fitted.predict(missing.rename(columns={"A": "Z"}))
    with pytest.raises(ValueError, match="must be in the same order"):
        fitted.predict(missing[list("GFEDCBA")])
    with pytest.raises(ValueError, match="now missing:\n- C"):
        fitted.predict(missing[["A", "B"]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        result = fitted.predict(missing.to_numpy())
    np.testing.assert_array_equal(result, fitted.predict(missing))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_classes": 0}, "at least 1"),
        ({"n_classes": 2.5}, "whole numbers"),
        ({"n_classes": [1, 2]}, "whole numbers"),
        ({"n_init": 0}, "0 starts"),
        ({"estimate": "mean"}, "Choose from map, ml"),
        ({"alpha": -1.0}, "above 0"),
        ({"scores": "nothing"}, "is not a score"),
        ({"random_state": -3}, "seed -3"),
    ],
)
def test_parameters_that_are_refused(parameters, message, missing):
    with pytest.raises(ValueError, match=message):
        LatentClassModel(**parameters).fit(missing)


def test_a_search_that_did_not_converge_warns(missing, monkeypatch):
    def select(*given, **options):
        (candidate,) = select_truly(*given, **options).candidates
        stopped = replace(candidate.fit, status=Convergence.MAX_STEPS)
        return SimpleNamespace(candidates=(replace(candidate, fit=stopped),))

    select_truly = api.select
    monkeypatch.setattr(api, "select", select)
    with pytest.warns(ConvergenceWarning, match="stopped at the step limit") as caught:
        model = LatentClassModel(3, **QUICK).fit(missing)
    assert not model.converged_
    assert caught[0].filename == __file__


# Choosing the number of classes.


def test_the_selector_does_what_select_does(selector, missing):
    selection = lacunet.select(missing, range(1, 5), scores="cs,bic,laplace", starts=4, seed=0)
    assert selector.n_classes_ == selection.states
    assert selector.posterior_ == selection.posterior()
    assert set(selector.scores_) == {s.name for s in selection.scores}
    for name, values in selector.scores_.items():
        assert values == pytest.approx(selection.values(name), abs=0, nan_ok=True)
    assert selector.evidence_["cs"].value == selector.scores_["cs"][selector.n_classes_]
    np.testing.assert_array_equal(selector.model_.theta, selection.best.fit.model.theta)
    k = selector.n_classes_
    assert selector.class_sizes_.shape == (k,)
    assert list(selector.get_feature_names_out()) == [f"class{c}" for c in range(k)]


def test_another_criterion(missing):
    """Any score may decide, whether it is among those to compute or not."""
    selector = LatentClassSelector((1, 2, 3), scores="cs", criterion="bic", **QUICK).fit(missing)
    by_bic = lacunet.select(missing, (1, 2, 3), scores="bic", starts=4, quick=True)
    assert selector.scores_["bic"] == by_bic.values("bic")
    assert selector.n_classes_ == by_bic.chosen["bic"]
    assert selector.certainty_.by == "bic"
    assert set(selector.scores_) == {"cs", "bic"}
    with pytest.raises(OptionError, match="'bci' is not a score"):
        selector.set_params(criterion="bci").fit(missing)
    with pytest.raises(OptionError, match="criterion 'bd' is exact, so defined only where"):
        selector.set_params(criterion="bd").fit(missing)


def test_options_of_functions_are_options_of_estimators(missing):
    """Those of `select` by the same names, with the same defaults and results."""
    parameters = LatentClassSelector().get_params()
    # These have names of scikit-learn; and a cluster is the current Dask client.
    others = {"starts", "seed", "threads", "cluster", "workers"}
    shared = {*TAKEN["select"]} & {*OPTIONS} - others
    assert shared <= {*parameters}
    same = shared - {"scores"}  # fewer
    usual = defaults_of(lacunet.select)
    assert {name: parameters[name] for name in same} == {
        name: getattr(usual, name) for name in same
    }
    described = re.findall(r"^    (\w+) : ", LatentClassModel.__doc__, re.MULTILINE)
    assert {*LatentClassModel().get_params()} <= {*described}
    options = {"schedule": "paper", "missing_as_state": True}
    model = LatentClassModel(2, **options, **QUICK).fit(missing)
    assert model.log_likelihood_ == lacunet.fit(missing, 2, starts=4, **options).log_lik
    assert all(states[-1] == "(missing)" for states in model.categories_.values())
    assert model.score(missing) == pytest.approx(
        lacunet.log_likelihoods(missing_rows(missing), model.model_).mean()
    )


def test_bootstrap_tests_of_a_selector(missing):
    selector = LatentClassSelector((1, 2), blrt=19, quick=True, **QUICK).fit(missing)
    selection = lacunet.select(missing, (1, 2), blrt=19, quick=True, starts=4)
    (test,) = selector.selection_.ratio_tests.values()
    same = selection.ratio_tests[2]
    assert (test.p_value, test.statistic) == (same.p_value, same.statistic)


def missing_rows(frame):
    """The same rows with a word in every missing value."""
    return frame.map(lambda x: "(missing)" if np.isnan(x) else str(int(x)))


def test_measured_evidence_of_an_estimator(missing):
    few = missing.sample(12, random_state=1)
    model = LatentClassModel(2, evidence=True, **QUICK).fit(few)
    assert (
        model.evidence_["evidence"].value == lacunet.log_evidence(few, 2, alpha=model.alpha).value
    )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"seed": 1}, "Here it is called 'random_state'"),
        ({"starts": 3}, "Here it is called 'n_init'"),
        ({"threads": 2}, "Here it is called 'n_jobs'"),
        ({"states": 2}, "Here it is called 'n_classes'"),
        ({"n_components": 2}, "Here it is called 'n_classes'"),
        ({"n_intit": 2}, "Did you mean 'n_init'"),
        ({"sample_weight": [1]}, r"fit\(\) has it"),
    ],
)
def test_names_of_other_worlds(given, words):
    with pytest.raises(OptionError, match=words) as caught:
        LatentClassModel(**given)
    assert isinstance(caught.value, TypeError)


def test_threads_by_default():
    """One per core, as in functions; one in a worker of a grid search."""
    assert threads_of(None) == cores()
    assert threads_of(-1) == effective_n_jobs(-1)
    assert Parallel(2, backend="threading")(delayed(threads_of)(None) for _ in "ab") == [1, 1]
    with parallel_config(n_jobs=2):
        assert threads_of(None) == 2


@pytest.mark.slow
def test_a_choice_of_one_is_the_model_itself(fitted, missing):
    for average in (False, True):
        one = LatentClassSelector([3], average=average, **QUICK).fit(missing)
        assert one.posterior_ == {3: 1.0}
        np.testing.assert_allclose(one.predict_proba(missing), fitted.predict_proba(missing))
        np.testing.assert_allclose(one.score_samples(missing), fitted.score_samples(missing))


@pytest.fixture(scope="module")
def few(missing):
    """Few rows of few columns, so that no number of classes is certain."""
    return missing[["C", "D", "F"]][::5]


@pytest.fixture(scope="module")
def averaged(few):
    return LatentClassSelector((1, 2, 3), average=True, **QUICK).fit(few)


@pytest.mark.slow
def test_averaged_densities_are_the_weighted_mixture(averaged, few):
    weights = averaged.posterior_
    assert min(weights.values()) > 0.001
    logs = [
        np.log(w) + LatentClassModel(k, **QUICK).fit(few).score_samples(few)
        for k, w in weights.items()
    ]
    np.testing.assert_allclose(averaged.score_samples(few), logsumexp(logs, axis=0), rtol=1e-12)
    assert averaged.score(few) == pytest.approx(averaged.score_samples(few).mean())
    every = np.stack(np.unravel_index(range(8), (2, 2, 2)), axis=1)
    everything = averaged.score_samples(pd.DataFrame(every, columns=few.columns))
    assert np.exp(everything).sum() == pytest.approx(1)


def test_averaged_classes_are_the_weighted_mixture(averaged, few, missing):
    rows = missing[few.columns]
    result = averaged.predict_proba(rows)
    np.testing.assert_allclose(result.sum(axis=1), 1)
    np.testing.assert_array_equal(averaged.predict(rows), result.argmax(axis=1))
    models = {k: LatentClassModel(k, **QUICK).fit(few) for k in averaged.posterior_}
    chosen = models[averaged.n_classes_].predict_proba(few)
    expected = np.zeros_like(result)
    for k, model in models.items():
        if k == averaged.n_classes_:
            match = np.eye(k)
        else:  # the share of each class's members in each class of the chosen model
            shared = np.einsum("ij,ik->jk", model.predict_proba(few), chosen)
            match = shared / shared.sum(axis=1, keepdims=True)
        expected += averaged.posterior_[k] * model.predict_proba(rows) @ match
    np.testing.assert_allclose(result, expected, atol=1e-12)


def test_averaging_can_be_switched_after_fit(averaged, few):
    plain = clone(averaged).set_params(average=False).fit(few)
    switched = pickle.loads(pickle.dumps(averaged)).set_params(average=False)
    np.testing.assert_array_equal(switched.predict_proba(few), plain.predict_proba(few))
    # A model with one class leaves every row open: the average is less sure than the chosen one.
    assert averaged.predict_proba(few).max() < plain.predict_proba(few).max()


# Networks.

EDGES = [("f", "g"), ("f", "A"), ("f", "B"), ("f", "C"), ("g", "D"), ("g", "E"), ("A", "B")]


@pytest.mark.slow
def test_edges_make_a_network(missing):
    model = BayesianNetworkModel(EDGES, hidden={"f": 2, "g": 3}, **QUICK).fit(missing)
    assert model.predict(missing).shape == (len(missing), 2)
    p = model.predict_proba(missing)
    assert list(model.get_feature_names_out()) == ["f0", "f1", "g0", "g1", "g2"]
    np.testing.assert_allclose(p[:, :2], lacunet.query(model.model_, "f", missing), rtol=1e-12)
    np.testing.assert_allclose(p[:, 2:], lacunet.query(model.model_, "g", missing), rtol=1e-12)
    np.testing.assert_array_equal(model.predict(missing)[:, 1], p[:, 2:].argmax(axis=1))
    plain = plugged_in(model).score_samples(missing)
    assert plain.sum() == pytest.approx(model.log_likelihood_, rel=1e-12)
    assert model.tables_["B"].shape == (2, 2, 2)
    assert model.tables_["F"].shape == (2,)  # no edge: independent
    X, labels = model.sample(5)
    assert X.shape == (5, 7)
    assert labels.shape == (5, 2)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(missing), p)


def test_without_a_network_one_hidden_variable_makes_latent_classes(missing, fitted):
    model = BayesianNetworkModel(None, hidden={"class": 3}, **QUICK).fit(missing)
    np.testing.assert_array_equal(model.model_.theta, fitted.model_.theta)
    np.testing.assert_array_equal(model.predict(missing), fitted.predict(missing))


def test_a_graph_is_its_edges(missing):
    networkx = pytest.importorskip("networkx")
    graph = networkx.DiGraph(EDGES)
    fitted = BayesianNetworkModel(graph, hidden={"f": 2, "g": 2}, **QUICK).fit(missing)
    expected = BayesianNetworkModel(list(graph.edges), hidden={"f": 2, "g": 2}, **QUICK).fit(
        missing
    )
    np.testing.assert_array_equal(fitted.model_.theta, expected.model_.theta)


def test_a_network_brings_its_states(missing, fitted, tmp_path):
    network = fitted.model_.network
    path = tmp_path / "model.json"
    lacunet.write_model(fitted.model_, path)
    for given in (network, fitted.model_, path, str(path)):
        model = BayesianNetworkModel(given, **QUICK).fit(missing)
        np.testing.assert_array_equal(model.model_.theta, fitted.model_.theta)
    array = BayesianNetworkModel(network, **QUICK).fit(missing.to_numpy())
    np.testing.assert_array_equal(array.model_.theta, fitted.model_.theta)
    fewer = BayesianNetworkModel(network, hidden={"class": 2}, **QUICK).fit(missing)
    assert fewer.predict_proba(missing).shape == (len(missing), 2)


def test_columns_that_a_network_does_not_have(missing, fitted):
    more = missing.assign(other=range(len(missing)))[["other", *reversed(missing.columns)]]
    with pytest.warns(UserWarning, match="not used: 'other'"):
        model = BayesianNetworkModel(fitted.model_.network, **QUICK).fit(more)
    np.testing.assert_array_equal(model.model_.theta, fitted.model_.theta)
    np.testing.assert_array_equal(model.predict(more), fitted.predict(missing))
    filled = model.impute(more).to_numpy()
    np.testing.assert_array_equal(filled[:, 0], more["other"])
    np.testing.assert_array_equal(filled[:, :0:-1], fitted.impute(missing))


@pytest.mark.parametrize(
    ("network", "hidden", "message"),
    [
        ([("A", "B"), ("B", "A")], None, "cycle"),
        ([("A", "Bee")], None, "'Bee' is neither a column of X nor a hidden variable"),
        (["AB"], None, "is not an edge"),
        (None, {"A": 2}, "'A' is hidden, and a column of X too"),
        (None, {"h": 0}, "0 states. Give a whole number"),
        (None, {"h": None}, "None states. Give a whole number"),
        (None, ["h"], "gives no numbers of states"),
    ],
)
def test_networks_that_are_refused(network, hidden, message, missing):
    with pytest.raises(ModelError, match=message):
        BayesianNetworkModel(network, hidden=hidden).fit(missing)


def test_a_network_without_hidden_variables(missing):
    chain = [(a, b) for a, b in zip("ABCDEF", "BCDEFG", strict=True)]
    model = BayesianNetworkModel(chain, **QUICK).fit(missing)
    assert model.score(missing) > BayesianNetworkModel(None, **QUICK).fit(missing).score(missing)
    filled = model.impute(missing)
    assert not filled.isna().any(axis=None)
    np.testing.assert_array_equal(model.predict(missing), filled)
    np.testing.assert_array_equal(model.transform(missing), filled)
    assert model.get_feature_names_out().tolist() == list("ABCDEFG")
    with pytest.raises(ModelError, match="no hidden variable, so it has no class probabilities"):
        model.predict_proba(missing)


def test_a_structure_that_is_learned(missing):
    known = lacunet.Knowledge(forbid=[("A", "B"), ("B", "A")])
    model = BayesianNetworkModel(structure="learn", knowledge=known, **QUICK).fit(missing)
    learned = lacunet.learn_structure(missing, knowledge=known)
    assert model.network_ == model.learned_.network == learned.network
    assert 0 not in model.network_.parents[1]
    assert model.fit_.problem.alpha.max() <= 5  # ten cases, spread over the cells of a family
    alone = BayesianNetworkModel(**QUICK, alpha="bdeu:10").fit(missing)
    assert model.score(missing) > alone.score(missing)
    np.testing.assert_array_equal(model.predict(missing), model.impute(missing))
    drawn, none = model.sample(5)
    assert drawn.shape == (5, 7)
    assert none.shape == (5, 0)
    rough = BayesianNetworkModel(structure="learn", alpha=2.0, **QUICK).fit(missing)
    assert rough.learned_.alpha == 2.0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"structure": "guess"}, "structure 'guess' is not known. Choose given, learn."),
        ({"structure": "learn", "network": [("A", "B")]}, "Leave out network and hidden"),
        ({"structure": "learn", "hidden": {"h": 2}}, "Leave out network and hidden"),
        ({"knowledge": lacunet.Knowledge()}, "Give structure='learn'"),
    ],
)
def test_structures_that_are_refused(given, message, missing):
    with pytest.raises(OptionError, match=message):
        BayesianNetworkModel(**given).fit(missing)


def test_columns_that_a_network_wants(missing, fitted):
    with pytest.raises(DataError, match="X has no column for 'A', which the network has"):
        BayesianNetworkModel(fitted.model_.network).fit(missing.drop(columns="A"))


@pytest.mark.slow
def test_scikit_learn_is_loaded_only_for_the_estimators():
    program = "import sys, lacunet, lacunet.api; print('sklearn' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "False"


def test_without_scikit_learn_the_error_names_the_extra(monkeypatch):
    for name in list(sys.modules):
        if name.startswith("lacunet.estimators"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'lacunet\[sklearn\]'"):
        _ = lacunet.LatentClassModel


def test_latent_classes_are_clusterers(missing):
    for estimator in (
        LatentClassModel(2, **QUICK),
        LatentClassSelector((1, 2), quick=True, **QUICK),
    ):
        assert is_clusterer(estimator)
        labels = estimator.fit_predict(missing)
        np.testing.assert_array_equal(labels, estimator.labels_)
        np.testing.assert_array_equal(labels, estimator.predict(missing))
        assert set(labels) == {0, 1}
    assert not is_clusterer(BayesianNetworkModel())


def test_labels_of_rows_without_weight(missing):
    """They are not rows to learn from, and get a class all the same, whatever they show."""
    weights = np.ones(len(missing))
    weights[3], odd = 0, missing.copy()
    odd.loc[odd.index[3], "A"] = 9.0
    model = LatentClassModel(2, **QUICK).fit(odd, sample_weight=weights)
    assert model.labels_.shape == (len(missing),)
    assert model.categories_["A"] == (0, 1)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_profiles_as_a_frame(library):
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, 60)
    columns = {
        "size": rng.normal(4.0 * kind),
        "mark": np.where(rng.random(60) < 0.8, kind, 1 - kind),
    }
    X = pd.DataFrame(columns) if library == "pandas" else pl.DataFrame(columns)
    model = LatentClassModel(2, **QUICK).fit(X)
    frame = model.profiles_frame()
    assert type(frame) is type(X)
    assert list(frame.columns) == ["column", "state", "class", "probability", "mean", "sd"]
    table = model.profiles_frame("pandas").set_index(["column", "state", "class"])
    assert table.loc[("mark", "1", 2), "probability"] == model.profiles_["mark"][1, 1]
    assert table.xs("size")["mean"].tolist() == model.numbers_["size"]["mean"].tolist()
    assert isinstance(LatentClassModel(2, **QUICK).fit(X.to_numpy()).profiles_frame(), pl.DataFrame)


def test_progress_on_request(missing, capsys):
    """Plain lines where stderr is not a terminal, and not a word without being asked."""
    LatentClassModel(2, **QUICK).fit(missing)
    assert capsys.readouterr().err == ""
    LatentClassModel(2, verbose=1, **QUICK).fit(missing)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].split() == ["0%", "preparing"]
    assert len(lines) <= 5
