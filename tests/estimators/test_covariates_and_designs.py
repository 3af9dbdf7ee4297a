"""Covariates, strata, clusters and graphs as texts, in estimators: as the functions have them."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold

import lacunet
from lacunet import BayesianNetworkModel, LatentClassModel, LatentClassSelector
from lacunet.errors import DataError, ModelError, OptionError, UnknownOptionError

FEW = {"n_init": 2, "random_state": 0, "n_jobs": 1}


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(4)
    village, age = np.repeat(np.arange(20), 9), rng.normal(40, 10, 180).round()
    z = rng.random(180) < 1 / (1 + np.exp(-(age - 40) / 6 - rng.normal(size=20)[village]))
    answers = (rng.random((180, 4)) < np.where(z[:, None], 0.85, 0.2)).astype(float)
    frame = pd.DataFrame(answers, columns=list("ABCD")).mask(rng.random((180, 4)) < 0.05)
    return frame.assign(
        age=age,
        side=np.where(rng.random(180) < 0.5, "left", "right"),
        region=village // 5,
        village=village,
        w=rng.gamma(4, 1, 180).round(2),
    )


@pytest.fixture(scope="module")
def X(people):
    return people[[*"ABCD", "age", "side"]]


@pytest.fixture(scope="module")
def regression(X):
    return lacunet.class_regression(X, 2, "~ age + side", starts=2, seed=0, threads=1)


@pytest.fixture(scope="module")
def model(X):
    return LatentClassModel(2, covariates="~ age + side", **FEW).fit(X)


def test_covariates_are_those_of_the_function(X, regression, model):
    assert model.log_likelihood_ == regression.log_lik
    np.testing.assert_array_equal(model.coefficients_.estimate, regression.coefficients.estimate)
    (classes,) = lacunet.assign(X, regression).variables
    np.testing.assert_array_equal(model.predict_proba(X), classes.probabilities)
    np.testing.assert_array_equal(model.predict(X), classes.best)
    np.testing.assert_array_equal(model.labels_, classes.best)
    np.testing.assert_array_equal(model.score_samples(X), lacunet.log_likelihoods(X, regression))
    np.testing.assert_allclose(model.intervals().stderr, regression.intervals.stderr)
    np.testing.assert_array_equal(
        model.tail_probabilities(X[:3]), lacunet.anomalies(X[:3], regression)
    )
    plug_in = clone(model).set_params(plug_in=True).fit(X)
    assert plug_in.score_samples(X).sum() == pytest.approx(regression.log_lik)
    lower = regression.criteria
    assert (model.bic(X), model.aic(X)) == pytest.approx((lower["BIC"], lower["AIC"]))


def test_they_are_used_row_by_row(X, model):
    same = pd.concat([X.iloc[[0]]] * 2, ignore_index=True).assign(age=[20.0, 60.0])
    young, old = model.predict_proba(same)
    assert not np.allclose(young, old)
    filled = model.impute(X)
    assert not filled[list("ABCD")].isna().any(axis=None)
    pd.testing.assert_frame_equal(filled[["age", "side"]], X[["age", "side"]])
    assert model.sample(3)[0].shape == (3, 4)  # answers; covariates have no distribution
    assert set(model.profiles_) == set("ABCD")
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_an_array_has_covariates_too(X, model):
    numbers = X.assign(side=(X["side"] == "right").astype(float))
    array = LatentClassModel(2, covariates=["x4", "C(x5)"], **FEW).fit(numbers.to_numpy())
    assert array.log_likelihood_ == pytest.approx(model.log_likelihood_)
    assert array.predict_proba(numbers.to_numpy()).shape == (180, 2)


def test_a_grid_may_choose_covariates(X):
    grid = {"covariates": [None, "age"]}
    search = GridSearchCV(LatentClassModel(2, **FEW), grid, cv=KFold(2)).fit(X)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_what_is_wrong_with_covariates(X, model):
    with pytest.raises(OptionError, match=r"X has no column 'agee'. Did you mean 'age'\?"):
        LatentClassModel(2, covariates="agee", **FEW).fit(X)
    with pytest.raises(DataError, match=r"row 1, covariate 'side': .* Known values: left, right"):
        model.predict(X.assign(side="middle"))
    with pytest.raises(DataError, match="column 'age', row 3: the cell is missing"):
        model.predict(X.assign(age=X["age"].where(X.index != 2)))
    with pytest.raises(DataError, match="1 of 180 cases lack a covariate"):
        LatentClassModel(2, covariates="age", **FEW).fit(X.assign(age=X["age"].where(X.index > 0)))
    with pytest.raises(UnknownOptionError, match="LatentClassSelector"):
        LatentClassSelector(covariates="age")


DESIGN = {"strata": "region", "clusters": "village"}


def linearised(people, **options):
    """The intervals that functions give."""
    table = lacunet.read_table(people, weights="w", exclude=["age", "side"], **options)
    return lacunet.intervals(table, lacunet.fit(table, 2, starts=2, threads=1))


@pytest.mark.parametrize(
    "estimator",
    [
        LatentClassModel(2, **DESIGN, **FEW),
        LatentClassSelector([2], quick=True, **DESIGN, **FEW),
        BayesianNetworkModel("class[2] -> A B C D", **DESIGN, **FEW),
        BayesianNetworkModel(hidden={"class": 2}, **DESIGN, **FEW),
    ],
)
def test_strata_and_clusters(people, estimator):
    rows, weights = people[[*"ABCD", "region", "village"]], people["w"]
    fitted = clone(estimator).fit(rows, sample_weight=weights)
    expected = linearised(people, **DESIGN)
    intervals = fitted.intervals()
    np.testing.assert_allclose(intervals.stderr, expected.stderr, rtol=1e-6)
    assert intervals.design.overall == pytest.approx(expected.design.overall)
    assert "t with 16 degrees of freedom" in intervals.method
    assert set(fitted.categories_) == set("ABCD")
    assert fitted.predict_proba(rows).shape == (180, 2)
    drawn = fitted.intervals(bootstrap=5)
    assert "units within strata" in drawn.method


def test_weights_alone_are_a_design_too(people):
    fitted = LatentClassModel(2, **FEW).fit(people[list("ABCD")], sample_weight=people["w"])
    expected = linearised(people.drop(columns=["region", "village"]))
    np.testing.assert_allclose(fitted.intervals().stderr, expected.stderr, rtol=1e-6)


def test_a_design_beside_covariates(people):
    options = {"weights": "w", **DESIGN, "starts": 2, "threads": 1}
    expected = lacunet.class_regression(people, 2, "age", exclude=["side"], **options)
    rows = people.drop(columns=["side", "w"])
    fitted = LatentClassModel(2, covariates="age", **DESIGN, **FEW)
    fitted.fit(rows, sample_weight=people["w"])
    np.testing.assert_allclose(fitted.coefficients_.stderr, expected.coefficients.stderr, rtol=1e-6)


def test_what_is_wrong_with_a_design(people):
    rows = people[[*"ABCD", "region", "village"]]
    with pytest.raises(OptionError, match="strata 'regoin' is not a column of X"):
        LatentClassModel(2, strata="regoin", **FEW).fit(rows)
    incomplete = rows.assign(village=rows["village"].where(rows.index != 1))
    with pytest.raises(DataError, match="column 'village', row 2: the cell is missing"):
        LatentClassModel(2, clusters="village", **FEW).fit(incomplete)
    with pytest.raises(DataError, match="is in more than one stratum of 'region'"):
        LatentClassModel(2, **DESIGN, **FEW).fit(rows.assign(village=rows["village"] % 5))


def test_graphs_as_texts(people):
    rows = people[list("ABCD")]
    text = BayesianNetworkModel("class[2] -> A B C D; A -> B", **FEW).fit(rows)
    edges = [("class", name) for name in "ABCD"] + [("A", "B")]
    pairs = BayesianNetworkModel(edges, hidden={"class": 2}, **FEW).fit(rows)
    assert text.log_likelihood_ == pytest.approx(pairs.log_likelihood_)
    np.testing.assert_allclose(text.predict_proba(rows), pairs.predict_proba(rows), atol=1e-6)
    model = BayesianNetworkModel("class -> A B C D", hidden={"class": 3}, **FEW).fit(rows)
    assert model.network_.hidden_sizes == {"class": 3}
    with pytest.warns(UserWarning, match="does not name are not used: 'C', 'D'"):
        BayesianNetworkModel("A -> B", **FEW).fit(rows)
    with pytest.raises(ModelError, match=r"how many states has it\?"):
        BayesianNetworkModel("class -> A B C D", **FEW).fit(rows)
    with pytest.raises(DataError, match="X shows no variable of the graph"):
        BayesianNetworkModel("class[2] -> P Q", **FEW).fit(rows)
