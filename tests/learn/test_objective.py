"""EM: what must hold at every step."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradients import softmax_gradient
from lacunet.errors import OptionError
from lacunet.learn.objective import Estimate, Objective
from lacunet.model.conjugacy import log_prior
from lacunet.model.prior import uniform_alpha
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
def test_the_objective_is_what_it_says(case):
    point = Objective.build(case.problem, Estimate.MAP).at(case.theta)
    prior = log_prior(case.theta, case.problem.alpha, case.layout)
    assert point.g == pytest.approx(point.log_lik + prior, rel=1e-12, abs=1e-9)
    assert Objective.build(case.problem, Estimate.ML).at(case.theta).g == point.log_lik


@given(cases(max_rows=30))
def test_the_gradient_is_inferences(case):
    objective = Objective.build(case.problem, Estimate.MAP)
    point = objective.at(case.theta)
    wanted = softmax_gradient(case.theta, point.N, case.problem.alpha, case.layout)
    np.testing.assert_allclose(objective.gradient(point), wanted, atol=1e-12)


@given(cases(complete=True, max_classes=1))
def test_one_class_is_learned_in_one_step(case):
    objective = Objective.build(case.problem, Estimate.MAP)
    once = objective.em_step(objective.at(case.theta))
    assert np.abs(objective.gradient(once)).max() < 1e-12 * case.problem.cases


def test_no_map_below_one():
    case = make_case([2, 2], 2, 5)
    problem = case.problem
    low = type(problem)(**{**vars(problem), "alpha": uniform_alpha(problem.layout, 0.5)})
    with pytest.raises(OptionError, match=r"alpha 0.5 is below 1.*Use alpha 1 or more, or.*ml"):
        Objective.build(low, Estimate.MAP)
    Objective.build(low, Estimate.ML)
