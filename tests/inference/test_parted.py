"""Rows in parts: the sums over all parts are those of the rows together."""

import pickle

import numpy as np
import pytest
from hypothesis import given

from examples import examples
from held_here import Here
from lacunet.errors import OptionError
from lacunet.fitting.fit import Options, learn
from lacunet.inference.classes import Tangent, complete_counts, expect
from lacunet.inference.hessian import negative_hessian
from lacunet.inference.plans.plan import free_coordinates
from lacunet.inference.problem import problem_of_codes
from lacunet.inference.sampling.particles import touched_by_cases
from lacunet.runtime.rows import NotPicklableError
from lacunet.scores.occupancy import log_all_used
from problems import make_case, network_cases


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr("lacunet.runtime.rows.PART", 3)


def in_parts(case):
    return problem_of_codes(case.codes, case.counts, case.network, case.alpha, Here())


@examples(30)
@given(case=network_cases(zeros=True))
def test_e_steps_and_their_derivatives_add_up(case):
    parted, whole = in_parts(case), case.problem
    np.testing.assert_allclose(parted.seen, whole.seen, atol=1e-12)
    one, other = expect(parted, case.theta), expect(whole, case.theta)
    assert one.log_lik == pytest.approx(other.log_lik, rel=1e-12, abs=1e-10)
    np.testing.assert_allclose(one.N, other.N, atol=1e-10)
    filled = complete_counts(parted, case.theta), complete_counts(whole, case.theta)
    np.testing.assert_allclose(*filled, atol=1e-10)
    assert parted.components.members == whole.components.members
    if whole.components.hidden and np.isfinite(other.log_lik):
        direction = np.random.default_rng(0).standard_normal(case.layout.size)
        np.testing.assert_allclose(
            Tangent(parted, case.theta)(direction),
            Tangent(whole, case.theta)(direction),
            atol=1e-8,
        )


def test_curvature_fits_and_sizes_are_those_of_all_rows():
    case = make_case([3, 2, 4, 2], 3, 60, missing=0.1, seed=4)
    parted, whole = in_parts(case), case.problem
    fit, other = (learn(problem, Options(starts=4)) for problem in (parted, whole))
    assert fit.log_lik == pytest.approx(other.log_lik, abs=1e-10)
    np.testing.assert_allclose(fit.model.theta, other.model.theta, atol=1e-8)
    theta = other.model.theta
    free = free_coordinates(case.layout, theta)
    A, B = (np.tril(negative_hessian(p, theta, free)) for p in (parted, whole))
    np.testing.assert_allclose(A, B, rtol=1e-9, atol=1e-9 * np.abs(B).max())
    assert touched_by_cases(parted) == pytest.approx(touched_by_cases(whole))
    weights = np.log(theta)
    assert log_all_used(parted, weights) == pytest.approx(log_all_used(whole, weights), abs=1e-10)
    (plan,) = parted.components.plans
    assert plan.sizes().tolist() == [case.classes] * len(plan.counts)
    assert parted.components.nanoseconds == pytest.approx(whole.components.nanoseconds)


def test_what_goes_from_case_to_case_is_refused_with_the_next_step():
    (plan,) = in_parts(make_case([3, 2, 2], 2, 20, seed=1)).components.plans
    for ask in (
        lambda: plan.completions,
        lambda: plan.weighted(None),
    ):
        with pytest.raises(OptionError, match="leave out"):
            ask()


def test_remote_rows_are_not_pickled():
    problem = in_parts(make_case([3, 2, 2], 2, 20, seed=1))
    for thing in (problem, problem.place.holder, problem.components.plans[0]):
        with pytest.raises(NotPicklableError):
            pickle.dumps(thing)
