"""Fit statistics and the bootstrap of classes that covariates predict.

With constant covariates all must be what it is without them; else formulas written out, and
standard errors of the observed information, or linearised ones, for the bootstrap.
"""

import math

import numpy as np
import pandas as pd
import pytest
from class_worlds import people

import lacunet
from lacunet.errors import DataError, ModelError, OptionError

ITEMS = [f"y{j}" for j in range(6)]


@pytest.fixture(scope="module")
def frame():
    return people(400, 21, missing=0.05)[0]


@pytest.fixture(scope="module")
def regression(frame):
    return lacunet.class_regression(frame, 3, "age, region", starts=4)


def two_clear_classes():
    """Draw 400 people: two classes that five answers tell apart, and a side that predicts them."""
    rng = np.random.default_rng(6)
    side = rng.integers(0, 2, 400)
    z = rng.random(400) < 0.3 + 0.3 * side
    answers = rng.random((400, 5)) < np.where(z[:, None], 0.8, 0.2)
    table = pd.DataFrame(answers.astype(int), columns=list("abcde"))
    table = table.mask(rng.random(table.shape) < 0.05)
    return table.assign(side=np.array(["left", "right"])[side])


def pairs_of(statistics):
    return {frozenset((r.first, r.second)): r for r in statistics.residuals}


def test_without_covariates_all_is_as_ever(frame):
    """`~ 1` has one pattern, so that only how class sizes are written differs."""
    options = {"starts": 4, "estimate": "ml"}
    one = lacunet.class_regression(frame[ITEMS], 3, "~ 1", **options).statistics
    fit = lacunet.fit(frame[ITEMS], 3, **options)
    plain = lacunet.fit_statistics(frame[ITEMS], fit)
    assert one.criteria == pytest.approx(plain.criteria)
    assert one.dimension == plain.dimension
    for name in ("g2", "x2", "df", "cells", "per_cell", "patterns"):
        assert getattr(one.goodness, name) == pytest.approx(getattr(plain.goodness, name))
    for pair, residual in pairs_of(plain).items():
        assert pairs_of(one)[pair].x2 == pytest.approx(residual.x2, abs=1e-5)
    (a,), (b,) = one.classification, plain.classification
    assert (a.entropy_r2, a.error) == pytest.approx((b.entropy_r2, b.error))
    np.testing.assert_allclose(a.expected, b.expected, atol=1e-4)


def test_a_covariate_without_an_effect_changes_nothing(frame):
    """The same rows twice, once with each value: coefficients are 0, and all else is doubled."""
    twice = pd.concat([frame[ITEMS].assign(coin="head"), frame[ITEMS].assign(coin="tail")])
    options = {"starts": 4, "estimate": "ml"}
    with_coin = lacunet.class_regression(twice, 3, "coin", **options)
    plain = lacunet.fit_statistics(frame[ITEMS], lacunet.fit(frame[ITEMS], 3, **options))
    assert np.abs(with_coin.coefficients.estimate[:, 1]).max() < 1e-6
    statistics = with_coin.statistics
    assert statistics.log_lik == pytest.approx(2 * plain.log_lik)
    assert statistics.goodness.g2 == pytest.approx(2 * plain.goodness.g2)
    assert statistics.goodness.x2 == pytest.approx(2 * plain.goodness.x2, rel=1e-4)
    # Two more coefficients, and as many cells for each side of the coin.
    assert statistics.goodness.df == 2 * (plain.goodness.df + plain.dimension) - plain.dimension - 2
    assert statistics.goodness.contexts == 2
    for pair, residual in pairs_of(plain).items():
        assert pairs_of(statistics)[pair].x2 == pytest.approx(2 * residual.x2, abs=1e-3)
    assert statistics.classification[0].entropy_r2 == pytest.approx(
        plain.classification[0].entropy_r2, abs=1e-6
    )


