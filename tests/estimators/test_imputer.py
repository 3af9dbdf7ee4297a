"""`Imputer`: missing values go, everything else stays."""

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from test_filled_frames import PAIRS, columns, pandas_frame, polars_frame

import lacunet
from lacunet import DataError, Imputer, OptionError
from lacunet.models.ensemble import all_in_canonical_order

QUICK = {"model": "network", "random_state": 0}  # one kind is soon learned


def words(rows=80, missing=0.2):
    """Columns of words that say nearly the same."""
    rng = np.random.default_rng(1)
    group = rng.integers(0, 2, (rows, 1))
    cells = np.where(rng.random((rows, 4)) < 0.9, group, 1 - group)
    masked = rng.random(cells.shape) < missing
    texts = np.where(masked, None, np.array(["no", "yes"], dtype=object)[cells])
    return pd.DataFrame(texts, columns=list("abcd")), np.array(["no", "yes"])[cells], masked


def test_dataframes_keep_their_types():
    X = pandas_frame()
    filled = Imputer(**QUICK).fit_transform(X)
    pd.testing.assert_series_equal(filled.dtypes, X.dtypes)
    assert filled.index.equals(X.index)
    assert not filled.isna().any(axis=None)
    pd.testing.assert_frame_equal(filled.where(X.notna()), X.where(X.notna()))
    other = polars_frame()
    other_filled = Imputer(**QUICK).fit_transform(other)
    assert other_filled.schema == other.schema
    assert sum(other_filled.null_count().row(0)) == 0


def test_all_kinds_together_are_imputed_well_and_described():
    X, whole, missing = words()
    imputer = Imputer(random_state=0).fit(X)
    assert (imputer.transform(X).to_numpy() == whole)[missing].mean() > 0.8
    assert sum(imputer.weights_.values()) == pytest.approx(1.0)
    assert imputer.chosen_ == max(imputer.weights_, key=imputer.weights_.get)
    alone = [score for kind, score in imputer.scores_.items() if kind != "together"]
    assert imputer.scores_["together"] >= max(alone) - 0.01
    assert "nats" in str(imputer.cell_stack_)
    again = Imputer(random_state=0).fit(X.iloc[::-1])
    assert again.scores_ == pytest.approx(imputer.scores_)


def test_set_output_and_arrays():
    X = pandas_frame()
    imputer = Imputer(**QUICK).fit(X)
    as_polars = imputer.set_output(transform="polars").transform(X)
    assert isinstance(as_polars, pl.DataFrame)
    as_pandas = imputer.set_output(transform="pandas").transform(X)
    pd.testing.assert_series_equal(as_pandas.dtypes, X.dtypes)
    assert [*imputer.get_feature_names_out()] == [*X.columns]
    rows = np.tile([[1.0, 5.0], [2.0, 6.0]], (20, 1))
    rows[::7, 1] = np.nan
    filled = Imputer(**QUICK).fit_transform(rows)
    assert filled.dtype == np.float64
    np.testing.assert_array_equal(filled[:, 1], filled[:, 0] + 4)
    assert np.isnan(rows).any()  # X itself is left alone


def test_in_pipelines():
    X, whole, _ = words()
    y = whole[:, 0] == "yes"
    pipe = make_pipeline(
        ColumnTransformer([("fill", Imputer(**QUICK), ["a", "b", "c"])], remainder="drop"),
        OneHotEncoder(),
        LogisticRegression(),
    )
    assert clone(pipe).fit(X, y).score(X, y) > 0.9


def test_draws_differ_where_missing_values_are_and_nowhere_else():
    X, _, missing = words()
    imputer = Imputer(**QUICK).fit(X)
    tables = imputer.draw(X, 5)
    cells = np.stack([t.to_numpy() for t in tables])
    assert (cells == cells[0]).all(axis=0)[~missing].all()
    assert not (cells == cells[0]).all(axis=0)[missing].all()
    again = imputer.draw(X, 5)
    assert all(a.equals(b) for a, b in zip(tables, again, strict=True))
    assert imputer.set_params(strategy="draw").transform(X).equals(imputer.draw(X, 1)[0])
    with pytest.raises(OptionError, match="0 imputations"):
        imputer.draw(X, 0)


def test_draws_have_the_predicted_probabilities():
    X, _, missing = words(rows=60)
    imputer = Imputer(**QUICK).fit(X)
    predicted = imputer.predict_cells(X)
    assert [*predicted.columns] == ["row", "column", "state", "probability"]
    assert len(predicted) == 2 * missing.sum()
    assert (predicted.groupby(["row", "column"])["probability"].sum().round(9) == 1).all()
    yes = predicted[predicted["state"] == "yes"]
    places = yes["row"].to_numpy(), np.array(["abcd".index(name) for name in yes["column"]])
    drawn = np.mean([t.to_numpy()[places] == "yes" for t in imputer.draw(X, 30)], axis=0)
    expected = yes["probability"].to_numpy()
    assert drawn.mean() == pytest.approx(expected.mean(), abs=0.06)
    sure = expected > 0.5
    assert drawn[sure].mean() == pytest.approx(expected[sure].mean(), abs=0.08)


