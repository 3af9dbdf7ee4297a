"""Tail probabilities: uniform for rows of the model itself, whatever their missing values."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kstest

import lacunet
from lacunet import LatentClassModel
from lacunet.inference.queries.answers import row_log_lik, tail_probabilities
from lacunet.models.network import Model, Network, Variable
from lacunet.models.prior import dirichlet
from lacunet.models.surgery import sample_codes


def chain(columns=6, states=4):
    """A hidden cause of many columns, with random tables."""
    rng = np.random.default_rng(5)
    hidden = Variable("h", (1, 2, 3), hidden=True)
    shown = [Variable(f"x{j}", tuple(range(states))) for j in range(columns)]
    network = Network.build([hidden, *shown], [(), *[(0,)] * columns])
    tables = [rng.dirichlet(np.ones(3))]
    tables += [rng.dirichlet(np.ones(states), 3).reshape(-1) for _ in range(columns)]
    return Model(network, np.concatenate(tables), dirichlet(network, 1.0))


@pytest.mark.parametrize("open_", [(), (0, 3), (0, 1, 2, 3)])
def test_exact_is_the_sum_over_all_that_is_at_most_as_probable(open_):
    model = chain(columns=4, states=3)
    codes = sample_codes(model, 30, np.random.default_rng(0))
    codes[:, list(open_)] = -1
    probabilities = tail_probabilities(model, codes, 1_000, np.random.default_rng(1))
    every = np.indices((3,) * 4).reshape(4, -1).T.astype(np.int32)
    every[:, list(open_)] = -1
    every = np.unique(every, axis=0)
    log_p = row_log_lik(model, every)
    log_likelihoods = row_log_lik(model, codes)
    expected = [np.exp(log_p[log_p <= mine + 1e-9]).sum() for mine in log_likelihoods]
    np.testing.assert_allclose(probabilities, expected, rtol=1e-9)


@pytest.mark.parametrize("open_", [(), (0, 3), (5,)])
def test_draws_of_the_model_are_uniform(open_):
    model = chain()
    codes = sample_codes(model, 400, np.random.default_rng(2))
    codes[:, list(open_)] = -1
    probabilities = tail_probabilities(model, codes, 200, np.random.default_rng(3))
    assert kstest(probabilities, "uniform").pvalue > 1e-3
    assert (probabilities >= 1 / 201).all()


def test_missing_values_do_not_make_a_row_usual():
    """Two cells that contradict each other are odd, whether or not others are shown."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, (200, 1))
    X = pd.DataFrame(
        np.where(rng.random((200, 6)) < 0.05, 1 - group, group), columns=list("abcdef")
    )
    odd = pd.DataFrame([[0, 0, 0, 1, 1, 1], [0, 1, None, None, None, None]], columns=X.columns)
    usual = pd.DataFrame([[0] * 6, [0, 0, None, None, None, None]], columns=X.columns)
    model = LatentClassModel(2, n_init=4, random_state=0).fit(X)
    assert model.score_samples(odd)[1] > model.score_samples(odd)[0] + 1  # it shows little
    assert (model.tail_probabilities(odd) < 0.15).all()
    assert (model.tail_probabilities(usual) > 0.4).all()
    np.testing.assert_allclose(
        lacunet.anomalies(odd, model.model_), model.tail_probabilities(odd), atol=1e-9
    )


def test_numbers():
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"x": rng.normal(size=150), "y": rng.normal(size=150)})
    model = LatentClassModel(1, kinds="gaussian", random_state=0).fit(X)
    rows = pd.DataFrame({"x": [0.0, 5.0, np.nan], "y": [0.0, 0.0, 0.0]})
    usual, far, missing = model.tail_probabilities(rows)
    assert usual > 0.8
    assert far < 0.01
    assert missing > 0.8


def test_assign_scores_every_row_also_without_hidden_variables():
    path = lacunet.dataset_path("carcinoma")
    columns = [Variable(name, (0, 1)) for name in "ABCDEFG"]
    network = Network.build(columns, [(), *[(0,)] * 6])
    model = Model(network, np.full(network.layout.size, 0.5), dirichlet(network, 1.0))
    assignment = lacunet.assign(path, model, anomalies=True)
    frame = assignment.to_frame()
    np.testing.assert_array_equal(frame["tail_probability"], lacunet.anomalies(path, model))
    np.testing.assert_array_equal(frame["log_probability"], lacunet.log_likelihoods(path, model))
    assert (assignment.rows, assignment.unusual.rare, assignment.impossible) == (20, 0, 0)
    assert "Most unusual rows" in str(assignment)
    with pytest.raises(lacunet.ModelError, match="anomalies"):
        lacunet.assign(path, model)
