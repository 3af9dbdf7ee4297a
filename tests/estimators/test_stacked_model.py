"""Stacks as an estimator."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from lacunet import OptionError, StackedModel, Table, log_likelihoods, stack


@pytest.fixture(scope="module")
def rows():
    """A hidden bit behind four columns, a few cells missing."""
    rng = np.random.default_rng(2)
    hidden = rng.integers(0, 2, 200)
    each = [np.where(rng.random(200) < 0.9, hidden, 1 - hidden) for _ in range(4)]
    X = pd.DataFrame(np.column_stack(each).astype(float), columns=list("abcd"))
    return X.mask(rng.random(X.shape) < 0.1)


@pytest.fixture(scope="module")
def fitted(rows):
    return StackedModel(folds=2, random_state=0, n_jobs=1).fit(rows)


def test_it_is_what_the_api_does(rows, fitted):
    codes = rows.fillna(-1).astype(int).to_numpy()
    stacked = stack(Table.from_codes(codes), rows=codes, folds=2)
    np.testing.assert_array_equal(fitted.stack_.held_out, stacked.held_out)
    expected = log_likelihoods(rows.set_axis(["x1", "x2", "x3", "x4"], axis=1), stacked.ensemble)
    np.testing.assert_allclose(fitted.score_samples(rows), expected)
    assert fitted.stack_.in_order


def test_weights_are_cases_at_random(rows):
    fitted = StackedModel(folds=2, random_state=0, n_jobs=1).fit(
        rows, sample_weight=np.full(200, 2)
    )
    assert not fitted.stack_.in_order


def test_missing_values_are_filled_and_rows_drawn(rows, fitted):
    filled, known = fitted.predict(rows), rows.notna().to_numpy()
    np.testing.assert_array_equal(filled[known], rows.to_numpy()[known])
    assert not np.isnan(filled).any()
    right = fitted.impute(
        pd.DataFrame([[1, 1, np.nan, 1], [0, np.nan, 0, 0]], columns=rows.columns)
    )
    np.testing.assert_array_equal(right, [[1, 1, 1, 1], [0, 0, 0, 0]])
    drawn, labels = fitted.sample(5)
    assert drawn.shape == (5, 4)
    assert labels.shape == (5, 0)
    assert fitted.get_feature_names_out().tolist() == list("abcd")


def test_what_it_does_not_have(fitted):
    for name in ("predict_proba", "bic", "aic"):
        assert not hasattr(fitted, name)


def test_pickle_and_clone(rows, fitted):
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.score_samples(rows), fitted.score_samples(rows))
    assert clone(StackedModel(folds=3)).folds == 3


def test_bad_input_is_refused_with_the_next_step(rows):
    with pytest.raises(OptionError, match="1 folds are not allowed"):
        StackedModel(folds=1).fit(rows)


def test_held_out_scores_are_those_of_the_rows_that_were_fitted(rows, fitted):
    np.testing.assert_array_equal(
        fitted.held_out_scores_, fitted.stack_.held_out_rows.log_likelihoods
    )
    assert fitted.held_out_scores_.shape == (200,)
    assert fitted.held_out_scores_.mean() == pytest.approx(fitted.stack_.together)
    # Models that have seen a row find it more probable.
    assert fitted.score_samples(rows).mean() > fitted.held_out_scores_.mean()
    weights = np.where(np.arange(200) < 5, 0.0, 2.0)
    again = StackedModel(folds=2, random_state=0, n_jobs=1).fit(rows, sample_weight=weights)
    assert again.held_out_scores_.shape == (200,)
    assert np.isfinite(again.held_out_scores_[5:]).all()
    odd = rows.copy()
    odd.loc[0] = [5.0, 6.0, 7.0, 8.0]
    lost = StackedModel(folds=2, random_state=0, n_jobs=1).fit(odd, sample_weight=weights)
    assert np.isnan(lost.held_out_scores_[0])  # nothing like it was learned from