def test_numbers():
    rng = np.random.default_rng(2)
    group = rng.integers(0, 2, 100)
    X = pl.DataFrame({"size": group * 4 + rng.normal(size=100), "kind": group})
    incomplete = X.with_columns(size=pl.Series(np.where(rng.random(100) < 0.2, np.nan, X["size"])))
    imputer = Imputer("classes", random_state=0).fit(incomplete)
    predicted = imputer.predict_cells(incomplete)
    assert predicted.columns == ["row", "column", "state", "probability", "mean", "sd"]
    where = predicted["row"].to_list()
    np.testing.assert_allclose(predicted["mean"], X["kind"].to_numpy()[where] * 4, atol=0.8)
    assert predicted["sd"].is_between(0.5, 1.6).all()
    filled = imputer.transform(incomplete)
    assert filled["size"].to_numpy()[where] == pytest.approx(predicted["mean"].to_numpy())


def test_trees_fill_in_numbers_too():
    rng = np.random.default_rng(3)
    group = rng.integers(0, 2, 60)
    columns = {"a": rng.normal(4.0 * group), "b": rng.normal(-4.0 * group), "c": group}
    X = pd.DataFrame(columns)
    missing = rng.random(60) < 0.2
    filled = Imputer("tree", random_state=0, n_jobs=1).fit_transform(
        X.assign(a=X["a"].mask(missing))
    )
    error = (filled["a"] - X["a"])[missing]
    assert np.sqrt(np.mean(error**2)) < 0.7 * X["a"].std()
    assert filled["a"][~missing].equals(X["a"][~missing])


def test_an_ensemble_keeps_its_weights_when_rows_are_assigned():
    """Weights of a pool are the same for every row, whatever is done with it on the way."""
    X, _, _ = words(rows=40)
    ensemble = Imputer("classes", random_state=0, n_jobs=1).fit(X).cell_stack_.ensemble
    assert ensemble.fixed
    assert all_in_canonical_order(ensemble).fixed
    frame = lacunet.assign(X, ensemble, impute=True).to_frame()
    plain = lacunet.assign(X, replace(ensemble, fixed=False), impute=True).to_frame()
    assert not frame.equals(plain)


def test_what_is_not_known_stays():
    X, _, _ = words()
    imputer = Imputer(**QUICK).fit(X)
    row = pd.DataFrame([["maybe", None, "yes", "yes"]], columns=list("abcd"))
    with pytest.warns(UserWarning, match="'maybe' is not among"):
        assert imputer.transform(row).iloc[0].tolist() == ["maybe", "yes", "yes", "yes"]
    with pytest.raises(DataError, match="'maybe' is not among"):
        Imputer(unseen="error", **QUICK).fit(X).transform(row)


def test_columns_that_show_nothing_stay():
    X, _, _ = words()
    X["e"] = None
    with pytest.warns(UserWarning, match="show no value are not used, and stay as they are: 'e'"):
        filled = Imputer(**QUICK).fit_transform(X)
    assert filled["e"].isna().all()
    assert not filled[list("abcd")].isna().any(axis=None)
    with pytest.raises(DataError, match="every cell is missing"):
        Imputer().fit(np.full((3, 2), np.nan))


@pytest.mark.filterwarnings("ignore:column 'b' has only one state:UserWarning")
@pytest.mark.filterwarnings("ignore:column 'a' has only one state:UserWarning")
@pytest.mark.parametrize("rows", [1, 2, 30])
def test_few_rows_and_no_missing_values(rows):
    X = pd.DataFrame({"a": ["x", "y"] * 15, "b": ["u"] * 30}).iloc[:rows]
    pd.testing.assert_frame_equal(Imputer(random_state=0).fit_transform(X), X)
    assert Imputer(random_state=0).fit(X).predict_cells(X).shape[0] == 0


def test_weights_are_rows():
    X, _, _ = words(rows=30)
    counts = np.arange(30) % 3
    one = Imputer(**QUICK).fit(X, sample_weight=counts)
    other = Imputer(**QUICK).fit(X.iloc[np.repeat(np.arange(30), counts)])
    assert one.scores_ == pytest.approx(other.scores_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "forest"}, "model 'forest' is not known"),
        ({"strategy": "mean"}, "strategy 'mean' is not known"),
        ({"model": "tree", "kinds": {"a": "categorical"}}, "three columns or more"),
    ],
)
def test_mistakes(options, message):
    with pytest.raises(OptionError, match=message):
        Imputer(**options).fit(words()[0][["a", "b"]])


def test_the_function():
    X, whole, missing = words()
    imputed = lacunet.impute(X, model="network", threads=1)
    assert (imputed.filled.to_numpy() == whole)[missing].mean() > 0.8
    assert imputed.missing_cells == missing.sum()
    assert len(imputed.to_frame()) == 2 * missing.sum()
    several = lacunet.impute(pl.DataFrame(columns()), model="classes", imputations=2, threads=1)
    assert len(several.all_filled) == 2
    assert several.filled.columns == [*PAIRS]
    assert "2 times" in str(several)


def test_columns_and_rows_that_are_no_frame_come_back_as_polars():
    X, *_ = words()
    (frame,) = lacunet.impute(X, model="classes", threads=1).all_filled
    for plain in (X.to_dict("list"), X.to_dict("records")):
        filled = lacunet.impute(plain, model="classes", threads=1).filled
        assert isinstance(filled, pl.DataFrame)
        assert filled.to_dict(as_series=False) == frame.to_dict("list")
