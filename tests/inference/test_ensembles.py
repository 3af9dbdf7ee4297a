"""Ensembles: held to sums over all rows."""

from itertools import product

import numpy as np
import pytest

import lacunet
from lacunet import Ensemble, Member, ModelError
from lacunet.inference.queries.answers import ensemble_log_lik, ensemble_posterior, row_log_lik
from lacunet.models.ensemble import sample_rows
from lacunet.models.formats import read_model_or_stack, read_network, write_model, write_stack

EVERY = np.array(list(product(range(2), repeat=3)), dtype=np.int32)


@pytest.fixture
def ensemble():
    models = [lacunet.random_model(k, 3, seed=k) for k in (1, 2, 3)]
    return Ensemble(tuple(map(Member, ("one", "two", "three"), (0.2, 0.3, 0.5), models)))


def joint(ensemble):
    """p(row) of all rows, as it is written."""
    return sum(m.weight * np.exp(row_log_lik(m.model, EVERY)) for m in ensemble.members)


def test_rows_have_the_mean_of_their_probabilities(ensemble):
    np.testing.assert_allclose(np.exp(ensemble_log_lik(ensemble, EVERY)), joint(ensemble))
    some = ensemble_log_lik(ensemble, np.array([[1, -1, -1]], dtype=np.int32))
    assert np.exp(some[0]) == pytest.approx(joint(ensemble)[EVERY[:, 0] == 1].sum())


def test_what_is_missing_is_as_in_the_joint_distribution(ensemble):
    row = np.array([[1, -1, -1]], dtype=np.int32)
    both, second = ensemble_posterior(ensemble, row, [(1, 2), (1,)])
    p = joint(ensemble).reshape(2, 2, 2)[1]
    np.testing.assert_allclose(both[0], p / p.sum())
    np.testing.assert_allclose(second[0], p.sum(axis=1) / p.sum())


def test_rows_are_drawn_in_proportion(ensemble):
    codes = sample_rows(ensemble, 40_000, np.random.default_rng(0)).codes
    share = np.bincount(codes @ [4, 2, 1], minlength=8) / 40_000
    np.testing.assert_allclose(share, joint(ensemble), atol=4 * np.sqrt(0.25 / 40_000))


def test_a_file_holds_all_of_it(ensemble, tmp_path):
    write_stack(ensemble, tmp_path / "stack.json")
    again = read_model_or_stack(tmp_path / "stack.json")
    assert [(m.name, m.weight) for m in again.members] == [
        (m.name, m.weight) for m in ensemble.members
    ]
    np.testing.assert_array_equal(ensemble_log_lik(again, EVERY), ensemble_log_lik(ensemble, EVERY))
    model = ensemble.members[0].model
    write_model(model, tmp_path / "model.json")
    np.testing.assert_array_equal(read_model_or_stack(tmp_path / "model.json").theta, model.theta)


def test_a_stack_is_refused_as_a_single_network(ensemble, tmp_path):
    write_stack(ensemble, tmp_path / "stack.json")
    with pytest.raises(ModelError, match=r"stack of several networks.*assign impute=True"):
        read_network(tmp_path / "stack.json")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"format": "lacunet-stack/1"}', 'the file has no "members"'),
        ('{"format": "lacunet-stack/1", "members": []}', "one member at least"),
        ('{"format": "lacunet-stack/1", "members": [{"name": "a"}]}', 'member 1 has no "weight"'),
        (
            '{"format": "lacunet-stack/1", "members": [{"name": "a", "weight": "x", "model": 1}]}',
            "member 1: \"weight\" is 'x'",
        ),
        (
            '{"format": "lacunet-stack/1", "members": [{"name": "a", "weight": 1, "model": 1}]}',
            "member 1: this is not a model file",
        ),
    ],
)
def test_mistakes_in_a_file_are_named(text, message, tmp_path):
    (tmp_path / "stack.json").write_text(text)
    with pytest.raises(ModelError, match=message):
        read_model_or_stack(tmp_path / "stack.json")


def test_members_agree_on_columns_and_shares(ensemble):
    one, *_ = ensemble.members
    with pytest.raises(ModelError, match="sum to 1"):
        Ensemble((Member("a", 0.5, one.model),))
    other = lacunet.random_model(2, 4, seed=0)
    with pytest.raises(ModelError, match="'b' is not about the same columns as 'a'"):
        Ensemble((Member("a", 0.5, one.model), Member("b", 0.5, other)))
