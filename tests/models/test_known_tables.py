"""Fixed tables, tied tables and zeros: kept by everything that makes parameters; bad input."""

import json

import numpy as np
import pytest
from hypothesis import given
from scipy.optimize import minimize

from examples import examples
from finite_differences import LogLikelihood, gradient, hessian
from knowing import FreeLogits, given_tables, known_cases, leaders
from lacunet.errors import DataError, ModelError
from lacunet.fitting.fit import Options, learn
from lacunet.fitting.objective import Estimate, Objective
from lacunet.inference.hessian import negative_hessian, softmax_hessian
from lacunet.inference.plans.plan import free_coordinates
from lacunet.inference.problem import problem_of_codes
from lacunet.models import conjugacy
from lacunet.models.formats import json_model
from lacunet.models.known_tables import KnownTables
from lacunet.models.network import Model, Network, Variable
from lacunet.models.prior import dirichlet
from lacunet.models.surgery import sample_codes
from problems import Case

each_estimate = pytest.mark.parametrize("estimate", Estimate)


def disease_and_its_tests():
    """An unobserved disease, a test whose errors are known, two that are alike, a symptom."""
    ill = Variable("ill", ("no", "yes"), hidden=True)
    tests = [Variable(name, ("no", "yes")) for name in ("known", "first", "second")]
    symptom = Variable("rash", ("none", "some", "much"))
    network = Network.build([ill, *tests, symptom], [(), (0,), (0,), (0,), (0,)])
    known = KnownTables(
        fixed=[{"child": "known", "parents": ["ill"], "table": [[0.95, 0.05], [0.1, 0.9]]}],
        tied=[["first", "second"]],
        zeros=[{"child": "rash", "state": "much", "given": {"ill": "no"}}],
    )
    return known.of(network)


def kept(network, theta):
    """Whether parameters are as is known, and each row of a table sums to one."""
    tables = [network.layout.table(theta, i) for i in range(len(network.variables))]
    for i, fixed in enumerate(given_tables(network)):
        assert np.array_equal(tables[i][~np.isnan(fixed)], fixed[~np.isnan(fixed)])
        assert np.array_equal(tables[i], tables[leaders(network)[i]])
        np.testing.assert_allclose(tables[i].sum(axis=-1), 1.0, rtol=1e-9)
    return True


@examples(40)
@given(case=known_cases())
def test_whatever_makes_parameters_keeps_what_is_known(case):
    layout, rng = case.layout, np.random.default_rng(0)
    N = rng.uniform(0.0, 3.0, layout.size) * (case.theta > 0)
    move = rng.standard_normal(layout.size)
    hyper = case.alpha + N
    made = [
        conjugacy.random_theta(layout, rng),
        conjugacy.mean(hyper, layout),
        conjugacy.draw_theta(hyper, layout, rng),
        conjugacy.parameters(conjugacy.draw(hyper[None, :], layout, rng)[0], layout),
        conjugacy.maximize(N, np.zeros(layout.size), case.theta, layout),
        conjugacy.moved(case.theta, move, layout),
        conjugacy.moved(case.theta, move, layout, edge=True),
    ]
    assert all(kept(case.network, theta) for theta in made)


@examples(30)
@given(case=known_cases())
def test_the_dimension_is_the_number_of_logits_that_are_free(case):
    free, _ = conjugacy.free(case.theta, case.layout)
    assert case.network.dimension == FreeLogits(case.network).number == len(free)


class Twin:
    """The objective as a function of free logits, by enumeration."""

    def __init__(self, case, added):
        self.logits, self.added = FreeLogits(case.network), added
        cards = [len(v.states) for v in case.network.variables]
        rows = [tuple(row) for row in case.rows]
        self.log_lik = LogLikelihood(cards, case.network.parents, rows, case.counts)

    def __call__(self, x):
        tables = self.logits.tables(x)
        return self.log_lik(tables) + self.logits.log_prior(tables, self.added)


def one_prior(case, exponent):
    """The same rows with one exponent everywhere."""
    return problem_of_codes(
        case.codes, case.counts, case.network, dirichlet(case.network, exponent)
    )


@examples(20)
@given(case=known_cases(max_variables=5, max_rows=5))
def test_the_gradient_is_that_of_enumeration(case):
    problem = one_prior(case, 1.5)
    objective, twin = Objective.build(problem, Estimate.MAP), Twin(case, 0.5)
    point, x = objective.at(case.theta), twin.logits.of(case.tables())
    base = objective.at(conjugacy.random_theta(case.layout, np.random.default_rng(1)))
    other = twin.logits.of([case.layout.table(base.theta, i) for i in range(len(case.tables()))])
    np.testing.assert_allclose(point.g - base.g, twin(x) - twin(other), rtol=1e-9, atol=1e-9)
    slopes, g = gradient(twin, x), objective.gradient(point)
    result = [
        case.layout.table(g, i).reshape(-1, case.layout.cards[i])[j, row[:-1]]
        for i, j, row in twin.logits.free
    ]
    np.testing.assert_allclose(np.concatenate([np.zeros(0), *result]), slopes, atol=1e-8)


@examples(15)
@given(case=known_cases(max_variables=4, max_rows=5))
def test_log_det_of_the_curvature_is_that_of_finite_differences(case):
    if not case.network.dimension:
        return
    problem, twin = one_prior(case, 2.0), Twin(case, 2.0)
    coordinates = free_coordinates(case.layout, case.theta)
    N = Objective.build(problem, Estimate.SOFTMAX).at(case.theta).N
    A = softmax_hessian(problem, case.theta, N, coordinates)
    expected = -hessian(twin, twin.logits.of(case.tables()))
    sign, log_det = np.linalg.slogdet(A)
    np.testing.assert_allclose((sign, log_det), np.linalg.slogdet(expected), rtol=1e-6, atol=1e-6)


