"""EM: what must hold at every step."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradients import softmax_gradient
from lacunet.fitting.objective import Estimate, Objective
from lacunet.models.conjugacy import log_prior
from problems import cases, make_case


@given(cases(max_rows=40), st.sampled_from(Estimate))
def test_em_never_lowers_the_objective(case, estimate):
    objective = Objective.build(case.problem, estimate)
    point = objective.at(case.theta)
    for _ in range(8):
        after = objective.em_step(point)
        assert after.g >= point.g - 1e-10 * (1 + abs(point.g))
        point = after
        np.testing.assert_allclose(case.layout.sum_k(point.theta), 1.0, rtol=1e-12)


@given(cases(max_rows=30))
def test_the_objective_is_the_log_posterior(case):
    point = Objective.build(case.problem, Estimate.MAP).at(case.theta)
    prior = log_prior(case.theta, case.problem.alpha, case.layout)
    assert point.g == pytest.approx(point.log_lik + prior, rel=1e-12, abs=1e-9)
    assert Objective.build(case.problem, Estimate.ML).at(case.theta).g == point.log_lik


@given(cases(max_rows=30))
def test_the_gradient_is_inferences(case):
    objective = Objective.build(case.problem, Estimate.MAP)
    point = objective.at(case.theta)
    expected = softmax_gradient(case.theta, point.N, case.problem.alpha, case.layout)
    np.testing.assert_allclose(objective.gradient(point), expected, atol=1e-12)


@given(cases(complete=True, max_classes=1))
def test_one_class_is_learned_in_one_step(case):
    objective = Objective.build(case.problem, Estimate.MAP)
    once = objective.em_step(objective.at(case.theta))
    assert np.abs(objective.gradient(once)).max() < 1e-12 * case.problem.cases


def test_a_map_that_does_not_exist_is_the_softmax_one():
    problem = make_case([2, 2], 2, 5, alpha=0.5).problem
    assert Objective.build(problem, Estimate.MAP).estimate is Estimate.SOFTMAX
    assert Objective.build(problem, Estimate.ML).estimate is Estimate.ML
    above = replace(problem, alpha=np.ones(problem.layout.size))
    assert Objective.build(above, Estimate.MAP).estimate is Estimate.MAP
    one_below = np.where(np.arange(problem.layout.size) == 3, 0.99, 2.0)
    mixed = Objective.build(replace(problem, alpha=one_below), Estimate.MAP)
    assert mixed.estimate is Estimate.SOFTMAX
    assert (mixed.pseudo == one_below).all()


@given(cases(max_rows=30))
def test_the_softmax_objective_is_the_density_of_logarithms(case):
    """It is that of θ times Π θ, whatever the prior."""
    point = Objective.build(case.problem, Estimate.SOFTMAX).at(case.theta)
    prior = log_prior(case.theta, case.problem.alpha, case.layout) + np.log(case.theta).sum()
    assert point.g == pytest.approx(point.log_lik + prior, rel=1e-12, abs=1e-9)
