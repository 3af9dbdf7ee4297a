"""Every estimator on awkward tables: it works, with a word, or it says what to do."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest

from lacunet import (
    BayesianNetworkModel,
    Classifier,
    Imputer,
    LacunetError,
    LatentClassModel,
    LatentClassSelector,
    LatentTreeModel,
    StackedModel,
)

# Ranges are short here, and end where more classes may be right.
pytestmark = pytest.mark.filterwarnings("ignore:[23] is the largest number that was tried")
ROWS = 40
OPTIONS = {"random_state": 0, "n_jobs": 1}
ESTIMATORS = {
    "network": BayesianNetworkModel(hidden={"h": 2}, n_init=2, **OPTIONS),
    "classifier": Classifier(model="classes", **OPTIONS),
    "imputer": Imputer(model="classes", **OPTIONS),
    "classes": LatentClassModel(2, n_init=2, **OPTIONS),
    "selector": LatentClassSelector([1, 2], n_init=2, quick=True, **OPTIONS),
    "tree": LatentTreeModel(**OPTIONS),
    "stack": StackedModel(folds=2, **OPTIONS),
}
METHODS = ("predict", "predict_proba", "transform", "impute", "score_samples")
every = pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS)


def table(**more):
    """Three columns that two groups give differently, and others."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, ROWS)
    columns = {
        name: np.array(pair, dtype=object)[np.where(rng.random(ROWS) < 0.85, group, 1 - group)]
        for name, pair in {"a": ("x", "y"), "b": ("p", "q"), "c": ("u", "v")}.items()
    }
    return pd.DataFrame(columns | more)


