"""Several latent class models as one: what is averaged, and how classes are matched."""

import numpy as np
import pytest

import lacunet
from lacunet.data import Table
from lacunet.inference.problem import build_problem
from lacunet.inference.queries.answers import row_log_lik
from lacunet.models.network import Model
from lacunet.selection.mixing import class_posterior, mix


@pytest.fixture
def models():
    return [lacunet.random_model(k, 4, seed=k) for k in (1, 2, 3)]


@pytest.fixture
def table(models):
    return Table.from_codes(lacunet.api.draw(models[2], 50, seed=1, missing_rate=0.1)[1])


def joined(model, table):
    return build_problem(table, model.network, model.alpha)


def test_densities_and_classes_are_weighted_means(models, table):
    mixture = mix(models, [0.2, 0.3, 0.5], models[1], joined(models[1], table))
    each = np.exp([row_log_lik(model, table.codes) for model in models])
    np.testing.assert_allclose(np.exp(mixture.log_lik(table.codes)), [0.2, 0.3, 0.5] @ each)
    result = mixture.classes(table.codes)
    np.testing.assert_allclose(result.sum(axis=1), 1)
    # Over the rows that the classes were matched by, every model gives each class its due.
    share = table.counts @ class_posterior(models[1], table.codes)
    np.testing.assert_allclose(table.counts @ result, share)


def test_a_model_of_weight_0_is_left_out(models, table):
    mixture = mix(models, [0.0, 1.0, 0.0], models[1], joined(models[1], table))
    assert [member.model for member in mixture.ensemble.members] == [models[1]]
    np.testing.assert_allclose(
        mixture.classes(table.codes), class_posterior(models[1], table.codes)
    )


def test_a_class_without_members_is_spread_as_all_rows_are(models, table):
    chosen = models[2]
    two = models[1]
    theta = two.theta.copy()
    theta[two.network.layout.block(0)] = [1.0, 0.0]
    empty = Model(two.network, theta, two.alpha)
    mixture = mix([chosen, empty], [0.5, 0.5], chosen, joined(chosen, table))
    share = table.counts @ class_posterior(chosen, table.codes) / table.weight
    np.testing.assert_allclose(mixture.matches[1], [share, share])


def test_a_model_under_which_a_row_is_impossible_has_weight_zero_for_it(models, table):
    chosen = models[1]
    network = chosen.network
    theta = models[1].theta.copy()
    theta[network.layout.block(1)] = [1.0, 1.0, 0.0, 0.0]  # x1 is never 1
    strict = Model(network, theta, chosen.alpha)
    mixture = mix([chosen, strict], [0.25, 0.75], chosen, joined(chosen, table))
    codes = np.array([[1, 0, 0, 0], [0, 0, 0, 0]])
    assert row_log_lik(strict, codes)[0] == -np.inf
    result = mixture.classes(codes)
    np.testing.assert_allclose(result[0], class_posterior(chosen, codes)[0])
    assert mixture.log_lik(codes)[0] == pytest.approx(np.log(0.25) + row_log_lik(chosen, codes)[0])
