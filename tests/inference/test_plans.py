"""The contract of plans: whatever their shape, they say what the enumeration plan says."""

import itertools
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given

import oracle
from enumeration import enumerated
from examples import examples
from lacunet.inference.classes import complete_counts, safe_log
from lacunet.inference.plans import plan as contract
from lacunet.inference.plans.builder import Builder
from lacunet.inference.plans.plan import free_coordinates
from lacunet.runtime.executor import SERIAL, on_threads
from problems import MODES, engine, make, network_cases
from row_by_row import NETWORKS, RowByRow

modes = pytest.mark.parametrize("mode", MODES)
networks = pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)


def some_weights(case, seed=0):
    """Log weights: those of θ, and two vectors of numbers that are not probabilities."""
    others = np.random.default_rng(seed).standard_normal((2, case.layout.size))
    return np.vstack([safe_log(case.theta), others])


def expected(components, log_weights, executor=SERIAL):
    """(log-likelihoods, E[N]), what was seen among them."""
    N = np.tile(components.seen, (len(log_weights), 1))
    used = components.seen > 0
    seen = log_weights[:, used] @ components.seen[used]
    return sum((plan.expect(log_weights, N, executor) for plan in components.plans), seen), N


# The enumeration plan itself, against the joint distribution of all variables.


@examples(100)
@given(case=network_cases(zeros=True))
def test_the_enumeration_plan_sums_the_joint_distribution(case):
    problem, x = enumerated(case.problem), safe_log(case.theta)
    (plan,) = problem.components.plans
    log_z, N = plan.posterior(x, 0, case.layout.size)
    joint = oracle.joint(case.oracle())
    for i, row in enumerate(case.rows):
        q, z = oracle.row_posterior(joint, row)
        assert log_z[i] == pytest.approx(np.log(z), rel=1e-12, abs=1e-12)
        for f, table in enumerate(case.tables(N[i])):
            if table.any():  # a family that is not barren
                family = (*case.network.parents[f], f)
                np.testing.assert_allclose(table, oracle.marginal(q, family), atol=1e-12)
    expected = oracle.expected_counts(case.oracle(), case.rows, case.counts)
    for table, other in zip(
        case.tables(complete_counts(problem, case.theta)), expected, strict=True
    ):
        np.testing.assert_allclose(table, other, atol=1e-12)


# Expectations.


