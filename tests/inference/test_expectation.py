"""Expected counts, log-likelihood and gradient against the oracle and finite differences."""

import numpy as np
import pytest
from hypothesis import given

import oracle
from enumeration import enumerated
from gradients import softmax_gradient, theta_gradient
from lacunet.data.table import Column, Table
from lacunet.errors import DataError
from lacunet.inference.classes import Tangent, complete_counts, expect
from lacunet.inference.plans.plan import free_coordinates
from lacunet.inference.problem import build_problem
from lacunet.inference.queries.query import posterior
from lacunet.models.conjugacy import log_prior
from lacunet.models.network import Network, Variable
from lacunet.models.prior import uniform_alpha
from problems import cases, make_case


@given(cases())
def test_log_likelihood_and_counts_are_the_oracles(case):
    expectation = expect(case.problem, case.theta)
    expected = oracle.log_likelihood(case.oracle(), case.rows, case.counts)
    assert expectation.log_lik == pytest.approx(expected, rel=1e-12, abs=1e-12)
    counts = oracle.expected_counts(case.oracle(), case.rows, case.counts)
    filled = complete_counts(case.problem, case.theta)
    for got, table in zip(case.tables(filled), counts, strict=True):
        np.testing.assert_allclose(got, table, atol=1e-11)


@given(cases(max_rows=40))
def test_expected_counts_of_every_family_sum_to_the_cases(case):
    N = expect(case.problem, case.theta).N
    filled = complete_counts(case.problem, case.theta)
    for i in range(len(case.layout.cards)):
        assert filled[case.layout.block(i)].sum() == pytest.approx(case.problem.cases, rel=1e-12)
        assert N[case.layout.block(i)].sum() <= case.problem.cases * (1 + 1e-12)


@given(cases())
def test_row_posteriors(case):
    (result,) = posterior(case.model, case.codes, [(0,)])
    weights, *tables = case.tables()
    for (_, *row), got in zip(case.rows, result, strict=True):
        p = [
            weights[c] * np.prod([t[c][x] for x, t in zip(row, tables, strict=True) if x >= 0])
            for c in range(case.classes)
        ]
        np.testing.assert_allclose(got, np.array(p) / sum(p), atol=1e-13)


def shifted(case, coordinates, direction, step):
    """θ with its free coordinates moved, the references making up for it."""
    theta = case.theta.copy()
    theta[coordinates.free] += step * direction
    np.add.at(theta, coordinates.reference, -step * direction)
    return theta


def g(case, theta):
    return expect(case.problem, theta).log_lik + log_prior(theta, case.problem.alpha, case.layout)


@given(cases(max_classes=3, max_leaves=3))
def test_gradient_is_finite_differences(case):
    coordinates = free_coordinates(case.layout, case.theta)
    N = expect(case.problem, case.theta).N
    gradient = theta_gradient(case.theta, N, case.problem.alpha, coordinates)
    assert len(gradient) == case.problem.network.dimension
    # Along a random direction scaled by θ, so that no probability leaves (0, 1).
    rng = np.random.default_rng(0)
    direction = case.theta[coordinates.free] * rng.uniform(-1, 1, len(gradient))
    step = 1e-5
    ends = [g(case, shifted(case, coordinates, direction, s)) for s in (step, -step)]
    slope = (ends[0] - ends[1]) / (2 * step)
    scale = np.abs(gradient * direction).sum() + 1
    assert gradient @ direction == pytest.approx(slope, abs=1e-7 * scale)


@given(cases(max_classes=4, max_leaves=4))
def test_softmax_gradient_and_tangent_are_finite_differences(case):
    rng = np.random.default_rng(0)
    phi = rng.standard_normal(case.layout.size)
    step = 1e-5

    def moved(s):
        theta = case.theta * np.exp(s * phi)
        return theta / case.layout.spread(case.layout.sum_k(theta))

    N = expect(case.problem, case.theta).N
    slope = (g(case, moved(step)) - g(case, moved(-step))) / (2 * step)
    gradient = softmax_gradient(case.theta, N, case.problem.alpha, case.layout)
    assert gradient @ phi == pytest.approx(slope, abs=1e-6 * (1 + np.abs(gradient).sum()))
    log_theta = phi - case.layout.spread(case.layout.sum_k(case.theta * phi))
    change = (expect(case.problem, moved(step)).N - expect(case.problem, moved(-step)).N) / (
        2 * step
    )
    np.testing.assert_allclose(Tangent(case.problem, case.theta)(log_theta), change, atol=1e-6)


def test_patterns_of_many_columns_and_states():
    """Wide tables, where columns share patterns, and ones with too many states to share."""
    for cards in ([2] * 30, [9] * 6, [2, 50, 3, 2, 2, 7]):
        case = make_case(cards, 5, 300, missing=0.3, seed=len(cards))
        expected = expect(enumerated(case.problem), case.theta).log_lik
        assert expect(case.problem, case.theta).log_lik == pytest.approx(expected, rel=1e-12)


def test_complete_data_in_any_network():
    """No hidden variable: counts are simply counted, whatever the graph."""
    variables = [Variable(n, (0, 1, 2)) for n in "abc"]
    network = Network.build(variables, [(), (0,), (0, 1)])
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (50, 3))
    table = Table.from_codes(codes, [Column(n, (0, 1, 2)) for n in "abc"])
    problem = build_problem(table, network, uniform_alpha(network.layout, 1.0))
    expected = np.zeros((3, 3, 3))
    np.add.at(expected, tuple(codes.T), 1)
    np.testing.assert_array_equal(network.layout.table(problem.components.seen, 2), expected)
    assert problem.exact


def test_what_does_not_fit_together_is_refused():
    case = make_case([2, 2], 2, 10)
    alpha = case.problem.alpha
    network = case.problem.network
    short = Table.from_codes(case.table.codes[:, :1], case.table.columns[:1])
    with pytest.raises(DataError, match=r"no column 'x1'.*have: 'x0'.*empty cells are fine"):
        build_problem(short, network, alpha)
    other = Table.from_codes([[0, 2]], [Column("x0", (0, 1)), Column("x1", (0, 1, 2))])
    with pytest.raises(DataError, match=r"column 'x1' has the states .* the model has"):
        build_problem(other, network, alpha)
    clash = Table.from_codes([[0, 1, 1]], [*case.table.columns, Column("class", (0, 1))])
    with pytest.raises(DataError, match=r"'class' has the name of the model's hidden variable"):
        build_problem(clash, network, alpha)
