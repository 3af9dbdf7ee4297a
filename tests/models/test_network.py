import numpy as np
import pytest

from lacunet.errors import ModelError, OptionError
from lacunet.models.conjugacy import log_prior, random_theta
from lacunet.models.latent_class import is_latent_class, latent_class
from lacunet.models.network import Model, Network, Variable
from lacunet.models.prior import uniform_alpha
from lacunet.models.surgery import sample_codes


def binary(name):
    return Variable(name, (0, 1))


def test_cycles_are_named():
    with pytest.raises(ModelError, match=r"cycle: 'a' → 'b' → 'c' → 'a'.*Remove one"):
        Network.build([binary(n) for n in "abc"], [(2,), (0,), (1,)])


@pytest.mark.parametrize(
    ("variables", "text"),
    [
        ([], "at least one variable"),
        ([binary("a"), binary("a")], "variable 'a' occurs twice"),
        ([Variable("a", ())], "variable 'a' has no states"),
        ([Variable("a", (1, "1"))], "variable 'a' has a state twice"),
    ],
)
def test_bad_variables(variables, text):
    with pytest.raises(ModelError, match=text):
        Network.build(variables, [()] * len(variables))


def test_latent_class_names_its_root_around_the_columns():
    assert latent_class([("a", (0, 1))], 2).variables[0].name == "class"
    taken = [("class", (0, 1)), ("latent_class", (0, 1)), ("hidden_class", (0, 1))]
    network = latent_class(taken, 2)
    assert network.variables[0].name == "class_0"
    assert is_latent_class(network)
    with pytest.raises(OptionError, match="0 hidden states: there must be at least 1"):
        latent_class(taken, 0)


def test_relabelling_moves_every_table():
    network = latent_class([("a", (0, 1)), ("b", (0, 1, 2))], 3)
    theta = random_theta(network.layout, np.random.default_rng(0))
    model = Model(network, theta, uniform_alpha(network.layout, 1.0))
    other = model.permuted(0, [2, 0, 1])
    np.testing.assert_array_equal(other.table("class"), model.table("class")[[2, 0, 1]])
    np.testing.assert_array_equal(other.table("b"), model.table("b")[[2, 0, 1]])
    with pytest.raises(ModelError, match="'z' is not a variable"):
        model.table("z")


def test_log_prior_has_its_normalising_constant():
    """Uniform Dirichlet over 3 states: density Γ(3) = 2 everywhere."""
    network = Network.build([Variable("a", (0, 1, 2))], [()])
    alpha = uniform_alpha(network.layout, 1.0)
    assert log_prior(np.array([0.2, 0.3, 0.5]), alpha, network.layout) == pytest.approx(np.log(2))
    assert log_prior(np.array([0.0, 0.5, 0.5]), alpha + 1, network.layout) == -np.inf
    assert log_prior(np.array([0.0, 0.5, 0.5]), alpha, network.layout) == pytest.approx(np.log(2))


@pytest.mark.parametrize("alpha", [0.0, -1.0, np.nan, np.inf])
def test_bad_alpha(alpha):
    network = latent_class([("a", (0, 1))], 2)
    with pytest.raises(OptionError, match=r"must be (above 0|from 1e-100 to 1e\+100)"):
        uniform_alpha(network.layout, alpha)


def test_samples_follow_the_tables():
    variables = [Variable("h", (0, 1), hidden=True), binary("a"), Variable("b", (0, 1, 2))]
    network = Network.build(variables, [(), (0,), (0, 1)])
    rng = np.random.default_rng(0)
    model = Model(network, random_theta(network.layout, rng), np.ones(network.layout.size))
    codes = sample_codes(model, 200_000, rng, missing_rate=0.25)
    h, a, b = (network.layout.table(model.theta, i) for i in range(3))
    joint = np.einsum("h,ha,hab->ab", h, a, b)
    seen = codes[(codes >= 0).all(axis=1)]
    result = np.zeros((2, 3))
    np.add.at(result, tuple(seen.T), 1 / len(seen))
    np.testing.assert_allclose(result, joint, atol=4 * np.sqrt(0.25 / len(seen)))
    assert (codes < 0).mean() == pytest.approx(0.25, abs=0.005)


@pytest.mark.parametrize(("rows", "rate"), [(0, 0.0), (5, 1.0), (5, -0.1), (5, np.nan)])
def test_bad_sampling(rows, rate):
    network = latent_class([("a", (0, 1))], 2)
    model = Model(network, np.full(network.layout.size, 0.5), np.ones(network.layout.size))
    with pytest.raises(OptionError):
        sample_codes(model, rows, np.random.default_rng(0), rate)
