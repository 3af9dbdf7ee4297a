"""The score that sums over the modes that a search found."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logsumexp

from lacunet.learn.fit import Options, learn
from lacunet.scores import CSL_OCCUPIED, ScoreInput, choose_scores
from problems import make_case

(MODES,) = choose_scores("csl-modes")


@pytest.fixture(scope="module")
def fit():
    """Four classes where two would do: several maxima of about the same height."""
    case = make_case([2] * 8, 4, 120, seed=3, true_classes=2, alpha=1.0)
    return learn(case.problem, Options(starts=16))


def test_a_search_remembers_other_maxima(fit):
    assert 1 <= len(fit.others) <= 3
    heights = [fit.point.g, *(point.g for point in fit.others)]
    assert (
        np.abs(np.subtract.outer(heights, heights))[~np.eye(len(heights), dtype=bool)].min() > 1e-4
    )


def test_one_mode_is_the_occupied_score(fit):
    at = ScoreInput(fit.problem, fit.model.theta)
    assert at.modes == (at,)
    assert MODES.here(at).value == CSL_OCCUPIED.here(at).value
    assert MODES.here(at).name == "csl-modes"


def test_each_mode_adds_its_part_once(fit):
    others = tuple(point.theta for point in fit.others)
    at = ScoreInput(fit.problem, fit.model.theta, others=others)
    assert len(at.modes) > 1
    parts = [CSL_OCCUPIED.here(mode).value for mode in at.modes]
    assert MODES.here(at).value == pytest.approx(logsumexp(parts), abs=1e-9)
    # Beside other modes a mode keeps only what is nearest to it.
    alone = [CSL_OCCUPIED.here(replace(mode, beside=())).value for mode in at.modes]
    assert all(part <= one + 1e-9 for part, one in zip(parts, alone, strict=True))
    assert max(alone) - 1 < MODES.here(at).value <= logsumexp(alone) + 1e-9


def test_the_same_maximum_relabelled_adds_nothing(fit):
    by_size = np.arange(4)[::-1]
    layout, theta = fit.problem.layout, fit.model.theta
    tables = [layout.table(theta, i)[by_size] for i in range(len(layout.cards))]
    at = ScoreInput(fit.problem, theta, others=(theta, layout.flat(tables)))
    assert len(at.modes) == 1
