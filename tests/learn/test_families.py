"""Families that only the tests know go through learning, scores and measured evidence."""

import itertools
import math

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp

from lacunet.evidence.clock import Goal
from lacunet.evidence.measure import Method, measure
from lacunet.inference.curvature.coordinates import free_coordinates
from lacunet.inference.curvature.hessian import negative_hessian, softmax_hessian
from lacunet.inference.expectation import expect
from lacunet.inference.problem import problem_of_codes
from lacunet.inference.sampling.predicting import log_predictive
from lacunet.learn.fit import Options, learn
from lacunet.learn.objective import Estimate, Objective
from lacunet.learn.variational import at_theta, vary
from lacunet.model import conjugacy
from lacunet.model.network import Network, Variable
from lacunet.scores import choose_scores
from lacunet.scoring.score_input import ScoreInput
from toy_families import Geometric, Poisson

FAMILIES = {"geometric": Geometric(), "poisson": Poisson()}
each_family = pytest.mark.parametrize("name", FAMILIES)


def log_integral(name, hyper):
    """Closed forms, written here once more."""
    if name == "geometric":
        return gammaln(hyper).sum() - gammaln(hyper.sum())
    return gammaln(hyper[0]) - hyper[0] * math.log(hyper[1])


def statistics(name, x):
    return np.array([1.0, x]) if name == "geometric" else np.array([x, 1.0])


def mixture(name, rows, *, classes=2, seed=0, holes=0.0):
    """A hidden root over a count, a category, and a count: a mixed table with holes."""
    rng = np.random.default_rng(seed)
    largest = 12
    z = rng.integers(0, classes, rows)
    first = np.minimum(rng.poisson(np.array([1.0, 6.0, 9.0])[z]), largest)
    second = np.minimum(rng.poisson(np.array([5.0, 1.0, 9.0])[z]), largest)
    colour = (rng.random(rows) < np.array([0.2, 0.8, 0.5])[z]).astype(int)
    codes = np.stack([first, colour, second], axis=1).astype(np.int8)
    codes[rng.random(codes.shape) < holes] = -1
    values = tuple(range(largest + 1))
    family = FAMILIES[name]
    network = Network.build(
        [
            Variable("class", tuple(range(1, classes + 1)), hidden=True),
            Variable("first", values, family=family),
            Variable("colour", ("red", "blue")),
            Variable("second", values, family=family),
        ],
        [(), (0,), (0,), (0,)],
    )
    alpha = np.full(network.layout.size, 1.5)
    return problem_of_codes(codes, np.ones(rows), network, alpha)


def exact_evidence(name, problem):
    """The sum over all ways to put the rows into classes, by closed forms alone."""
    k, alpha = problem.layout.cards[0], 1.5
    terms = []
    for world in itertools.product(range(k), repeat=len(problem.codes)):
        sizes = np.bincount(world, minlength=k)
        total = gammaln(k * alpha) - gammaln(k * alpha + len(world))
        total += np.sum(gammaln(alpha + sizes) - gammaln(alpha))
        for column in (0, 2):
            for c in range(k):
                values = [r[column] for r, z in zip(problem.codes, world, strict=True) if z == c]
                seen = [x for x in values if x >= 0]
                prior = np.full(2, alpha)
                T = sum((statistics(name, x) for x in seen), np.zeros(2))
                total += log_integral(name, prior + T) - log_integral(name, prior)
                if name == "poisson":
                    total -= sum(gammaln(x + 1.0) for x in seen)
        for c in range(k):
            colours = [r[1] for r, z in zip(problem.codes, world, strict=True) if z == c]
            N = np.array([colours.count(0), colours.count(1)], dtype=float)
            total += gammaln(2 * alpha) - gammaln(2 * alpha + N.sum())
            total += np.sum(gammaln(alpha + N) - gammaln(alpha))
        terms.append(total)
    return float(logsumexp(terms))


