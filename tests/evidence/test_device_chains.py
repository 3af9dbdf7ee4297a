"""Chains on a device: their numbers, their moves and the evidence, through the kernel's twin."""

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

import lacunet
from chain_twin import log_gammas, philox
from devices import Twin, fake_cupy
from lacunet.errors import OptionError
from lacunet.evidence import travellers
from lacunet.evidence.annealing import Annealing
from lacunet.evidence.clock import Clock, Goal, Means
from lacunet.evidence.exact import exact_evidence
from lacunet.evidence.measure import measure
from lacunet.evidence.measurement import Method
from lacunet.evidence.particle_run import run_particles, run_there
from lacunet.evidence.partitions import company
from lacunet.evidence.partitions.cases import leaves_of, log_class_weights
from lacunet.evidence.path import Path, Reference
from lacunet.evidence.travellers import There, anything
from lacunet.evidence.used_classes import all_used
from lacunet.inference.devices import cuda
from lacunet.inference.devices.chains import Journey
from lacunet.inference.devices.cuda_chains import chain_shape
from lacunet.inference.devices.walks import WalkedCases, Walkers
from lacunet.inference.kernels.blocks import Levels
from lacunet.model import conjugacy
from lacunet.model.known import KnownTable
from lacunet.model.network import Network
from lacunet.runtime.executor import SERIAL
from lacunet.search.certainty import How
from problems import make, make_case
from two_classes import NETWORK, hidden_counts

there = patch.object(cuda, "open_cuda", Twin)


def sent(path, allowed=anything, chains=1, seed=(1,)):
    return There(path, allowed, Twin(), Clock(Goal()), seed, np.arange(chains))


def test_counted_random_numbers_are_those_of_the_published_generator():
    # Known answers of Random123, kat_vectors: philox4x32 with 10 rounds.
    words = [int(x) for x in philox((0, 0, 0, 0), (0, 0))]
    assert words == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]
    full = 0xFFFFFFFF
    words = [int(x) for x in philox((full,) * 4, (full, full))]
    assert words == [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]


@pytest.mark.parametrize("shape", [0.05, 0.7, 1.0, 3.5, 200.0])
def test_gamma_variates(shape):
    drawn = log_gammas(np.full(20_000, shape), (np.arange(20_000), 5, 7), (3, 4))
    u = stats.gamma(shape).cdf(np.exp(drawn))
    assert stats.kstest(u, "uniform").pvalue > 1e-3


def test_densities_are_those_of_the_path(path, problem):
    """Up and down a few steps without a move that matters: weights are differences of log f_b."""
    traveller, worlds = sent(path), hidden_counts(problem)[:5]
    chains = traveller.chains
    at = worlds[:, traveller.packed.places]
    found = chains.log_density(0.7, at) - chains.log_density(0.2, at)
    wanted = path.log_density(0.7, worlds) - path.log_density(0.2, worlds)
    np.testing.assert_allclose(found, wanted, atol=1e-10)


@pytest.mark.parametrize("b", [0.0, 0.4, 1.0])
def test_a_move_leaves_the_path_as_it_is(problem, path, b):
    worlds, rng = hidden_counts(problem), np.random.default_rng(7)
    log_p = path.log_density(b, worlds)
    p = np.exp(log_p - logsumexp(log_p))
    start = worlds[rng.choice(len(worlds), 4_000, p=p)]
    moved, weights = sent(path, chains=len(start)).go(start, Journey.staying(b, 1))
    assert not weights.any()
    for power in (1, 2):  # second moments would notice moves that only keep the mean
        value = p @ worlds**power
        error = (moved**power).std(axis=0) / np.sqrt(len(moved)) + 1e-12
        assert np.abs(((moved**power).mean(axis=0) - value) / error).max() < 4.5


def test_chains_are_the_same_whoever_else_travels_and_wherever_they_are_cut(path):
    whole = sent(path, chains=3)
    N, weights = whole.go(whole.start(3), Journey.upwards(6))
    with patch.object(travellers, "AT_ONCE", 1.0):
        cut = sent(path, chains=3)
        again, same = cut.go(cut.start(3), Journey.upwards(6))
    assert [moves for _, moves in cut.chains.sent] == [1] * 7
    np.testing.assert_array_equal(N, again)
    np.testing.assert_allclose(weights, same, atol=1e-12)
    alone = There(path, anything, Twin(), Clock(Goal()), (1,), np.array([2]))
    last, weight = alone.go(alone.start(1), Journey.upwards(6))
    np.testing.assert_array_equal(N[2:], last)
    assert weight[0] == pytest.approx(weights[2], abs=1e-12)


