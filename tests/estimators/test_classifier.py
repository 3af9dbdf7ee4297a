"""`Classifier`: classes told from columns with missing values."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.model_selection import cross_val_score

from lacunet import Classifier, DataError, OptionError
from lacunet.api.stacking import with_prior

QUICK = {"model": "network", "random_state": 0, "n_jobs": 1}


def patients(rows=150, missing=0.2):
    """Symptoms that a disease makes likely, some not asked for."""
    rng = np.random.default_rng(3)
    ill = rng.random(rows) < 0.3
    likely = np.where(ill[:, None], [0.9, 0.8, 0.7, 0.5], [0.1, 0.2, 0.3, 0.5])
    answers = np.where(rng.random((rows, 4)) < likely, "yes", "no").astype(object)
    answers[rng.random(answers.shape) < missing] = None
    return pd.DataFrame(answers, columns=list("abcd")), np.where(ill, "ill", "well"), likely


@pytest.fixture(scope="module")
def fitted():
    X, y, _ = patients()
    return Classifier(**QUICK).fit(X, y)


def test_probabilities_are_near_those_of_the_world_that_made_the_data(fitted):
    """Symptoms are independent given the disease, so the truth is known for every row."""
    X, y, _ = patients()
    shown = X.isna().to_numpy()
    yes = (X == "yes").to_numpy()
    logs = {}
    for ill, p in ((True, [0.9, 0.8, 0.7, 0.5]), (False, [0.1, 0.2, 0.3, 0.5])):
        each = np.where(yes, p, 1 - np.array(p))
        logs[ill] = np.where(shown, 0.0, np.log(each)).sum(axis=1)
    odds = logs[True] - logs[False] + np.log(0.3 / 0.7)
    truth = 1 / (1 + np.exp(-odds))
    result = fitted.predict_proba(X)[:, 0]
    assert fitted.classes_.tolist() == ["ill", "well"]
    assert np.abs(result - truth).mean() < 0.06
    assert fitted.score(X, y) > 0.85
    np.testing.assert_array_equal(fitted.predict(X) == "well", fitted.decision_function(X) > 0)


def test_a_row_that_shows_nothing_gets_the_frequencies(fitted):
    nothing = pd.DataFrame([[None] * 4], columns=list("abcd"), dtype=object)
    np.testing.assert_allclose(fitted.predict_proba(nothing)[0], fitted.class_prior_, atol=0.02)


def test_another_prior_is_bayes_rule(fitted):
    X, _, _ = patients()
    usual = fitted.predict_proba(X)
    balanced = fitted.set_params(class_weight="balanced").predict_proba(X)
    expected = usual / fitted.class_prior_
    np.testing.assert_allclose(balanced, expected / expected.sum(axis=1, keepdims=True))
    fitted.set_params(class_weight=None, class_prior={"ill": 0.9, "well": 0.1})
    odds = fitted.predict_proba(X)
    old = np.log(usual[:, 0] / usual[:, 1]) - np.log(np.divide(*fitted.class_prior_))
    np.testing.assert_allclose(np.log(odds[:, 0] / odds[:, 1]), old + np.log(9))
    fitted.set_params(class_prior=None)
    np.testing.assert_allclose(with_prior(usual, fitted.class_prior_, fitted.class_prior_), usual)


def test_the_class_may_be_a_column_and_labels_may_be_missing():
    X, y, _ = patients()
    labels = pd.Series(y, dtype=object).mask(np.arange(len(y)) % 3 == 0)
    one = Classifier(**QUICK).fit(X, labels)
    whole = pl.from_pandas(X.assign(state=labels))
    other = Classifier("state", **QUICK).fit(whole)
    assert other.feature_names_in_.tolist() == list("abcd")
    np.testing.assert_allclose(other.predict_proba(whole), one.predict_proba(X), atol=1e-6)
    assert one.score(X, y) > 0.8


def test_all_kinds_together(fitted):
    X, y, _ = patients(80)
    result = Classifier(random_state=0, n_jobs=1).fit(X, y)
    alone = [score for kind, score in result.scores_.items() if kind != "together"]
    assert result.scores_["together"] >= max(alone) - 0.01
    assert "held-out labels" in str(result.cell_stack_)


def test_cross_validation():
    X, y, _ = patients()
    scores = cross_val_score(Classifier(**QUICK), X, y, cv=2, scoring="neg_log_loss")
    assert scores.mean() > -0.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"class_prior": [1.0]}, "class_prior must be 2 numbers"),
        ({"class_weight": "even"}, "'even' is not known"),
        ({"class_prior": [1, 1], "class_weight": "balanced"}, "Give one of the two"),
    ],
)
def test_mistakes(fitted, options, message):
    usual = {"class_prior": None, "class_weight": None}
    with pytest.raises(OptionError, match=message):
        fitted.set_params(**options).predict_proba(patients()[0])
    fitted.set_params(**usual)


def test_mistakes_in_labels():
    X, _, _ = patients(20)
    with pytest.raises(DataError, match="no row has a label"):
        Classifier(**QUICK).fit(X, [None] * 20)
    with pytest.raises(DataError, match="X has no column 'z'"):
        Classifier("z", **QUICK).fit(X)
    with pytest.raises(ValueError, match="requires y"):
        Classifier(**QUICK).fit(X)
