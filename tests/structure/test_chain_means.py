"""Means of Markov chains: R̂ and standard errors, over repeated seeds."""

import math

import numpy as np
import pytest

from lacunet.structure.edges.posterior import chain_mean


def test_chains_that_disagree_are_flagged():
    """Two modes that no chain of this length changes between: warm-up apart, means apart."""
    rng = np.random.default_rng(0)
    agreeing = rng.normal(size=(4, 400))
    estimate = chain_mean(agreeing)
    assert estimate.r_hat < 1.02
    assert estimate.stderr == pytest.approx(1 / math.sqrt(1600), rel=0.2)
    apart = chain_mean(agreeing + np.array([[0.0], [0.0], [3.0], [3.0]]))
    assert apart.r_hat > 1.5
    assert apart.stderr > 0.5


def test_standard_errors_of_slow_chains():
    """AR(1) with ρ = 0.9: one draw in 19 is worth a fresh one."""
    rng = np.random.default_rng(2)
    errors, message = [], []
    for _ in range(60):
        x = np.zeros((4, 500))
        x[:, 0] = rng.normal(size=4)
        for t in range(1, 500):
            x[:, t] = 0.9 * x[:, t - 1] + math.sqrt(1 - 0.81) * rng.normal(size=4)
        estimate = chain_mean(x)
        errors.append(estimate.value)
        message.append(estimate.stderr)
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(math.sqrt(19 / 2000), rel=0.3)
    assert np.mean(message) == pytest.approx(math.sqrt(19 / 2000), rel=0.2)