def test_annealing_both_ways_gives_the_evidence():
    problem = make_case([2, 3], 2, 5, seed=3).problem
    means = Means(SERIAL, Clock(Goal()), device=Twin())
    N = np.random.default_rng(1).gamma(2.0, 1.0, problem.layout.size)
    path, exact = Path(problem, Reference.around(problem, N)), exact_evidence(problem).value
    ended = Annealing(path).forwards(12, range(8), (1,), means)
    value = logsumexp(ended.log_weights) - np.log(len(ended.log_weights))
    w = np.exp(ended.log_weights - value)
    assert abs(value - exact) < 4.5 * w.std() / np.sqrt(len(w))
    worlds = hidden_counts(problem)
    log_p = path.log_density(1.0, worlds)
    p = np.exp(log_p - logsumexp(log_p))
    start = worlds[np.random.default_rng(2).choice(len(worlds), 128, p=p)]
    down = Annealing(path).backwards(start, 12, (1,), means)
    w = np.exp(exact - down)
    assert abs(w.mean() - 1.0) < 4.5 * w.std() / np.sqrt(len(w))


def test_a_class_that_must_not_be_empty_never_is(problem):
    allowed = all_used(problem)
    path = Path(problem, Reference.prior(problem))
    traveller = sent(path, allowed, chains=40)
    start = traveller.start(40)
    assert not allowed(start).all()  # some had no way to be so
    good = start[allowed(start)]
    traveller = sent(path, allowed, chains=len(good))
    for _ in range(5):
        good, _ = traveller.go(good, Journey.staying(1.0, 1))
        assert allowed(good).all()


@pytest.mark.parametrize("method", [Method.AIS, Method.WALK])
def test_measured_evidence_is_the_exact_one(method):
    """20 cases of 6 binary items with holes: the sum over all completions is known."""
    case = make_case([2] * 3, 2, 8, missing=0.1, seed=5)
    problem, exact = case.problem, exact_evidence(case.problem).value
    found = measure(problem.on(Twin()), method, Goal(0.2, 600.0), seed=1)
    assert found.stderr is not None
    assert abs(found.value - exact) < 4 * found.stderr
    assert found.stderr < 0.3


@there
def test_functions_take_it():
    exact = lacunet.log_evidence(lacunet.load_dataset("carcinoma"), 1, device="cuda")
    assert exact.stderr == 0.0  # nothing is hidden, and nothing asked of a device


@there
def test_work_that_was_stopped_goes_on_where_it_was_done(tmp_path):
    """What the processor sampled is not what a device goes on from."""
    table, kept = {"a": [0, 0, 1, 1, 0, 1], "b": [0, 1, 1, 1, 0, 0]}, tmp_path / "kept"
    how = {"method": "walk", "target": 0.5, "threads": 1}
    found = lacunet.log_evidence(table, 2, device="cuda", resume=kept, **how)
    assert lacunet.log_evidence(table, 2, device="cuda", resume=kept, **how) == found
    with pytest.raises(lacunet.errors.LacunetError, match="device"):
        lacunet.log_evidence(table, 2, resume=kept, **how)


def test_known_tables_are_not_for_a_device():
    network = NETWORK
    known = KnownTable.of(np.array([[0.5, 0.5], [0.2, 0.8]]))
    variables = [replace(v, known=known if v.name == "a" else None) for v in network.variables]
    case = make(Network.build(variables, network.parents), 10, seed=1)
    with pytest.raises(OptionError, match="whose tables are all to be learned: none known"):
        measure(case.problem.on(Twin()), Method.AIS)


def test_a_device_that_is_too_small_says_so_before_anything_is_allocated():
    problem = make_case([2] * 8, 4, 30, seed=1).problem
    path = sent(Path(problem, Reference.prior(problem))).packed.path
    with patch.object(cuda, "require", lambda *_, **__: fake_cupy(free=2 * 10**8)):
        device = cuda.open_cuda()
    with pytest.raises(OptionError, match=r"distinct rows needs 0\.00 GB of memory there"):
        device.send(path)


@pytest.mark.parametrize(("leaves", "classes"), [(64, 32), (6, 2), (20, 100), (200, 40)])
def test_the_shape_of_the_kernel(leaves, classes):
    problem = make_case([2] * leaves, classes, 30, seed=1).problem
    path = sent(Path(problem, Reference.prior(problem))).packed.path
    shape, shared = chain_shape(path, 232448)
    assert shape.lanes * shape.each >= classes
    assert shape.lanes <= 32
    assert shape.threads % 32 == 0
    assert (shared > 0) == shape.in_shared
    assert shared <= 232448 - 1024


