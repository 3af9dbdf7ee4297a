"""Errors of log evidence travel to probabilities, Bayes factors and odds."""

import math

import numpy as np
import pytest

from lacunet.errors import OptionError
from lacunet.selection.certainty import Certainty, CertaintyBasis
from lacunet.tabular import chance

VALUES = {1: -103.0, 2: -100.0, 3: -100.4, "other": -140.0}
ERRORS = np.array(
    [
        [0.040, 0.010, 0.005, 0.0],
        [0.010, 0.090, 0.080, 0.0],
        [0.005, 0.080, 0.100, 0.0],
        [0.000, 0.000, 0.000, 0.0],
    ]
)
SMALL = 1e-4  # so that first order is all there is


def certainty(prior=None, covariance=ERRORS, **more):
    measured = frozenset({1, 2, 3})
    return Certainty(
        "evidence", VALUES, prior, CertaintyBasis.MEASURED, covariance, measured, **more
    )


def drawn(prior, scale):
    """The same posterior for many draws of the errors, (draws, candidates)."""
    rng = np.random.default_rng(0)
    values = rng.multivariate_normal(list(VALUES.values()), scale * ERRORS, size=200_000)
    weights = np.exp(values - values.max(axis=1, keepdims=True)) * prior
    return values, weights / weights.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("prior", [None, {1: 5.0, 2: 1.0, 3: 2.0, "other": 1.0}])
def test_errors_propagate_to_probabilities(prior):
    weights = np.ones(4) if prior is None else np.array(list(prior.values()))
    _, p = drawn(weights, SMALL)
    result = certainty(prior, SMALL * ERRORS)
    np.testing.assert_allclose(list(result.probabilities.values()), p.mean(axis=0), rtol=1e-3)
    stderr = list(result.stderr.values())
    np.testing.assert_allclose(stderr[:3], p.std(axis=0)[:3], rtol=0.01)
    assert stderr[3] < 1e-12


def test_errors_in_common_cancel_in_a_bayes_factor():
    values, _ = drawn(np.ones(4), 1.0)
    factor = certainty().bayes_factor(2, 3)
    assert factor.log == pytest.approx(0.4)
    assert factor.stderr == pytest.approx((values[:, 1] - values[:, 2]).std(), rel=0.01)
    low, high = factor.interval
    assert (low, high) == pytest.approx(
        (math.exp(0.4 - 2 * factor.stderr), math.exp(0.4 + 2 * factor.stderr))
    )
    back = certainty().bayes_factor(3, 2)
    assert (back.log, back.stderr) == pytest.approx((-factor.log, factor.stderr))
    assert str(factor) == "+0.40 ± 0.17 nats"
    itself = certainty().bayes_factor(2, 2)
    assert (itself.log, itself.stderr, itself.ratio) == (0.0, 0.0, 1.0)


def test_odds_have_the_prior_in_them():
    prior = {1: 0.0, 2: 1.0, 3: 3.0, "other": 1.0}
    weighed = certainty(prior)
    assert weighed.odds(3, 2).log == pytest.approx(math.log(3) - 0.4)
    p = weighed.probabilities
    assert weighed.odds(3, 2).ratio == pytest.approx(p[3] / p[2])
    assert weighed.odds(3, 2).stderr == weighed.bayes_factor(3, 2).stderr
    assert weighed.choice == 3
    assert weighed.ranking == [3, 2, "other", 1]
    assert weighed.odds(2, 1).log == math.inf
    assert certainty().odds(3, 2) == certainty().bayes_factor(3, 2)


def test_unidentified_parameters_have_no_error():
    assert certainty().bayes_factor(2, "other").stderr is None  # it stands at its score
    unsure = certainty(covariance=None)
    assert not unsure.reliable
    assert set(unsure.stderr.values()) == {None}
    assert unsure.bayes_factor(1, 2).interval is None
    with pytest.raises(OptionError, match="7 is not a candidate"):
        unsure.bayes_factor(7, 1)


def test_without_any_value():
    nothing = Certainty("cs", {1: math.nan, 2: math.nan}, None, CertaintyBasis.APPROXIMATED)
    assert nothing.choice is None
    assert nothing.ranking == []


def test_an_error_is_never_rounded_down():
    assert chance(0.5, 0.0201) == "0.50 ± 0.03"
    assert chance(0.5, 0.02) == "0.50 ± 0.02"
    assert chance(0.5, 1e-5) == "0.500 ± 0.001"
    assert chance(0.5, 0.0) == "0.500"
