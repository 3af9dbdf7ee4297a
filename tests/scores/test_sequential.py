"""Sequential updating: against the enumeration plan and exact values; what it says of itself."""

import math
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from enumeration import enumerated
from examples import examples
from lacunet.data.datasets import load_dataset
from lacunet.errors import DataError
from lacunet.evidence.exact import exact_evidence, terms
from lacunet.flags import Flag, Kind
from lacunet.inference.plans.trees import TreePlan
from lacunet.inference.sampling import particles as sequential
from lacunet.inference.sampling.particles import run_passes
from lacunet.learn.fit import Options
from lacunet.model.conjugacy import log_marginal as log_bd
from lacunet.scores import ScoreInput
from lacunet.scores.sequential import SEQUENTIAL
from problems import MODES, Case, build, engine, make, make_case, network_cases, problem_for

ALL = 10**9  # cases whose hidden values are drawn: every one
HIDDEN = build("H>a H>b G>b G>c a>c", {"H": 3, "G": 2, "a": 2, "b": 3, "c": 2}, "HG")
ONE_EACH = build("H>a H>b a>b", {"H": 3, "a": 2, "b": 3}, "H")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("network", [HIDDEN, ONE_EACH])
def test_a_pass_is_its_definition(network, mode):
    """Each row is one component with all families in it, and rows are sorted as components are."""
    alpha = np.random.default_rng(7).uniform(0.5, 3.0, network.layout.size)
    columns = [network.layout.cards[i] for i in network.observed]
    codes = np.array(np.unravel_index([0, 1, 3, 4, 5], columns)).T.astype(np.int8)
    case = Case(network, alpha, alpha, codes, np.ones(len(codes)))
    with engine(mode):
        (plan,) = case.problem.components.plans
    (definition,) = enumerated(case.problem).components.plans
    cases = np.array([3, 1, 0, 3, 4, 2])
    beliefs, theirs = (sequential._beliefs(case.problem) for _ in range(2))
    found = plan.pass_over(cases, 0, beliefs, np.random.default_rng(0))
    total = definition.pass_over(cases, 0, theirs, np.random.default_rng(0))
    assert found == pytest.approx(total, abs=1e-9)
    np.testing.assert_allclose(beliefs.eta, theirs.eta, rtol=1e-9)
    np.testing.assert_allclose(beliefs.total, network.layout.sum_k(beliefs.eta), rtol=1e-12)
    assert not beliefs.N.any()
    assert not beliefs.is_touched.any()


@examples(25)
@given(network_cases(complete=True, whole=True, max_rows=20))
def test_nothing_missing_is_bd(case):
    bd = float(log_bd(case.problem.seen, case.alpha, case.layout).sum())
    passes = run_passes(case.problem, orders=2)
    assert (passes.value, passes.mean) == (pytest.approx(bd), pytest.approx(bd))
    assert passes.deviation == 0
    found = SEQUENTIAL(ScoreInput(case.problem, case.theta))
    assert found.value == pytest.approx(bd)
    assert not found.flags


@examples(40)
@given(network_cases(complete=True, whole=True), st.integers(0, 1000))
def test_one_row_with_holes_is_exact(case, seed):
    """What was seen whole comes first, in closed form; parts of one row share no parameters."""
    holes = np.random.default_rng(seed).random(case.codes.shape[1]) < 0.5
    case.codes[-1, holes], case.counts[-1] = -1, 1.0
    truth = exact_evidence(case.problem).value
    for drawn in (0, ALL):
        passes = run_passes(case.problem, orders=3, drawn=drawn)
        np.testing.assert_allclose(passes.seen + passes.each, truth, atol=1e-10)


@pytest.mark.slow
@examples(20)
@given(network_cases(max_variables=4, max_rows=5, whole=True))
def test_imputation_is_unbiased(case):
    assume(1 < terms(case.problem) < 1e5)
    passes = run_passes(case.problem, orders=800, drawn=ALL)
    truth = exact_evidence(case.problem).value
    # 5 standard errors of the average of weights, not of its log: there is no bias at all then.
    assert math.exp(passes.value - truth) == pytest.approx(
        1.0, abs=5 * passes.stderr * math.exp(passes.value - truth) + 1e-9
    )


@pytest.mark.parametrize("seed", range(6))
def test_scattered_holes_are_nearly_exact(seed):
    """Where most is seen, mixtures are narrow, and it hardly matters who comes first."""
    network = build("a>b a>c b>d c>d", {"a": 2, "b": 3, "c": 2, "d": 2})
    case = make(network, 60, missing=0.08, seed=seed, alpha=1.0)
    truth = exact_evidence(case.problem).value
    passes = run_passes(case.problem, orders=64)
    assert passes.drawn == 0
    assert passes.value == pytest.approx(truth, abs=0.1)
    assert passes.deviation < 0.1
    assert run_passes(case.problem, orders=64, drawn=ALL).deviation > passes.deviation


