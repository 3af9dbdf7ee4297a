"""Plain numeric arrays and mixed dataframes, as users of scikit-learn's mixtures hand them over."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import cross_val_score

import lacunet
from lacunet import LatentClassModel, LatentClassSelector
from lacunet.errors import DataError, OptionError

FEW = {"n_init": 4, "random_state": 0}


@pytest.fixture(scope="module")
def blobs():
    """Two clouds, and which of them each row is from."""
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, 200)
    X = rng.normal(0.0, 1.0, (200, 3)) + 5.0 * z[:, None] * [1.0, 1.0, 0.0]
    return X * [1.0, 100.0, 0.01], z


@pytest.fixture(scope="module")
def fitted(blobs):
    return LatentClassModel(2, **FEW).fit(blobs[0])


def test_an_array_of_floats_is_gaussian(blobs, fitted):
    X, z = blobs
    assert adjusted_rand_score(z, fitted.predict(X)) > 0.95
    assert fitted.categories_ == {"x0": (), "x1": (), "x2": ()}
    assert fitted.profiles_ == {}
    theirs = GaussianMixture(2, covariance_type="diag", random_state=0).fit(X)
    order = np.argsort(-theirs.weights_)
    for j in range(3):
        summary = fitted.numbers_[f"x{j}"]
        scale = X[:, j].std()
        np.testing.assert_allclose(summary["mean"], theirs.means_[order, j], atol=0.05 * scale)
        np.testing.assert_allclose(summary["sd"], theirs.covariances_[order, j] ** 0.5, rtol=0.1)
    # Densities in the unit of the data; ours are averaged over parameters, so tails are longer.
    apart = fitted.score_samples(X) - theirs.score_samples(X)
    assert np.median(np.abs(apart)) < 0.05
    assert apart[np.argmin(theirs.score_samples(X))] > 0.1
    assert fitted.score(X) == pytest.approx(theirs.score(X), abs=0.05)
    assert fitted.bic(X) == pytest.approx(theirs.bic(X), rel=0.01)


def test_missing_values_are_no_reason_to_drop_a_row(blobs):
    X, z = blobs
    rng = np.random.default_rng(1)
    incomplete = np.where(rng.random(X.shape) < 0.3, np.nan, X)
    model = LatentClassModel(2, **FEW).fit(incomplete)
    assert adjusted_rand_score(z, model.predict(incomplete)) > 0.6
    np.testing.assert_allclose(model.predict_proba(incomplete).sum(axis=1), 1.0)
    filled = model.impute(incomplete)
    seen = ~np.isnan(incomplete)
    np.testing.assert_array_equal(filled[seen], incomplete[seen])
    assert not np.isnan(filled).any()
    errors = ((filled - X)[:, :2] / X.std(axis=0)[:2])[~seen[:, :2]]
    assert np.sqrt(np.mean(errors**2)) < 0.75  # of the standard deviation of the column
    nothing = np.full((1, 3), np.nan)
    np.testing.assert_allclose(
        model.predict_proba(nothing)[0], model.model_.predictive.table("class")
    )
    np.testing.assert_allclose(model.impute(nothing)[0], np.nanmean(filled, axis=0), rtol=0.5)


def test_new_rows_and_drawn_ones(blobs, fitted):
    X, labels = fitted.sample(500)
    assert X.shape == (500, 3)
    assert adjusted_rand_score(labels, fitted.predict(X)) > 0.95
    off = (X.mean(axis=0) - blobs[0].mean(axis=0)) / blobs[0].std(axis=0)
    assert (np.abs(off) < 0.25).all()
    far = fitted.score_samples(blobs[0][:1] + 1e4)
    assert np.isfinite(far).all()


def test_a_dataframe_has_columns_of_every_kind():
    rng = np.random.default_rng(2)
    z = rng.integers(0, 2, 150)
    frame = pd.DataFrame(
        {
            "height": rng.normal(165 + 15 * z, 5.0),
            "visits": rng.poisson(2 + 8 * z),
            "grade": 1 + rng.binomial(4, 0.2 + 0.6 * z),
            "sex": np.where(rng.random(150) < 0.2 + 0.6 * z, "m", "f"),
            "region": pd.Categorical(rng.choice(["n", "s"], 150)),
        }
    )
    frame = frame.mask(rng.random(frame.shape) < 0.1)
    kinds = {"visits": "poisson", "grade": "ordinal"}
    model = LatentClassModel(2, kinds=kinds, **FEW).fit(frame)
    assert list(model.numbers_) == ["height", "visits", "grade"]
    assert list(model.profiles_) == ["sex", "region"]
    assert adjusted_rand_score(z, model.predict(frame)) > 0.8
    filled = pd.DataFrame(model.impute(frame), columns=frame.columns)
    assert not filled.isna().any().any()
    assert (filled["visits"].astype(float) % 1 == 0).all()
    with pytest.raises(DataError, match=r"'grade', row 1: 9.*not among the answers"):
        model.predict(frame.head(1).assign(grade=9.0))
    other = LatentClassModel(2, **FEW).fit(frame)  # whole numbers are categories, as ever
    assert list(other.numbers_) == ["height"]


def test_a_selector_averages_over_numbers_of_classes(blobs):
    X, z = blobs
    fitted = LatentClassSelector(range(1, 4), quick=True, average=True, **FEW).fit(X)
    assert fitted.n_classes_ == 2
    assert adjusted_rand_score(z, fitted.predict(X + 1e-3)) > 0.95
    p = list(fitted.posterior_.values())
    models = [c.fit.model for c in fitted.selection_.candidates]
    each = np.stack(
        [
            lacunet.log_likelihoods(pd.DataFrame(X + 1e-3, columns=["x0", "x1", "x2"]), m)
            for m in models
        ]
    )
    np.testing.assert_allclose(
        fitted.score_samples(X + 1e-3), np.log(np.array(p) @ np.exp(each)), rtol=1e-9
    )
    assert clone(fitted).get_params() == fitted.get_params()


def test_held_out_rows_choose_a_prior(blobs):
    narrow, usual = (
        cross_val_score(LatentClassModel(2, number_prior=p, **FEW), blobs[0], cv=2).mean()
        for p in ("scale=0.0001,degrees=300", "scale=1")
    )
    assert usual > narrow


@pytest.mark.filterwarnings("ignore:column .* has only one state:UserWarning")
def test_kinds_can_be_declared(blobs):
    X = np.array([[0.5, 1.0], [1.5, 2.0], [0.5, 3.0], [1.5, 1.0]])
    assert list(LatentClassModel(1, **FEW).fit(X).numbers_) == []  # few of them: categories
    six = np.column_stack([np.arange(6) + 0.5, [1, 2, 3, 1, 2, 3]])
    assert list(LatentClassModel(1, **FEW).fit(six).numbers_) == ["x0"]
    assert list(LatentClassModel(1, kinds="categorical", **FEW).fit(X).numbers_) == []
    assert list(LatentClassModel(1, kinds="gaussian", **FEW).fit(X).numbers_) == ["x0", "x1"]
    named = LatentClassModel(1, kinds={"x0": "categorical", "x1": "poisson"}, **FEW).fit(X)
    assert named.numbers_["x1"].keys() == {"rate"}
    given = LatentClassModel(1, categories=[[0.5, 1.5], [1, 2, 3]], **FEW).fit(X)
    assert given.numbers_ == {}
    constant = LatentClassModel(1, **FEW).fit(np.full((3, 1), 0.25))  # one state, as ever
    assert constant.numbers_ == {}


@pytest.mark.parametrize(
    ("parameters", "error", "words"),
    [
        ({"kinds": {"x9": "gaussian"}}, OptionError, "kinds name 'x9', which is not a column"),
        ({"kinds": "normal"}, OptionError, "is not understood"),
        ({"kinds": {"x0": "normal"}}, OptionError, "'normal' of column 'x0' is not known"),
        ({"kinds": {"x0": "poisson"}}, DataError, "'x0', row 1.*is not a count"),
        (
            {"kinds": {"x0": "gaussian"}, "categories": {"x0": [1]}},
            OptionError,
            "has its states in categories=",
        ),
        ({"number_prior": "scale=0"}, OptionError, "must be above 0"),
        ({"estimate": "ml"}, OptionError, "no maximum"),
    ],
)
def test_what_cannot_be_is_refused(blobs, parameters, error, words):
    with pytest.raises(error, match=words):
        LatentClassModel(2, **parameters).fit(blobs[0])


def test_numbers_of_a_network_depend_on_categories_and_on_what_is_hidden():
    rng = np.random.default_rng(0)
    z, sex = rng.integers(0, 2, 300), rng.integers(0, 2, 300)
    X = pd.DataFrame(
        {
            "height": (rng.normal(165 + 12 * sex, 5)).round(1),
            "score": rng.normal(4.0 * z, 1.0).round(2),
            "pace": rng.normal(-3.0 * z, 1.0).round(2),
            "sex": np.where(sex, "m", "f"),
        }
    )
    missing = X.mask(rng.random(X.shape) < 0.1)
    edges = [("sex", "height"), ("h", "score"), ("h", "pace")]
    kinds = dict.fromkeys(("height", "score", "pace"), "gaussian")
    model = lacunet.BayesianNetworkModel(
        edges, hidden={"h": 2}, kinds=kinds, n_init=4, random_state=0
    ).fit(missing)
    np.testing.assert_allclose(model.numbers_["height"]["mean"], [165.0, 177.0], atol=2.0)
    assert model.categories_["height"] == ()
    assert (model.predict(X).ravel() == z).mean() in (
        pytest.approx(1, abs=0.06),
        pytest.approx(0, abs=0.06),
    )
    filled = model.impute(missing)
    assert not filled["height"].isna().any()
    unknown = missing["height"].isna() & missing["sex"].notna()
    expected = np.where(missing["sex"] == "m", 177.0, 165.0)[unknown]
    np.testing.assert_allclose(filled["height"][unknown], expected, atol=3.0)
    assert np.isfinite(model.score_samples(missing)).all()
    with pytest.raises(ValueError, match="'height' is a number, so it cannot be a parent"):
        lacunet.BayesianNetworkModel([("height", "sex")], kinds=kinds).fit(missing)
    learned = lacunet.BayesianNetworkModel(structure="learn", kinds="auto", random_state=0)
    parents = learned.fit(X[["height", "sex"]]).network_.parents
    assert parents == ((1,), ())


def test_the_advice_about_infinite_numbers_works():
    rng = np.random.default_rng(0)
    X = np.stack([rng.normal(size=40), rng.integers(0, 3, 40)], axis=1)
    X[4, 0], X[9, 1] = np.inf, -np.inf
    with pytest.raises(ValueError, match="row 5, column 'x0' is not a finite number") as refused:
        LatentClassModel(2, n_init=2).fit(X)
    namespace = {"np": np, "X": X}
    exec(str(refused.value).rpartition(": ")[2].rstrip("."), namespace)
    assert np.isnan(namespace["X"]).sum() == 2
    LatentClassModel(2, n_init=2).fit(namespace["X"])


def test_a_measurement_may_be_unique_within_a_fold():
    rng = np.random.default_rng(1)
    z = rng.integers(0, 2, 60)
    income = rng.choice(90_000, 60, replace=False) + 20_000 * z  # whole, different in each row
    items = rng.random((3, 60)) < np.where(z, 0.9, 0.1)
    X = np.stack([income, *items], axis=1).astype(float)
    model = LatentClassModel(2, n_init=2, random_state=0)
    assert np.isfinite(cross_val_score(model, X, cv=5)).all()
    for n in (24, 30, 48, 60):
        variables = clone(model).fit(X[:n]).model_.network.variables
        assert [v.family.name for v in variables if not v.family.tabular] == ["gaussian"]