@modes
@examples(100)
@given(case=network_cases(zeros=True))
def test_expected_counts(mode, case):
    x = some_weights(case)
    with engine(mode):
        components = case.problem.components
    log_lik, N = expected(components, x)
    wanted_log_lik, reference = expected(enumerated(case.problem).components, x)
    np.testing.assert_allclose(log_lik, wanted_log_lik, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(N, reference, atol=1e-11)
    for plan in components.plans:
        batch, alone = np.zeros_like(x), np.zeros_like(x)
        together = plan.expect(x, batch)
        for b in range(len(x)):  # several vectors at once are one after the other
            assert plan.expect_one(x[b], alone[b]) == together[b]
        np.testing.assert_array_equal(batch, alone)


@pytest.mark.slow
@modes
@examples(100)
@given(case=network_cases(zeros=True))
def test_filled_in_counts(mode, case):
    with engine(mode):
        counts = complete_counts(case.problem, case.theta)
    expected = complete_counts(enumerated(case.problem), case.theta)
    np.testing.assert_allclose(counts, expected, atol=1e-11)


@modes
def test_a_row_that_is_impossible_counts_for_nothing(mode):
    case = make(NETWORKS["chain"], 5, seed=1, counts=[1.0, 2.0, 1.0, 0.0, 3.0])
    theta = case.theta.copy()
    case.layout.table(theta, 3)[:] = [0.0, 1.0]  # no row has the first state of a
    assert (case.codes[:, 0] == 0).any()
    with engine(mode):
        components = case.problem.components
    x = safe_log(theta)[None, :]
    log_lik, N = expected(components, x)
    wanted_log_lik, reference = expected(enumerated(case.problem).components, x)
    np.testing.assert_array_equal(log_lik, wanted_log_lik)
    np.testing.assert_allclose(N, reference, atol=1e-12)


@modes
@examples(100)
@given(case=network_cases(zeros=True))
def test_tangents(mode, case):
    with engine(mode):
        plans = case.problem.components.plans
    (enumeration,) = enumerated(case.problem).components.plans
    direction = np.random.default_rng(1).standard_normal(case.layout.size)
    for x in some_weights(case):
        change = sum((plan.tangent(x)(direction) for plan in plans), np.zeros(len(x)))
        np.testing.assert_allclose(change, enumeration.tangent(x)(direction), atol=1e-10)


@modes
@examples(60)
@given(case=network_cases())
def test_covariances_of_the_score(mode, case):
    with engine(mode):
        plans = case.problem.components.plans
    (enumeration,) = enumerated(case.problem).components.plans
    coordinates = free_coordinates(case.layout, case.theta)
    A, expected = (np.zeros((len(coordinates.free),) * 2, order="F") for _ in range(2))
    for plan in plans:
        A = plan.subtract_covariance(A, case.theta, coordinates)
    expected = enumeration.subtract_covariance(expected, case.theta, coordinates)
    scale = 1.0 / case.theta[coordinates.free]  # θ may be anything between 1e-6 and 1
    unit = np.outer(scale, scale)
    np.testing.assert_allclose(np.tril(A) / unit, np.tril(expected) / unit, atol=1e-9)


@modes
@examples(60)
@given(case=network_cases(zeros=True))
def test_posteriors_by_row(mode, case):
    with engine(mode):
        rows = RowByRow(case)
    (enumeration,) = enumerated(case.problem).components.plans
    x, size = safe_log(case.theta), case.layout.size
    family = case.layout.block(len(case.layout.cards) // 2)
    for first, last in ((0, size), (family.start, family.stop), (0, 0)):
        wanted_log_z, expected = enumeration.posterior(x, first, last)
        answers = [plan.posterior(x, first, last) for plan in rows.plans]
        for row in range(len(case.codes)):
            seen = np.array(rows.seen[row], dtype=int)
            log_z, N = x[seen].sum(), np.bincount(seen, minlength=size)[first:last].astype(float)
            for (_, which), (z, answer) in zip(rows.components(row), answers, strict=True):
                log_z += z[which].sum()
                N += answer[which].sum(axis=0)
            assert log_z == pytest.approx(wanted_log_z[row], rel=1e-12, abs=1e-12)
            np.testing.assert_allclose(N, expected[row], atol=1e-12)


@modes
@examples(60)
@given(case=network_cases(whole=True))
def test_choices_and_sizes(mode, case):
    """The joint states of a row are those of its components, combined."""
    with engine(mode):
        rows = RowByRow(case)
    (enumeration,) = enumerated(case.problem).components.plans
    assert case.problem.components.members == frozenset(enumeration.members)
    choices = [list(plan.choices()) for plan in rows.plans]
    for plan, choice in zip(rows.plans, choices, strict=True):
        assert plan.sizes().tolist() == [len(c.cells) for c in choice]
        assert [c.count for c in choice] == plan.counts.tolist()
        most = [c.cells.size for c in choice]
        assert (plan.touched() <= most).all()
        assert (plan.touched() > 0).all()
    for row, expected in enumerate(enumeration.choices()):
        parts = [
            choice[c].cells.tolist()
            for choice, (_, which) in zip(choices, rows.components(row), strict=True)
            for c in which
        ]
        combined = [sum(cells, rows.seen[row]) for cells in itertools.product(*parts)]
        assert sorted(map(sorted, combined)) == sorted(map(sorted, expected.cells.tolist()))


# Long steps in pieces.


@modes
@networks
def test_pieces_side_by_side_change_nothing(mode, network):
    case = make(network, 80, missing=0.2, seed=1)
    x = some_weights(case)
    direction = np.random.default_rng(1).standard_normal(case.layout.size)

    def both(plans, executor):
        results = []
        for plan in plans:
            N = np.zeros_like(x)
            log_lik = plan.expect(x, N, executor)
            results += [log_lik, N, plan.tangent(x[0], executor)(direction)]
        return results

    with engine(mode):
        whole = case.problem.components.plans
        cut = Builder(case.network, case.codes, case.counts).build().plans
    expected = both(whole, SERIAL)
    assert all(len(plan.pieces) == 1 for plan in whole)
    with patch.multiple(contract, LONG=60, PIECE=40):
        assert any(len(plan.pieces) > 3 for plan in cut)
        serial = both(cut, SERIAL)
    for a, b in zip(serial, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
    for threads in (1, 2, 7):
        with on_threads(threads) as executor:
            for a, b in zip(both(cut, executor), serial, strict=True):
                np.testing.assert_array_equal(a, b)
