"""Blocks of numbers with missing values: marginals, completions, curvature, evidence."""

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import multivariate_normal as normal
from sklearn.mixture import GaussianMixture

import block_sums
import lacunet
from lacunet.fitting.diagnose import at_theta, vary
from lacunet.fitting.fit import Options, learn
from lacunet.fitting.objective import Estimate
from lacunet.inference.classes import Tangent, expect, hidden_counts, with_sizes
from lacunet.inference.hessian import softmax_hessian
from lacunet.inference.leaves import leaves_of
from lacunet.inference.plans.plan import free_coordinates
from lacunet.inference.problem import Weighable, build_problem
from lacunet.inference.sampling.particles import Draws
from lacunet.likelihoods.joint_normal import Joint, joint_statistics
from lacunet.models import conjugacy
from lacunet.models.latent_class import over_leaves
from lacunet.models.number_prior import NumberPrior, understand_covariance
from lacunet.models.prior import dirichlet
from lacunet.scores import ScoreInput, choose_scores

forms = pytest.mark.parametrize("covariance", ["full", "full-common"])


def numbers(rows, d, seed=0, missing=0.0):
    rng = np.random.default_rng(seed)
    mix = np.linalg.cholesky(np.eye(d) * 0.6 + 0.4)
    X = rng.normal(0, 4, (2, d))[rng.integers(0, 2, rows)] + rng.normal(size=(rows, d)) @ mix.T
    X = X.round(3)
    X[rng.random(X.shape) < missing] = np.nan
    return X


def made(X, classes=2, covariance="full", names=None):
    """A problem with a block, of an array or of its columns in another order."""
    names = names or [f"x{j + 1}" for j in range(X.shape[1])]
    table = lacunet.read_table(X, kinds=dict.fromkeys(names, "gaussian"), columns=names)
    prior = NumberPrior(covariance=understand_covariance(covariance))
    network = over_leaves(leaves_of(table, prior), classes)
    return build_problem(table, network, dirichlet(network, 1.3))


def some_theta(problem, seed=1):
    rng = np.random.default_rng(seed)
    return conjugacy.draw_theta(problem.alpha + np.abs(problem.alpha) * 5, problem.layout, rng)


def raised(problem, theta):
    """The bound of variational Bayes."""
    return vary(at_theta(problem, theta)).bound


def shown_numbers(problem):
    """(rows, d) as families see them."""
    variables = problem.network.variables[1:]
    columns = zip(variables, problem.codes.T, strict=True)
    return np.stack([v.values_of(codes) for v, codes in columns], axis=1)


def classes_of(problem, theta):
    """Weights, means and covariances of classes, in the unit of the data."""
    joint = problem.network.variables[1].family.places.read(problem.layout.table(theta, 1))
    units = [v.unit for v in problem.network.variables[1:]]
    size, origin = (np.array([getattr(u, n) for u in units]) for n in ("size", "origin"))
    weights = problem.layout.table(theta, 0)
    return weights, joint.first * size + origin, joint.second * np.outer(size, size)


@forms
def test_the_likelihood_of_rows_with_missing_values_is_that_of_scipy(covariance):
    X = numbers(60, 4, missing=0.3)
    problem = made(X, covariance=covariance)
    theta = some_theta(problem)
    weights, means, covariances = classes_of(problem, theta)
    total = 0.0
    for row in X:
        t = ~np.isnan(row)
        parts = [
            normal(m[t], S[np.ix_(t, t)]).logpdf(row[t]) if t.any() else 0.0
            for m, S in zip(means, covariances, strict=True)
        ]
        total += logsumexp(parts, b=weights)
    assert expect(problem, theta).log_lik == pytest.approx(total, rel=1e-11)


@forms
def test_expected_statistics_are_conditional_moments(covariance):
    """By the definition: the slope of the log-likelihood in η is what is expected of T."""
    problem = made(numbers(40, 3, missing=0.3), covariance=covariance)
    eta = conjugacy.natural(some_theta(problem), problem.layout)
    result, h = hidden_counts(problem, eta), 1e-6
    v = np.random.default_rng(0).standard_normal(len(eta))
    ends = [hidden_counts(problem, eta + s * h * v) for s in (1, -1)]
    slope = (ends[0].log_lik - ends[1].log_lik) / (2 * h)
    assert result.N @ v == pytest.approx(slope, rel=1e-6)
    theta = conjugacy.parameters(eta, problem.layout)
    change = Tangent(problem, theta)(v)
    expected = (ends[0].N - ends[1].N) / (2 * h)
    np.testing.assert_allclose(change, expected, atol=1e-5 * np.abs(expected).max())


