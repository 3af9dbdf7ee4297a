"""CSL, and the Gaussian at the mode of the softmax basis: formulas, references and limits."""

import math

import numpy as np
import pytest
from hypothesis import given

from examples import examples
from lacunet.data.read import load_dataset
from lacunet.data.table import Table
from lacunet.fitting.fit import Options, learn
from lacunet.fitting.objective import Estimate
from lacunet.inference.classes import expect
from lacunet.inference.problem import problem_of_codes
from lacunet.models.conjugacy import log_jacobian, log_prior
from lacunet.models.network import Model
from lacunet.scores import BD, CS, CSL, ScoreInput
from problems import build, cases, make, make_case, network_cases, problem_for


def laplace_phi(here):
    """Laplace's approximation at the softmax mode: what CSL corrects Cheeseman–Stutz by."""
    mode, layout = here.softmax, here.problem.layout
    prior = log_prior(mode.point.theta, here.problem.alpha, layout)
    prior += log_jacobian(mode.point.theta, layout)
    volume = here.parameters / 2 * math.log(2 * math.pi) - mode.log_det / 2
    return mode.point.log_lik + prior + volume


def at(case, theta=None):
    return ScoreInput(case.problem, case.theta if theta is None else theta)


def fitted(case):
    return at(case, learn(case.problem).model.theta)


# Computed elsewhere: CSL + log c! with a = 1.
CSL_CARCINOMA = {2: -357.20, 3: -351.35, 4: -353.39, 5: -354.94}


@pytest.mark.parametrize(("classes", "value"), CSL_CARCINOMA.items())
def test_csl_of_the_carcinoma_data(classes, value):
    score = CSL(fitted(problem_for(load_dataset("carcinoma"), classes, alpha=1.0)))
    assert not score.flags
    assert score.value + math.lgamma(classes + 1) == pytest.approx(value, abs=0.006)


def test_csl_comes_near_to_an_exact_evidence():
    """Myocardial, two classes: the exact value is known; θ at its mode is 3 nats off."""
    here = fitted(problem_for(load_dataset("myocardial"), 2, alpha=1.0))
    truth = -201.11966052667 - math.log(2)
    assert CSL(here).value == pytest.approx(truth, abs=0.1)


def by_hand(case, theta):
    """Log p(D|φ) + log p(φ) + d/2 log 2π − ½ log|A|, with A by second differences, φ_last = 0."""
    layout, problem = case.layout, case.problem
    n = len(layout.cards)
    shapes = [layout.table(theta, i).shape for i in range(n)]
    blocks = [layout.table(theta, i).reshape(-1, layout.cards[i]) for i in range(n)]
    start = np.concatenate([np.log(b[:, :-1] / b[:, -1:]).reshape(-1) for b in blocks])

    def g(x):
        tables, used = [], 0
        for b, shape in zip(blocks, shapes, strict=True):
            size = b.shape[0] * (b.shape[1] - 1)
            phi = np.column_stack([x[used : used + size].reshape(b.shape[0], -1), np.zeros(len(b))])
            used += size
            p = np.exp(phi) / np.exp(phi).sum(axis=1, keepdims=True)
            tables.append(p.reshape(shape))
        flat = layout.flat(tables)
        density = log_prior(flat, problem.alpha, layout) + np.log(flat).sum()  # times |dθ/dφ|
        return expect(problem, flat).log_lik + density

    d, h = len(start), 1e-3
    step = h * np.eye(d)
    A = np.empty((d, d))
    for i in range(d):
        for j in range(d):
            ends = [a * b * g(start + a * step[i] + b * step[j]) for a in (1, -1) for b in (1, -1)]
            A[i, j] = -sum(ends) / (4 * h * h)
    return g(start) + d / 2 * math.log(2 * math.pi) - np.linalg.slogdet(A)[1] / 2


@pytest.mark.parametrize(
    ("cards", "classes", "missing", "alpha"),
    [([2] * 4, 2, 0.0, 1.0), ([3, 2, 3], 2, 0.2, 0.4), ([3, 3], 1, 0.1, 2.0)],
)
def test_the_gaussian_is_that_of_finite_differences(cards, classes, missing, alpha):
    case = make_case(cards, classes, 60, missing=missing, seed=9, alpha=alpha)
    here = at(case)
    expected = by_hand(case, here.softmax.point.theta)
    assert laplace_phi(here) == pytest.approx(expected, abs=1e-4)


@examples(30)
@given(cases(max_rows=20, max_classes=3, max_leaves=4))
def test_the_mode_is_where_em_with_alpha_stands_still(case):
    mode = at(case).softmax
    a = mode.point.N + case.problem.alpha
    still = a / case.layout.spread(case.layout.sum_k(a))
    np.testing.assert_allclose(mode.point.theta, still, atol=1e-5)
    assert mode.log_det is not None


