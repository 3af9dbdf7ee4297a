"""Numbers by their statistics: the same as by their values, for every method of a plan."""

import pickle
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest

import lacunet
from devices import Twin
from enumeration import enumerated
from lacunet.data.read import read_table
from lacunet.errors import OptionError
from lacunet.fitting.agglomerate import agglomerated
from lacunet.inference.classes import Tangent, complete_counts, expect, hidden_counts, with_sizes
from lacunet.inference.devices import cuda, device
from lacunet.inference.hessian import softmax_hessian
from lacunet.inference.leaves import leaves_of
from lacunet.inference.plans import builder, numbers
from lacunet.inference.plans import plan as contract
from lacunet.inference.plans.numbers import NumberPlan
from lacunet.inference.plans.plan import free_coordinates
from lacunet.inference.problem import Weighable, build_problem, problem_of_codes
from lacunet.inference.sampling.particles import Draws
from lacunet.models import conjugacy
from lacunet.models.latent_class import over_leaves
from lacunet.models.number_prior import NumberPrior
from lacunet.models.prior import dirichlet
from lacunet.runtime.executor import on_threads
from mixtures import mixture

kinds = pytest.mark.parametrize("name", ["gaussian", "poisson", "common"])


@pytest.fixture(autouse=True)
def every_number_has_many_values():
    with patch.object(builder, "MANY", 0):
        yield


def dense(name, rows=30, *, missing=0.3, seed=0, weights=None):
    """A mixture of two numbers and a category, seen by statistics; rows may weigh anything."""
    problem = mixture(name, rows, seed=seed, missing=missing)
    counts = problem.counts if weights is None else weights
    made = problem_of_codes(problem.codes, counts, problem.network, problem.alpha)
    assert isinstance(made.components.plans[0], NumberPlan)
    return made


def some_theta(problem, seed=1):
    rng = np.random.default_rng(seed)
    return conjugacy.random_theta(problem.layout, rng, problem.alpha)


@kinds
@pytest.mark.parametrize("missing", [0.0, 0.3, 0.8])
def test_expectations_are_those_of_enumeration_by_value(name, missing):
    weights = np.random.default_rng(5).integers(0, 4, 30) * 0.75
    problem = dense(name, missing=missing, weights=weights)
    expected, theta = enumerated(problem.by_value), some_theta(problem)
    result, other = expect(problem, theta), expect(expected, theta)
    assert result.log_lik == pytest.approx(other.log_lik, rel=1e-12)
    np.testing.assert_allclose(result.N, other.N, atol=1e-10)
    filled = complete_counts(problem, theta)
    np.testing.assert_allclose(filled, complete_counts(problem.by_value, theta), atol=1e-10)
    natural = np.random.default_rng(2).standard_normal(problem.layout.size)
    result, other = hidden_counts(problem, natural), hidden_counts(problem.by_value, natural)
    assert result.log_lik == pytest.approx(other.log_lik, rel=1e-12)
    np.testing.assert_allclose(result.N, other.N, atol=1e-8)


@kinds
@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_tangents_are_those_of_enumeration_by_value(name, missing):
    problem = dense(name, missing=missing)
    theta = some_theta(problem)
    direction = np.random.default_rng(3).standard_normal(problem.layout.size)
    result = Tangent(problem, theta)(direction)
    expected = Tangent(enumerated(problem.by_value), theta)(direction)
    np.testing.assert_allclose(result, expected, atol=1e-9 * np.abs(expected).max())


@kinds
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_a_device_expects_the_same(name, missing):
    """Several vectors at once, with cells that are impossible in some classes; and along one."""
    problem = dense(name, missing=missing, weights=np.arange(30) % 4 * 0.75)
    placed, rng = problem.on(Twin()), np.random.default_rng(1)
    thetas = [some_theta(problem, seed) for seed in range(3)]
    weights = np.stack(
        [problem.components.cells.weights(conjugacy.natural(t, problem.layout)) for t in thetas]
    )
    (here,), (on_device,) = problem.components.plans, placed.components.plans
    weights[1, here.patterns.positions[-1]] = -np.inf  # of the last category in the first class
    result, expected = np.zeros((2, *weights.shape))
    with patch.object(device, "AT_ONCE", 100), patch.object(device, "ROWS_AT_ONCE", 7):
        log_lik = on_device.expect(weights, result)
    np.testing.assert_allclose(log_lik, here.expect(weights, expected), rtol=1e-12)
    np.testing.assert_allclose(result, expected, atol=1e-10)
    direction = rng.standard_normal(weights.shape[1])
    change = here.tangent(weights[0])(direction)
    along = on_device.tangent(weights[0])(direction)
    np.testing.assert_allclose(along, change, atol=1e-9 * np.abs(change).max())
    again = pickle.loads(pickle.dumps(on_device))  # it travels without what the device holds
    assert "there" not in vars(again)
    assert again.expect_one(weights[2], np.zeros(weights.shape[1])) == pytest.approx(log_lik[2])
    assert isinstance(placed.where_faster.components.plans[0], NumberPlan)
    assert placed.where_faster.components.plans[0].device is None


def test_impossible_rows_are_so_on_a_device():
    problem = dense("gaussian", missing=0.0)
    (on_device,) = problem.on(Twin()).components.plans
    natural = conjugacy.natural(some_theta(problem), problem.layout)
    weights = problem.components.cells.weights(natural)
    weights[on_device.patterns.positions[-1] + np.arange(2)] = -np.inf  # a colour, in both classes
    assert on_device.expect_one(weights, np.zeros(len(weights))) == -np.inf


