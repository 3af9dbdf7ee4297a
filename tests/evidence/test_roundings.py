"""Evidence with weights that are not whole numbers: roundings, and what they are brought to."""

import math
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy.special import logsumexp

import lacunet
from lacunet.evidence.annealing import Goal
from lacunet.evidence.estimate import Method, Verdict
from lacunet.evidence.exact import exact_evidence
from lacunet.evidence.measure import measure
from lacunet.evidence.roundings import bound_near, mean_of_roundings, rounded, roundings
from lacunet.fitting.diagnose import at_theta, vary
from lacunet.fitting.fit import Options, learn
from lacunet.flags import Kind
from lacunet.inference.classes import expect
from lacunet.models import conjugacy
from lacunet.models.known import Relabelling
from problems import Case, build, make, make_case

COUNTS = arrays.arrays(np.float64, st.integers(1, 15), elements=st.floats(0.0, 9.0))


@given(COUNTS, st.integers(1, 9), st.integers(0, 99))
def test_roundings_are_whole_and_near(counts, number, seed):
    result = rounded(counts, number, seed)
    assert len(result) == number
    for whole in result:
        assert (whole == np.round(whole)).all()
        assert (np.abs(whole - counts) < 1.0 + 1e-9).all()
        assert abs(whole.sum() - counts.sum()) < 1.0 + 1e-9
    assert (np.abs(np.mean(result, axis=0) - counts) < 1.0 / number + 1e-9).all()


def test_each_count_keeps_its_mean():
    counts = np.array([0.3, 1.9, 2.0, 0.05])
    mean = np.mean([rounded(counts, 1, seed)[0] for seed in range(4000)], axis=0)
    np.testing.assert_allclose(mean, counts, atol=0.03)


