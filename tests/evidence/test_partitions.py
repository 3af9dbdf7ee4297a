"""The walk over partitions, against sums over all of them."""

import numpy as np
import pytest

from lacunet.evidence.estimate import Verdict, jackknife_error, leave_one_out
from lacunet.evidence.exact import exact_evidence
from lacunet.evidence.partitions import chains
from lacunet.evidence.partitions import walk as walking
from lacunet.evidence.partitions.cases import leaves_of, walkable
from lacunet.evidence.partitions.chains import (
    Stretch,
    advance_chain,
    agreement_flags,
    r_hat,
    start_chain,
)
from lacunet.evidence.partitions.levels import Occupancy, PriorMixture, guess_levels, log_ratios
from lacunet.evidence.partitions.rounds import Rounds
from lacunet.evidence.partitions.walk import WalkGoal, walk_numbers
from lacunet.flags import Flag, Kind
from lacunet.inference.classes import with_classes
from lacunet.inference.kernels.blocks import LevelWeights
from lacunet.inference.kernels.splitting import TRIED, log_block
from lacunet.runtime.executor import SERIAL, on_threads
from partition_sums import log_sums, log_weight
from problems import make_case


def small(seed, *, rows=6, alpha=1.0, missing=0.2):
    return make_case([2, 3, 2], 2, rows, missing=missing, seed=seed, alpha=alpha).problem


@pytest.mark.parametrize("alpha", [0.05, 1.0, 10.0])
@pytest.mark.parametrize("missing", [0.0, 0.5])
def test_identity(alpha, missing):
    problem = small(3, alpha=alpha, missing=missing)
    leaves = leaves_of(problem)
    levels = Occupancy((1, 2, 3, 4), leaves.a, len(leaves.row), 1, len(leaves.row))
    values = levels.log_evidence(log_sums(problem))
    exact = [exact_evidence(with_classes(problem, k)).value for k in levels.numbers]
    assert values == pytest.approx(exact, abs=1e-9)
    shares = levels.shares(log_sums(problem))
    assert shares.sum() == pytest.approx(1.0)
    assert np.isfinite(guess_levels(levels, dict(zip(levels.numbers, exact, strict=True)))).all()


def test_good_guesses_are_kept():
    problem = small(3)
    leaves = leaves_of(problem)
    levels = Occupancy((1, 2, 3), leaves.a, len(leaves.row), 1, 3)
    log_z = log_sums(problem)[:3]
    guesses = dict(zip(levels.numbers, levels.log_evidence(log_z), strict=True))
    assert guess_levels(levels, guesses) == pytest.approx(log_z, abs=1e-9)


@pytest.mark.parametrize(("seed", "alpha"), [(1, 1.0), (2, 0.05), (3, 4.0)])
def test_rates_determine_ratios(seed, alpha):
    """Weights that push chains about must not change what the rates say."""
    problem = small(seed, alpha=alpha)
    leaves = leaves_of(problem)
    cases = len(leaves.row)
    rng = np.random.default_rng(seed)
    truth = np.diff(log_sums(problem))
    rise, reference = (np.exp(0.5 * rng.normal(size=cases + 2)) for _ in range(2))
    for weights in (rise, reference):
        weights[1:cases] /= np.exp(truth)  # else chains would hardly go everywhere
    rise[cases:] = 0.0
    levels = LevelWeights(rise, reference)
    stretch = Stretch(levels, 1_000)
    starts = [
        start_chain(leaves, np.arange(cases), cases, np.random.default_rng([seed, n]))
        for n in range(10)
    ]
    notes = np.array([advance_chain(stretch, chain)[1].rates for chain in starts])
    often = np.array([float(cases), TRIED])

    def ratios(rates, often):
        return log_ratios(rates, np.log(levels.reference), often)[1:cases]

    for kinds in (often, often * [1, 0], often * [0, 1]):  # each kind of move by itself, too
        value = ratios(notes.sum(axis=0), kinds)
        error = jackknife_error(np.array([ratios(each, kinds) for each in leave_one_out(notes)]))
        assert (np.abs(value - truth) < 5 * error + 1e-9).all()
        assert error.max() < 0.2


