"""One walk over partitions and priors, against sums over all completions under each prior."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logsumexp

from lacunet.evidence.estimate import jackknife_error
from lacunet.evidence.exact import exact_evidence
from lacunet.evidence.partitions.cases import leaves_by_prior
from lacunet.evidence.partitions.chains import Stretch, advance_chain, joined_priors, start_chain
from lacunet.evidence.partitions.levels import Occupancy, WalkedPriors
from lacunet.evidence.partitions.walk import WalkGoal, walk_numbers
from lacunet.inference.classes import with_classes
from lacunet.inference.kernels.blocks import LevelWeights
from lacunet.models import conjugacy
from lacunet.models.latent_class import classes_of
from mixtures import mixture
from partition_sums import log_sums, log_weight
from problems import make_case


def of_profiles(problem, factor):
    """Exponents of profiles times a factor; those of class weights stay."""
    alpha = problem.alpha * factor
    root = classes_of(problem.network).root
    problem.layout.table(alpha, root)[...] = problem.layout.table(problem.alpha, root)
    return alpha


def of_everything(problem, factor):
    return problem.alpha * factor


def of_scale(problem, factor):
    return conjugacy.widened(problem.alpha, problem.layout, factor)


def check(problem, alphas, weights, numbers, exact, *, seed=0, rounds=16):
    several = WalkedPriors(tuple(alphas), np.array(weights), 1)
    goal = WalkGoal(0.001, rounds)
    walk = walk_numbers(
        problem, numbers, fits={}, guesses={}, goal=goal, seed=seed, several=several
    )
    truth = np.array(
        [[exact(with_classes(replace(problem, alpha=a), k)) for a in alphas] for k in numbers]
    )
    with np.errstate(divide="ignore"):
        average = logsumexp(truth + np.log(weights), axis=1)
    assert walk.anchored_by_bridge
    errors = jackknife_error(walk.replicates)
    assert (np.abs(walk.values - average) <= 4 * errors + 1e-9).all()
    each = jackknife_error(walk.by_prior_replicates)
    assert (np.abs(walk.by_prior - truth) <= 4 * each + 1e-9).all()
    assert errors.max() < 0.06
    assert each.max() < 0.15
    assert sum(walk.used.values()) == pytest.approx(1.0)
    return walk


@pytest.mark.parametrize("change", [of_profiles, of_everything])
def test_average_over_exponents(change):
    """With missing cells and weights of rows; the last prior has no part in the average."""
    case = make_case([2, 3, 2], 2, 5, missing=0.15, seed=8, alpha=1.0)
    counts = np.where(np.arange(len(case.counts)) == 0, 2.0, 1.0) * case.counts
    problem = replace(case, counts=counts).problem
    alphas = [change(problem, factor) for factor in (0.3, 1.0, 2.0, 4.0)]
    weights = [0.5, 0.3, 0.2, 0.0]
    walk = check(problem, alphas, weights, (1, 2, 3), lambda p: exact_evidence(p).value)
    shares = [walk.used[m] for m in (1, 2, 3)]
    assert shares == pytest.approx(used_by_listing(problem, alphas, weights, (1, 2, 3)), abs=0.02)


def used_by_listing(problem, alphas, weights, numbers):
    """Posterior of the number of used classes, all numbers of classes and priors together."""
    parts = []
    for alpha, weight in zip(alphas, weights, strict=True):
        if weight:
            one = replace(problem, alpha=alpha)
            (leaves,) = leaves_by_prior(one, [alpha])
            levels = Occupancy(numbers, leaves.a, len(leaves.row), 1, max(numbers))
            log_z = log_sums(one)[: max(numbers)]
            parts.append(np.log(weight) + logsumexp(levels.log_factors() + log_z, axis=0))
    whole = logsumexp(parts, axis=0)
    return np.exp(whole - logsumexp(whole))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gaussian", "poisson"])
def test_average_over_priors_of_numbers(name):
    problem = mixture(name, 5, seed=3, missing=0.3)
    change = of_scale if name == "gaussian" else of_profiles
    alphas = [change(problem, factor) for factor in (0.3, 1.0, 3.0)]
    check(problem, alphas, [1 / 3] * 3, (1, 2, 3), by_listing)


def by_listing(problem):
    """The evidence as a sum over all partitions, with the integrals of families."""
    (leaves,) = leaves_by_prior(problem, [problem.alpha])
    k = classes_of(problem.network).number
    levels = Occupancy((k,), leaves.a, len(leaves.row), 1, len(leaves.row))
    return problem.log_base + float(levels.log_evidence(log_sums(problem))[0])


@pytest.mark.parametrize("name", ["categories", "gaussian"])
def test_a_chain_keeps_its_books(name):
    """What blocks hold after many changes of the prior is what their cases and the prior give."""
    if name == "categories":
        problem = make_case([2, 3, 2], 2, 12, missing=0.2, seed=4, alpha=1.0).problem
        alphas = [of_profiles(problem, factor) for factor in (0.7, 1.0, 1.01)]
    else:
        problem = mixture(name, 9, seed=5, missing=0.2)
        alphas = [of_scale(problem, factor) for factor in (0.8, 1.0, 1.2)]
    each = leaves_by_prior(problem, alphas)
    start = start_chain(
        each[0], np.zeros(len(each[0].row), dtype=np.int64), 6, np.random.default_rng(2)
    )
    flat = LevelWeights(np.where(np.arange(8) < 6, 1.0, 0.0), np.ones(8))
    among = joined_priors(each), np.zeros((3, 8))
    seen = set()
    for _ in range(40):
        chain, notes = advance_chain(Stretch(flat, 5, *among), start)
        seen.add(int(chain.at.prior[0]))
        assert notes.priors.sum() == pytest.approx(5.0)
        now = each[int(chain.at.prior[0])]
        fresh = start_chain(now, chain.at.block, 6, np.random.default_rng(0))
        used = int(chain.at.used[0])
        held, expected = chain.at.blocks, fresh.at.blocks
        assert held.table[:, : used + 1] == pytest.approx(expected.table[:, : used + 1], abs=1e-9)
        if held.numbers is not None:
            assert held.numbers[: used + 1] == pytest.approx(expected.numbers[: used + 1], abs=1e-8)
    assert seen == {0, 1, 2}


def test_notes_are_probabilities_of_priors():
    """p(s|z) of the partition after a sweep, by the weights of the definition."""
    problem = make_case([2, 3], 2, 6, missing=0.2, seed=2, alpha=1.0).problem
    alphas = [of_everything(problem, factor) for factor in (0.5, 1.0, 2.0)]
    each = leaves_by_prior(problem, alphas)
    log_weights = np.random.default_rng(0).normal(size=(3, 8))
    among = joined_priors(each), log_weights
    rng = np.random.default_rng(3)
    chain = start_chain(each[0], np.arange(len(each[0].row)), 6, rng)
    for _ in range(10):
        chain, notes = advance_chain(
            Stretch(LevelWeights(np.ones(8), np.ones(8)), 1, *among), chain
        )
        used, block = int(chain.at.used[0]), chain.at.block
        logs = [log_weight(replace(problem, alpha=a), block) for a in alphas] + log_weights[:, used]
        expected = np.exp(logs - logsumexp(logs))
        assert notes.priors[used] == pytest.approx(expected, abs=1e-10)
        assert notes.energy[used, 1] == pytest.approx(logsumexp(logs), abs=1e-9)
