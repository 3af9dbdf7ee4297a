"""Data from other priors are what they claim to be, and what is counted of answers to them."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from lacunet import read_table
from studies.calibration import other_priors as o
from studies.calibration.other_tables import others_findings, others_grid, others_table


@pytest.mark.parametrize(
    ("power", "expected"),
    [
        (0.0, [1 / 3, 1 / 3, 1 / 3]),
        (1.0, [6 / 11, 3 / 11, 2 / 11]),
        (2.0, [36 / 49, 9 / 49, 4 / 49]),
    ],
)
def test_weights_follow_a_power_law(power, expected):
    assert o.weights(3, power) == pytest.approx(expected)


def test_every_combination_comes_equally_often():
    made = [o.made_from(n) for n in range(48)]
    numbers = range(1, o.MOST + 1)
    every = {o.Made(*x) for x in itertools.product(numbers, o.POWERS, o.PROFILES)}
    assert set(made[:24]) == every == set(made[24:])


@pytest.mark.parametrize("noise", o.NOISES)
def test_noise_has_mean_0_and_variance_1(noise):
    x = o.NOISES[noise](np.random.default_rng(1), 400_000)
    assert x.mean() == pytest.approx(0.0, abs=0.01)
    assert x.var() == pytest.approx(1.0, abs=0.1)  # the fourth moment of t with 3 df is infinite
    skewness, tail = (x**3).mean(), (np.abs(x) > 4).mean()
    if noise == "skewed":
        assert skewness == pytest.approx(math.sqrt(2), abs=0.05)
    if noise == "heavy":
        assert tail == pytest.approx(0.0061, abs=0.001)  # p(|t| > 4 √3)
    if noise == "normal":
        assert abs(skewness) < 0.02
        assert tail < 0.0005


@pytest.mark.parametrize("levels", [2, 5])
@pytest.mark.parametrize("name", o.PROFILES)
def test_a_class_has_its_own_category_more_often(levels, name):
    """Beyond the common distribution by the share that its profile states."""
    profile, rng = o.PROFILES[name], np.random.default_rng(2)
    z = np.repeat(np.arange(4), 20_000)
    codes = o.categories(levels, 4, profile, z, rng)
    assert set(codes) == set(range(levels))
    shares = np.array([np.bincount(codes[z == j], minlength=levels) for j in range(4)]) / 20_000
    # Two classes with different own categories a and b differ at a by the share of the first.
    apart = [shares[i] - shares[j] for i, j in itertools.combinations(range(4), 2)]
    largest = max(float(np.abs(x).max()) for x in apart)
    low, high = profile.share
    assert low - 0.03 < largest < high + 0.03


@pytest.mark.parametrize("name", o.PROFILES)
def test_centres_have_the_distances_of_the_profile(name):
    rng, z = np.random.default_rng(3), np.repeat(np.arange(3), 50_000)
    x = o.measurements(3, o.PROFILES[name], "normal", z, rng)
    means, deviations = (np.array([f(x[z == j]) for j in range(3)]) for f in (np.mean, np.std))
    steps = np.diff(np.sort(means))
    assert steps[1] / steps[0] == pytest.approx(1.0, rel=0.1)
    unit = steps.mean() / o.PROFILES[name].step
    assert ((deviations / unit > 0.65) & (deviations / unit < 1.5)).all()


def test_cells_have_what_their_names_promise():
    for cell in o.OTHERS:
        _, data = o.draw_other(cell, 7, seed=0)
        kind = cell.name.split("-")[0]
        assert cell.name == f"{kind}-{cell.rows}"
        assert {len(column) for column in data.values()} == {cell.rows}
        known = {name: {x for x in column if x is not None} for name, column in data.items()}
        levels = {len(values) for name, values in known.items() if name.startswith("c")}
        assert levels <= {"binary": {2}, "five": {3, 4, 5}, "mixed": {2, 3, 4, 5}}.get(kind, set())
        kinds = {c.name: c.kind.number for c in read_table(data).columns}
        assert kinds == {name: name.startswith("x") for name in data}
    assert {cell.rows for cell in o.OTHERS} == {50, 500}
    assert all(cell.datasets >= 100 for cell in o.OTHERS)


def test_the_share_of_missing_cells():
    cell = next(c for c in o.OTHERS if c.name == "mixed-500")
    columns = [x for n in range(8) for x in o.draw_other(cell, n, seed=0)[1].values()]
    missing = np.mean([[value is None for value in column] for column in columns])
    assert missing == pytest.approx(0.15, abs=0.01)
    complete = o.draw_other(replace(cell, missing=0.0), 0, seed=0)[1]
    assert not any(value is None for column in complete.values() for value in column)


def test_a_data_set_follows_from_seed_cell_and_number():
    cell = o.OTHERS[0]
    again = o.draw_other(cell, 5, seed=3)
    assert o.draw_other(cell, 5, seed=3) == again
    for other in (o.draw_other(cell, 29, seed=3), o.draw_other(cell, 5, seed=4)):
        assert other[1] != again[1]


def record(k, posterior, *remarks):
    states = list(range(1, len(posterior) + 1))
    choice = 1 + int(np.argmax(posterior))
    fields = {"choice": choice, "states": states, "probabilities": posterior, "remarks": remarks}
    made = {"classes": k, "power": 1.0, "profile": "vague"}
    return {"cell": "tiny", **made, "select": fields, "cpu": {"select": 2.0}}


def test_a_table_by_hand():
    """0.9 on the right number; 0.6 on a wrong one, without a word and with one."""
    cell = o.OtherCell("tiny", 12, numbers=1)
    right, wrong = record(1, [0.9, 0.1]), record(3, [0.4, 0.6])
    warned = record(1, [0.4, 0.6], "prior")
    rows = others_table([right, wrong, warned], [cell])
    row = rows[0]
    assert (row["factor"], row["which"], row["datasets"]) == ("cell", "tiny", 3)
    assert (row["stated"], row["right"]) == pytest.approx((0.7, 1 / 3))
    assert row["error"] == pytest.approx(math.sqrt(0.09 + 2 * 0.24) / 3)
    assert (row["too_many"], row["too_few"]) == pytest.approx((1 / 3, 1 / 3))
    assert row["says"]["prior"] == pytest.approx(1 / 3)
    assert row["silent"]["number"] == 2
    assert row["silent"]["stated"] == pytest.approx(0.75)
    assert row["silent"]["right"] == pytest.approx(0.5)
    # A number that was not tried has no probability at all.
    assert row["log_true"] == pytest.approx((math.log(0.9) + math.log(0.4) - 700) / 3)
    assert {r["which"] for r in rows if r["factor"] == "classes"} == {
        "true number 1",
        "true number 3",
    }
    shown = others_grid(rows).markdown()
    assert "+0.37 ± 0.25" in shown
    (line,) = others_findings(rows)
    assert "by more than 0.08 in 1 of 1 cells (tiny); among answers without a remark" in line