def log_lik(name, problem, theta):
    """The likelihood of a mixture, row by row."""
    layout, total = problem.layout, 0.0
    tables = [layout.table(theta, i) for i in range(4)]
    for row in problem.codes:
        p = tables[0].copy()
        for i, x in enumerate(row, start=1):
            if x < 0:
                continue
            if i == 2:
                p = p * tables[2][:, x]
            elif name == "geometric":
                p = p * tables[i][:, 0] * tables[i][:, 1] ** x
            else:
                rate = tables[i][:, 0]
                p = p * np.exp(-rate + x * np.log(rate) - gammaln(x + 1.0))
        total += math.log(p.sum())
    return total


@each_family
def test_likelihood_and_gradient(name):
    problem = mixture(name, 30, holes=0.2)
    layout = problem.layout
    theta = conjugacy.random_theta(layout, np.random.default_rng(1))
    found = expect(problem, theta)
    assert found.log_lik == pytest.approx(log_lik(name, problem, theta), rel=1e-12)
    gradient = conjugacy.pull_back(theta, found.N, layout)
    for position in free_coordinates(layout, theta).free:
        phi, h = np.zeros(layout.size), 1e-5
        phi[position] = h
        up, down = (conjugacy.moved(theta, s * phi, layout) for s in (1.0, -1.0))
        slope = (log_lik(name, problem, up) - log_lik(name, problem, down)) / (2 * h)
        assert gradient[position] == pytest.approx(slope, abs=1e-6)


@each_family
@pytest.mark.parametrize("estimate", Estimate)
def test_em_never_falls_and_ends_at_a_maximum(name, estimate):
    problem = mixture(name, 120, holes=0.1)
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
    problem = mixture(name, 60, holes=0.1)
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
            there = conjugacy.moved(theta, sign * phi, layout)
            N = expect(problem, there).N + problem.alpha
            sides.append(conjugacy.pull_back(there, N, layout)[coordinates.free])
        numeric[:, column] = -(sides[0] - sides[1]) / (2 * h)
    np.testing.assert_allclose(A, numeric, atol=1e-4 * np.abs(A).max())
    # In θ: |A| at the maximum, by differences of g itself, parameter by parameter.
    in_theta = negative_hessian(problem, theta, coordinates)
    sign, log_det = np.linalg.slogdet(in_theta)
    assert sign > 0
    assert math.isfinite(log_det)


@each_family
def test_scores_are_bounds_or_near_the_exact_evidence(name):
    problem = mixture(name, 9, holes=0.1, seed=3)
    truth = exact_evidence(name, problem)
    theta = learn(problem, Options(starts=16)).model.theta
    at = ScoreInput(problem, theta)
    values = {s.name: s(at).value for s in choose_scores("laplace,csl,vb,cs,mled,bic,draper")}
    assert all(math.isfinite(x) for x in values.values())
    assert values["cs"] <= values["vb"] + 1e-9 <= truth + 2e-9
    start = at_theta(problem, theta)
    assert vary(start).bound >= start.bound
    assert values["csl"] + math.log(2) == pytest.approx(truth, abs=1.0)


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
@each_family
@pytest.mark.parametrize("method", [Method.SMC, Method.AIS])
def test_measured_evidence_is_the_exact_sum(name, method):
    problem = mixture(name, 8, holes=0.1, seed=5)
    truth = exact_evidence(name, problem)
    found = measure(problem, method, Goal(target=0.03, budget=120), seed=1)
    assert found.stderr <= 0.05
    assert found.value == pytest.approx(truth, abs=4 * found.stderr + 0.005)


def test_predictions_of_categories_are_the_quotients_of_the_kernels():
    problem = mixture("geometric", 5)
    network, layout = problem.network, problem.layout
    A = np.random.default_rng(0).uniform(0.5, 3.0, (4, layout.size))
    root = np.arange(2)[:, None]  # the two states of the class
    means = np.stack([conjugacy.mean(x, layout) for x in A])
    np.testing.assert_allclose(np.exp(log_predictive(network, A, root)), means[:, :2], rtol=1e-12)
