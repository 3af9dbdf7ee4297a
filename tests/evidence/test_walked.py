"""Latent classes by a walk over partitions, anchored by a bridge, against exact sums."""

import math

import numpy as np
import pytest

from lacunet.errors import OptionError
from lacunet.evidence import smc
from lacunet.evidence.annealing import Goal, RunContext, TimeLimit
from lacunet.evidence.estimate import Method, Verdict, log_bridge, stderr_limit
from lacunet.evidence.exact import exact_evidence
from lacunet.evidence.measure import measure
from lacunet.evidence.modes import HiddenSample, fewer_classes, used
from lacunet.evidence.partitions.chains import PosteriorWalk
from lacunet.fitting.fit import Options, learn
from lacunet.fitting.objective import Objective, random_starts
from lacunet.models.latent_class import classes_of
from lacunet.runtime.executor import SERIAL
from problems import build, make, make_case

UNHURRIED = RunContext(SERIAL, TimeLimit(Goal(0.1, 6000.0)))


def test_a_bridge_finds_the_mass_from_both_sides():
    """Normal log weights: forwards −s²/2, backwards +s²/2 around log Z, by Crooks' theorem."""
    rng, s = np.random.default_rng(0), 1.2
    up, down = rng.normal(-(s**2) / 2, s, 20_000), rng.normal(s**2 / 2, s, 20_000)
    assert log_bridge(up - 50.0, down - 50.0) == pytest.approx(-50.0, abs=0.03)


def test_samples_that_a_reference_does_not_lead_to_are_divided_out():
    up, down = np.full(10, -7.0), np.array([-7.0] * 3 + [90.0] * 9)
    assert log_bridge(up, down) == pytest.approx(-7.0 + math.log(4.0))


def test_chains_that_end_elsewhere_count_as_nothing():
    up = np.array([0.0, -np.inf, 0.0, -np.inf])
    assert log_bridge(up, np.zeros(4)) == pytest.approx(math.log(0.5), abs=0.5)
    assert log_bridge(np.full(3, -np.inf), np.zeros(3)) == -math.inf


def test_few_parts_that_agree_are_not_sure():
    x = np.random.default_rng(1).normal(size=(2000, 8))
    without = (x.sum(axis=1, keepdims=True) - x) / 7
    z = np.abs(x.mean(axis=1)) / np.array([stderr_limit(row) for row in without])
    assert (z < 2).mean() > 0.95
    assert stderr_limit(np.array([1.0, np.nan])) == math.inf


def test_samples_of_a_walk_are_counts_of_the_model():
    case = make_case([2, 3, 2], 3, 25, seed=2, alpha=1.0, missing=0.2)
    walk = PosteriorWalk(case.problem, [case.theta], 3, 0)
    walk.advance(5, UNHURRIED, samples=2)
    shown = case.counts @ (case.codes >= 0)
    observed = case.counts @ (case.codes >= 0).any(axis=1)
    for sample in walk.collected:
        fewer = make_case([2, 3, 2], sample.used, 25, seed=2, alpha=1.0).problem
        assert used(fewer, sample.N).all()
        sums = [fewer.layout.table(sample.N, i).sum() for i in range(4)]
        assert sums == [observed, *shown]
    assert walk.shares().sum() == pytest.approx(1.0)


@pytest.mark.slow
def test_a_walk_measures_what_exact_sums_do():
    """Several numbers of classes, priors, missing values: most within two errors, none beyond 5."""
    z = []
    for seed in range(12):
        case = make_case(
            [2, 2, 2, 3][: 3 + seed % 2],
            (2, 3, 2, 4)[seed % 4],
            7 + seed % 4,
            seed=seed,
            alpha=(1.0, 0.3, 3.0)[seed % 3],
            missing=0.1 * (seed % 3),
            true_classes=(2, 1)[seed % 2],
        )
        estimate = measure(case.problem, Method.WALK, Goal(0.2, 6000.0), seed=seed)
        if estimate.verdict is Verdict.RELIABLE:
            z.append(abs(estimate.value - exact_evidence(case.problem).value) / estimate.stderr)
    assert len(z) >= 10
    assert sum(x > 2 for x in z) <= 2
    assert max(z) < 5


@pytest.mark.slow
def test_many_classes_measured_twice_agree():
    """A small version of 64 leaves and 16 classes: searches end in different modes."""
    problem = make_case([2] * 16, 6, 80, seed=4, alpha=1.0).problem
    one, other = (measure(problem, goal=Goal(0.3, 6000.0), seed=seed) for seed in (1, 2))
    for result in (one, other):
        assert result.method is Method.WALK
        assert (result.verdict is Verdict.RELIABLE) == (result.stderr is not None)
    if one.stderr and other.stderr:
        assert abs(one.value - other.value) < 4 * math.hypot(one.stderr, other.stderr)


def test_fits_keep_to_their_part_of_the_time(monkeypatch):
    problem = make_case([2] * 5, 2, 40, seed=1, alpha=1.0).problem
    tried = []

    def noted(*args, **kwargs):
        tried.append(args[1].starts)
        return learn(*args, **kwargs)

    monkeypatch.setattr(smc, "learn", noted)
    unhurried = smc.fitted(problem, [3, 4, 5], UNHURRIED)
    assert tried == [Options().starts] * 3
    assert (unhurried[0] == learn(problem, Options(seed=3)).model.theta).all()
    (hurried,) = smc.fitted(problem, [3, 4, 5], RunContext(SERIAL, TimeLimit(Goal(0.1, 1e-9))))
    assert tried[3:] == [
        1
    ]  # none begun, one start stopped; then as many steps as there is time for
    objective = Objective.build(problem, Options.estimate, SERIAL)
    (start,) = random_starts(objective, 1, 3)
    assert hurried == pytest.approx(objective.em_step(start).theta)


def test_without_time_fewer_classes_are_not_looked_for():
    problem, requests = make_case([2] * 5, 6, 40, seed=1, alpha=1.0).problem, []

    def search(fewer):
        requests.append(classes_of(fewer.network).number)
        return [HiddenSample(np.zeros(fewer.layout.size), -1)]

    fewer_classes(problem, search, lambda: False)
    assert requests == [6]
    fewer_classes(problem, search, lambda: True)
    assert requests[1:3] == [6, 5]


def test_a_walk_needs_latent_classes():
    network = build("G>a H>a H>b", {"G": 2, "H": 2, "a": 2, "b": 2}, "GH")
    with pytest.raises(OptionError, match="latent class model"):
        measure(make(network, 5).problem, Method.WALK)


@pytest.mark.parametrize("method", [Method.AIS, Method.SMC, Method.WALK])
def test_without_time_there_is_a_bound_and_no_error(method):
    problem = make_case([2] * 6, 3, 60, seed=1, alpha=1.0).problem
    estimate = measure(problem, method, Goal(0.1, 1e-6))
    assert math.isfinite(estimate.value)
    assert (estimate.verdict, estimate.stderr) == (Verdict.LOWER_BOUND, None)
    assert "±" not in str(estimate)
    assert any("raise the budget" in str(note) for note in estimate.notes)