def test_the_error_of_a_mean():
    """Independent values: the spread, widened as Student's t is; never below their own errors."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(6, 2)) * [1.0, 0.0]
    mean, covariance = mean_of_roundings(values, np.full((6, 2), 0.5))
    np.testing.assert_allclose(mean, values.mean(axis=0))
    assert covariance[0, 0] == pytest.approx(values[:, 0].var(ddof=1) / 6 * 5 / 3)
    assert covariance[1, 1] == pytest.approx(0.5**2 / 6)


def tiny(seed, leaves=3, rows=40):
    """Two classes, with weights of a survey."""
    case = make_case([2] * leaves, 2, rows, seed=seed, alpha=1.0)
    rng = np.random.default_rng(seed)
    return Case(
        case.network, case.theta, case.alpha, case.codes, case.counts * rng.uniform(0.2, 1.3)
    )


def log_pseudo_evidence(problem, draws, rng):
    """Log ∫ p(θ) Π p(row|θ)^w dθ by importance sampling from wide Dirichlets; with its error."""
    theta = learn(problem, Options(starts=8)).model.theta
    layout, N = problem.layout, vary(at_theta(problem, theta)).N
    root = problem.network.hidden[0]
    proposals = [problem.alpha] + [
        Relabelling(layout, orders={root: order}).apply(problem.alpha + part * N)
        for part in (0.4, 0.15)
        for order in ([0, 1], [1, 0])
    ]
    logs = np.concatenate([conjugacy.draw(np.tile(a, (draws, 1)), layout, rng) for a in proposals])
    densities = [logs @ a - conjugacy.log_integral(a[None], layout)[0] for a in proposals]
    mixture = logsumexp(densities, axis=0) - math.log(len(proposals))
    log_lik = np.array([expect(problem, np.exp(x)).log_lik for x in logs])
    weights = log_lik + densities[0] - mixture
    value = float(logsumexp(weights)) - math.log(len(weights))
    return value, float(np.exp(weights - value).std()) / math.sqrt(len(weights))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_it_is_the_evidence_of_the_pseudo_likelihood(seed):
    """Small enough to integrate over θ itself; exact sums for the roundings."""
    problem = tiny(seed).problem
    assert not problem.whole
    truth, error = log_pseudo_evidence(problem, 3000, np.random.default_rng(seed))
    estimate = measure(problem, Method.EXACT)
    assert abs(estimate.value - truth) < 3 * math.hypot(estimate.stderr, error)
    assert estimate.stderr < 0.3
    assert estimate.verdict is Verdict.RELIABLE
    assert estimate.notes[0].kind is Kind.WEIGHTS_ROUNDED
    # Without the bound the mean over roundings would be far less sure.
    raw = [exact_evidence(whole).value for whole in roundings(problem, 0)]
    assert np.std(raw) > 2 * estimate.stderr


def test_whole_weights_are_measured_as_ever():
    case = make_case([2, 2, 2], 2, 30, seed=3, alpha=1.0)
    assert case.problem.whole
    assert measure(case.problem).verdict is Verdict.EXACT


def test_nothing_hidden_is_exact_with_any_weights():
    network = build("a>b", {"a": 2, "b": 3})
    case = make(network, 20, seed=1, counts=np.linspace(0.1, 2.0, 20))
    estimate = measure(case.problem)
    assert estimate.verdict is Verdict.EXACT
    theta = learn(case.problem).model.theta
    assert estimate.value == pytest.approx(bound_near(case.problem, theta))


@pytest.mark.slow
def test_a_rounding_that_is_a_lower_bound_makes_all_one():
    case = make_case([3] * 6, 3, 60, seed=2, alpha=1.0)
    heavy = replace(case, counts=case.counts * 1.3)
    estimate = measure(heavy.problem, Method.AIS, Goal(target=1e-9, budget=0.01))
    assert estimate.verdict is Verdict.LOWER_BOUND
    assert estimate.stderr is None
    assert math.isfinite(estimate.value)


def test_weights_of_almost_nothing():
    """No rounding may have a case in it; the prior is an answer too."""
    case = make_case([2, 2], 2, 2, seed=1, alpha=1.0)
    light = replace(case, counts=np.full(len(case.counts), 0.1))
    estimate = measure(light.problem)
    assert math.isfinite(estimate.value)
    assert -1.0 < estimate.value < 0.0


def sample(seed, *, people=400):
    """Five independent yes/no answers; people with nearly constant answers are drawn more often.

    So answers go together in the sample, and not in the population.
    """
    rng = np.random.default_rng(seed)
    population = rng.integers(0, 2, (20_000, 5))
    yes = population.sum(axis=1)
    often = np.where((yes <= 1) | (yes >= 4), 5.0, 1.0)
    drawn = rng.choice(len(population), people, replace=False, p=often / often.sum())
    return population[drawn], often.sum() / often[drawn] / people


def one_class(rows, weights, **options):
    """How probable one class is, and not two."""
    data = pl.DataFrame({**{f"q{i}": rows[:, i] for i in range(5)}, "w": weights})
    scores = {"scores": "csl-occupied", "starts": 8, "threads": 1, "alpha": 1.0}
    return lacunet.select(data, [1, 2], weights="w", **scores, **options).certainty.probabilities[1]


@pytest.mark.slow
def test_a_survey_finds_the_classes_of_the_population():
    """The sample by itself shows two groups; weights as counts are sure of what is noise."""
    for seed in range(3):
        rows, weights = sample(seed)
        assert one_class(rows, np.ones(len(rows)), quick=True) < 0.001
        assert one_class(rows, weights, weights_as="frequency", quick=True) < 0.001
        assert one_class(rows, weights, quick=True) > 0.7
    assert one_class(*sample(0)) > 0.5  # measured


def test_the_answer_reports_the_meaning_of_weights():
    rows, weights = sample(5, people=60)
    data = pl.DataFrame({**{f"q{i}": rows[:, i] for i in range(5)}, "w": weights})
    selection = lacunet.select(data, [1, 2], weights="w", starts=2, threads=1, quick=True)
    effective = weights.sum() ** 2 / (weights**2).sum()
    message = (
        f"effective sample size: {effective:.4g} of 60 rows (design effect {60 / effective:.2f})"
    )
    assert message in " ".join(str(selection).split())


@pytest.mark.slow
def test_a_constant_changes_no_answer():
    rows, weights = sample(3, people=100)
    one, other = (one_class(rows, c * weights) for c in (1.0, 1024.0))
    assert one == other
