"""The variational bound as a score, and the labellings that it does not see."""

import math

import numpy as np
import pytest
from hypothesis import assume, given

from examples import examples
from lacunet.inference.symmetry import symmetries_of
from lacunet.models.conjugacy import random_theta
from lacunet.scores import BD, CS, VB, ScoreInput
from problems import build, cases, make, make_case, network_cases, problem_for

WORLDS = 300  # completions of the data that the exact evidence is summed over, at most


def at(case, theta=None):
    return ScoreInput(case.problem, case.theta if theta is None else theta)


@examples(40)
@given(
    cases(max_rows=4, max_classes=3, max_leaves=3).filter(lambda c: (c.table.codes < 0).sum() < 4)
)
def test_cs_is_below_vb_is_below_the_evidence(case):
    truth = case.log_evidence()
    for seed in range(4):
        theta = random_theta(case.layout, np.random.default_rng(seed))
        assert CS(at(case, theta)).value - 1e-10 <= VB(at(case, theta)).value <= truth + 1e-10


@examples(40)
@given(network_cases(max_variables=4, max_rows=3, whole=True))
def test_the_same_for_networks(case):
    assume(case.worlds <= WORLDS)
    assert CS(at(case)).value - 1e-10 <= VB(at(case)).value <= case.log_evidence() + 1e-10


@given(network_cases(complete=True, max_rows=20))
def test_nothing_hidden_makes_vb_exact(case):
    exact = BD(at(case)).value
    assert VB(at(case)).value == pytest.approx(exact, abs=1e-9)


def test_a_bound_where_probabilities_are_zero():
    case = make_case([2, 3, 2], 2, 30, seed=1)
    edge = case.theta.copy()
    edge[case.layout.block(0)] = [1.0, 0.0]
    score = VB(at(case, edge))
    assert math.isfinite(score.value)
    assert score.terms["raised by"] >= 0


def test_names_and_orders_do_not_matter():
    """To the tolerance of its steps."""
    case = make_case([3, 2, 3, 2], 3, 200, missing=0.1, seed=3)
    model = case.model.permuted(0, [2, 0, 1])
    assert VB(at(case, model.theta)).value == pytest.approx(VB(at(case)).value, abs=1e-6)


# Labellings.


def test_all_labellings_of_a_latent_class_model_are_k_factorial():
    case = make_case([2] * 4, 4, 50, seed=2)
    assert symmetries_of(case.problem).log_count == pytest.approx(math.log(24))


def test_every_hidden_variable_with_evidence_counts():
    network = build(
        "H>a H>b G>b G>c a>Z", {"H": 3, "G": 2, "Z": 4, **dict.fromkeys("abc", 2)}, "HGZ"
    )
    assert symmetries_of(make(network, 30).problem).log_count == pytest.approx(math.log(6 * 2))


def test_a_prior_that_distinguishes_states_leaves_one_labelling():
    case = make_case([2, 2, 2], 2, 20, seed=1)
    network, layout = case.problem.network, case.layout
    leaves = [np.ones((2, 2))] * 3
    for tables, number in (
        ([np.ones(2), *leaves], 2),
        ([np.array([1.0, 2.0]), *leaves], 1),
        ([np.ones(2), np.array([[1.0, 1.0], [2.0, 1.0]]), *leaves[1:]], 1),
        ([np.ones(2), np.array([[1.0, 3.0], [1.0, 3.0]]), *leaves[1:]], 2),
    ):
        problem = problem_for(case.table, 2).problem
        problem = type(problem)(
            network, layout.flat(tables), problem.codes, problem.counts, problem.components
        )
        assert symmetries_of(problem).log_count == pytest.approx(math.log(number))