def test_goodness_of_fit_and_residuals_written_out():
    """Two groups, complete rows: expected counts are Σ over classes, group by group."""
    frame = people(500, 4)[0][["y0", "y1", "y2", "y3", "region"]].astype({"region": str})
    regression = lacunet.class_regression(frame, 2, "region", starts=4)
    statistics = regression.statistics
    coefficients, model = regression.coefficients.estimate, regression.model
    tables = [model.table(f"y{j}") for j in range(4)]
    g2 = x2 = 0.0
    pair = np.zeros((2, 2))
    for state, column in (("N", None), ("S", 1), ("W", 2)):
        logits = coefficients[:, 0] + (0 if column is None else coefficients[:, column])
        sizes = np.exp(logits - np.logaddexp.reduce(logits))
        values = frame[frame["region"] == state][[f"y{j}" for j in range(4)]].astype(int).to_numpy()
        pair += len(values) * np.einsum("c,ca,cb->ab", sizes, tables[0], tables[3])
        for cell in np.indices((2,) * 4).reshape(4, -1).T:
            n = (values == cell).all(axis=1).sum()
            each = [t[:, k] for t, k in zip(tables, cell, strict=True)]
            m = len(values) * float(sizes @ np.prod(each, axis=0))
            g2 += 2 * n * math.log(n / m) if n else 0.0
            x2 += (n - m) ** 2 / m
    assert (statistics.goodness.g2, statistics.goodness.x2) == pytest.approx((g2, x2))
    assert statistics.goodness.df == 3 * 15 - regression.dimension
    assert 0 < statistics.goodness.p_g2 < 1
    seen = pd.crosstab(frame["y0"].astype(int), frame["y3"].astype(int)).to_numpy()
    expected = ((seen - pair) ** 2 / pair).sum()
    assert pairs_of(statistics)[frozenset(("y0", "y3"))].x2 == pytest.approx(expected)


def test_an_answer_that_goes_with_a_covariate_beyond_the_classes():
    """People of one side say yes to `e` whatever their class: that pair is the worst by far."""
    table = two_clear_classes()
    table["e"] = table["e"].where(table["side"] == "left", 1.0)
    regression = lacunet.class_regression(table, 2, "side", starts=2)
    worst = regression.statistics.residuals[0]
    assert (worst.first, worst.second, worst.df) == ("e", "side", 1)
    shown = table[table["e"].notna()]
    x2 = 0.0
    for side in ("left", "right"):
        members = shown[shown["side"] == side]
        logits = regression.coefficients.estimate @ [1.0, float(side == "right")]
        sizes = np.exp(logits - np.logaddexp.reduce(logits))
        m = len(members) * sizes @ regression.model.table("e")
        n = np.array([(members["e"] == k).sum() for k in (0, 1)])
        x2 += ((n - m) ** 2 / m).sum()
    assert worst.x2 == pytest.approx(x2)
    assert "within a class, e depends on side" in str(regression.statistics)
    assert (
        lacunet.class_regression(two_clear_classes(), 2, "side").statistics.residuals[0].value < 4
    )


def test_statistics_of_a_file(frame, regression, tmp_path):
    lacunet.write_model(regression, tmp_path / "m.json")
    statistics = lacunet.fit_statistics(frame, tmp_path / "m.json")
    assert statistics.criteria == pytest.approx(regression.statistics.criteria)
    assert statistics.goodness.g2 == pytest.approx(regression.statistics.goodness.g2)
    assert statistics.estimate is None  # which a file does not say
    assert "tests are not meaningful" in str(statistics)
    precise = lacunet.intervals(frame, tmp_path / "m.json")
    np.testing.assert_allclose(precise.stderr, regression.intervals.stderr)
    with pytest.raises(ModelError, match="not at the ML maximum"):
        lacunet.intervals(frame, tmp_path / "m.json", estimate="ml")


