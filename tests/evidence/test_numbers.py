"""Evidence of numbers: sums over all labellings, published values, and what units may change."""

import itertools
import math

import numpy as np
import pytest
from scipy.special import logsumexp

from lacunet.evidence.clock import Goal
from lacunet.evidence.measure import Method, measure
from lacunet.inference.problem import problem_of_codes
from lacunet.learn.fit import Options, learn
from lacunet.model import conjugacy
from lacunet.model.families import GAUSSIAN
from lacunet.model.families.gaussian import hyperparameters
from lacunet.model.network import Network, Variable
from lacunet.model.prior import dirichlet
from lacunet.model.unit import Unit
from lacunet.scores import choose_scores
from lacunet.scoring.score_input import ScoreInput

# An independent sum over all labellings: m = 20, κ = 0.1, σ² inverse gamma (2, 5), uniform weights.
TEN = (9.172, 9.350, 9.483, 16.084, 18.419, 19.052, 20.166, 26.960, 32.065, 34.279)
TRUTH = {1: -43.330367355113, 2: -42.391662256959, 3: -39.570234221353}


def classes_of_numbers(x, classes, prior, unit=None):
    """A mixture of normal distributions; x are different numbers."""
    leaf = Variable("x", tuple(x), family=GAUSSIAN, unit=unit, prior=hyperparameters(*prior))
    root = Variable("class", tuple(range(classes)), hidden=True)
    network = Network.build([root, leaf], [(), (0,)])
    codes = np.arange(len(x), dtype=np.int16)[:, None]
    return problem_of_codes(codes, np.ones(len(x)), network, dirichlet(network, 1.0))


def ten(classes, size=1.0):
    """The same numbers and prior, seen in another unit."""
    prior = (0.0, 0.1, 2.0, 5.0 / size**2)
    return classes_of_numbers(TEN, classes, prior, Unit(origin=20.0, size=size))


def summed(problem):
    """All labellings, by the families that the package has."""
    k, (rows, _) = problem.layout.cards[0], problem.codes.shape
    cells = problem.network.cells
    leaf = cells.table(np.arange(cells.size), 1)  # (class, value)
    log_p = []
    for world in itertools.product(range(k), repeat=rows):
        N = np.zeros(cells.size)
        N[:k] = np.bincount(world, minlength=k)
        N[leaf[list(world), np.arange(rows)]] = 1.0
        log_p.append(N)
    prior = problem.alpha[None, :]
    N = problem.network.to_statistics(np.array(log_p))
    integrals = conjugacy.log_integral(prior + N, problem.layout)
    (before,) = conjugacy.log_integral(prior, problem.layout)
    return float(logsumexp(integrals) - before + problem.log_base)


@pytest.mark.parametrize("classes", TRUTH)
@pytest.mark.parametrize("size", [1.0, 8.0])
def test_the_sum_over_all_labellings_is_the_published_one(classes, size):
    assert summed(ten(classes, size)) == pytest.approx(TRUTH[classes], abs=1e-9)


def test_one_class_is_exact():
    problem = ten(1)
    assert problem.exact
    assert problem.log_seen == pytest.approx(TRUTH[1], abs=1e-9)


def test_scores_bound_the_sum():
    for classes in (2, 3):
        problem = ten(classes, size=8.0)
        at = ScoreInput(problem, learn(problem, Options(starts=16)).model.theta)
        values = {s.name: s(at).value for s in choose_scores("cs,vb,csl-occupied")}
        labels = math.lgamma(classes + 1)
        assert values["cs"] <= values["vb"] <= TRUTH[classes]
        assert values["vb"] + labels == pytest.approx(TRUTH[classes], abs=1.5)
        assert values["csl-occupied"] == pytest.approx(TRUTH[classes], abs=1.0)


@pytest.mark.slow
@pytest.mark.parametrize("method", [Method.SMC, Method.AIS])
def test_measured_evidence_is_the_sum(method):
    found = measure(ten(3, size=8.0), method, Goal(target=0.05, budget=60), seed=1)
    assert found.stderr <= 0.06
    assert found.value == pytest.approx(TRUTH[3], abs=4 * found.stderr)
