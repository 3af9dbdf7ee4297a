"""The annealing path: normalised at one end, the evidence at the other, invariant moves between."""

import numpy as np
import pytest
from scipy.special import logsumexp

from lacunet.evidence.annealing import AnnealingPath
from lacunet.evidence.exact import exact_evidence
from lacunet.inference.sampling.particles import Draws
from two_classes import hidden_counts, prior_as_reference


def test_the_reference_is_normalised_and_the_end_is_the_evidence(problem, path):
    worlds = hidden_counts(problem)
    assert logsumexp(path.log_density(0.0, worlds)) == pytest.approx(0.0, abs=1e-10)
    whole = logsumexp(path.log_density(1.0, worlds)) + path.log_seen
    assert whole == pytest.approx(exact_evidence(problem).value, abs=1e-10)


@pytest.mark.parametrize("b", [0.0, 0.4, 1.0])
def test_a_move_leaves_the_path_as_it_is(problem, path, b):
    """Samples of f_b, moved once, are samples of f_b: compared by a statistic of the counts."""
    worlds = hidden_counts(problem)
    rng = np.random.default_rng(7)
    draws = Draws(problem, rng)
    log_p = path.log_density(b, worlds)
    p = np.exp(log_p - logsumexp(log_p))
    start = worlds[rng.choice(len(worlds), 20_000, p=p)]
    moved = path.move(b, start, draws)
    expected, spread = p @ worlds, np.sqrt(p @ worlds**2 - (p @ worlds) ** 2)
    deviation = (moved.mean(axis=0) - expected) / (spread / np.sqrt(len(moved)) + 1e-12)
    assert np.abs(deviation).max() < 4.5
    # Second moments too: they would notice moves that only keep the mean.
    square = (moved**2).mean(axis=0)
    error = (moved**2).std(axis=0) / np.sqrt(len(moved)) + 1e-12
    assert np.abs((square - p @ worlds**2) / error).max() < 4.5


def test_the_prior_as_a_reference_gives_every_completion_the_same_weight(problem):
    path = AnnealingPath(problem, prior_as_reference(problem))
    q = path.log_density(0.0, hidden_counts(problem))
    assert np.allclose(q, -5 * np.log(2), atol=1e-10)