@given(network_cases(complete=True, max_rows=20))
def test_nothing_hidden_makes_csl_exact(case):
    assert CSL(at(case)).value == pytest.approx(BD(at(case)).value, abs=1e-9)


@given(cases(max_classes=1, max_rows=20))
def test_one_class_with_missing_values_makes_csl_exact(case):
    assert CSL(at(case)).value == pytest.approx(BD(at(case)).value, abs=1e-9)


def test_the_gaussian_approaches_the_exact_value_as_data_grow():
    errors = []
    for rows in (50, 500, 5000):
        case = make_case([2] * 6, 1, rows, seed=2, alpha=1.0, true_classes=2)
        errors.append(abs(laplace_phi(at(case)) - BD(at(case)).value))
    assert errors[2] < errors[1] < errors[0]
    assert errors[2] * 5000 == pytest.approx(errors[1] * 500, rel=0.3)


def expected_data(leaves, cases):
    """Every row of binary leaves as often as two classes, alike but for 0 and 1, expect it."""
    rows = np.array(np.unravel_index(np.arange(2**leaves), [2] * leaves)).T
    ones = rows.sum(axis=1)
    p = (0.25**ones * 0.75 ** (leaves - ones) + 0.75**ones * 0.25 ** (leaves - ones)) / 2
    return Table.from_codes(rows, counts=cases * p)


def test_csl_and_laplace_lose_their_difference_as_data_grow_and_cs_does_not():
    """CSL − Laplace (φ) is O(1/N); CS keeps a constant, for hidden values stay unsure."""
    apart, lost = [], []
    for N in (300, 3000, 30000):
        here = fitted(problem_for(expected_data(5, N), 2, alpha=1.0))
        apart.append(CSL(here).value - laplace_phi(here))
        lost.append(CSL(here).value - CS(here).value)
    assert apart[1] == pytest.approx(apart[0] / 10, rel=0.1)
    assert apart[2] == pytest.approx(apart[0] / 100, rel=0.1)
    assert lost[2] > 1.0
    assert lost[2] == pytest.approx(lost[1], rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.05, 0.5, 1.0, 3.0])
def test_every_prior_has_a_mode(alpha):
    """The posterior of θ has none below 1; its parameters may even be on the boundary."""
    case = make_case([2, 3, 2], 2, 80, seed=3, missing=0.1, alpha=alpha)
    theta = learn(case.problem, Options(estimate=Estimate.ML, starts=8)).model.theta
    score = CSL(at(case, theta))
    assert math.isfinite(score.value)
    edge = case.theta.copy()
    edge[case.layout.block(0)] = [1.0, 0.0]
    assert math.isfinite(CSL(at(case, edge)).value)


def test_equal_classes_are_a_saddle_that_is_left():
    case = make_case([2] * 5, 2, 300, seed=4, alpha=1.0)
    _, *tables = case.tables()
    flat = case.layout.flat([[0.5, 0.5], *(np.tile(t.mean(axis=0), (2, 1)) for t in tables)])
    assert CSL(at(case, flat)).value == pytest.approx(CSL(fitted(case)).value, abs=1e-4)


def test_names_and_orders_do_not_matter():
    """To the precision of the climb: a gradient of 1e-6 cases moves log |A| by about as much."""
    network = build("a>H H>x H>y G>y G>z", {"a": 2, "H": 3, "G": 2, "x": 3, "y": 3, "z": 2}, "HG")
    case = make(network, 200, alpha=1.2, missing=0.1, seed=6)
    expected = CSL(at(case)).value
    model = Model(network, case.theta, case.alpha)
    names = [v.name for v in network.variables]
    model = model.permuted(names.index("H"), [2, 0, 1]).permuted(names.index("G"), [1, 0])
    rows = np.random.default_rng(0).permutation(len(case.codes))
    other = problem_of_codes(case.codes[rows], case.counts[rows], network, model.alpha)
    assert CSL(ScoreInput(other, model.theta)).value == pytest.approx(expected, abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8, 28))
def test_csl_stays_near_the_evidence_of_a_handful_of_rows(seed):
    """They see one labelling of two, or both where these overlap, and four rows are not N → ∞.

    So problems are fixed: where two classes are just about to become different, a Laplace
    approximation may be off by more.
    """
    rng = np.random.default_rng(seed)
    case = make_case(
        rng.integers(2, 5, rng.integers(1, 4)).tolist(),
        int(rng.integers(1, 3)),
        int(rng.integers(1, 5)),
        missing=rng.choice([0.0, 0.2]),
        seed=seed,
        alpha=rng.choice([1.0, 1.01, 1.5, 3.0]),
    )
    truth = case.log_evidence()
    assert truth - 1.5 < CSL(at(case)).value < truth + 1.0