def test_rows_without_a_covariate_are_left_out_of_statistics(frame, tmp_path):
    incomplete = frame.assign(age=frame["age"].where(frame.index % 50 != 0))
    fit = lacunet.class_regression(incomplete, 2, "age", missing_covariates="drop", starts=2)
    lacunet.write_model(fit, tmp_path / "m.json")
    statistics = lacunet.fit_statistics(incomplete, tmp_path / "m.json", missing_covariates="drop")
    assert statistics.log_lik == pytest.approx(fit.log_lik)
    with pytest.raises(DataError, match="8 of 400 cases lack a covariate"):
        lacunet.fit_statistics(incomplete, tmp_path / "m.json")


def test_the_bootstrap_agrees_with_the_information():
    """200 replicates know a standard error to 5 %: four of these, for a few numbers."""
    table = two_clear_classes()
    regression = lacunet.class_regression(table, 2, "side", starts=2)
    drawn = lacunet.class_regression(table, 2, "side", starts=2, bootstrap=200)
    bootstrapped, other = drawn.coefficients, regression.coefficients
    np.testing.assert_array_equal(bootstrapped.estimate, other.estimate)
    np.testing.assert_allclose(bootstrapped.stderr[1:], other.stderr[1:], rtol=0.2)
    for a, b in zip(bootstrapped.interval, other.interval, strict=True):
        assert (np.abs(a - b)[1:] < 0.5 * other.stderr[1:]).all()
    inside = np.abs(regression.model.theta - 0.5) < 0.35  # near 0 and 1 they are skewed
    errors = (x.intervals.stderr[inside] for x in (drawn, regression))
    np.testing.assert_allclose(*errors, rtol=0.2)
    assert "200 parametric bootstrap replicates" in bootstrapped.method
    turned = bootstrapped.against("2")
    np.testing.assert_allclose(turned.draws[:, 1], 0.0, atol=1e-12)
    np.testing.assert_allclose(turned.interval[0][0], -bootstrapped.interval[1][1])
    np.testing.assert_allclose(turned.stderr[0], bootstrapped.stderr[1])


def test_the_bootstrap_is_seeded(frame):
    options = {"starts": 2, "bootstrap": 3, "seed": 5}
    one, other = (lacunet.class_regression(frame, 2, "age", **options, threads=t) for t in (1, 2))
    np.testing.assert_array_equal(one.replicates.coefficients, other.replicates.coefficients)
    again = lacunet.intervals(frame, one, bootstrap=3, seed=5)
    np.testing.assert_array_equal(again.stderr, one.intervals.stderr)
    with pytest.raises(OptionError, match="at least 2"):
        lacunet.class_regression(frame, 2, "age", bootstrap=1)
    weights = {"weights": "w", "weights_as": "frequency", "exclude": ["region"]}
    with pytest.raises(DataError, match=r"a row weighs 0\.5"):
        lacunet.class_regression(frame.assign(w=0.5), 2, "age", bootstrap=5, **weights)


def test_units_of_a_survey_are_drawn_anew():
    """Its replicates vary as the linearised errors say."""
    rng = np.random.default_rng(8)
    village = np.repeat(np.arange(60), 10)
    age = rng.integers(-2, 3, 600)
    odds = 1 / (1 + np.exp(-(rng.normal(0, 1, 60)[village] + 0.6 * age)))
    z = (rng.random(600) < odds).astype(int)
    yes = np.array([[0.85, 0.8, 0.75, 0.9, 0.7], [0.2, 0.3, 0.15, 0.25, 0.3]])
    people = pd.DataFrame((rng.random((600, 5)) < yes[z]).astype(int), columns=list("ABCDE"))
    people["age"], people["region"], people["village"] = age, village // 10, village
    people["w"] = rng.gamma(4, 1, 600).round(2)
    options = {"weights": "w", "strata": "region", "clusters": "village", "starts": 2}
    regression = lacunet.class_regression(people, 2, "age", **options)
    drawn = lacunet.class_regression(people, 2, "age", bootstrap=200, **options)
    assert "units within strata" in drawn.coefficients.method
    np.testing.assert_allclose(
        drawn.coefficients.stderr[1], regression.coefficients.stderr[1], rtol=0.25
    )
    np.testing.assert_allclose(drawn.intervals.stderr, regression.intervals.stderr, rtol=0.35)