@patch.object(cuda, "open_cuda", Twin)
def test_a_fit_of_numbers_on_a_device_is_the_fit():
    rng = np.random.default_rng(3)
    z = rng.integers(0, 2, 400)
    x = rng.standard_normal((400, 2)) + 3.0 * z[:, None]
    frame = pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "c": np.where(z ^ (x[:, 0] > 3), "u", "v")})
    frame.loc[frame.index % 7 == 0, "b"] = np.nan
    here, on_device = (lacunet.fit(frame, 2, device=place, starts=8) for place in ("cpu", "cuda"))
    assert isinstance(on_device.problem.place.device, Twin)
    assert on_device.log_lik == pytest.approx(here.log_lik, rel=1e-9)
    np.testing.assert_allclose(on_device.model.theta, here.model.theta, rtol=1e-5, atol=1e-6)
    with pytest.raises(OptionError, match="numbers one by one, and these have covariances"):
        lacunet.fit(frame, 2, covariance="full", device="cuda")


@kinds
def test_rows_by_themselves(name):
    problem = dense(name, weights=np.arange(30.0))
    theta = some_theta(problem)
    again = Weighable(problem.network, problem.codes)(problem.counts, problem.alpha)
    assert isinstance(again.components.plans[0], NumberPlan)
    result, expected = expect(again, theta), expect(problem, theta)
    assert result.log_lik == pytest.approx(expected.log_lik, rel=1e-12)
    np.testing.assert_allclose(result.N, expected.N, atol=1e-9)
    (plan,) = problem.components.plans
    weights = problem.components.cells.weights(conjugacy.natural(theta, problem.layout))
    log_z, N = plan.posterior(weights, 0, len(weights))
    counted = N.T @ plan.counts + problem.components.seen
    np.testing.assert_allclose(counted, expected.N, atol=1e-9)
    total = float(plan.counts @ log_z) + problem.log_base
    assert total == pytest.approx(expected.log_lik, rel=1e-12)
    (posterior,) = problem.about_hidden(theta)
    (other,) = problem.by_value.about_hidden(theta)
    np.testing.assert_allclose(posterior, other, atol=1e-12)


@kinds
def test_draws_have_the_means_that_are_expected(name):
    problem = dense(name, 12, weights=np.repeat([1.0, 30.0], 6))
    eta = conjugacy.natural(some_theta(problem), problem.layout)
    draws = Draws(problem, np.random.default_rng(4)).hidden(np.tile(eta, (4000, 1)))
    expected = hidden_counts(problem, eta).N
    error = draws.std(axis=0) / np.sqrt(len(draws)) + 1e-9
    assert (np.abs(draws.mean(axis=0) - expected) < 5 * error).all()


@kinds
def test_one_class_is_known_and_has_a_closed_form(name):
    problem = with_sizes(dense(name), {0: 1})
    assert problem.exact
    assert problem.components.cells.dense
    np.testing.assert_allclose(problem.seen, problem.by_value.seen, atol=1e-10)
    theta = some_theta(problem)
    assert expect(problem, theta).log_lik == pytest.approx(
        expect(problem.by_value, theta).log_lik, rel=1e-12
    )
    (posterior,) = problem.about_hidden(theta)
    np.testing.assert_allclose(posterior, 1.0)


def test_pieces_of_rows_add_up_to_the_same_bits_on_any_threads():
    problem = dense("gaussian", 300)
    with patch.object(contract, "LONG", 1e3), patch.object(contract, "PIECE", 5e2):
        assert len(problem.components.plans[0].pieces) > 3
        theta = some_theta(problem)
        alone = expect(problem, theta)
        with on_threads(2) as executor:
            together = expect(problem, theta, executor)
    assert alone.log_lik == together.log_lik
    np.testing.assert_array_equal(alone.N, together.N)


@kinds
def test_merged_rows_do_not_see_the_difference(name):
    problem = dense(name, 40, missing=0.2)
    theta = agglomerated(problem, 0, 0)
    np.testing.assert_allclose(theta, agglomerated(problem.by_value, 0, 0), atol=1e-10)


@pytest.mark.parametrize("columns", [1, 4, 7])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_any_number_of_columns_classes_and_rows(columns, missing):
    """Kernels take four rows, columns and classes at a time; what is left over counts too."""
    rng = np.random.default_rng(columns)
    X = rng.normal(size=(61, columns))
    X[rng.random(X.shape) < missing] = np.nan
    table = read_table(X, kinds={f"x{j + 1}": "gaussian" for j in range(columns)})
    network = over_leaves(leaves_of(table, NumberPrior()), 6)
    problem = build_problem(table, network, dirichlet(network, 1.2))
    theta = some_theta(problem)
    result, expected = expect(problem, theta), expect(problem.by_value, theta)
    assert result.log_lik == pytest.approx(expected.log_lik, rel=1e-12)
    np.testing.assert_allclose(result.N, expected.N, atol=1e-10)
    direction = rng.standard_normal(problem.layout.size)
    moved, other = (Tangent(p, theta)(direction) for p in (problem, problem.by_value))
    np.testing.assert_allclose(moved, other, atol=1e-9 * np.abs(other).max())


@kinds
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_hessian_at_once_is_that_by_tangents(name, missing):
    problem = dense(
        name, missing=missing, weights=np.random.default_rng(2).integers(0, 4, 30) * 0.75
    )
    theta = some_theta(problem)
    N, at = expect(problem, theta).N, free_coordinates(problem.layout, theta)
    result = softmax_hessian(problem, theta, N, at)
    with patch.object(numbers, "MOST_FEATURES", 0):
        assert problem.components.plans[0].covariance(np.zeros(0)) is None
        expected = softmax_hessian(problem, theta, N, at)
    np.testing.assert_allclose(result, expected, atol=1e-10 * np.abs(expected).max())
