"""The walk over partitions of cases that show numbers, against plain sums and published values."""

import numpy as np
import pytest

from galaxies import GALAXIES, TRUTH, galaxies, ten
from lacunet.evidence.annealing import Goal
from lacunet.evidence.estimate import Method, jackknife_error, leave_one_out
from lacunet.evidence.measure import measure
from lacunet.evidence.partitions.cases import (
    PartitionStatistics,
    leaves_of,
    log_class_weights,
    walkable,
)
from lacunet.evidence.partitions.chains import Stretch, advance_chain, start_chain
from lacunet.evidence.partitions.levels import Occupancy, log_ratios
from lacunet.evidence.partitions.walk import WalkGoal, walk_numbers
from lacunet.fitting.fit import Options, learn
from lacunet.inference.classes import with_classes
from lacunet.inference.kernels.blocks import LevelWeights
from lacunet.inference.kernels.number_blocks import log_row
from lacunet.inference.kernels.splitting import TRIED, log_block
from mixtures import exact_evidence, mixture
from partition_sums import log_marginal, log_sums, log_weight

FAMILIES = ("gaussian", "poisson", "binomial")


def one_chain(problem, blocks, most):
    return start_chain(leaves_of(problem), np.asarray(blocks), most, np.random.default_rng(1))


@pytest.mark.parametrize("name", FAMILIES)
def test_identity(name):
    """Sums over partitions of mixed rows with missing values give the sums over labellings."""
    problem = mixture(name, 7, seed=3, missing=0.4)
    cases = len(leaves_of(problem).row)
    levels = Occupancy((1, 2, 3), leaves_of(problem).a, cases, 1, cases)
    values = levels.log_evidence(problem.log_base + log_sums(problem))
    exact = [exact_evidence(name, with_classes(problem, k)) for k in levels.numbers]
    assert values == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize("name", FAMILIES)
def test_blocks_predict_as_families_do(name):
    """A row given a block, and given a block that it is in, less itself."""
    problem = mixture(name, 9, seed=5, missing=0.2)
    chain = one_chain(problem, [0, 1, 0, 1, 0, 1, 0, 1, 0][: len(leaves_of(problem).row)], 3)
    leaves, block, codes = chain.leaves, chain.at.block, problem.codes[(problem.codes >= 0).any(1)]
    for row in range(len(codes)):
        for b in (0, 1, 2):
            inside = b == block[row]
            others = codes[(block == b) & (np.arange(len(codes)) != row)]
            expected = sum(
                log_marginal(problem, leaf, np.append(others[:, n], codes[row, n]))
                - log_marginal(problem, leaf, others[:, n])
                for leaf, n in ((1, 0), (3, 2))
            )
            result = log_row(leaves.numbers, row, chain.at.blocks.numbers, b, inside)
            assert result == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("name", FAMILIES)
def test_rates_determine_ratios(name):
    problem = mixture(name, 6, seed=2, missing=0.15)
    leaves = leaves_of(problem)
    cases = len(leaves.row)
    truth = np.diff(log_sums(problem))
    rise = np.ones(cases + 2)
    rise[1:cases] = np.exp(-truth)
    levels = LevelWeights(np.where(np.arange(cases + 2) < cases, rise, 0.0), rise)
    starts = [
        start_chain(leaves, np.arange(cases), cases, np.random.default_rng(n)) for n in range(10)
    ]
    notes = np.array([advance_chain(Stretch(levels, 600), chain)[1].rates for chain in starts])
    often = np.array([float(cases), TRIED])

    def ratios(rates, often):
        return log_ratios(rates, np.log(rise), often)[1:cases]

    for kinds in (often, often * [1, 0], often * [0, 1]):  # each kind of move by itself, too
        value = ratios(notes.sum(axis=0), kinds)
        error = jackknife_error(np.array([ratios(each, kinds) for each in leave_one_out(notes)]))
        assert (np.abs(value - truth) < 5 * error + 1e-9).all()
        assert error.max() < 0.2


