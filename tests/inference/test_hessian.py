"""The Hessian against finite differences of the gradient, and its determinant's invariances."""

import numpy as np
import pytest
from hypothesis import assume, given

from gradients import em_residual, theta_gradient
from lacunet.inference import hessian
from lacunet.inference.classes import expect
from lacunet.inference.plans import pattern_covariance
from lacunet.inference.plans.plan import FreeCoordinates, free_coordinates
from lacunet.models import conjugacy
from problems import cases, make_case, network_cases


def full(A):
    return np.tril(A) + np.tril(A, -1).T


def gradient_at(case, coordinates, free_theta):
    theta = case.theta.copy()
    theta[coordinates.free] = free_theta
    moved = free_theta - case.theta[coordinates.free]
    np.add.at(theta, coordinates.reference, -moved)
    N = expect(case.problem, theta).N
    return theta_gradient(theta, N, case.problem.alpha, coordinates)


@given(cases(max_classes=3, max_leaves=3))
def test_hessian_is_finite_differences_of_the_gradient(case):
    coordinates = free_coordinates(case.layout, case.theta)
    A = full(hessian.negative_hessian(case.problem, case.theta, coordinates))
    start = case.theta[coordinates.free]
    # In units of complete data's curvature: θ may be anything between 1e-6 and 1.
    scale = np.sqrt(case.problem.cases) / start
    for j, theta_j in enumerate(start):
        step = np.zeros_like(start)
        step[j] = 1e-5 * theta_j
        change = gradient_at(case, coordinates, start + step) - gradient_at(
            case, coordinates, start - step
        )
        column = -change / (2 * step[j])
        np.testing.assert_allclose(
            A[:, j] / (scale * scale[j]), column / (scale * scale[j]), atol=2e-6
        )


@given(cases(max_classes=3, max_leaves=3, max_rows=30))
def test_determinant_does_not_depend_on_the_eliminated_state(case):
    coordinates = free_coordinates(case.layout, case.theta)
    A = full(hessian.negative_hessian(case.problem, case.theta, coordinates))
    scale = np.sqrt(np.abs(np.diag(A)))
    assume(len(A) and scale.all() and np.linalg.cond(A / np.outer(scale, scale)) < 1e8)
    # Eliminate the last state of every configuration instead.
    last = np.full(case.layout.configurations, -1)
    order = np.argsort(case.layout.k, kind="stable")
    last[case.layout.ij[order]] = order
    free = np.setdiff1d(np.arange(case.layout.size), last)
    free = free[np.argsort(case.layout.ij[free], kind="stable")]
    others = FreeCoordinates(free, last[case.layout.ij[free]])
    B = full(hessian.negative_hessian(case.problem, case.theta, others))
    sign_a, log_a = np.linalg.slogdet(A)
    sign_b, log_b = np.linalg.slogdet(B)
    assert sign_a == sign_b
    assert log_a == pytest.approx(log_b, rel=1e-6, abs=1e-6)


def test_pairs_and_products_give_the_same_in_chunks_too(monkeypatch):
    case = make_case([2, 3, 2], 3, 60, missing=0.2, seed=4)
    coordinates = free_coordinates(case.layout, case.theta)
    A = full(hessian.negative_hessian(case.problem, case.theta, coordinates))
    monkeypatch.setattr(pattern_covariance, "CACHED_NUMBERS", 0)
    B = full(hessian.negative_hessian(case.problem, case.theta, coordinates))
    np.testing.assert_allclose(A, B, rtol=1e-10, atol=1e-8)
    monkeypatch.setattr(pattern_covariance, "CHUNK_NUMBERS", 7 * case.layout.size)
    B = full(hessian.negative_hessian(case.problem, case.theta, coordinates))
    np.testing.assert_allclose(A, B, rtol=1e-10, atol=1e-8)


def check_softmax(problem, theta):
    """Against differences of E N + α − θ(E N_ij + α_ij), moved in one φ at a time."""
    layout, alpha = problem.layout, problem.alpha
    coordinates = free_coordinates(layout, theta)
    A = hessian.softmax_hessian(problem, theta, expect(problem, theta).N, coordinates)

    def gradient(position, step):
        moved = theta.copy()
        moved[position] *= np.exp(step)
        moved /= layout.spread(layout.sum_k(moved))
        counts = expect(problem, moved).N + alpha
        return em_residual(moved, counts, layout)[coordinates.free]

    np.testing.assert_array_equal(A.shape, (layout.dimension,) * 2)
    for j, position in enumerate(coordinates.free):
        column = (gradient(position, -1e-5) - gradient(position, 1e-5)) / 2e-5
        np.testing.assert_allclose(A[:, j], column, atol=1e-7 * (1 + problem.cases))


@given(cases(max_classes=3, max_leaves=3))
def test_softmax_hessian_is_finite_differences_of_its_gradient(case):
    check_softmax(case.problem, case.theta)


@given(network_cases(max_variables=5))
def test_softmax_hessian_of_networks(case):
    assume((case.theta > 0).all())
    check_softmax(case.problem, case.theta)


@given(network_cases(complete=True))
def test_softmax_curvature_of_complete_data_has_a_closed_form(case):
    problem, theta = case.problem, case.theta
    N = expect(problem, theta).N
    A = hessian.softmax_hessian(problem, theta, N, free_coordinates(case.layout, theta))
    closed = conjugacy.complete_log_det(theta, N + problem.alpha, problem.layout)
    assert np.linalg.slogdet(A)[1] == pytest.approx(closed, abs=1e-8)
