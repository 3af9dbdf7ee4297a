"""Every family, also those that only the tests know, through learning, scores and evidence."""

import math

import numpy as np
import pytest

from lacunet.errors import OptionError
from lacunet.evidence.annealing import Goal
from lacunet.evidence.estimate import Method
from lacunet.evidence.measure import measure
from lacunet.fitting.diagnose import at_theta, vary
from lacunet.fitting.fit import Options, learn
from lacunet.fitting.objective import Estimate, Objective
from lacunet.inference.classes import expect, with_sizes
from lacunet.inference.hessian import negative_hessian, softmax_hessian
from lacunet.inference.plans.plan import free_coordinates
from lacunet.inference.problem import problem_of_codes
from lacunet.inference.sampling.written_cases import log_predictive
from lacunet.models import conjugacy
from lacunet.scores import ScoreInput, choose_scores
from mixtures import FAMILIES, exact_evidence, log_lik, mixture

each_family = pytest.mark.parametrize("name", FAMILIES)
BOUNDED = [name for name in FAMILIES if FAMILIES[name].bounded]


@each_family
def test_likelihood_and_gradient(name):
    problem = mixture(name, 30, missing=0.2)
    layout = problem.layout
    theta = conjugacy.random_theta(layout, np.random.default_rng(1))
    expectation = expect(problem, theta)
    assert expectation.log_lik == pytest.approx(log_lik(name, problem, theta), rel=1e-12)
    gradient = conjugacy.pull_back(theta, expectation.N, layout)
    for position in free_coordinates(layout, theta).free:
        phi, h = np.zeros(layout.size), 1e-5
        phi[position] = h
        up, down = (conjugacy.moved(theta, s * phi, layout) for s in (1.0, -1.0))
        slope = (log_lik(name, problem, up) - log_lik(name, problem, down)) / (2 * h)
        assert gradient[position] == pytest.approx(slope, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "estimate"),
    [(name, e) for name in FAMILIES for e in Estimate if name in BOUNDED or e is not Estimate.ML],
)
def test_em_never_falls_and_ends_at_a_maximum(name, estimate):
    problem = mixture(name, 120, missing=0.1)
    objective = Objective.build(problem, estimate)
    theta = conjugacy.random_theta(problem.layout, np.random.default_rng(2))
    point = objective.at(theta)
    for _ in range(20):
        before, point = point, objective.em_step(point)
        assert point.g >= before.g - 1e-9
    fit = learn(problem, Options(estimate=estimate, starts=8))
    assert fit.gradient < 1e-6
    assert fit.point.g >= point.g - 1e-9
    assert fit.log_lik == pytest.approx(log_lik(name, problem, fit.model.theta), rel=1e-12)


@each_family
def test_hessians_are_finite_differences_of_the_gradient(name):
    problem = mixture(name, 60, missing=0.1)
    layout = problem.layout
    theta = learn(problem, Options(starts=8)).model.theta
    coordinates = free_coordinates(layout, theta)
    A = softmax_hessian(problem, theta, expect(problem, theta).N, coordinates)
    numeric = np.empty_like(A)
    for column, position in enumerate(coordinates.free):
        phi, h = np.zeros(layout.size), 1e-5
        phi[position] = h
        sides = []
        for sign in (1.0, -1.0):
            moved = conjugacy.moved(theta, sign * phi, layout)
            N = expect(problem, moved).N + problem.alpha
            sides.append(conjugacy.pull_back(moved, N, layout)[coordinates.free])
        numeric[:, column] = -(sides[0] - sides[1]) / (2 * h)
    np.testing.assert_allclose(A, numeric, atol=1e-4 * np.abs(A).max())
    # In θ: |A| at the maximum, by differences of g itself, parameter by parameter.
    in_theta = negative_hessian(problem, theta, coordinates)
    sign, log_det = np.linalg.slogdet(in_theta)
    assert sign > 0
    assert math.isfinite(log_det)