def test_updating_alone_never_tells_symmetric_states_apart():
    """Without draws every case is shared out evenly: as if there were one class, learnt late."""
    problem = problem_for(load_dataset("carcinoma"), 2, alpha=1.0).problem
    truth = -357.31  # by long sampling runs
    assert run_passes(problem, orders=3, drawn=0).value < truth - 100
    assert run_passes(problem, orders=3).mean > truth - 60


# Evidence by long sampling runs, a = 1, all labellings.
EVIDENCE = {
    ("carcinoma", 2): -357.31,
    ("values", 2): -523.69,
    ("values", 3): -523.63,
    ("myocardial", 2): -201.11966052667,
    ("myocardial", 3): -201.71,
    ("myocardial", 4): -202.53,
}


@pytest.mark.slow
@pytest.mark.parametrize("which", EVIDENCE)
def test_reference_evidences(which):
    """The average of 400 orders; one order is ten nats lower, give or take ten."""
    name, classes = which
    problem = problem_for(load_dataset(name), classes, alpha=1.0).problem
    passes = run_passes(problem, orders=400)
    assert passes.value == pytest.approx(EVIDENCE[which], abs=1.0)
    assert passes.mean < EVIDENCE[which] - 2
    drawn = run_passes(problem, orders=400, drawn=ALL)
    assert drawn.value == pytest.approx(EVIDENCE[which], abs=5 * drawn.stderr + 0.01)


@pytest.mark.slow
def test_the_score_shows_how_orders_differ():
    problem = problem_for(load_dataset("values"), 2, alpha=1.0).problem
    at = ScoreInput(problem, np.full(problem.layout.size, 0.5))
    found = SEQUENTIAL(at)
    passes = run_passes(problem)
    assert found.value == pytest.approx(passes.value, abs=1e-9)
    assert found.terms["log p(seen whole)"] == 0.0
    assert found.terms["mean of Σ log p(case|earlier)"] == pytest.approx(passes.mean)
    assert found.stderr is None  # the spread between orders is no error bar of the truth
    assert f"{passes.mean:.2f} ± {passes.deviation:.2f} nats, over 256 orders" in str(
        found.flags[0]
    )
    assert found.flags[0].kind is Kind.ORDERS_DIFFER
    large = make_case([2] * 24, 6, 150, seed=1).problem
    at = ScoreInput(large, np.full(large.layout.size, 0.5))
    assert Kind.ONE_ORDER_COUNTS in [flag.kind for flag in SEQUENTIAL(at).flags]


def test_the_same_seed_gives_the_same_value():
    case = make(HIDDEN, 30, missing=0.1, seed=2)
    at = ScoreInput(case.problem, case.theta)
    other = ScoreInput(case.problem, case.theta, options=Options(seed=1))
    assert SEQUENTIAL(at) == SEQUENTIAL(at)
    assert SEQUENTIAL(at).value != SEQUENTIAL(other).value
    for drawn in (None, ALL):
        few, more = (run_passes(case.problem, orders=n, drawn=drawn).each for n in (3, 5))
        np.testing.assert_array_equal(few, more[:3])  # a pass has a seed of its own


def test_parts_of_cases_are_refused():
    case = make(ONE_EACH, 3, counts=[1.0, 2.5, 1.0])
    with pytest.raises(DataError, match="whole"):
        run_passes(case.problem)
    found = SEQUENTIAL(ScoreInput(case.problem, case.theta))
    assert math.isnan(found.value)
    assert found.flags == (Flag(Kind.FRACTIONAL_CASES, detail={"weight": 2.5}),)


def test_how_many_cases_are_drawn():
    seen = make(build("a>b", {"a": 3, "b": 2}), 5, missing=0.3, seed=1)
    assert sequential.drawn_by_default(seen.problem) == 0
    assert sequential.drawn_by_default(make(HIDDEN, 4).problem) == 12
    never = Case(seen.network, seen.theta, seen.alpha, seen.codes.copy(), seen.counts)
    never.codes[:, 0] = -1  # a column without a value is as hidden as a hidden variable
    assert sequential.drawn_by_default(never.problem) == 12
    assert run_passes(make(HIDDEN, 4).problem, orders=1).drawn == 4  # there are no more


def test_larger_problems_get_fewer_orders():
    problem = make_case([2] * 5, 3, 40, seed=1).problem
    assert len(run_passes(problem).each) == 256
    touched = (5 + 1) * 3 * 40
    with patch.object(sequential, "ENOUGH", 100 * touched):
        assert len(run_passes(problem).each) == 100
    with patch.object(sequential, "ENOUGH", touched), engine("trees only"):
        trees = make_case([2] * 5, 3, 40, seed=1).problem
        assert isinstance(trees.components.plans[0], TreePlan)
        assert len(run_passes(trees).each) == 8