@pytest.mark.parametrize("name", FAMILIES)
def test_a_chain_keeps_its_books(name):
    """After a long walk, what blocks hold is what their cases show."""
    problem = mixture(name, 40, seed=7, missing=0.2)
    start = one_chain(problem, np.zeros(len(leaves_of(problem).row), dtype=np.int64), 6)
    flat = LevelWeights(np.ones(8), np.ones(8))
    flat.rise[6:] = 0.0
    chain, _ = advance_chain(Stretch(flat, 200), start)
    fresh = start_chain(chain.leaves, chain.at.block, 6, chain.rng)
    assert chain.at.blocks.numbers == pytest.approx(fresh.at.blocks.numbers, abs=1e-9)
    used = int(chain.at.used[0])
    energy = sum(log_block(chain.leaves, chain.at.blocks, b) for b in range(used))
    assert energy == pytest.approx(log_weight(problem, chain.at.block), abs=1e-9)
    N = PartitionStatistics(problem).of(chain.leaves.row, chain.at.block)
    held = chain.at.blocks.numbers[:used] - chain.leaves.numbers.prior
    layout = with_classes(problem, used).layout
    for g, leaf in enumerate((1, 3)):
        table = layout.table(N, leaf)
        assert table == pytest.approx(held[:, g, : table.shape[1]], abs=1e-9)


def test_an_outlier_does_not_lose_all_others():
    """Its own block fits it so much better that nothing else is a number beside that."""
    problem = mixture("gaussian", 12, seed=1)
    chain = one_chain(problem, [0, 0, *[1] * (len(leaves_of(problem).row) - 2)], 4)
    chain.leaves.numbers.T[:4] *= [1e5, 1.0, 1e10, 1.0]  # two cases, far from all others
    far = start_chain(chain.leaves, chain.at.block, 4, chain.rng)
    levels = LevelWeights(np.maximum(4.0 - np.arange(6.0), 0.0), np.ones(6))
    _, notes = advance_chain(Stretch(levels, 20), far)
    assert np.isfinite(notes.rates).all()


def test_weights_of_classes_are_likelihoods():
    problem = mixture("poisson", 15, seed=4, missing=0.2)
    fit = learn(problem, Options(starts=4))
    weights = log_class_weights(problem, fit.model.theta)
    log_lik = np.logaddexp.reduce(weights, axis=1).sum() + problem.log_base
    assert log_lik == pytest.approx(fit.log_lik, abs=1e-9)


def test_what_can_be_walked():
    assert all(walkable([mixture(name, 8, seed=1)]) for name in FAMILIES)
    assert not walkable([mixture("geometric", 8, seed=1)])  # its predictive is in no kernel


@pytest.mark.slow
def test_ten_numbers():
    walk = walk_numbers(ten(3, 8.0), (1, 2, 3), fits={}, guesses={}, goal=WalkGoal(0.004))
    errors = jackknife_error(walk.replicates)
    truth = np.array([TRUTH[k] for k in walk.numbers])
    assert (np.abs(walk.values - truth) <= 4 * errors + 1e-9).all()
    assert errors.max() < 0.1


@pytest.mark.slow
def test_galaxies():
    """Differences between neighbours, which the walk measures; the level is that of a guess."""
    walk = walk_numbers(galaxies(8), range(1, 9), fits={}, guesses={}, goal=WalkGoal(0.01), seed=2)
    numbers = [k for k in GALAXIES if k >= 3]
    assert set(numbers) <= walk.measured
    places = [walk.numbers.index(k) for k in numbers]
    values, errors = (np.array([GALAXIES[k][n] for k in numbers]) for n in (0, 1))
    result = np.diff(walk.values[places])
    error = jackknife_error(np.diff(walk.replicates[:, places], axis=1))
    known = np.hypot(errors[1:], errors[:-1])
    assert (np.abs(result - np.diff(values)) <= 4 * np.hypot(error, known)).all()
    assert error.max() < 0.1


@pytest.mark.slow
def test_an_anchored_walk_of_galaxies():
    truth, error = GALAXIES[3]
    estimate = measure(galaxies(3), Method.WALK, Goal(0.1, 6000.0), seed=2)
    assert estimate.method is Method.WALK
    assert estimate.value == pytest.approx(truth, abs=4 * np.hypot(estimate.stderr, error))