@each_family
def test_scores_are_bounds_or_near_the_exact_evidence(name):
    problem = mixture(name, 9, missing=0.1, seed=3)
    truth = exact_evidence(name, problem)
    theta = learn(problem, Options(starts=16)).model.theta
    at = ScoreInput(problem, theta)
    values = {s.name: s(at).value for s in choose_scores("laplace,csl,vb,cs,mled,bic,draper")}
    assert all(math.isfinite(x) for x in values.values())
    assert values["mled"] <= values["cs"] + 1e-9
    assert values["cs"] <= values["vb"] + 1e-9 <= truth + 2e-9
    start = at_theta(problem, theta)
    assert vary(start).bound >= start.bound
    assert values["csl"] + math.log(2) == pytest.approx(truth, abs=1.0)


@each_family
def test_of_what_is_missing_only_categories_are_filled_in(name):
    """Then MLED is CS less an entropy, and both are exact where no category is hidden."""
    problem = mixture(name, 30, missing=0.2, seed=4)
    theta = learn(problem, Options(starts=4)).model.theta
    at = ScoreInput(problem, theta)
    values = {s.name: s(at).value for s in choose_scores("cs,mled")}
    counts, natural = at.complete_counts, conjugacy.natural(theta, problem.layout)
    entropy = at.log_lik - problem.log_base - counts @ natural
    assert values["mled"] == pytest.approx(values["cs"] - entropy, abs=1e-9)
    assert 0 < entropy < 30 * 2 * math.log(2)
    codes = np.where(np.arange(1, 4) == 2, 0, problem.codes)  # all rows show the category
    shown = problem_of_codes(codes, problem.counts, problem.network, problem.alpha)
    one = with_sizes(shown, {0: 1})
    assert one.exact
    at = ScoreInput(one, learn(one).model.theta)
    for score in choose_scores("cs,mled,vb"):
        assert score(at).value == pytest.approx(one.log_seen, abs=1e-8)


@each_family
def test_more_data_bring_laplace_and_csl_to_the_truth(name):
    """One class: everything is seen, and the evidence is exact; both must come near to it."""
    problem = mixture(name, 400, classes=1)
    exact = problem.log_seen
    theta = learn(problem).model.theta
    at = ScoreInput(problem, theta)
    for score in choose_scores("laplace,csl,cs"):
        assert score(at).value == pytest.approx(exact, abs=0.02)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "method"),
    [
        *((name, Method.SMC) for name in FAMILIES),
        *((name, Method.AIS) for name in ("gaussian", "poisson")),
    ],
)
def test_measured_evidence_is_the_exact_sum(name, method):
    problem = mixture(name, 8, missing=0.1, seed=5)
    truth = exact_evidence(name, problem)
    estimate = measure(problem, method, Goal(0.03, 6000.0), seed=1)
    assert estimate.stderr <= 0.05
    assert estimate.value == pytest.approx(truth, abs=4 * estimate.stderr + 0.005)


def test_predictions_of_categories_are_the_quotients_of_the_kernels():
    problem = mixture("geometric", 5)
    network, layout = problem.network, problem.layout
    A = np.random.default_rng(0).uniform(0.5, 3.0, (4, layout.size))
    root = np.arange(2)[:, None]  # the two states of the class
    means = np.stack([conjugacy.mean(x, layout) for x in A])
    np.testing.assert_allclose(np.exp(log_predictive(network, A, root)), means[:, :2], rtol=1e-12)


def test_a_likelihood_without_maximum_is_not_climbed():
    problem = mixture("gaussian", 20)
    with pytest.raises(OptionError, match=r"'first' is continuous.*estimate='map'"):
        learn(problem, Options(estimate=Estimate.ML))
    few = mixture("common", 3, classes=3)
    with pytest.raises(OptionError, match=r"different values.*only from 4 up.*estimate='map'"):
        learn(few, Options(estimate=Estimate.ML))