def labels(rows):
    return [7, -2] * (rows // 2) + [7] * (rows % 2)


def fitted(estimator, X):
    y = labels(len(X)) if isinstance(estimator, Classifier) else None
    return estimator.fit(X, y)


def answers(estimator, X):
    """What each method that takes rows gives."""
    result = {name: getattr(estimator, name, None) for name in METHODS}
    return {name: np.asarray(method(X)) for name, method in result.items() if callable(method)}


@every
def test_a_column_without_any_value_is_left_out_with_a_word(estimator):
    for empty in (np.nan, None, pd.array([pd.NA] * ROWS, dtype="Int64")):
        X = table()
        X.insert(1, "nothing", empty)
        with pytest.warns(UserWarning, match="columns that show no value are not used.*'nothing'"):
            fitted(estimator, X)
        plain = answers(estimator, X)
    assert estimator.n_features_in_ == 4
    others = answers(fitted(estimator, table()), table())
    for name, result in plain.items():
        if result.dtype != object:
            np.testing.assert_allclose(result, others[name], rtol=1e-6)
        elif result.ndim == 2 and result.shape[1] == 4:  # rows, filled in
            assert pd.isna(result[:, 1]).all()


@every
def test_rows_of_weight_zero_do_not_show_a_column(estimator):
    X, weights = table(), np.ones(ROWS)
    X["e"] = None
    X.loc[0, "e"], weights[0] = "seen", 0
    y = labels(ROWS) if isinstance(estimator, Classifier) else None
    with pytest.warns(UserWarning, match="columns that show no value are not used.*'e'"):
        estimator.fit(X, y, sample_weight=weights)


@every
def test_columns_of_any_type(estimator):
    X = table(
        mixed=pd.Series(["1", 2, 3.5, None] * (ROWS // 4), dtype=object),
        maybe=pd.array([True, False, pd.NA, True] * (ROWS // 4), dtype="boolean"),
        sure=[True, False] * (ROWS // 2),
    )
    result = answers(fitted(estimator, X), X)
    assert result
    assert all(len(values) == ROWS for values in result.values())


@every
def test_a_constant_column_and_a_single_row(estimator):
    with pytest.warns(UserWarning, match="has only one state, 'k': it carries no information"):
        assert answers(fitted(estimator, table(e="k")), table(e="k"))
    one = table().iloc[:1]
    if isinstance(estimator, StackedModel):
        with pytest.raises(LacunetError, match="1 sample, and none is left"):
            fitted(estimator, one)
        return
    with pytest.warns(UserWarning, match="has only one state"):
        assert answers(fitted(estimator, one), one)


REFUSED = {
    "dates": (
        {"e": pd.date_range("2020-01-01", periods=ROWS)},
        "holds 40 dates. Turn them into a few periods, or exclude it with X.drop(columns=['e'])",
    ),
    "lengths of time": (
        {"e": pd.to_timedelta(np.arange(ROWS), "D")},
        "Convert it, or exclude it with X.drop(columns=['e'])",
    ),
    "tuples": (
        {"e": pd.Series([(1, 2), "z"] * (ROWS // 2), dtype=object)},
        "a cell holds a tuple.*leave the column out with X.drop(columns=['e'])",
    ),
    "identifiers": (
        {"e": [f"person {i}" for i in range(ROWS)]},
        "looks like an identifier. Exclude it with X.drop(columns=['e'])",
    ),
}


@every
@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_refusals_name_the_remedy_for_x(estimator, case):
    more, message = case
    with pytest.raises(LacunetError, match=re.escape(message).replace(r"\.\*", ".*")):
        fitted(estimator, table(**more))


@every
def test_other_tables_are_changed_otherwise(estimator):
    names = [f"person {i}" for i in range(ROWS)]
    frame = pl.from_pandas(table(e=names))
    for X, step in (
        (frame, "X.drop('e')"),
        (frame.to_arrow(), "X.drop_columns('e')"),
        (table(e=names).to_numpy(object), "numpy.delete(X, 3, axis=1)"),
    ):
        with pytest.raises(LacunetError, match=re.escape(step)):
            fitted(estimator, X)


@every
def test_columns_of_one_name_and_in_another_order(estimator):
    twice = table()
    twice.columns = ["a", "a", "c"]
    with pytest.raises(LacunetError, match="two columns are named 'a'"):
        fitted(estimator, twice)
    fitted(estimator, table())
    with pytest.raises(ValueError, match="same order as they were in fit"):
        answers(estimator, table()[["c", "a", "b"]])


@every
def test_a_value_that_is_new_counts_as_missing_with_a_word(estimator):
    fitted(estimator, table())
    new, missing = table(), table()
    new.loc[:3, "a"], missing.loc[:3, "a"] = "new", None
    with pytest.warns(UserWarning, match="'new' is not among the states"):
        result = answers(estimator, new)
    for name, values in answers(estimator, missing).items():
        if values.dtype != object:
            np.testing.assert_allclose(result[name], values)


def test_classes_may_be_any_whole_numbers():
    X = table()
    y = np.where(X["a"] == "x", 30, -4)
    model = Classifier(model="classes", **OPTIONS).fit(X, y)
    assert model.classes_.tolist() == [-4, 30]
    assert (model.predict(X) == y).all()
    with pytest.raises(LacunetError, match="two columns are named 'c'"):
        Classifier(target="a", **OPTIONS).fit(X.set_axis(["a", "c", "c"], axis=1))


def test_messages_name_the_parameters_of_the_estimator():
    X = table(z=np.random.default_rng(0).normal(size=ROWS))
    for made, message in (
        (lambda: LatentClassSelector([]).fit(X), r"n_classes=range\(1, 9\)"),
        (lambda: LatentClassModel(missing_as_state=True).fit(X), "with bin='z=5'"),
        (lambda: Imputer(kinds="z=poisson").fit(X), "kinds='z=gaussian'"),
        (
            lambda: Imputer().fit(X, sample_weight=np.full(ROWS, 1e14)),
            r"lacunet\.impute\(\.\.\., weights_as='survey'\)",
        ),
        (
            lambda: LatentClassModel(kinds={"a": "gaussian"}).fit(X),
            r"declare it with X.replace\('.', None\)",
        ),
    ):
        with pytest.raises(LacunetError, match=message) as caught:
            made()
        assert "--" not in str(caught.value)


def test_a_column_that_one_row_shows_cannot_be_held_out():
    X = table(e=[1.5] + [None] * (ROWS - 1))
    step = r"'e' is seen in 1 row: .* Leave it out with X\.drop\(columns=\['e'\]\)\."
    with pytest.warns(UserWarning, match="only one state"), pytest.raises(LacunetError, match=step):
        StackedModel(**OPTIONS).fit(X)
