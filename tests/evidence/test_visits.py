"""Where a walk spends its time."""

import numpy as np
import pytest

from lacunet.evidence.partitions.levels import RAREST, by_errors, by_shares

CHAINS, OFTEN = 400, np.array([10.0, 2.0])


def noted(visits, spread, rng):
    """Rates of chains whose step down from each number of blocks is so uncertain a visit."""
    rates = np.zeros((CHAINS, 2, len(visits), 3))
    rates[..., 0] = visits
    rates[..., 1] = 0.1 * np.array(visits)
    noise = rng.normal(size=(CHAINS, 1, len(visits))) * spread * np.sqrt(visits)
    rates[..., 2] = 0.1 * (np.array(visits) + noise)
    return rates


def test_visits_go_where_errors_come_from():
    """The best visits go with the root of variance a visit, and with what a step moves."""
    visits, spread = [0.0, 40.0, 40.0, 40.0, 0.0], [0.0, 1.0, 0.5, 2.0, 0.0]
    shares = np.array([0.5, 0.25, 0.25])
    result = by_errors(noted(visits, spread, np.random.default_rng(1)), OFTEN, shares, 1)
    below = np.cumsum(shares)
    moved = below * (1 - below)
    reference = np.array([0.0, moved[0] * 0.5, moved[1] * 2.0])
    expected = np.log(np.maximum(reference, RAREST * reference.max()))
    assert result - result.max() == pytest.approx(expected - expected.max(), abs=0.15)


def test_visits_do_not_depend_on_how_often_there_was():
    """The same spread a visit asks for the same visits, whatever the past ones."""
    rng = np.random.default_rng(2)
    shares, spread = np.array([0.4, 0.3, 0.3]), [0.0, 1.0, 1.0, 1.0, 0.0]
    result = [
        by_errors(noted(visits, spread, rng), OFTEN, shares, 1)
        for visits in ([0.0, 30.0, 30.0, 30.0, 0.0], [0.0, 90.0, 270.0, 30.0, 0.0])
    ]
    scaled = [each - each.max() for each in result]
    assert scaled[0] == pytest.approx(scaled[1], abs=0.15)


def test_without_errors_posteriors_decide():
    rates = np.zeros((CHAINS, 2, 5, 3))  # nothing was noted yet
    assert by_errors(rates, OFTEN, np.array([0.9, 0.09, 0.01]), 1) is None
    assert (np.diff(by_shares(np.array([0.9, 0.09, 0.01]))) < 0).all()
