"""The Hessian against finite differences of the gradient, and its determinant's invariances."""

import numpy as np
import pytest
from hypothesis import assume, given

from lacunet.inference import hessian
from lacunet.inference.coordinates import FreeCoordinates, free_coordinates, theta_gradient
from lacunet.inference.expectation import expect
from problems import cases, make_case


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
    own = np.sqrt(np.abs(np.diag(A)))
    assume(len(A) and own.all() and np.linalg.cond(A / np.outer(own, own)) < 1e8)
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


def test_rows_in_chunks_give_the_same(monkeypatch):
    case = make_case([2, 3, 2], 3, 60, missing=0.2, seed=4)
    coordinates = free_coordinates(case.layout, case.theta)
    A = full(hessian.negative_hessian(case.problem, case.theta, coordinates))
    monkeypatch.setattr(hessian, "CHUNK_NUMBERS", 7 * case.layout.size)
    B = full(hessian.negative_hessian(case.problem, case.theta, coordinates))
    np.testing.assert_allclose(A, B, rtol=1e-10, atol=1e-8)
