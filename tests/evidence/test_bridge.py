"""The proposal of bridge sampling: sticks, Betas and their copula, against sums and definitions."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expit
from scipy.stats import beta, kstest

from lacunet.evidence.annealing import Goal, RunContext, TimeLimit
from lacunet.evidence.bridge import Bridge, BridgedWalk
from lacunet.evidence.estimate import log_bridges
from lacunet.evidence.exact import exact_evidence
from lacunet.evidence.partitions.cases import PartitionStatistics
from lacunet.evidence.proposals import (
    AnnealingProposal,
    BetaCopula,
    CopulaProposal,
    StickBreaking,
)
from lacunet.fitting.fit import Options, learn
from lacunet.inference.sampling.particles import Draws
from lacunet.models import conjugacy
from lacunet.runtime.executor import SERIAL
from problems import make_case

UNHURRIED = RunContext(SERIAL, TimeLimit(Goal(0.1, 6000.0)))


def case_with_tables_of_several_sizes():
    return make_case([3, 2, 4], 2, 12, seed=5, alpha=1.3, missing=0.1)


def test_sticks_are_put_together_as_they_were_broken():
    problem = case_with_tables_of_several_sizes().problem
    sticks, layout = StickBreaking.of(problem.layout), problem.layout
    assert len(sticks.states) == problem.network.dimension
    theta = conjugacy.draw_theta(np.ones(layout.size), layout, np.random.default_rng(0))
    share, left = sticks.broken(theta[None])
    np.testing.assert_allclose(share + left, 1.0)
    again = np.exp(sticks.log_theta(np.log(share), np.log(left)))[0]
    np.testing.assert_allclose(again, theta)


def test_shares_of_dirichlets_are_independent_betas():
    layout = case_with_tables_of_several_sizes().problem.layout
    rng, sticks = np.random.default_rng(1), StickBreaking.of(layout)
    exponents = rng.uniform(0.5, 4.0, layout.size)
    drawn = np.stack([conjugacy.draw_theta(exponents, layout, rng) for _ in range(2000)])
    share, _ = sticks.broken(drawn)
    a, b = sticks.betas(exponents)
    assert (
        min(kstest(v, beta(p, q).cdf).pvalue for v, p, q in zip(share.T, a, b, strict=True)) > 1e-4
    )
    apart = np.corrcoef(share.T) - np.eye(len(a))
    assert np.abs(apart).max() < 5 / math.sqrt(2000)


def test_a_sample_far_from_all_others_leaves_a_shape():
    """One of many that stands where the Betas of all of them have no mass that floats resolve."""
    layout = case_with_tables_of_several_sizes().problem.layout
    exponents = np.full((256, layout.size), 5000.0)
    exponents[7] = np.where(np.arange(layout.size) % 2, 1e6, 1.0)
    shape = BetaCopula.around(StickBreaking.of(layout), exponents)
    assert np.isfinite(shape.factor).all()
    u = shape.draw(50, np.random.default_rng(0))
    assert np.isfinite(shape._log_copula(u)).all()


def samples_of(problem, number, rng):
    """Counts that Gibbs sweeps leave."""
    draws, N = Draws(problem, rng), np.zeros((1, problem.layout.size))
    kept = []
    for _ in range(number):
        for _ in range(3):
            N = draws.hidden(draws.natural(problem.prior + N))
        kept.append(N[0])
    return np.stack(kept)


@pytest.mark.parametrize("alpha", [0.4, 1.3, 4.0])
def test_draws_of_a_shape_weigh_what_the_evidence_is(alpha):
    """Whatever the shape is fitted to, the mean weight of its draws is p(D), all labellings."""
    problem = make_case([2, 3, 2], 2, 12, seed=6, alpha=alpha, missing=0.1).problem
    rng = np.random.default_rng(2)
    exponents = problem.prior + samples_of(problem, 60, rng)
    shape = BetaCopula.around(StickBreaking.of(problem.layout), exponents)
    u = shape.draw(20_000, rng)
    log_weights, log_theta = shape.weighed(problem, u, shape.log_shares(u))
    np.testing.assert_allclose(np.bincount(problem.layout.ij, np.exp(log_theta[0])), 1.0)
    weights = np.exp(log_weights - log_weights.max())
    value = math.log(weights.mean()) + log_weights.max()
    stderr = weights.std() / weights.mean() / math.sqrt(len(weights))
    assert stderr < 0.1
    assert abs(value - exact_evidence(problem).value) < 4 * stderr


def test_coordinates_lead_back_to_shares_on_either_side():
    problem = case_with_tables_of_several_sizes().problem
    rng = np.random.default_rng(3)
    sticks = StickBreaking.of(problem.layout)
    shape = BetaCopula.around(sticks, problem.prior + samples_of(problem, 40, rng))
    u = shape.draw(50, rng)
    share, left = (np.exp(x) for x in shape.log_shares(u))
    np.testing.assert_allclose(shape.coordinates(share, left), u, atol=1e-8)


def test_a_shape_has_the_spread_of_what_it_is_fitted_to():
    """Means and variances of shares, hidden values included, and whether they move together."""
    problem = make_case([2] * 6, 2, 60, seed=3, alpha=1.0).problem
    rng, sticks = np.random.default_rng(4), StickBreaking.of(problem.layout)
    exponents = problem.prior + samples_of(problem, 3000, rng)
    true = rng.beta(*sticks.betas(exponents))
    shape = BetaCopula.around(sticks, exponents)
    share = np.exp(shape.log_shares(shape.draw(3000, rng))[0])
    np.testing.assert_allclose(share.mean(axis=0), true.mean(axis=0), atol=0.02)
    np.testing.assert_allclose(share.std(axis=0), true.std(axis=0), rtol=0.08)
    correlations = [np.corrcoef(x.T)[np.triu_indices(13, 1)] for x in (share, true)]
    assert np.abs(correlations[1]).max() > 0.3
    assert np.corrcoef(*correlations)[0, 1] > 0.8


def test_bridges_from_parts_are_what_a_search_for_the_root_finds():
    rng = np.random.default_rng(5)
    up, down = rng.normal(-2.0, 2.0, 60), rng.normal(2.0, 2.0, 40)
    up[:3], down[:2] = -np.inf, np.inf
    counted = rng.random((7, 60)) < 0.7, rng.random((7, 40)) < 0.7
    result = log_bridges(up, down, *counted, near=0.1)
    np.testing.assert_allclose(result, log_bridges(up, down, *counted), atol=1e-7)
    for value, x, y in zip(result, *counted, strict=True):

        def off(mass, x=x, y=y):
            return expit(up[x] - mass).mean() - expit(mass - down[y]).mean()

        assert value == pytest.approx(brentq(off, -30, 30), abs=1e-7)


def test_statistics_count_case_by_case():
    case = make_case([2, 3], 3, 20, seed=2, missing=0.3)
    problem, rng = case.problem, np.random.default_rng(0)
    codes = problem.codes[(problem.codes >= 0).any(axis=1)]
    row = np.arange(len(codes))
    block = np.concatenate([[0, 1], rng.integers(0, 2, len(codes) - 2)])
    two = make_case([2, 3], 2, 20, seed=2).problem.layout
    tables = [np.zeros((2,)), np.zeros((2, 2)), np.zeros((2, 3))]
    for b, values in zip(block, codes, strict=True):
        tables[0][b] += 1
        for leaf, code in enumerate(values):
            if code >= 0:
                tables[1 + leaf][b, code] += 1
    np.testing.assert_array_equal(PartitionStatistics(problem).of(row, block), two.flat(tables))


@pytest.mark.parametrize(
    ("leaves", "alpha", "kind"), [(8, 1.0, CopulaProposal), (3, 0.05, type(None))]
)
def test_what_a_walk_crosses_by(leaves, alpha, kind):
    """Small exponents leave classes empty; with one class there is nothing to cross."""
    problem = make_case([2] * leaves, 3, 80, seed=1, alpha=alpha).problem
    fits = [learn(problem, Options(starts=4, seed=n)).model.theta for n in range(4)]
    walk = BridgedWalk(problem, fits, 0, UNHURRIED)
    assert isinstance(walk.bridge.proposal, kind)


@pytest.mark.slow
def test_chains_and_shapes_find_the_same_mass():
    problem = make_case([2] * 6, 2, 60, seed=1, alpha=1.0).problem
    fits = [learn(problem, Options(starts=4, seed=n)).model.theta for n in range(8)]
    by_shape = BridgedWalk(problem, fits, 0, UNHURRIED)
    by_chains = BridgedWalk(problem, fits, 0, UNHURRIED)
    chains = AnnealingProposal(by_chains.fewer, by_chains._reference(), by_chains.seed)
    by_chains.bridge = by_chains._run_both_ways(Bridge(by_chains.fewer, chains))
    one, other = by_shape.until_done(), by_chains.until_done()
    assert abs(one.value - other.value) < 4 * math.hypot(one.stderr, other.stderr)


def test_shares_that_floats_do_not_resolve_are_left_out_without_a_word():
    """Tiny exponents: some probabilities are less than any float, and none may become a NaN."""
    problem = make_case([2] * 3, 2, 10, seed=1, alpha=0.004).problem
    fits = [learn(problem, Options(starts=2, seed=n)).model.theta for n in range(4)]
    walk = BridgedWalk(problem, fits, 0, UNHURRIED)
    reference, samples = walk._reference(), walk._with_m
    if walk.fewer.exact:
        pytest.fail("the case has one class only: choose another seed")
    bridge = Bridge(walk.fewer, CopulaProposal(walk.fewer, reference, (0,), samples))
    bridge.run_forwards(2, UNHURRIED)
    bridge.run_backwards(samples, UNHURRIED)
    assert not np.isnan(bridge.forward).any()
    assert not np.isnan(bridge.reverse).any()
    assert np.isinf(bridge.forward).any() or np.isinf(bridge.reverse).any()
