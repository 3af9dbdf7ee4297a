"""Latent trees as an estimator."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from lacunet import DataError, LatentTreeModel, OptionError, Table, learn_latent_tree


@pytest.fixture(scope="module")
def rows():
    """Two hidden bits, three columns on each, a few cells missing."""
    rng = np.random.default_rng(2)
    hidden = rng.integers(0, 2, 600)
    other = np.where(rng.random(600) < 0.8, hidden, 1 - hidden)
    each = [np.where(rng.random(600) < 0.9, x, 1 - x) for x in [hidden] * 3 + [other] * 3]
    X = pd.DataFrame(np.column_stack(each).astype(float), columns=list("abcdef"))
    return X.mask(rng.random(X.shape) < 0.1)


@pytest.fixture(scope="module")
def fitted(rows):
    return LatentTreeModel(random_state=0).fit(rows)


def test_it_is_what_the_api_does(rows, fitted):
    table = Table.from_codes(rows.fillna(-1).astype(int).to_numpy())
    tree = learn_latent_tree(table)
    assert fitted.log_evidence_ == tree.log_evidence
    assert fitted.hidden_ == tree.hidden == {"H1": 2, "H2": 2}
    assert "2 hidden variables" in str(fitted.tree_)


def test_what_is_hidden_is_predicted_for_each_variable(rows, fitted):
    chances = fitted.predict_proba(rows)
    assert chances.shape == (600, 4)
    np.testing.assert_allclose(chances[:, :2].sum(axis=1), 1.0)
    np.testing.assert_array_equal(fitted.predict(rows)[:, 0], chances[:, :2].argmax(axis=1))
    assert fitted.get_feature_names_out().tolist() == ["H10", "H11", "H20", "H21"]


def test_rows_are_scored_filled_and_drawn(rows, fitted):
    assert (fitted.score_samples(rows) < 0).all()
    filled = fitted.impute(rows).to_numpy()
    known = rows.notna().to_numpy()
    np.testing.assert_array_equal(filled[known], rows.to_numpy()[known])
    assert not np.isnan(filled).any()
    drawn, labels = fitted.sample(5)
    assert drawn.shape == (5, 6)
    assert labels.shape == (5, 2)


def test_pickle_and_clone(rows, fitted):
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(rows), fitted.predict_proba(rows))
    assert clone(LatentTreeModel("forest")).shape == "forest"


def test_bad_input_is_refused_with_the_next_step(rows):
    with pytest.warns(UserWarning, match="X has 2 columns, joined by a hidden variable"):
        assert len(LatentTreeModel(random_state=0).fit(rows[["a", "b"]]).hidden_) == 1
    with pytest.raises(DataError, match="X has 1 feature"):
        LatentTreeModel().fit(rows[["a"]])
    with pytest.raises(OptionError, match="Choose from tree, forest, naive"):
        LatentTreeModel("ring").fit(rows)
