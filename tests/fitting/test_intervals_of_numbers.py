"""Standard errors and intervals of means, variances, rates and ordered answers."""

import numpy as np
import pytest
from scipy.stats import norm

import lacunet
from lacunet.inference.leaves import leaves_of
from lacunet.models import conjugacy
from lacunet.models.network import Network, Variable
from lacunet.models.number_prior import NumberPrior
from mixtures import FAMILIES, mixture
from people import FAST, KINDS, people


@pytest.fixture(scope="module")
def table():
    return lacunet.read_table(people(200, seed=2), kinds=KINDS)


@pytest.fixture(scope="module")
def fit(table):
    return lacunet.fit(table, 2, **FAST)


def test_one_class_has_the_standard_errors_of_the_books():
    frame = people(400, seed=1, missing=0.0)
    table = lacunet.read_table(frame, kinds=KINDS)
    intervals = lacunet.intervals(table, lacunet.fit(table, 1, **FAST), level=0.9)
    height, z = frame["height"].to_numpy(), norm.ppf(0.95)
    of_height = intervals.summaries("height")
    assert of_height["mean"].stderr[0] == pytest.approx(height.std() / 20, rel=0.01)
    assert of_height["mean"].high[0] - of_height["mean"].low[0] == pytest.approx(
        2 * z * of_height["mean"].stderr[0], rel=1e-9
    )
    sd, cases = of_height["sd"], 400 + 3.0 + 1 + 2  # the prior's degrees of freedom, μ, and dσ²
    assert sd.stderr[0] == pytest.approx(sd.estimate[0] / np.sqrt(2 * cases), rel=1e-6)
    assert np.log(sd.high[0] / sd.estimate[0]) == pytest.approx(z / np.sqrt(2 * cases), rel=1e-6)
    rate = intervals.summaries("visits")["rate"]
    assert rate.stderr[0] == pytest.approx(np.sqrt(frame["visits"].mean() / 400), rel=0.01)
    agree = intervals.summaries("agree")["mean"]
    p = (frame["agree"].mean() - 1) / 4
    assert agree.stderr[0] == pytest.approx(4 * np.sqrt(p * (1 - p) / 1600), rel=0.01)
    logs = np.log(frame["income"].to_numpy())
    income = intervals.summaries("income")
    assert income["median"].stderr[0] / income["median"].estimate[0] == pytest.approx(
        logs.std() / 20, rel=0.01
    )
    assert income["factor"].low[0] < np.exp(logs.std()) < income["factor"].high[0]


@pytest.mark.parametrize("name", FAMILIES)
def test_moves_on_the_scale_are_those_of_the_coordinates(name):
    """θ after a small move of φ, told by `moved`, and by the scale of each place."""
    problem = mixture(name, 30, seed=1)
    layout, rng = problem.layout, np.random.default_rng(0)
    theta = conjugacy.random_theta(layout, rng, problem.alpha)
    free, _ = conjugacy.free(theta, layout)
    phi = np.zeros(layout.size)
    phi[free] = 1e-6 * rng.standard_normal(len(free))
    moved = conjugacy.moved(theta, phi, layout)
    scaled = conjugacy.to_interval_scale(phi[:, None], theta, layout)[:, 0]
    np.testing.assert_allclose(
        conjugacy.from_interval_scale(theta, scaled, layout), moved, atol=1e-10
    )
    slope = conjugacy.scale_slope(theta, layout)
    np.testing.assert_allclose(slope * scaled, moved - theta, atol=1e-10)


def test_the_bootstrap_is_about_the_same(table, fit):
    wald = lacunet.intervals(table, fit)
    drawn = lacunet.intervals(table, fit, bootstrap=30, threads=1)
    for name in ("height", "income", "visits", "agree"):
        for title, one in wald.summaries(name).items():
            other = drawn.summaries(name)[title]
            np.testing.assert_allclose(other.stderr, one.stderr, rtol=0.5, err_msg=name)
            assert ((other.low < one.estimate) & (one.estimate < other.high)).all()
            assert ((one.low < one.estimate) & (one.estimate < one.high)).all()
    assert "height: sd" in str(drawn)


def test_their_description(table, fit):
    intervals = lacunet.intervals(table, fit)
    (grid,) = intervals.grids()
    assert [row[1] for row in grid.rows[:6:2]] == ["size", "height: mean", "height: sd"]
    assert grid.title.startswith("Probabilities and numbers")
    document = intervals.to_dict()["variables"]
    assert document["height"]["mean"].keys() == {"estimate", "stderr", "low", "high"}
    assert document["sex"]["states"] == ["f", "m"]
    network = lacunet.intervals(
        table, lacunet.fit(table, network=_two_parents(table), **FAST), level=0.5
    )
    assert network.summaries("height")["mean"].low.shape == (2, 2)
    assert any(row[0] == "sex = f, class = 2" for row in _rows(network))


def _rows(intervals):
    return [row for grid in intervals.grids() for row in grid.rows]


def _two_parents(table):
    root = Variable("class", (1, 2), hidden=True)
    return Network.build(
        [root, *leaves_of(table, NumberPrior())], [(), (5, 0), (5,), (0,), (0,), (0,)]
    )
