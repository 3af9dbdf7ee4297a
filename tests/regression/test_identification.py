"""The gate of inference: what does not exist is a dash with a reason, what exists is right."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.stats import chi2

import lacunet
from lacunet.flags import Kind
from lacunet.summaries.coefficients import NO_ESTIMATES, NOTHING_TO_TEST, wald
from lacunet.summaries.first_step import Correction
from lacunet.summaries.identification import Why
from lacunet.tabular import to_json

QUICK = {"starts": 4, "threads": 1}
PROFILES = np.array(
    [
        [0.05, 0.95, 0.05, 0.9, 0.1, 0.9],
        [0.95, 0.9, 0.95, 0.1, 0.05, 0.1],
        [0.9, 0.05, 0.1, 0.95, 0.9, 0.1],
    ]
)


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def sure(z, items=8):
    """Rows that show their class in every item."""
    return pd.DataFrame({f"i{j}": [f"c{k}" for k in z] for j in range(items)})


def noisy(n, seed):
    """Rows of three classes that overlap a little; the class of each."""
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 3, n)
    answers = (rng.random((n, 6)) < PROFILES[z]).astype(int)
    return pd.DataFrame(answers, columns=[f"y{j}" for j in range(6)]), z, rng


def fitted(frame, k, estimate="ml"):
    return lacunet.fit(frame, k, columns=list(frame), estimate=estimate, **QUICK)


def logit(Z, y):
    """Coefficients of a logistic regression, by a general optimiser."""

    def loss(beta):
        return np.logaddexp(0, Z @ beta).sum() - (Z @ beta)[y].sum()

    return minimize(loss, np.zeros(Z.shape[1]), tol=1e-10).x


def label_of(fit, frame, z, cls):
    """Number of the class that most rows of one of ours are given."""
    best = lacunet.assign(frame, fit.model).variables[0].best
    return int(np.bincount(best[z == cls]).argmax())


def kinds(result):
    return {flag.kind for flag in result.flags}


def checked(result):
    """Check that text, JSON and tidy columns agree on what exists; give the text."""
    text, document = str(result), json.loads(to_json(result.to_dict()))
    for name in ("nan", "inf", "e+"):
        assert name not in text.replace("information", ""), text
    parts = [*document["outcomes"].values(), *filter(None, [document["coefficients"]])]
    for part in parts:
        reference = part.get("reference")
        for c, row in enumerate(part["estimate"]):
            for j, value in enumerate(row):
                why, stderr = part["why"][c][j], part["stderr"][c][j]
                known = reference is not None and part["classes"][c] == reference
                assert (why is None) == (stderr is not None or known)
                assert value is not None or why is not None
                if why is not None:
                    assert part["low"][c][j] is part["high"][c][j] is None
        tests = [
            *part.get("tests", []),
            *part.get("pairs", []),
            *filter(None, [part.get("equality")]),
        ]
        for test in tests:
            assert (test["statistic"] is None) <= (test["why"] is not None)
            assert (test["p_value"] is None) <= (test["why"] is not None)
    for column in ("why",):
        tidy = result.tidy()
        if tidy:
            assert len(tidy[column]) == len(next(iter(tidy.values())))
    return text


@pytest.mark.parametrize("correction", list(Correction))
@pytest.mark.parametrize("kind", ["category", "number"])
def test_a_covariate_that_separates_a_class_has_no_coefficients(correction, kind):
    """A class that a covariate tells for certain; log odds of the two others stay."""
    frame, z, rng = noisy(240, 1)
    apart = z == 1
    x = np.where(apart, "a", rng.choice(["b", "c"], 240)) if kind == "category" else None
    fit = fitted(frame, 3)
    # Where rows themselves separate: by the class that they are given.
    given = lacunet.assign(frame, fit.model).variables[0].best
    c = label_of(fit, frame, z, 1)
    members = given == c
    if kind == "category":
        x = np.where(members, "a", rng.choice(["b", "c"], 240))
    else:
        x = rng.normal(size=240).round(3) + 10.0 * members
    result = lacunet.three_step(frame.assign(x=x), fit, covariates=["x"], correction=correction)
    text = checked(result)
    coefficients = result.coefficients
    others = [k for k in range(3) if k != c]
    turned = coefficients.against(coefficients.classes[others[0]])
    assert np.isnan(turned.estimate[c]).all()
    assert np.isnan(turned.p_values[c]).all()
    assert Why.SEPARATED in set(turned.identified.why[c])
    assert Kind.WITHOUT_END in kinds(turned)
    assert "separated: the likelihood is unbounded" in text
    (test,) = turned.tests
    assert np.isnan([test.statistic, test.p_value]).all()
    assert (test.df, test.why) == (2 * (len(coefficients.titles) - 1), NO_ESTIMATES)
    assert np.abs(np.nan_to_num(turned.estimate)).max() < 20
    assert not any("1e" in cell for cell in text.split())
    if correction is Correction.NONE and kind == "number":
        # What is left is the logit of the two other classes among their own rows.
        left = x[~members]
        best = logit(np.column_stack([np.ones(len(left)), left]), given[~members] == others[1])
        np.testing.assert_allclose(turned.estimate[others[1]], best, atol=1e-4)


def test_one_row_on_the_other_side_makes_coefficients_finite():
    z = np.repeat([0, 1], 20)
    x = np.linspace(-1, 1, 40).round(3)
    frame, swapped = sure(z), x.copy()
    swapped[[19, 20]] = swapped[[20, 19]]
    fit = fitted(frame, 2)
    for correction in Correction:
        apart = lacunet.three_step(frame.assign(x=x), fit, covariates=["x"], correction=correction)
        assert np.isnan(apart.coefficients.estimate[1]).all()
        near = lacunet.three_step(
            frame.assign(x=swapped), fit, covariates=["x"], correction=correction
        )
        c = label_of(fit, frame, z, 1)
        coefficients = near.coefficients.against(near.coefficients.classes[1 - c])
        best = logit(np.column_stack([np.ones(40), swapped]), z == 1)
        np.testing.assert_allclose(coefficients.estimate[c], best, rtol=1e-3, atol=1e-4)
        assert np.isfinite(coefficients.stderr[c]).all()
        checked(near)


def test_two_classes_that_go_to_infinity_together_still_differ_by_a_number():
    """Against the first class both have no coefficients; against each other they do."""
    z = np.repeat([0, 1, 2], [40, 30, 30])
    rng = np.random.default_rng(2)
    x = np.where(z == 0, "a", rng.choice(["b", "c"], 100))
    frame = sure(z)
    fit = fitted(frame, 3)
    coefficients = lacunet.three_step(frame.assign(x=x), fit, covariates=["x"]).coefficients
    a, b, c = (label_of(fit, frame, z, k) for k in range(3))
    against = coefficients.against(coefficients.classes[a])
    assert np.isnan(against.estimate[[b, c], 0]).all()
    turned = coefficients.against(coefficients.classes[b])
    place = coefficients.titles.index("x = b"), coefficients.titles.index("x = c")
    slope = turned.estimate[c, place[0]] - turned.estimate[c, place[1]]
    assert np.isnan(turned.estimate[a]).any() or np.isnan(slope)
    # The contrast of b and c between the two classes is the log odds ratio of their own rows.
    counts = pd.crosstab(z[z > 0], x[z > 0]).to_numpy()
    ratio = np.log(counts[1, 1] * counts[0, 0] / counts[1, 0] / counts[0, 1])
    difference = turned.reached[c, place[1]] - turned.reached[c, place[0]]
    assert difference == pytest.approx(ratio, abs=1e-4)


def score_test(y, z, a, b):
    """Difference of the shares of two groups, its variance around their common shares."""
    states = np.unique(y[(z == a) | (z == b)])[1:]
    shown = (y[:, None] == states).astype(float)
    common = shown[(z == a) | (z == b)].mean(axis=0)
    apart, V = np.zeros(len(states)), np.zeros((len(states),) * 2)
    for k, sign in ((a, -1.0), (b, 1.0)):
        members = shown[z == k]
        apart += sign * members.mean(axis=0)
        V += (members - common).T @ (members - common) / len(members) ** 2
    return float(apart @ np.linalg.solve(V, apart)), len(states)


@pytest.mark.parametrize("correction", list(Correction))
def test_shares_at_the_boundary_have_no_error_and_a_score_test(correction):
    """Where rows show their classes the score test is that of groups of rows."""
    z = np.repeat([0, 1, 2], [40, 30, 20])
    rng = np.random.default_rng(4)
    y = np.where(z == 0, rng.choice(["u", "v"], 90), np.where(z == 1, "u", "w"))
    frame = sure(z)
    fit = fitted(frame, 3)
    result = lacunet.three_step(frame.assign(y=y), fit, outcomes="y", correction=correction)
    checked(result)
    outcome = result.outcomes["y"]
    assert Kind.SHARE_AT_BOUNDARY in kinds(outcome)
    order = [label_of(fit, frame, z, k) for k in range(3)]
    np.testing.assert_allclose(outcome.estimate[order[1]], [1, 0, 0], atol=1e-6)
    assert np.isnan(outcome.stderr[order[1]]).all()
    assert np.isfinite(outcome.stderr[order[0], :2]).all()
    pairs = {test.name: test for test in outcome.pairs}
    for a, b in ((0, 1), (0, 2), (1, 2)):
        names = sorted((order[a], order[b]))
        test = pairs[" and ".join(outcome.classes[k] for k in names)]
        statistic, df = score_test(y, z, a, b)
        assert test.statistic == pytest.approx(statistic, rel=1e-6)
        assert (test.df, "score test" in test.why) == (df, True)
        assert test.p_value == pytest.approx(chi2.sf(statistic, df), rel=1e-6)
    assert outcome.equality.df == 4
    assert outcome.equality.statistic > 60


@pytest.mark.parametrize("correction", ["bch", "ml"])
@pytest.mark.parametrize("estimate", ["ml", "map"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_class_whose_outcome_is_missing_has_no_mean(correction, estimate, seed):
    frame, z, rng = noisy(300, seed)
    number = pd.Series(rng.normal(size=300).round(3)).mask(z == 2)
    state = pd.Series(rng.choice(["u", "v"], 300)).mask(z == 2)
    fit = fitted(frame, 3, estimate)
    result = lacunet.three_step(
        frame.assign(number=number, state=state),
        fit,
        outcomes=["number", "state"],
        correction=correction,
    )
    checked(result)
    gone = label_of(fit, frame, z, 2)
    for outcome in result.outcomes.values():
        assert np.isnan(outcome.estimate[gone]).all()
        assert set(outcome.identified.why[gone]) == {Why.NO_CASES}
        assert Kind.CLASS_WITHOUT_OUTCOME in kinds(outcome)
        assert (outcome.equality.df, outcome.equality.why) == (2, NO_ESTIMATES)
        others = [k for k in range(3) if k != gone]
        assert np.isfinite(outcome.stderr[others]).all()
        assert sum(np.isfinite(test.p_value) for test in outcome.pairs) == 1


def test_a_class_with_few_rows_that_show_the_outcome_keeps_its_mean():
    """Missing for four in five of a class: that is not a reason for a dash."""
    frame, z, rng = noisy(300, 5)
    number = pd.Series(rng.normal(size=300).round(3)).mask((z == 2) & (rng.random(300) < 0.8))
    fit = fitted(frame, 3)
    for correction in ("bch", "ml"):
        result = lacunet.three_step(
            frame.assign(number=number), fit, outcomes="number", correction=correction
        ).outcomes["number"]
        assert np.isfinite(result.stderr).all()


@pytest.mark.parametrize("correction", list(Correction))
@pytest.mark.parametrize("tiny", [1, 2, 3])
def test_classes_of_one_two_and_three_people(correction, tiny):
    z = np.repeat([0, 1, 2], [40, 30, tiny])
    rng = np.random.default_rng(6)
    frame = sure(z)
    fit = fitted(frame, 3)
    x, y = (rng.normal(size=len(z)).round(3) for _ in range(2))
    result = lacunet.three_step(
        frame.assign(x=x, y=y), fit, outcomes="y", covariates=["x"], correction=correction
    )
    checked(result)
    c = label_of(fit, frame, z, 2)
    mean = result.outcomes["y"]
    assert np.isfinite(mean.stderr[c, 0]) == (tiny > 1)
    assert (Kind.CLASS_WITHOUT_OUTCOME in kinds(mean)) == (tiny == 1)
    others = [k for k in range(3) if k != c]
    assert np.isfinite(mean.stderr[others]).all()
    coefficients = result.coefficients
    assert np.isfinite(coefficients.stderr[c]).all() == (tiny == 3)
    assert (Kind.FEW_CASES_OF_CLASS in kinds(coefficients)) == (tiny < 3)
    assert np.isfinite(coefficients.stderr[max(others)]).all()


def test_classes_that_no_row_is_given():
    z = np.repeat([0, 1], [40, 30])
    frame = sure(z)
    fit = fitted(frame, 4)
    rng = np.random.default_rng(7)
    x, y = (rng.normal(size=70).round(3) for _ in range(2))
    result = lacunet.three_step(frame.assign(x=x, y=y), fit, outcomes="y", covariates=["x"])
    text = checked(result)
    assert "empty class: no row is assigned to" in text
    assert Kind.CLASS_WITHOUT_ROWS in {flag.kind for flag in result.rows.flags}
    means = result.outcomes["y"].estimate[:, 0]
    assert sorted(means[np.isfinite(means)]) == pytest.approx(
        sorted([y[z == 0].mean(), y[z == 1].mean()]), abs=1e-6
    )
    empty = np.isnan(means)
    assert np.isnan(result.coefficients.estimate[empty]).all()


def test_an_outcome_that_is_constant_and_one_class():
    frame, z, _ = noisy(120, 8)
    data = frame.assign(
        same="k", number=2.5, same_in_class=np.where(z == 0, 1.5, np.arange(120) / 60)
    )
    fit, one = fitted(frame, 3), fitted(frame, 1)
    for correction in Correction:
        options = {"outcomes": ["same", "number"], "correction": correction}
        for model in (fit, one):
            result = lacunet.three_step(data, model, **options)
            checked(result)
            outcome = result.outcomes["same"]
            np.testing.assert_allclose(outcome.estimate, 1.0)
            assert np.isnan(outcome.stderr).all()
            assert (outcome.equality.df, outcome.equality.why) == (0, NOTHING_TO_TEST)
        mean = lacunet.three_step(data, one, outcomes="same_in_class").outcomes["same_in_class"]
        y = data["same_in_class"]
        assert mean.estimate.item() == pytest.approx(y.mean())
        assert mean.stderr.item() == pytest.approx(y.std(ddof=0) / np.sqrt(120), rel=1e-6)
    with pytest.raises(lacunet.ModelError, match="nothing to predict"):
        lacunet.three_step(data, one, covariates=["same_in_class"])


def test_a_class_of_equal_values():
    """Its variance is 0: means have no error there, and ML has no maximum."""
    z = np.repeat([0, 1], [40, 30])
    frame = sure(z)
    fit = fitted(frame, 2)
    y = np.where(z == 1, 3.5, np.random.default_rng(9).normal(size=70).round(3))
    c = label_of(fit, frame, z, 1)
    result = lacunet.three_step(frame.assign(y=y), fit, outcomes="y", correction="bch")
    checked(result)
    outcome = result.outcomes["y"]
    assert outcome.estimate[c, 0] == pytest.approx(3.5)
    assert np.isnan(outcome.stderr[:, 0]).tolist() == [c == 0, c == 1]
    assert Kind.NO_SPREAD in kinds(outcome)
    assert outcome.equality.p_value < 1e-6
    assert "score test" in outcome.equality.why
    result = lacunet.three_step(frame.assign(y=y), fit, outcomes="y", correction="ml")
    checked(result)
    assert Kind.NO_MAXIMUM in kinds(result.outcomes["y"])
    assert np.isnan(result.outcomes["y"].estimate).all()


def test_separation_in_one_step():
    """The ML has no coefficients; the prior of the MAP holds them."""
    z = np.repeat([0, 1], [40, 30])
    rng = np.random.default_rng(10)
    data = sure(z).assign(s=np.where(z == 0, "p", "q"), x=rng.normal(size=70).round(2))
    ml = lacunet.class_regression(data, 2, ["s", "x"], estimate="ml", **QUICK)
    assert np.isnan(ml.coefficients.estimate[1]).all()
    assert Kind.SEPARATED in kinds(ml)
    assert all(np.isnan(test.p_value) and test.why for test in ml.coefficients.tests)
    assert np.isnan(ml.intervals.table("class").stderr).all()  # not 0
    assert Kind.WITHOUT_END in kinds(ml.intervals)
    held = lacunet.class_regression(data, 2, ["s", "x"], **QUICK)
    assert np.isfinite(held.coefficients.stderr[1]).all()
    assert np.isfinite(held.intervals.table("class").stderr).all()
    assert Kind.SEPARATED not in kinds(held)
    assert np.abs(held.coefficients.estimate).max() < 10


def test_more_classes_than_the_data_support_in_one_step():
    """Classes that are alike: nothing tells their coefficients."""
    z = np.repeat([0, 1], [40, 30])
    rng = np.random.default_rng(11)
    data = sure(z, 3).assign(x=rng.normal(size=70).round(2))
    coefficients = lacunet.class_regression(data, 3, ["x"], estimate="ml", **QUICK).coefficients
    lost = np.isnan(coefficients.estimate)
    assert lost.any()
    assert kinds(coefficients) & {
        Kind.WITHOUT_INFORMATION,
        Kind.WITHOUT_END,
        Kind.CLASS_WITHOUT_ROWS,
    }
    assert np.isfinite(coefficients.stderr[1:][~lost[1:]]).all()


def test_replicates_that_are_separated_have_no_standard_error():
    """Three of a class on the wrong side: some replicates have none of them."""
    z = np.repeat([0, 1], [15, 15])
    x = np.array(["a"] * 14 + ["b"] * 15 + ["a"])
    data = sure(z, 5).assign(x=x)
    options = {"estimate": "ml", "bootstrap": 20, **QUICK}
    coefficients = lacunet.class_regression(data, 2, ["x"], **options).coefficients
    assert np.isfinite(coefficients.estimate).all()
    assert np.isnan([coefficients.stderr[1, 1], coefficients.p_values[1, 1]]).all()
    assert Kind.SEPARATED_REPLICATES in kinds(coefficients)
    assert "separated in replicates" in str(coefficients)


def test_wald_tests_take_all_or_nothing():
    V = np.array([[1.0, 0.0], [0.0, 4.0]])
    test = wald("x", np.array([1.0, 2.0]), V)
    assert (test.statistic, test.df) == (pytest.approx(2.0), 2)
    # The unit of a value changes nothing, however far apart units are.
    unit = np.array([1e-9, 1e9])
    again = wald("x", np.array([1.0, 2.0]) * unit, V * np.outer(unit, unit))
    assert again.statistic == pytest.approx(2.0)
    alike = wald("x", np.array([1.0, 1.0]), np.ones((2, 2)))
    assert np.isnan(alike.statistic)
    assert (alike.df, "has rank 1" in alike.why) == (2, True)
    assert wald("x", np.array([1.0, 1.0]), np.zeros((2, 2))).why == NO_ESTIMATES
