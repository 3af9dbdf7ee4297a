"""Averages of weights, their errors, and the verdict."""

import math

import numpy as np
import pytest

from lacunet.errors import OptionError
from lacunet.evidence.annealing import Goal
from lacunet.evidence.estimate import LogMean, Verdict, combined, known, log_mean, log_sum


def test_a_mean_and_its_error_are_those_of_the_weights():
    w = np.random.default_rng(0).gamma(3.0, 1.0, 50)
    estimate = log_mean(np.log(w) - 1000.0)
    assert estimate.value == pytest.approx(math.log(w.mean()) - 1000.0)
    assert estimate.stderr >= w.std(ddof=1) / w.mean() / math.sqrt(50)
    assert estimate.stderr < 1.5 * w.std(ddof=1) / w.mean() / math.sqrt(50)
    assert estimate.size == pytest.approx(w.sum() ** 2 / (w**2).sum())
    assert estimate.share == pytest.approx(w.max() / w.sum())


def deviations(draw, size, truth):
    """Errors of 400 log means that are called reliable, in standard errors."""
    result = [log_mean(draw(np.random.default_rng(seed), size)) for seed in range(400)]
    reliable = [f for f in result if f.verdict is Verdict.RELIABLE]
    return np.array([abs(f.value - truth) / f.stderr for f in reliable])


@pytest.mark.parametrize("size", [16, 64])
def test_errors_of_weights_with_long_tails(size):
    """Log-normal weights, whose mean is known: nine of ten reliable ones within two errors."""
    spreads = (0.3, 0.7, 1.0, 1.5, 2.5)
    each = {
        sigma: deviations(lambda rng, n, s=sigma: rng.normal(0.0, s, n), size, sigma**2 / 2)
        for sigma in spreads
    }
    assert len(each[0.3]) == 400
    assert len(each[2.5]) < 4  # hopeless, and known to be
    z = np.concatenate(list(each.values()))
    assert (z > 2).sum() <= 0.1 * len(z)
    assert (z < 5).all()


def test_errors_of_weights_of_which_some_are_nothing():
    def draw(rng, number):
        return np.where(rng.random(number) < 0.5, -60.0, rng.normal(0.0, 0.5, number))

    z = deviations(draw, 32, 0.125 + math.log(0.5))
    assert (z > 2).sum() <= 0.1 * len(z)
    assert (z < 5).all()


def test_two_estimates_that_agree_are_better_and_two_that_do_not_are_worse():
    a, b = LogMean(0.0, 0.1, 40.0, 0.05, 64), LogMean(0.1, 0.2, 20.0, 0.1, 32)
    both = combined(a, b)
    assert both.value == pytest.approx(0.02)
    assert both.stderr == pytest.approx(0.1 * 0.2 / math.hypot(0.1, 0.2))
    apart = combined(a, b.plus(1.0))
    assert apart.stderr > 4 * both.stderr
    assert abs(apart.value - 1.1) < 3 * apart.stderr


def test_dead_chains_count():
    w = np.array([2.0, 0.0, 2.0, 0.0])
    with np.errstate(divide="ignore"):
        assert log_mean(np.log(w)).value == pytest.approx(0.0)
        assert log_mean(np.log(np.zeros(3))).value == -math.inf


def test_sums_of_independent_parts():
    a = LogMean(0.0, 0.1, 40.0, 0.05, 64)
    b = LogMean(math.log(3.0), 0.2, 20.0, 0.1, 32)
    whole = log_sum([a, b, log_mean(np.full(4, -np.inf))])
    assert whole.value == pytest.approx(math.log(4.0))
    assert whole.stderr == pytest.approx(math.hypot(0.25 * 0.1, 0.75 * 0.2))
    assert whole.share == pytest.approx(0.075)
    assert whole.chains == 100
    same = log_mean(np.zeros(16))
    assert log_sum([same, same]).size == pytest.approx(32.0)
    assert log_sum([known(-1.0)]).stderr == 0.0


@pytest.mark.parametrize(
    ("stderr", "size", "share", "verdict"),
    [
        (0.49, 11.0, 0.19, Verdict.RELIABLE),
        (0.51, 99.0, 0.01, Verdict.LOWER_BOUND),
        (0.10, 9.0, 0.01, Verdict.LOWER_BOUND),
        (0.10, 99.0, 0.21, Verdict.LOWER_BOUND),
    ],
)
def test_the_rules_of_the_verdict(stderr, size, share, verdict):
    assert LogMean(-1.0, stderr, size, share, 64).verdict is verdict


@pytest.mark.parametrize("wrong", [{"target": 0.0}, {"budget": -1.0}, {"target": math.nan}])
def test_goals_that_cannot_be(wrong):
    with pytest.raises(OptionError, match="must be above 0"):
        Goal(**wrong)
