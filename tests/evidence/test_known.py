"""The evidence of networks with fixed tables, tied tables and zeros: exact, and measured."""

import numpy as np
import pytest
from hypothesis import assume, given

import knowing
from examples import examples
from knowing import known_cases, whole_alphas
from lacunet.evidence.annealing import Goal
from lacunet.evidence.estimate import Method
from lacunet.evidence.exact import exact_evidence
from lacunet.evidence.measure import measure
from lacunet.evidence.smc import run_particles
from lacunet.fitting.diagnose import at_theta, vary
from lacunet.inference.problem import problem_of_codes
from lacunet.models.conjugacy import random_theta
from lacunet.models.known_tables import KnownTables
from lacunet.models.network import Model, Network, Variable
from lacunet.models.prior import dirichlet
from lacunet.models.surgery import sample_codes
from lacunet.scores import SCORES, ScoreInput


@examples(40)
@given(case=known_cases(max_variables=4, max_rows=4))
def test_exact_sums_are_those_over_all_completions(case):
    assume(case.worlds <= 600)
    exact = exact_evidence(case.problem).value
    expected = knowing.log_evidence(case.network, whole_alphas(case), case.cases)
    np.testing.assert_allclose(exact, expected, rtol=1e-10, atol=1e-10)
    assert vary(at_theta(case.problem, case.theta)).bound <= exact + 1e-9


@examples(30)
@given(case=known_cases(max_variables=5, max_rows=6, hidden=False))
def test_complete_data_have_a_closed_form(case):
    complete = (case.codes >= 0).all(axis=1)
    assume(complete.any())
    rows = case.codes[complete]
    problem = problem_of_codes(rows, np.ones(len(rows)), case.network, case.alpha)
    cases = [tuple(row) for row in rows.tolist()]
    expected = knowing.log_evidence(case.network, whole_alphas(case), cases)
    assert problem.exact
    np.testing.assert_allclose(problem.log_seen, expected, rtol=1e-10, atol=1e-10)


def markov(length=3):
    """A hidden chain whose steps are one table, and so are its signals, of which one cannot be."""
    hidden = [Variable(f"h{t}", (0, 1), hidden=True) for t in range(length)]
    seen = [Variable(f"x{t}", (0, 1, 2)) for t in range(length)]
    links = [(), *((t,) for t in range(length - 1))]
    network = Network.build([*hidden, *seen], [*links, *((t,) for t in range(length))])
    return KnownTables(
        tied=[[v.name for v in hidden[1:]], [v.name for v in seen]],
        zeros=[{"child": "x0", "state": 2, "given": {"h0": 1}}],
    ).of(network)


def screening():
    """A test with known errors, a question that is skipped, and two raters that are alike."""
    network = Network.build(
        [
            Variable("ill", ("no", "yes"), hidden=True),
            Variable("test", ("no", "yes")),
            Variable("one", ("no", "yes")),
            Variable("two", ("no", "yes")),
            Variable("smokes", ("no", "yes")),
            Variable("how much", ("none", "some", "much")),
        ],
        [(), (0,), (0,), (0,), (), (4, 0)],
    )
    skipped = {"child": "how much", "given": {"smokes": "no"}}
    return KnownTables(
        fixed=[{"child": "test", "parents": ["ill"], "table": [[0.9, 0.1], [0.2, 0.8]]}],
        tied=[["one", "two"]],
        zeros=[{**skipped, "state": "some"}, {**skipped, "state": "much"}],
    ).of(network)


@pytest.mark.parametrize("method", [Method.SMC, Method.AIS])
@pytest.mark.parametrize("make", [markov, screening])
def test_measured_and_exact_evidence_agree(make, method):
    network = make()
    rng = np.random.default_rng(7)
    alpha = dirichlet(network, 1.2)
    truth = Model(network, random_theta(network.layout, rng), alpha)
    codes = sample_codes(truth, 8 if make is markov else 14, rng, 0.2)
    problem = problem_of_codes(codes, np.ones(len(codes)), network, alpha)
    exact = exact_evidence(problem).value
    estimate = measure(problem, method, Goal(0.03, 6000.0))
    assert estimate.stderr is not None
    assert abs(estimate.value - exact) < 4.0 * estimate.stderr + 1e-6


def test_particles_take_fixed_tables_without_ties():
    """By the kernels themselves: a known table has cases without number."""
    network = Network.build(
        [
            Variable("h", (0, 1), hidden=True),
            *(Variable(name, (0, 1)) for name in "abc"),
        ],
        [(), (0,), (0,), (0,)],
    )
    network = KnownTables(
        fixed=[{"child": "a", "parents": ["h"], "table": [[0.9, 0.1], [0.3, 0.7]]}],
        zeros=[{"child": "b", "state": 1, "given": {"h": 0}}],
    ).of(network)
    alpha = dirichlet(network, 1.0)
    rng = np.random.default_rng(0)
    truth = Model(network, random_theta(network.layout, rng), alpha)
    codes = sample_codes(truth, 25, rng, 0.1)
    problem = problem_of_codes(codes, np.ones(25), network, alpha)
    runs = [run_particles(problem, 64, (1, n)) for n in range(24)]
    logs = np.array([run.log_evidence for run in runs])
    weights = np.exp(logs - logs.max())
    value = np.log(weights.mean()) + logs.max()
    error = weights.std(ddof=1) / weights.mean() / np.sqrt(len(logs))
    assert abs(value - exact_evidence(problem).value) < 4.0 * error
    cases = sum(float(plan.counts.sum()) for plan in problem.components.plans)
    root = problem.layout.block(0)
    for run in runs:  # counts stand for all cases, in known tables too
        hidden = run.exponents - problem.prior
        assert np.allclose(hidden[:, root].sum(axis=1), cases)
        assert np.allclose(hidden, np.round(hidden))


def test_scores_near_the_evidence_are_near_it_with_tables_that_are_known():
    network = screening()
    rng = np.random.default_rng(2)
    alpha = dirichlet(network, 1.5)
    truth = Model(network, random_theta(network.layout, rng), alpha)
    codes = sample_codes(truth, 40, rng, 0.1)
    problem = problem_of_codes(codes, np.ones(40), network, alpha)
    exact = exact_evidence(problem).value
    at = ScoreInput(problem, truth.theta)
    near = {score.name: score(at) for score in SCORES if score.name in ("csl", "vb")}
    assert abs(near["csl"].value - exact) < 0.5
    assert near["vb"].value < exact
    undefined = {score.name for score in SCORES if not score.applies(problem)}
    assert undefined == {"bd"}
