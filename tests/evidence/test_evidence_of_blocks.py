"""Measured evidence of incomplete numbers that vary together, against sums over all labellings."""

import numpy as np
import polars as pl
import pytest

import block_sums
import lacunet
from lacunet.evidence.annealing import Goal
from lacunet.evidence.estimate import Method
from lacunet.evidence.measure import measure
from lacunet.evidence.smc import run_particles
from lacunet.inference.leaves import leaves_of
from lacunet.inference.problem import build_problem
from lacunet.models.latent_class import over_leaves
from lacunet.models.number_prior import NumberPrior, understand_covariance
from lacunet.models.prior import dirichlet


def small(covariance, classes=2, rows=8, seed=3):
    """A few rows of two numbers, the second of them incomplete, and a category; their evidence."""
    rng = np.random.default_rng(seed)
    x = rng.normal(0, 3, (2, 2))[rng.integers(0, 2, rows)] + rng.normal(size=(rows, 2))
    x[:, 1] += 0.6 * x[:, 0]
    x = x.round(3)
    x[[2, 5], 1] = np.nan
    colour = rng.integers(0, 2, rows)
    frame = pl.DataFrame({"x1": x[:, 0], "x2": x[:, 1], "colour": colour}).fill_nan(None)
    table = lacunet.read_table(frame, kinds={"x1": "gaussian", "x2": "gaussian"})
    prior = NumberPrior(covariance=understand_covariance(covariance))
    network = over_leaves(leaves_of(table, prior), classes)
    problem = build_problem(table, network, dirichlet(network, block_sums.ALPHA))
    units = [v.unit for v in network.variables[1:3]]
    seen = np.stack([(x[:, j] - u.origin) / u.size for j, u in enumerate(units)], axis=1)
    usual = block_sums.usual_prior(seen)
    exact = block_sums.log_evidence(
        seen, colour, classes, usual, common=covariance == "full-common"
    )
    observed = (~np.isnan(x)).sum(axis=0)
    return problem, exact - observed @ np.log([u.size for u in units])


@pytest.mark.parametrize(("covariance", "classes"), [("full", 1), ("full", 2), ("full-common", 2)])
def test_particles_are_right_on_average(covariance, classes):
    problem, exact = small(covariance, classes)
    runs = np.array([run_particles(problem, 64, (0, i)).log_evidence for i in range(24)])
    w = np.exp(runs - exact)
    assert w.mean() == pytest.approx(1.0, abs=4.5 * w.std() / np.sqrt(len(w)))
    assert w.std() < 1.0


@pytest.mark.slow
def test_annealing_measures_the_sum():
    problem, exact = small("full-common", rows=6, seed=4)
    estimate = measure(problem, Method.AIS, Goal(0.15, 6000.0), seed=1)
    assert estimate.value == pytest.approx(exact, abs=4 * (estimate.stderr or 0.05) + 0.01)


def test_one_class_with_missing_values_is_measured_too():
    """It has no closed form, for what is missing varies with what is shown."""
    problem, exact = small("full", classes=1)
    assert not problem.exact
    estimate = measure(problem, Method.AUTO, Goal(0.05, 6000.0), seed=1)
    assert estimate.value == pytest.approx(exact, abs=4 * estimate.stderr + 0.01)