@each_estimate
def test_the_maximum_is_that_of_a_plain_optimiser(estimate):
    network = disease_and_its_tests()
    case = drawn(network, 60, seed=3)
    problem = one_prior(case, 1.5)
    fit = learn(problem, Options(estimate=estimate, starts=8))
    added = {Estimate.MAP: 0.5, Estimate.ML: 0.0, Estimate.SOFTMAX: 1.5}[estimate]
    twin = Twin(case, added)
    assert kept(network, fit.model.theta)
    tables = [case.layout.table(fit.model.theta, i) for i in range(len(network.variables))]
    best = twin(twin.logits.of(tables))
    result = max(optimised(twin, seed) for seed in range(4))
    np.testing.assert_allclose(best, result, rtol=0, atol=1e-5)


def optimised(twin, seed):
    """Climb from a random point, with SciPy."""
    start = np.random.default_rng(seed).standard_normal(twin.logits.number)
    end = minimize(lambda x: -twin(x), start, jac=lambda x: -gradient(twin, x), tol=1e-10)
    return -end.fun


def drawn(network, rows, seed=0, missing=0.25):
    """Rows from random parameters, with missing values."""
    rng = np.random.default_rng(seed)
    theta, alpha = conjugacy.random_theta(network.layout, rng), dirichlet(network, 1.01)
    codes = sample_codes(Model(network, theta, alpha), rows, rng, missing)
    return Case(network, theta, alpha, codes, np.ones(rows))


def test_laplace_in_theta_sees_what_is_free_only():
    network = disease_and_its_tests()
    case = drawn(network, 200, seed=1, missing=0.1)
    problem = one_prior(case, 2.0)
    theta = learn(problem, Options(starts=4)).model.theta
    coordinates = free_coordinates(network.layout, theta)
    A = negative_hessian(problem, theta, coordinates)
    assert len(A) == network.dimension == 1 + 2 + 3
    twin = Twin(case, 1.0)
    tables = case.tables(theta)
    expected = np.linalg.slogdet(-hessian(twin, twin.logits.of(tables)))[1]
    expected -= 2.0 * twin.logits.log_prior(tables, 1.0)  # |dθ/dφ| = Π θ, squared
    assert np.isclose(np.linalg.slogdet(np.tril(A) + np.tril(A, -1).T)[1], expected, rtol=1e-6)


@examples(30)
@given(case=known_cases())
def test_a_model_file_holds_what_is_known(case):
    model = Model(case.network, case.theta, case.alpha, case.alpha + 1.0 * case.layout.learned)
    back = json_model.read(json_model.write(model))
    assert back.network == model.network
    assert np.array_equal(back.theta, model.theta)
    np.testing.assert_allclose(back.alpha, model.alpha, rtol=1e-15)
    assert np.array_equal(back.posterior, model.posterior)


def test_renumbered_states_keep_declared_zeros():
    """Where zeros leave one state, its probability of 1 follows."""
    variables = [Variable("h", (1, 2), hidden=True), Variable("a", (0, 1)), Variable("b", (0, 1))]
    zeros = KnownTables(zeros=[{"child": "b", "state": 1, "given": {"a": 0}}])
    network = zeros.of(Network.build(variables, [[], [0], [0, 1]]))
    alpha = dirichlet(network, 1.0)
    model = Model(network, conjugacy.mean(alpha, network.layout), alpha)
    assert model.permuted(0, [1, 0]).network == network


def test_rows_that_nothing_allows_are_named():
    network = disease_and_its_tests()
    fixed = KnownTables(fixed=[{"child": "ill", "table": [1.0, 0.0]}]).of(network)
    rows = np.array([[-1, -1, -1, 0], [1, 0, -1, 2]])
    with pytest.raises(DataError, match=r"rash = much.*'ill'"):
        problem_of_codes(rows, np.ones(2), fixed, dirichlet(fixed, 1.0))


ALIKE = [[0.5, 0.5], [0.5, 0.5]]
WRONG_FILES = {
    "fixed is not a word": ("known", {"fixed": "yes"}, "true or false"),
    "tied by another word": ("second", {"tied": "first"}, '"tied_to"'),
    "tied to a number": ("second", {"tied_to": 3}, "name of a variable"),
    "tied to an unknown variable": ("second", {"tied_to": "frist"}, "'frist'.*first"),
    "tied to itself": ("second", {"tied_to": "second"}, "no table of its own"),
    "tied to another shape": ("rash", {"zeros": [], "tied_to": "first"}, "shapes"),
    "fixed and tied": ("second", {"fixed": True}, "neither fixed"),
    "tied tables that differ": ("second", {"table": ALIKE}, "differs from that of 'first'"),
    "zeros that are not zero": ("rash", {"table": [[0.2, 0.3, 0.5]] * 2}, "zeros leave none"),
    "zeros without a state": ("rash", {"zeros": [{"given": {"ill": "no"}}]}, 'a "state"'),
    "zeros of no parent": ("rash", {"zeros": [{"state": "much", "given": {"known": "no"}}]}, "ill"),
    "fixed with zeros": ("rash", {"fixed": True}, "Write them into its table"),
}


@pytest.mark.parametrize(("child", "entry", "words"), WRONG_FILES.values(), ids=WRONG_FILES)
def test_errors_in_a_model_file_are_named(child, entry, words):
    network = disease_and_its_tests()
    theta = conjugacy.random_theta(network.layout, np.random.default_rng(0))
    document = json.loads(json_model.write(Model(network, theta, dirichlet(network, 1.0))))
    (family,) = (f for f in document["families"] if f["child"] == child)
    family.update(entry)
    with pytest.raises(ModelError, match=words):
        json_model.read(json.dumps(document))
