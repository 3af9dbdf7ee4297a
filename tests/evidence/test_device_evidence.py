"""Measured evidence of a problem whose E steps run on a device: what is sampled stays the same."""

from unittest.mock import patch

import pytest

import lacunet
from devices import Twin
from lacunet.evidence.annealing import Goal
from lacunet.evidence.estimate import Method
from lacunet.evidence.exact import exact_evidence
from lacunet.evidence.measure import measure
from lacunet.inference.devices import cuda
from lacunet.selection.certainty import CertaintyBasis
from problems import make_case

there = patch.object(cuda, "open_cuda", Twin)


@pytest.mark.parametrize("method", [Method.AIS, Method.WALK, Method.SMC])
def test_measured_evidence_is_the_exact_one(method):
    """Few binary items with missing values: the sum over all completions is known."""
    case = make_case([2] * 3, 2, 8, missing=0.1, seed=5)
    problem, exact = case.problem, exact_evidence(case.problem).value
    estimate = measure(problem.on(Twin()), method, Goal(0.2, 600.0), seed=1)
    assert estimate.stderr is not None
    assert abs(estimate.value - exact) < 4 * estimate.stderr
    assert estimate.stderr < 0.3


@there
def test_functions_take_it():
    exact = lacunet.log_evidence(lacunet.load_dataset("carcinoma"), 1, device="cuda")
    assert exact.stderr == 0.0  # nothing is hidden


@there
@pytest.mark.slow
def test_select_draws_the_same_with_a_device():
    table, numbers = lacunet.load_dataset("values"), range(1, 4)
    here = lacunet.select(table, numbers, starts=8)
    selection = lacunet.select(table, numbers, starts=8, device="cuda")
    assert selection.certainty.basis is CertaintyBasis.MEASURED
    assert selection.bayes_factor(2, 3).log == pytest.approx(here.bayes_factor(2, 3).log, abs=1e-6)
