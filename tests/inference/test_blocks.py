"""Blocks of numbers with holes: marginals, completions, curvature, evidence of small data."""

import itertools

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp
from scipy.stats import multivariate_normal as normal
from sklearn.mixture import GaussianMixture

import lacunet
from lacunet.inference.curvature.coordinates import free_coordinates
from lacunet.inference.curvature.hessian import softmax_hessian
from lacunet.inference.expectation import Tangent, complete_counts, expect, hidden_counts
from lacunet.inference.leaves import leaves_of
from lacunet.inference.problem import build_problem
from lacunet.inference.sampling.draws import Draws
from lacunet.inference.sizes import with_sizes
from lacunet.inference.weighable import Weighable
from lacunet.learn.fit import Options, learn
from lacunet.learn.variational import at_theta, vary
from lacunet.model import conjugacy
from lacunet.model.covariance import understand_covariance
from lacunet.model.families.block_places import Joint, joint_statistics
from lacunet.model.latent_class import over_leaves
from lacunet.model.number_prior import NumberPrior
from lacunet.model.prior import dirichlet


def numbers(rows, d, seed=0, holes=0.0):
    rng = np.random.default_rng(seed)
    mix = np.linalg.cholesky(np.eye(d) * 0.6 + 0.4)
    X = rng.normal(0, 4, (2, d))[rng.integers(0, 2, rows)] + rng.normal(size=(rows, d)) @ mix.T
    X = X.round(3)
    X[rng.random(X.shape) < holes] = np.nan
    return X


def made(X, classes=2, said="full", names=None):
    """A problem with a block, of an array or of its columns in another order."""
    names = names or [f"x{j + 1}" for j in range(X.shape[1])]
    table = lacunet.read_table(X, kinds=dict.fromkeys(names, "gaussian"), columns=names)
    prior = NumberPrior(covariance=understand_covariance(said))
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


def test_the_likelihood_of_rows_with_holes_is_that_of_scipy():
    X = numbers(60, 4, holes=0.3)
    problem = made(X)
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


def test_expected_statistics_are_conditional_moments():
    """By the definition: the slope of the log-likelihood in η is what is expected of T."""
    problem = made(numbers(40, 3, holes=0.3))
    eta = conjugacy.natural(some_theta(problem), problem.layout)
    found, h = hidden_counts(problem, eta), 1e-6
    v = np.random.default_rng(0).standard_normal(len(eta))
    ends = [hidden_counts(problem, eta + s * h * v) for s in (1, -1)]
    slope = (ends[0].log_lik - ends[1].log_lik) / (2 * h)
    assert found.N @ v == pytest.approx(slope, rel=1e-6)
    theta = conjugacy.parameters(eta, problem.layout)
    change = Tangent(problem, theta)(v)
    wanted = (ends[0].N - ends[1].N) / (2 * h)
    np.testing.assert_allclose(change, wanted, atol=1e-5 * np.abs(wanted).max())


def test_other_weights_and_rows_by_themselves():
    problem = made(numbers(50, 3, holes=0.3))
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
    problem = made(numbers(10, 3, seed=4, holes=0.3))
    eta = conjugacy.natural(some_theta(problem), problem.layout)
    draws = Draws(problem, np.random.default_rng(4)).hidden(np.tile(eta, (400, 1)))
    error = draws.std(axis=0) / np.sqrt(len(draws)) + 1e-9
    assert (np.abs(draws.mean(axis=0) - hidden_counts(problem, eta).N) < 5 * error).all()


def test_curvature_is_a_finite_difference():
    problem = made(numbers(40, 3, holes=0.2))
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
        wanted = (ends[1] - ends[0])[coordinates.free] / (2 * h)
        np.testing.assert_allclose(A[2:, column], wanted[2:], atol=1e-4 * np.abs(A).max())


def test_neither_the_order_of_columns_nor_their_units_matter():
    X = numbers(60, 3, holes=0.15)
    theta_of = {}
    for name, (Y, order) in {
        "as they are": (X, [0, 1, 2]),
        "turned": (X, [2, 0, 1]),
        "in other units": (X * [10.0, 0.5, 3.0] + [5.0, 0.0, -7.0], [0, 1, 2]),
    }.items():
        problem = made(Y, names=[f"x{j + 1}" for j in order])
        fit = learn(problem, Options(starts=2))
        theta_of[name] = fit.log_lik, raised(problem, fit.model.theta)
    first = theta_of["as they are"]
    np.testing.assert_allclose(theta_of["turned"], first, rtol=1e-7)
    seen = (~np.isnan(X)).sum(axis=0)
    moved = np.array(first) - seen @ np.log([10.0, 0.5, 3.0])
    np.testing.assert_allclose(theta_of["in other units"], moved, rtol=1e-7)


def test_one_class_of_complete_rows_has_a_closed_form():
    X = numbers(30, 3)
    problem = with_sizes(made(X), {0: 1})
    assert problem.exact
    block = problem.network.variables[1].family
    N, at = joint_statistics(shown_numbers(problem)).sum(axis=0), problem.layout.segments[-1]
    wanted = block.log_marginal(N, problem.alpha[1:], at).sum()
    size = np.log([v.unit.size for v in problem.network.variables[1:]]).sum()
    wanted -= 30 * (size + 1.5 * np.log(2 * np.pi))
    assert problem.log_seen == pytest.approx(wanted, rel=1e-11)
    holes = with_sizes(made(numbers(30, 3, holes=0.2)), {0: 1})
    assert not holes.exact  # what is missing is hidden, though no class is


def test_bounds_are_below_the_sum_over_all_labellings():
    X = numbers(7, 2, seed=3)
    problem = made(X)
    one, block = with_sizes(problem, {0: 1}), problem.network.variables[1].family
    rows, at = joint_statistics(shown_numbers(problem)), one.layout.segments[-1]
    prior = one.alpha[1:]
    terms = []
    for labels in itertools.product(range(2), repeat=7):
        member = np.array(labels)
        sizes = np.bincount(member, minlength=2)
        term = gammaln(2.6) - gammaln(2.6 + 7) + (gammaln(1.3 + sizes) - gammaln(1.3)).sum()
        for c in range(2):
            term += block.log_marginal(rows[member == c].sum(axis=0), prior, at).sum()
        terms.append(term)
    exact = logsumexp(terms) + problem.log_base
    fit = learn(problem, Options(starts=4))
    bound = raised(problem, fit.model.theta)
    assert exact - 4.0 < bound < exact
    N = complete_counts(problem, fit.model.theta)
    cs = (
        conjugacy.log_marginal(N, problem.alpha, problem.layout).sum()
        - conjugacy.log_density(N, fit.model.theta, problem.layout)
        + fit.log_lik
    )
    assert cs <= bound + 1e-9


def test_the_likelihood_of_full_covariances_is_scikit_learns():
    X = numbers(500, 4)
    theirs = GaussianMixture(2, random_state=0).fit(X)
    problem = made(X)
    variables = problem.network.variables[1:]
    size, origin = (np.array([getattr(v.unit, n) for v in variables]) for n in ("size", "origin"))
    one, block = np.ones(2), variables[0].family
    covariances = theirs.covariances_ / np.outer(size, size)
    own = Joint((theirs.means_ - origin) / size, one, covariances, one)
    tables = [theirs.weights_, block.places.write(own), *[np.zeros((2, 0))] * 3]
    found = expect(problem, problem.layout.flat(tables)).log_lik
    assert found == pytest.approx(theirs.score(X) * len(X), rel=1e-9)