def test_walks_go_on_where_they_were(problem):
    """Cut in two, a walk draws the same numbers; of two blocks at most, none is ever left."""
    leaves = leaves_of(problem)
    there = Twin().walk_over(WalkedCases(leaves, 2))
    levels = Levels(np.array([2.0, 1.0, 0.0, 0.0]), np.ones(4))
    start = Walkers.start([np.array([0, 1, 0, 1, 0])] * 3, [[1, n] for n in range(3)])
    whole = there.walk(start, levels, 6)
    cut = there.walk(there.walk(start, levels, 2), levels, 4)
    np.testing.assert_array_equal(whole.blocks, cut.blocks)
    np.testing.assert_array_equal(whole.drawn, cut.drawn)
    assert (whole.drawn % 4 != 0).any()  # also in the middle of what Philox makes at once


def test_a_row_alone_in_its_block(problem):
    cases = WalkedCases(leaves_of(problem), 2)
    theta = conjugacy.mean(problem.alpha, problem.layout)
    one_class = log_class_weights(problem, theta)[:, 0]
    root = np.log(problem.layout.table(theta, 0)[0])
    np.testing.assert_allclose(cases.log_alone, one_class - root, atol=1e-12)


@pytest.mark.parametrize(("alpha", "missing"), [(0.3, 0.0), (1.0, 0.2)])
def test_particles_on_a_device_give_the_evidence(alpha, missing):
    problem = make_case([2, 3], 2, 6, seed=3, missing=missing, alpha=alpha).problem
    exact = exact_evidence(problem).value
    runs = run_there(problem, 16, Twin(), [(5, 1, 16, n) for n in range(60)])
    w = np.exp([run.log_evidence - exact for run in runs])
    assert abs(w.mean() - 1.0) < 4.5 * w.std() / np.sqrt(len(w))
    assert w.std() < 0.5


def test_particles_on_a_device_are_samples_of_the_posterior(problem, path):
    worlds = hidden_counts(problem)
    log_p = path.log_density(1.0, worlds)
    mean = np.exp(log_p - logsumexp(log_p)) @ worlds
    runs = run_there(problem, 16, Twin(), [(5, 1, 16, n) for n in range(60)])
    w = np.array([np.exp(run.log_evidence - exact_evidence(problem).value) for run in runs])
    samples = np.array([run.exponents.mean(axis=0) - problem.prior for run in runs])
    error = (w[:, None] * samples).std(axis=0) / np.sqrt(len(runs)) + 1e-9
    assert (np.abs(w @ samples / w.sum() - mean) < 5 * error).all()


def test_a_run_of_particles_is_the_same_whoever_else_runs():
    problem = make_case([2, 2, 3], 3, 25, seed=1, missing=0.1).problem
    together = run_there(problem, 8, Twin(), [(5, 1, 8, n) for n in range(3)])
    (alone,) = run_there(problem, 8, Twin(), [(5, 1, 8, 2)])
    assert alone.log_evidence == together[2].log_evidence
    np.testing.assert_array_equal(alone.exponents, together[2].exponents)
    assert alone.work == together[2].work
    assert alone.exponents.sum() == pytest.approx(run_particles(problem, 8, (1,)).exponents.sum())


@there
@pytest.mark.slow
def test_particles_are_asked_of_the_device():
    table = lacunet.load_dataset("values")
    how = {"method": "smc", "target": 0.2, "threads": 1}
    found = lacunet.log_evidence(table, 2, device="cuda", **how)
    here = lacunet.log_evidence(table, 2, **how)
    assert found.details != here.details  # more runs
    assert abs(found.value - here.value) < 4 * np.hypot(found.stderr, here.stderr)


@there
def test_select_walks_on_the_device():
    table, numbers = lacunet.load_dataset("values"), range(1, 4)
    here = lacunet.select(table, numbers, starts=8)
    with patch.object(company, "CHAINS_THERE", 64):
        found = lacunet.select(table, numbers, starts=8, device="cuda")
    assert found.certainty.how is How.MEASURED
    apart = found.bayes_factor(2, 3).log - here.bayes_factor(2, 3).log
    errors = [one.bayes_factor(2, 3).stderr for one in (found, here)]
    assert apart != 0.0
    assert abs(apart) < 4 * np.hypot(*errors)