def test_a_chain_keeps_its_books():
    """After a long walk, what blocks hold is what their cases show."""
    problem = small(5, rows=30)
    leaves = leaves_of(problem)
    start = start_chain(
        leaves, np.zeros(len(leaves.row), dtype=np.int64), 6, np.random.default_rng(1)
    )
    flat = LevelWeights(np.ones(8), np.ones(8))
    flat.rise[6:] = 0.0
    chain, notes = advance_chain(Stretch(flat, 200), start)
    fresh = start_chain(leaves, chain.at.block, 6, chain.rng)
    assert fresh.at.used[0] == chain.at.used[0]
    assert chain.at.blocks.size.tolist() == fresh.at.blocks.size.tolist()
    assert chain.at.blocks.table == pytest.approx(fresh.at.blocks.table, abs=1e-12)
    energy = sum(log_block(leaves, chain.at.blocks, b) for b in range(chain.at.used[0]))
    assert energy == pytest.approx(log_weight(problem, chain.at.block), abs=1e-9)
    assert notes.energy[:, 0].sum() == 200


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.3, 1.0])
def test_walk_is_right(alpha):
    problem = make_case([2, 3, 2], 2, 14, missing=0.15, seed=8, alpha=alpha).problem
    walk = walk_numbers(problem, range(1, 5), fits={}, guesses={}, goal=WalkGoal(0.005))
    exact = np.array([exact_evidence(with_classes(problem, k)).value for k in walk.numbers])
    assert walk.anchored_by_bridge
    assert walk.posterior_errors.max() <= 0.005
    errors = jackknife_error(walk.replicates)
    assert (np.abs(walk.values - exact) <= 4 * errors + 1e-9).all()
    assert sum(walk.used.values()) == pytest.approx(1.0)


@pytest.mark.slow
def test_walks_differ_within_their_errors():
    """Clear classes: few blocks are far behind, and only surveyed; the others keep their word."""
    problem = make_case([2] * 12, 3, 150, seed=5, alpha=1.0, true_classes=3).problem
    goal = WalkGoal(0.02)
    walks = [
        walk_numbers(problem, range(1, 5), fits={}, guesses={}, seed=seed, goal=goal)
        for seed in range(6)
    ]
    shared = sorted(frozenset.intersection(*(walk.measured for walk in walks)))
    assert 1 not in shared
    assert {3, 4} <= set(shared)
    places = [walks[0].numbers.index(k) for k in shared]
    steps = np.array([np.diff(walk.values[places]) for walk in walks])
    errors = np.array([jackknife_error(np.diff(w.replicates[:, places], axis=1)) for w in walks])
    z = (steps - steps.mean(axis=0)) / errors
    assert np.abs(z).max() < 4
    assert np.sqrt((z**2).mean()) < 1.6


def test_chains_visit_states_without_any_start():
    """A number of blocks that is held to weigh too much is not visited, until it is sought."""
    problem = small(3)
    leaves = leaves_of(problem)
    rounds = Rounds(problem, range(1, 5), {}, {}, 0, SERIAL)
    rounds.learn()
    rounds.log_z[3] += 60.0
    rngs = [np.random.default_rng([1, n]) for n in range(chains.CHAINS)]
    one_block = np.zeros(len(leaves.row), dtype=np.int64)
    rounds.chains = [start_chain(leaves, one_block, 4, rng) for rng in rngs]
    rounds.measure()
    assert rounds.after(0).energies[:, 3, 0].sum() == 0
    assert rounds.optimism[2] < -30.0
    for _ in range(3):
        rounds.measure()
    result = rounds.after(0)
    assert result.energies[:, 3, 0].sum() > 0
    assert result.log_z[:, 0] == pytest.approx(log_sums(problem)[:4], abs=0.3)
    assert not rounds.optimism.any()


