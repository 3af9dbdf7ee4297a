"""The multinomial logit as a likelihood: its derivatives, its prior, and the ordinary search."""

import numpy as np
import pytest
from scipy.special import log_softmax, softmax
from scipy.stats import multivariate_normal

from lacunet.errors import ModelError
from lacunet.fitting.ascent import climb_from
from lacunet.fitting.fit import Options, learn
from lacunet.fitting.objective import Estimate, Objective
from lacunet.inference.covariates import CovariateDesign
from lacunet.inference.predicted import PredictedClasses, with_predictors
from lacunet.inference.problem import problem_of_codes
from lacunet.models import conjugacy
from lacunet.models.latent_class import latent_class
from lacunet.models.predictors import Covariate
from lacunet.models.prior import dirichlet

K = 3


@pytest.fixture(scope="module")
def problem():
    """400 rows of five items, in three classes that a number of five values predicts."""
    rng = np.random.default_rng(2)
    pattern = rng.integers(0, 5, 400)
    x = np.linspace(-1.5, 1.5, 5)
    scores = np.outer(x[pattern], [0.0, 1.0, -1.0])
    z = (rng.random((400, 1)) > np.cumsum(softmax(scores, axis=1), axis=1)[:, :-1]).sum(axis=1)
    yes = np.array(
        [[0.9, 0.8, 0.2, 0.1, 0.9], [0.1, 0.2, 0.9, 0.8, 0.8], [0.2, 0.9, 0.8, 0.2, 0.1]]
    )
    codes = (rng.random((400, 5)) < yes[z]).astype(np.int8)
    codes[rng.random(codes.shape) < 0.05] = -1
    network = latent_class([(name, (0, 1)) for name in "abcde"], K)
    plain = problem_of_codes(codes, np.ones(400), network, dirichlet(network, 1.5))
    matrix = np.column_stack([np.ones(5), x])
    return with_predictors(plain, CovariateDesign((Covariate("x"),), matrix, pattern), 1.5)


@pytest.fixture(scope="module")
def point(problem):
    theta = conjugacy.random_theta(problem.layout, np.random.default_rng(3), problem.alpha)
    return Objective.build(problem, Estimate.SOFTMAX).at(theta)


def test_its_parameters_are_coefficients(problem, point):
    classes = PredictedClasses(problem)
    coefficients = classes.coefficients(point.theta)
    natural = problem.layout.table(conjugacy.natural(point.theta, problem.layout), classes.root)
    logits = classes.logit.design @ coefficients.T
    np.testing.assert_allclose(natural[:-1], log_softmax(logits, axis=1))
    np.testing.assert_allclose(classes.sizes(point.theta), softmax(logits, axis=1))


def test_the_objective_contains_a_gaussian_density(problem, point):
    """The log prior of θ is that of items, and a normal density of differences of scores."""
    classes = PredictedClasses(problem)
    b = classes.coefficients(point.theta)[1:].ravel()
    V = np.kron(1.0 + np.eye(K - 1), classes.logit.covariance)
    plain = conjugacy.log_prior(
        classes.to_plain(point.theta), classes.alpha, classes.network.layout
    )
    sizes = classes.network.layout.table(classes.to_plain(point.theta), classes.root)
    only = latent_class([], K)
    of_sizes = conjugacy.log_prior(sizes, classes.logit.class_alpha, only.layout)
    total = conjugacy.log_prior(point.theta, problem.alpha, problem.layout)
    normal = multivariate_normal(np.zeros(len(b)), V).logpdf(b)
    assert total == pytest.approx(plain - of_sizes + normal)


@pytest.mark.parametrize("estimate", [Estimate.ML, Estimate.MAP, Estimate.SOFTMAX])
def test_gradient_and_hessian_are_those_of_finite_differences(problem, point, estimate):
    objective, h = Objective.build(problem, estimate), 1e-4
    coordinates = PredictedClasses(problem).coordinates(point.theta)
    free = coordinates.free

    def moved(position, step):
        along = np.zeros(problem.layout.size)
        along[position] = step
        return objective.at(conjugacy.moved(point.theta, along, problem.layout))

    ends = [(moved(i, h), moved(i, -h)) for i in free]
    slope = np.array([(up.g - down.g) / (2 * h) for up, down in ends])
    np.testing.assert_allclose(objective.gradient(point)[free], slope, atol=1e-5)
    curved = [(objective.gradient(d) - objective.gradient(u))[free] / (2 * h) for u, d in ends]
    A = objective.negative_hessian(objective.at(point.theta), coordinates)
    np.testing.assert_allclose(A, np.array(curved), atol=1e-4)


def test_the_ordinary_ascent_finds_the_same_maximum(problem):
    """Newton's method is faster; L-BFGS with the metric of the likelihood ends there, too."""
    fit = learn(problem, Options(starts=4))
    start = conjugacy.random_theta(problem.layout, np.random.default_rng(1), problem.alpha)
    climb, curvature = climb_from(fit.objective, fit.objective.at(start))
    assert climb.point.g == pytest.approx(fit.point.g, abs=1e-6)
    assert curvature.least > 0
    assert fit.gradient < 1e-6
    assert fit.problem.network.dimension == 2 * 2 + K * 5


def test_what_needs_a_conjugate_prior_says_so(problem):
    with pytest.raises(ModelError, match="the logit likelihood has no conjugate prior"):
        conjugacy.log_marginal(np.ones(problem.layout.size), problem.alpha, problem.layout)