def test_other_weights_and_rows_by_themselves():
    problem = made(numbers(50, 3, missing=0.3))
    theta, weights = some_theta(problem), np.arange(len(problem.counts)) % 3 * 1.5
    again = Weighable(problem.network, problem.codes)(weights, problem.alpha)
    (plan,) = problem.components.plans
    eta = conjugacy.natural(theta, problem.layout)
    cells = problem.components.cells.weights(eta)
    log_z, N = plan.posterior(cells, 0, len(cells))
    kept = weights[(problem.codes >= 0).any(axis=1)]
    np.testing.assert_allclose(expect(again, theta).N, kept @ N, atol=1e-8)
    assert hidden_counts(again, eta).log_lik == pytest.approx(kept @ log_z, rel=1e-12)


def test_draws_have_the_means_that_are_expected():
    problem = made(numbers(10, 3, seed=4, missing=0.3))
    eta = conjugacy.natural(some_theta(problem), problem.layout)
    draws = Draws(problem, np.random.default_rng(4)).hidden(np.tile(eta, (400, 1)))
    error = draws.std(axis=0) / np.sqrt(len(draws)) + 1e-9
    assert (np.abs(draws.mean(axis=0) - hidden_counts(problem, eta).N) < 5 * error).all()


@forms
def test_curvature_is_a_finite_difference(covariance):
    problem = made(numbers(40, 3, missing=0.2), covariance=covariance)
    layout, h = problem.layout, 1e-5
    theta = learn(problem, Options(starts=2)).model.theta
    coordinates = free_coordinates(layout, theta)

    def slope(at):
        return conjugacy.pull_back(at, expect(problem, at).N + problem.alpha, layout)

    A = softmax_hessian(problem, theta, expect(problem, theta).N, coordinates)
    for column in range(2, len(A), 3):
        e = np.zeros(layout.size)
        e[coordinates.free[column]] = h
        ends = [slope(conjugacy.moved(theta, s * e, layout)) for s in (1, -1)]
        expected = (ends[1] - ends[0])[coordinates.free] / (2 * h)
        np.testing.assert_allclose(A[2:, column], expected[2:], atol=1e-4 * np.abs(A).max())


@pytest.mark.parametrize("covariance", ["full", "full-common", "diagonal-common"])
def test_neither_the_order_of_columns_nor_their_units_matter(covariance):
    X = numbers(60, 3, missing=0.15)
    X[:25] += 40.0  # so that there is one maximum to find, whatever a start is like
    theta_of = {}
    for name, (Y, order) in {
        "as they are": (X, [0, 1, 2]),
        "turned": (X, [2, 0, 1]),
        "in other units": (X * [10.0, 0.5, 3.0] + [5.0, 0.0, -7.0], [0, 1, 2]),
    }.items():
        problem = made(Y, covariance=covariance, names=[f"x{j + 1}" for j in order])
        fit = learn(problem, Options(starts=2))
        theta_of[name] = fit.log_lik, raised(problem, fit.model.theta)
    first = theta_of["as they are"]
    np.testing.assert_allclose(theta_of["turned"], first, rtol=1e-7)
    seen = (~np.isnan(X)).sum(axis=0)
    moved = np.array(first) - seen @ np.log([10.0, 0.5, 3.0])
    np.testing.assert_allclose(theta_of["in other units"], moved, rtol=1e-7)


@forms
def test_one_class_of_complete_rows_has_a_closed_form(covariance):
    X = numbers(30, 3)
    problem = with_sizes(made(X, covariance=covariance), {0: 1})
    assert problem.exact
    block = problem.network.variables[1].family
    N, at = joint_statistics(shown_numbers(problem)).sum(axis=0), problem.layout.segments[-1]
    expected = block.log_marginal(N, problem.alpha[1:], at).sum()
    size = np.log([v.unit.size for v in problem.network.variables[1:]]).sum()
    expected -= 30 * (size + 1.5 * np.log(2 * np.pi))
    assert problem.log_seen == pytest.approx(expected, rel=1e-11)
    missing = with_sizes(made(numbers(30, 3, missing=0.2)), {0: 1})
    assert not missing.exact  # what is missing is hidden, though no class is