def test_chains_that_disagree_walk_on(monkeypatch):
    """Chains in doubt have rounds that others do not, and no more."""
    problem, doubt = small(3), (Flag(Kind.CHAINS_STAY, detail={"share": 0.0}),)
    goal = WalkGoal(1.0, rounds=5, more_rounds=7)
    sure = walk_numbers(problem, range(1, 4), fits={}, guesses={}, goal=goal)
    assert sure.details["sweeps each"] == 400
    monkeypatch.setattr(walking, "agreement_flags", lambda *_: doubt)
    unsure = walk_numbers(problem, range(1, 4), fits={}, guesses={}, goal=goal)
    assert unsure.details["sweeps each"] == 700
    assert unsure.verdict is Verdict.LOWER_BOUND
    assert unsure.notes == doubt


def test_a_number_is_measured_if_its_blocks_are():
    levels = Occupancy((1, 2, 3, 4), 1.0, 30.0, 1, 4)
    log_z = np.array([-300.0, -90.0, -90.0, -120.0])
    last = levels.last
    levels, log_z = PriorMixture((levels,), np.zeros(1)), log_z[:, None]
    assert levels.made_of(log_z, 1, last) == {1, 2, 3, 4}
    assert levels.made_of(log_z, 2, last) == {2, 3, 4}
    assert levels.made_of(log_z, 3, last) == frozenset()
    assert levels.made_of(log_z, 1, 1) == {1}


@pytest.mark.slow
def test_walk_is_the_same_on_threads():
    problem = make_case([2, 2, 2, 2], 2, 40, seed=2).problem
    goal = WalkGoal(rounds=2)
    one = walk_numbers(problem, (1, 2, 3), fits={}, guesses={}, seed=3, goal=goal)
    with on_threads(2) as executor:
        two = walk_numbers(
            problem, (1, 2, 3), fits={}, guesses={}, seed=3, executor=executor, goal=goal
        )
    assert (one.values == two.values).all()
    assert (one.replicates == two.replicates).all()


def test_walkable():
    case = make_case([2, 3], 2, 12, seed=1, alpha=1.0)
    problem = case.problem
    assert walkable([problem, with_classes(problem, 4)])
    spread = make_case([2, 3], 4, 12, seed=1, alpha="bdeu:4").problem
    assert not walkable([problem, spread])
    assert not walkable([problem, make_case([2, 3], 3, 12, seed=2, alpha=1.0).problem])


def test_cases_that_show_nothing_are_left_out():
    problem = make_case([2, 2], 2, 20, missing=0.7, seed=4, alpha=1.0).problem
    observed = (problem.codes >= 0).any(axis=1)
    assert not observed.all()
    assert len(leaves_of(problem).row) == problem.counts[observed].sum()


def energies(x):
    """Notes of log weights, (chains, sweeps), all at one number of blocks."""
    return np.stack([np.full(len(x), x.shape[1]), x.sum(1), (x**2).sum(1)], axis=1)[:, None]


def test_chains_in_different_places_disagree():
    x = np.random.default_rng(0).normal(size=(8, 100))
    assert agreement_flags(energies(x), np.ones(1)) == ()
    apart = energies(x + np.arange(8)[:, None])
    assert r_hat(apart, np.ones(1)) > 1.5
    assert agreement_flags(apart, np.ones(1)) == (
        Flag(Kind.CHAINS_DISAGREE, detail={"r_hat": r_hat(apart, np.ones(1))}),
    )


def test_chains_must_agree_where_it_matters():
    """However often chains were elsewhere: visits go by errors, not by the posterior."""
    rng = np.random.default_rng(1)
    here, moved = rng.normal(size=(8, 100)), rng.normal(size=(8, 900)) + np.arange(8)[:, None]
    both = np.concatenate([energies(here), energies(moved)], axis=1)
    assert agreement_flags(both, np.array([0.99, 0.01])) == ()
    (doubt,) = agreement_flags(both, np.array([0.5, 0.5]))
    assert doubt.kind is Kind.CHAINS_DISAGREE


def test_chains_that_stay_where_they_are():
    x = np.random.default_rng(0).normal(size=(8, 100))
    here = energies(x)
    moved = here * (np.arange(8) < 2)[:, None, None]  # two of eight came there
    both = np.concatenate([here, moved], axis=1)
    stay = (Flag(Kind.CHAINS_STAY, detail={"share": 0.25}),)
    assert agreement_flags(both, np.array([0.9, 0.1])) == stay
    assert agreement_flags(both, np.array([0.999, 0.001])) == ()
