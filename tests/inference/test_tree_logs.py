"""The way out of underflow: logs throughout, where floats cannot tell small from impossible."""

import math

import numpy as np
import pytest

from lacunet.data.table import Column, Table
from lacunet.inference.classes import Tangent, expect
from lacunet.inference.kernels import trees as tree_kernels
from lacunet.inference.plans import clique_trees
from lacunet.inference.problem import build_problem
from lacunet.models.conjugacy import random_theta
from lacunet.models.network import Model, Network, Variable
from lacunet.models.surgery import sample_codes


def chain(length, states, seed, rows=12, missing=0.2):
    """A hidden chain with an observed child at every place; some children have missing values."""
    hidden = [Variable(f"h{t}", tuple(range(states)), hidden=True) for t in range(length)]
    seen = [Variable(f"x{t}", (0, 1, 2)) for t in range(length)]
    parents = [(), *((t - 1,) for t in range(1, length)), *((t,) for t in range(length))]
    network = Network.build([*hidden, *seen], parents)
    rng = np.random.default_rng(seed)
    theta = random_theta(network.layout, rng)
    model = Model(network, theta, np.ones(network.layout.size))
    codes = sample_codes(model, rows, rng, missing)
    table = Table.from_codes(codes, [Column(v.name, v.states) for v in seen])
    return build_problem(table, network, model.alpha), theta


@pytest.mark.parametrize("kind", [float, complex])
def test_logs_throughout_give_the_same(monkeypatch, kind):
    monkeypatch.setattr(clique_trees, "ENUMERATED", 1)
    problem, theta = chain(6, 3, seed=4)
    (trees,) = problem.components.plans
    a = trees.arrays
    log_theta = np.log(theta).astype(kind)
    if kind is complex:
        log_theta += 1j * tree_kernels.STEP * np.random.default_rng(0).standard_normal(len(theta))
    checked = 0
    for k in range(len(a.kind_width)):
        for i in range(a.kind_instances[k], a.kind_instances[k + 1]):
            row = a.kind_offsets[k] + (i - a.kind_instances[k]) * a.kind_width[k]
            results = []
            weights = tree_kernels.TreeWeights(log_theta, np.exp(log_theta))
            for way, given in (
                (tree_kernels.posterior_tables, weights),
                (tree_kernels.posterior_by_logs, log_theta),
            ):
                scratch = trees.scratch(kind)
                log_z = way(a, k, row, given, scratch)
                last = a.kind_cliques[k + 1] - 1
                results.append((log_z, scratch.work[: a.first[last] + a.cells[last]].copy()))
            assert results[0][0].real == pytest.approx(results[1][0].real, rel=1e-12)
            np.testing.assert_allclose(results[0][1].real, results[1][1].real, atol=1e-12)
            if kind is complex:
                ours, theirs = (x.imag / tree_kernels.STEP for _, x in results)
                np.testing.assert_allclose(ours, theirs, atol=1e-11)
            checked += 1
    assert checked > 5


def deterministic(leaves, last_allows_zero):
    """Twelve hidden bits that are all equal; many leaves say 0, and the last one may forbid it."""
    length = 12
    hidden = [Variable(f"h{t}", (0, 1), hidden=True) for t in range(length)]
    seen = [Variable(f"x{j}", (0, 1)) for j in range(leaves + 1)]
    parents = [(), *((t - 1,) for t in range(1, length))]
    parents += [(0,)] * leaves + [(length - 1,)]
    network = Network.build([*hidden, *seen], parents)
    copy, noisy = np.eye(2), np.array([[0.9, 0.1], [0.1, 0.9]])
    end = np.array([[1.0 - last_allows_zero, last_allows_zero], [0.5, 0.5]])
    tables = [np.array([0.5, 0.5]), *[copy] * (length - 1), *[noisy] * leaves, end]
    theta = network.layout.flat(tables)
    codes = np.zeros((1, leaves + 1), dtype=np.int64)
    codes[0, -1] = 1
    table = Table.from_codes(codes, [Column(v.name, v.states) for v in seen])
    return build_problem(table, network, np.ones(network.layout.size)), theta


def test_an_unlikely_row_is_not_an_impossible_one():
    """All leaves say 0, only 1 is allowed: 0.5 · 0.1^400 · 0.5, far below what a float holds."""
    problem, theta = deterministic(400, last_allows_zero=0.0)
    expectation = expect(problem, theta)
    assert expectation.log_lik == pytest.approx(math.log(0.25) + 400 * math.log(0.1), rel=1e-12)
    assert problem.layout.table(expectation.N, 0).tolist() == [0.0, 1.0]
    change = Tangent(problem, theta)(np.random.default_rng(0).standard_normal(len(theta)))
    assert np.isfinite(change).all()


def test_an_impossible_row_stays_impossible():
    problem, theta = deterministic(400, last_allows_zero=0.0)
    end = problem.layout.block(len(problem.layout.cards) - 1)
    theta[end] = (problem.layout.k[end] == 0).astype(float)  # 1 is impossible, but the row has it
    expectation = expect(problem, theta)
    assert expectation.log_lik == -np.inf
    assert not expectation.N.any()


def test_the_first_parameter_may_be_impossible():
    """log θ = −inf at position 0 must not poison the sums of all others."""
    problem, theta = deterministic(3, last_allows_zero=0.5)
    theta = theta.copy()
    theta[:2] = [0.0, 1.0]
    assert expect(problem, theta).log_lik == pytest.approx(3 * math.log(0.1) + math.log(0.5))