@forms
def test_scores_are_bounds_or_near_the_sum_over_all_labellings(covariance):
    X = numbers(8, 2, seed=3)
    X[[2, 5], 1] = np.nan
    problem = made(X, covariance=covariance)
    x = np.where(np.isnan(X), np.nan, shown_numbers(problem)[_rows_of(problem, X)])
    prior = block_sums.usual_prior(x)
    exact = block_sums.log_evidence(
        x, np.full(len(x), -1), 2, prior, common=covariance == "full-common"
    )
    sizes = [v.unit.size for v in problem.network.variables[1:]]
    exact -= (~np.isnan(X)).sum(axis=0) @ np.log(sizes)
    theta = learn(problem, Options(starts=8)).model.theta
    at = ScoreInput(problem, theta)
    values = {s.name: s(at).value for s in choose_scores("laplace,csl,vb,cs,mled,bic,draper")}
    assert all(np.isfinite(list(values.values())))
    assert values["cs"] <= values["vb"] + 1e-9 <= exact + 2e-9
    joint = problem.network.variables[1].family.places.read(problem.layout.table(theta, 1))
    log_p = np.log(theta[:2]) + np.stack([_log_densities(x, joint, k) for k in (0, 1)], axis=1)
    p = np.exp(log_p - logsumexp(log_p, axis=1, keepdims=True))
    entropy = -np.sum(p * np.log(p), where=p > 0)
    assert values["mled"] == pytest.approx(values["cs"] - entropy, abs=1e-8)
    assert values["csl"] + np.log(2) == pytest.approx(exact, abs=1.5)
    dimension = 1 + 2 * 2 + (3 if covariance == "full-common" else 2 * 3)
    assert problem.network.dimension == dimension
    log_lik = expect(problem, theta).log_lik
    assert values["bic"] == pytest.approx(log_lik - dimension / 2 * np.log(8), rel=1e-12)


def _log_densities(x, joint, k):
    """Of what each row shows, in one class."""
    results = []
    for row in x:
        observed = ~np.isnan(row)
        mean, covariance = joint.first[k][observed], joint.second[k][np.ix_(observed, observed)]
        results.append(normal(mean, covariance).logpdf(row[observed]))
    return np.array(results)


def _rows_of(problem, X):
    """Where each row stands among the distinct ones."""
    columns = [problem.network.variables[j + 1].states for j in range(X.shape[1])]
    codes = [
        [
            -1 if np.isnan(x) else list(states).index(x)
            for states, x in zip(columns, row, strict=True)
        ]
        for row in X
    ]
    return [problem.codes.tolist().index(row) for row in codes]


@pytest.mark.parametrize(("covariance", "theirs"), [("full", "full"), ("full-common", "tied")])
def test_the_likelihood_of_full_covariances_is_scikit_learns(covariance, theirs):
    X = numbers(500, 4)
    theirs = GaussianMixture(2, covariance_type=theirs, random_state=0, tol=1e-9).fit(X)
    problem = made(X, covariance=covariance)
    variables = problem.network.variables[1:]
    size, origin = (np.array([getattr(v.unit, n) for v in variables]) for n in ("size", "origin"))
    one, block = np.ones(2), variables[0].family
    covariances = np.broadcast_to(theirs.covariances_, (2, 4, 4)) / np.outer(size, size)
    joint = Joint((theirs.means_ - origin) / size, one, covariances, one)
    tables = [theirs.weights_, block.places.write(joint), *[np.zeros((2, 0))] * 3]
    log_lik = expect(problem, problem.layout.flat(tables)).log_lik
    assert log_lik == pytest.approx(theirs.score(X) * len(X), rel=1e-9)
    if covariance == "full-common":  # a likelihood with a maximum: both find it
        best = learn(problem, Options(estimate=Estimate.ML, starts=2)).log_lik
        assert best == pytest.approx(log_lik, rel=1e-9)
