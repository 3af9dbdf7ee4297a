"""Every kernel against its plain NumPy twin."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import twins
from lacunet.inference.kernels import rows as kernels
from lacunet.inference.kernels.lanes import LANES, padded
from lacunet.inference.plans.pattern_covariance import pair_rows
from lacunet.models import conjugacy
from problems import cases, make_case


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("n", [0, 1, 3, 64, 1000])
def test_exp_is_exp(n):
    x = -np.random.default_rng(n).exponential(100.0, n)
    expected = np.exp(x)
    kernels.exp_inplace(x, np.empty(n, np.int64))
    np.testing.assert_allclose(x, np.where(expected < 1e-307, 0.0, expected), rtol=2e-15)


def test_exp_at_the_ends():
    x = np.array([0.0, -0.0, -np.inf, -708.0, -709.0, -1e300, -5e-324])
    kernels.exp_inplace(x, np.empty(len(x), np.int64))
    assert x.tolist() == [1.0, 1.0, 0.0, pytest.approx(np.exp(-708.0), rel=1e-14), 0.0, 0.0, 1.0]


@given(cases(max_rows=150))
def test_blocks_and_patterns(case):
    if not case.problem.components.plans:
        assert case.classes == 1 or (case.table.codes < 0).all()
        return
    (plan,) = case.problem.components.plans
    blocks = len(plan.positions)
    flat = np.random.default_rng(2).standard_normal(case.layout.size)
    gathered = np.empty((blocks, plan.cells + 1))
    kernels.gather_blocks(flat, plan.positions, plan.cells, -1.0, gathered)
    close(gathered, twins.gather_blocks(flat, plan.positions, plan.cells, -1.0))
    put = np.zeros(case.layout.size)
    kernels.scatter_blocks(gathered, plan.positions, plan.cells, put)
    close(put, twins.scatter_blocks(gathered, plan.positions, plan.cells, case.layout.size))
    x = np.random.default_rng(0).standard_normal((blocks, plan.width))
    table = np.empty((plan.patterns, plan.width))
    kernels.sum_blocks(plan.starts, plan.entries, x, table)
    close(table, twins.sum_blocks(plan.starts, plan.entries, x))
    out = np.zeros((blocks, plan.width))
    kernels.spread_patterns(plan.starts, plan.entries, table, out)
    close(out, twins.spread_patterns(plan.starts, plan.entries, table, blocks))
    rows = np.empty((len(plan.index), plan.width))
    kernels.sum_patterns(table, plan.index, rows)
    close(rows, twins.sum_patterns(table, plan.index))
    back = np.zeros_like(table)
    kernels.spread_rows(rows, plan.index, back)
    close(back, twins.spread_rows(rows, plan.index, plan.patterns))


@given(cases(max_rows=150).filter(lambda case: case.problem.components.plans))
def test_rows(case):
    (plan,) = case.problem.components.plans
    table = plan.table(np.log(case.theta), padding=-np.inf)
    m = len(plan.index)
    posterior, log_z = np.empty((m, plan.width)), np.empty(m)
    kernels.posterior_rows(table, plan.index, posterior, log_z)
    reference, wanted_log_z = twins.posterior_rows(table, plan.index)
    close(posterior, reference)
    close(log_z, wanted_log_z)
    out = np.zeros_like(table)
    log_lik = kernels.expect_rows(table, plan.index, plan.counts, out)
    expected, expected_log_lik = twins.expect_rows(table, plan.index, plan.counts)
    close(out, expected)
    assert log_lik == pytest.approx(expected_log_lik, rel=1e-13)
    direction = np.random.default_rng(1).standard_normal(table.shape)
    moved = np.zeros_like(table)
    kernels.tangent_rows(table, direction, plan.index, plan.counts, moved)
    close(moved, twins.tangent_rows(table, direction, plan.index, plan.counts))
    blocks = len(plan.positions)
    marks = np.empty((m, blocks))
    kernels.mark_blocks(plan.starts, plan.entries, plan.index, marks)
    close(marks, twins.mark_blocks(plan.starts, plan.entries, plan.index, blocks))
    sums = np.zeros((blocks, blocks, plan.cells, plan.width))
    pair_rows(plan.arrays, plan.counts, table, sums)
    about = plan.starts, plan.entries, plan.index, posterior, plan.counts, blocks
    lower = np.tril_indices(blocks)
    close(sums[lower], twins.pair_rows(*about)[lower][:, : plan.cells])


def test_impossible_rows_weigh_minus_infinity():
    case = make_case([2, 3], 3, 30, seed=1)
    theta = case.theta.copy()
    theta[case.layout.k == 0] = 0.0  # no longer normalised; every leaf forbids its first state
    theta[: case.classes] = 1.0 / case.classes
    (plan,) = case.problem.components.plans
    with np.errstate(divide="ignore"):
        table = plan.table(np.log(theta), padding=-np.inf)
    out = np.zeros_like(table)
    assert kernels.expect_rows(table, plan.index, plan.counts, out) == -np.inf
    expected, log_lik = twins.expect_rows(table, plan.index, plan.counts)
    assert log_lik == -np.inf
    close(out, expected)
    weightless = np.zeros_like(plan.counts)  # a row that does not count cannot be impossible
    assert kernels.expect_rows(table, plan.index, weightless, out) == 0.0


@given(cases())
def test_maximize(case):
    rng = np.random.default_rng(3)
    N = rng.exponential(size=case.layout.size)
    N[case.layout.ij == 0] = 0.0
    for pseudo in (np.zeros_like(N), np.full_like(N, 0.01)):
        theta = case.theta.copy()
        maximum = conjugacy.maximize(N, pseudo, theta, case.layout)
        close(maximum, twins.maximize(N, pseudo, case.layout.ij, case.theta))


@given(st.integers(2, 8), st.integers(0, 9), st.integers(0, 1000))
def test_two_loop(size, held, seed):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((size, size))
    A = A @ A.T + np.eye(size)
    pairs = [(m, A @ m) for m in rng.standard_normal((held, size))]
    places = 4
    moves, changes = np.zeros((places, size)), np.zeros((places, size))
    for n, (move, change) in enumerate(pairs):
        moves[n % places], changes[n % places] = move, change
    curvature = rng.uniform(0.5, 2.0, size)
    q = rng.standard_normal(size)
    kept = pairs[-places:]
    inverse = twins.two_loop(
        np.array([m for m, _ in kept]).reshape(-1, size),
        np.array([c for _, c in kept]).reshape(-1, size),
        curvature,
    )
    expected = inverse @ q
    kernels.two_loop(moves, changes, held, curvature, q)
    np.testing.assert_allclose(q, expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("cells", [1, 3, 4, 5, 36])
def test_padding(cells):
    assert padded(cells) % LANES == 0
    assert cells <= padded(cells) < cells + LANES
