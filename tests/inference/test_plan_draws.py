"""Draws of any plan: each is one of the joint states, and all come as often as they should."""

import numpy as np
import pytest
from hypothesis import given
from scipy.stats import chi2

from enumeration import conditional, enumerated, indicators
from examples import examples
from lacunet.inference.classes import safe_log
from problems import MODES, engine, make, network_cases
from row_by_row import NETWORKS, RowByRow, particles_of

modes = pytest.mark.parametrize("mode", MODES)
networks = pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
MANY = 400  # draws of one case


def exponents(case, seed=0):
    return np.random.default_rng(seed).uniform(0.3, 3.0, case.layout.size)


def check_frequencies(drawn, cells, p):
    """Draws (n, size) of one case: joint states, with these probabilities."""
    states = {u.tobytes(): i for i, u in enumerate(indicators(cells, drawn.shape[1]))}
    result = np.bincount([states[N.tobytes()] for N in drawn], minlength=len(cells))
    assert not result[p == 0].any()
    expected = p * len(drawn)
    rare = expected < 5  # taken together
    result = np.append(result[~rare], result[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    used = expected > 0
    statistic = ((result - expected)[used] ** 2 / expected[used]).sum()
    # One of thousands of comparisons; a wrong distribution is wrong beyond any of them.
    assert chi2.sf(statistic, max(1, used.sum() - 1)) > 1e-6


@modes
@examples(25)
@given(case=network_cases(zeros=True, max_rows=4, max_variables=5))
def test_drawn_cells(mode, case):
    with engine(mode):
        rows = RowByRow(case)
    (enumeration,) = enumerated(case.problem).components.plans
    x, rng = safe_log(case.theta), np.random.default_rng(3)
    for row, cells in enumerate(enumeration.cells):
        drawn = rows.draw(row, np.tile(x, (MANY, 1)), rng)
        check_frequencies(drawn, cells, conditional(x, cells)[1])


@modes
@networks
def test_many_cases_drawn_at_once(mode, network):
    case = make(network, 8, missing=0.2, seed=3, counts=[1, 2, 40, 900] * 2)
    with engine(mode):
        components = case.problem.components
    (enumeration,) = enumerated(case.problem).components.plans
    x, rng = np.tile(safe_log(case.theta), (MANY, 1)), np.random.default_rng(5)
    drawn = np.tile(components.seen, (MANY, 1))
    for plan in components.plans:
        plan.draw(x, plan.counts, rng, drawn)
    same = np.zeros_like(drawn[:20])
    enumeration.draw(x[:20], case.counts, rng, same)
    covariance = enumeration.covariance(x[0])
    N = np.zeros((1, case.layout.size))
    enumeration.expect(x[:1], N)
    for result in (drawn, same):
        assert (result == np.round(result)).all()
        deviation = result.mean(axis=0) - N[0]
        error = np.sqrt(np.maximum(np.diag(covariance), 0.0) / len(result))
        assert (np.abs(deviation) <= 4.5 * error + 1e-9).all()
    varies = np.diag(covariance) > 1.0
    covariance, unit = covariance[np.ix_(varies, varies)], np.sqrt(np.diag(covariance)[varies])
    spread = np.cov(drawn.T[varies])
    assert (np.abs(spread - covariance) / np.outer(unit, unit)).max() < 6 / np.sqrt(MANY)


@modes
@examples(25)
@given(case=network_cases(whole=True, max_rows=4, max_variables=5))
def test_particles_take_in_a_case(mode, case):
    """A case weighs the same for all that believe the same; what is drawn is what is counted."""
    with engine(mode):
        rows = RowByRow(case)
    (enumeration,) = enumerated(case.problem).components.plans
    layout, rng = case.layout, np.random.default_rng(4)
    A = exponents(case)
    mean = np.log(A / layout.spread(layout.sum_k(A)))
    for row, cells in enumerate(enumeration.cells):
        one = particles_of(A[None, :], layout)
        enumeration.take_in([row], one, 0.0, rng)
        particles = particles_of(np.tile(A, (MANY, 1)), layout)
        rows.take_in(row, particles, rng)
        np.testing.assert_allclose(
            particles.log_weights, one.log_weights[0], rtol=1e-11, atol=1e-11
        )
        np.testing.assert_allclose(
            particles.A_ij, [layout.sum_k(x) for x in particles.A], rtol=1e-12
        )
        check_frequencies(np.round(particles.A - A, 9), cells, conditional(mean, cells)[1])
        if len(cells) == 1:
            np.testing.assert_array_equal(particles.A[0], one.A[0])


@modes
@networks
def test_particles_stop_when_few_of_them_count(mode, network):
    case = make(network, 12, missing=0.3, seed=6)
    with engine(mode):
        plans = case.problem.components.plans
    layout, rng = case.layout, np.random.default_rng(0)
    for plan in plans:
        cases = np.repeat(np.arange(len(plan.counts)), 3)
        A = np.random.default_rng(1).uniform(0.2, 4.0, (30, layout.size))
        assert plan.take_in(cases, particles_of(A, layout), 0.0, rng) == len(cases)
        assert plan.take_in(cases, particles_of(A, layout), 31.0, rng) == 1
        particles = particles_of(A, layout)
        taken = plan.take_in(cases, particles, 25.0, rng)
        w = np.exp(particles.log_weights - particles.log_weights.max())
        assert w.sum() ** 2 / (w**2).sum() < 25.0 or taken == len(cases)
        families = [c.cells.shape[1] for c in plan.choices()]
        counted = np.array([families[c] for c in cases[:taken]]).sum()
        np.testing.assert_allclose((particles.A - A).sum(axis=1), counted)


@modes
@networks
def test_weights_of_particles_agree_over_many_cases(mode, network):
    """The mean weight is the probability of all cases; that of both plans, within their errors."""
    case = make(network, 6, missing=0.2, seed=7)
    with engine(mode):
        rows = RowByRow(case)
    (enumeration,) = enumerated(case.problem).components.plans
    layout, A = case.layout, exponents(case)
    ours = particles_of(np.tile(A, (MANY, 1)), layout)
    rng = np.random.default_rng(8)
    for row in range(len(case.codes)):
        rows.take_in(row, ours, rng)
    theirs = particles_of(np.tile(A, (MANY // 2, 1)), layout)
    enumeration.take_in(np.arange(len(case.codes)), theirs, 0.0, rng)
    top = ours.log_weights.max()
    w, v = (np.exp(particles.log_weights - top) for particles in (ours, theirs))
    error = np.hypot(w.std() / np.sqrt(len(w)), v.std() / np.sqrt(len(v)))
    assert w.mean() == pytest.approx(v.mean(), abs=4.5 * error)
