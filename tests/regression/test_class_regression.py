"""Classes and what predicts them: the maximum, its curvature, and what must not matter."""

import numpy as np
import pytest
from class_oracle import Rows, hessian
from class_worlds import people

import lacunet
from peers import Peer

QUICK = {"starts": 4, "threads": 1}
FORMULA = "~ age + C(region)"


@pytest.fixture(scope="module")
def frame():
    return people(300, seed=3, missing=0.1)[0]


@pytest.fixture(scope="module")
def regression(frame):
    return lacunet.fit(frame, 3, covariates=FORMULA, **QUICK)


def written_out(frame, regression):
    """The rows for the oracle, in the design's own units, and the flat vector of the fit."""
    design, names = regression.design, [c for c in frame if c.startswith("y")]
    scaled = (frame["age"] - design.covariates[0].centre) / design.covariates[0].scale
    Z = np.column_stack(
        [np.ones(len(frame)), scaled, frame["region"] == "S", frame["region"] == "W"]
    )
    items = frame[names].fillna(-1).to_numpy(dtype=int)
    rows = Rows(items, Z.astype(float), np.ones(len(frame)), [2] * len(names), 3)
    tables = [regression.model.table(name) for name in names]
    return rows, rows.pack(regression.model.predictors.coefficients, tables)


def test_the_likelihood_is_that_of_rows_written_out(frame, regression):
    rows, x = written_out(frame, regression)
    assert regression.log_lik == pytest.approx(rows.log_lik(x), abs=1e-8)


@pytest.mark.parametrize("estimate", ["map", "softmax"])
def test_the_fit_is_a_maximum_and_errors_are_those_of_finite_differences(estimate):
    """Of each estimate in its own objective: α − 1 or α cases for each answer, and N(0, C)."""
    frame = people(120, seed=4, missing=0.1)[0].drop(columns=["y1", "y4"])
    fitted = lacunet.fit(frame, 3, covariates=FORMULA, estimate=estimate, alpha=1.5, **QUICK)
    assert fitted.fit.gradient < 1e-6
    rows, x = written_out(frame, fitted)
    C = fitted.classes.logit.covariance
    pseudo = {"map": 0.5, "softmax": 1.5}[estimate]

    def climbed(y):
        _, tables = rows.unpack(y)
        total = rows.log_lik(y) + pseudo * sum(t.sum() for t in tables)
        b = y[:8]
        return total - b @ np.linalg.solve(np.kron(1 + np.eye(2), C), b) / 2

    A = -hessian(climbed, x)
    V = np.linalg.inv(A)
    units = np.kron(np.eye(2), fitted.design.to_units)
    covariance = fitted.coefficients.covariance[1:, :, 1:, :].reshape(8, 8)
    np.testing.assert_allclose(covariance, units @ V[:8, :8] @ units.T, rtol=2e-5, atol=1e-9)
    # The logit of a probability of an item is a coordinate of the oracle.
    interval = fitted.intervals.table("y3")
    logit_errors = np.sqrt(V.diagonal())[8 + 2 * 3 : 8 + 3 * 3]
    p = interval.estimate[:, 1]
    np.testing.assert_allclose(interval.stderr[:, 1], logit_errors * p * (1 - p), rtol=1e-5)
    # Class sizes are functions of coefficients alone.
    slope = np.array(
        [(_sizes(rows, x + e) - _sizes(rows, x - e)) / 2e-6 for e in 1e-6 * np.eye(8, len(x))]
    )
    errors = np.sqrt(np.einsum("ic,ij,jc->c", slope, V[:8, :8], slope))
    np.testing.assert_allclose(fitted.intervals.table("class").stderr, errors, rtol=1e-5)


def _sizes(rows, x):
    beta, _ = rows.unpack(x)
    weight = np.exp(rows.design @ beta.T)
    return (weight / weight.sum(axis=1, keepdims=True)).mean(axis=0)


def test_units_references_and_order_change_nothing_that_is_not_theirs(frame, regression):
    other = frame.assign(age=1000.0 * frame["age"] - 7.0)[list(frame.columns)[::-1]]
    moved = lacunet.fit(other, 3, covariates="~ C(region, ref=W) + age", **QUICK)
    assert moved.log_evidence == pytest.approx(regression.log_evidence, abs=1e-6)
    assert moved.log_lik == pytest.approx(regression.log_lik, abs=1e-6)
    mine, theirs = regression.coefficients, moved.coefficients
    np.testing.assert_allclose(theirs.estimate[:, 3], mine.estimate[:, 1] / 1000, rtol=1e-5)
    # C against W is minus W against C; other states are differences.
    np.testing.assert_allclose(theirs.estimate[:, 1], -mine.estimate[:, 3], atol=1e-6)
    np.testing.assert_allclose(
        theirs.estimate[:, 2], mine.estimate[:, 2] - mine.estimate[:, 3], atol=1e-6
    )
    for test, same in (
        (mine.test("region"), theirs.test("region")),
        (mine.test("age"), theirs.test("age")),
    ):
        assert test.statistic == pytest.approx(same.statistic, rel=1e-5)


def test_another_reference_class_is_the_same_model(regression):
    turned = regression.coefficients.against("3")
    np.testing.assert_allclose(
        turned.against("1").covariance, regression.coefficients.covariance, atol=1e-12
    )
    assert turned.test("age").statistic == pytest.approx(
        regression.coefficients.test("age").statistic
    )
    with pytest.raises(lacunet.OptionError, match=r"'4' is not a class\. Choose from 1, 2, 3"):
        regression.coefficients.against("4")


def test_weights_are_rows(frame):
    twice = frame.assign(count=2)
    repeated = frame.loc[frame.index.repeat(2)]
    one = lacunet.fit(twice, 2, covariates=["age"], exclude=["region"], weights="count", **QUICK)
    other = lacunet.fit(repeated, 2, covariates=["age"], exclude=["region"], **QUICK)
    assert one.log_lik == pytest.approx(other.log_lik, abs=1e-9)
    np.testing.assert_allclose(one.coefficients.stderr, other.coefficients.stderr, rtol=1e-9)


def test_numbers_among_items_and_few_numbers_as_covariates(frame):
    """A column of a few whole numbers is a number, unless C() is said."""
    rng = np.random.default_rng(1)
    level = rng.integers(1, 4, len(frame))
    measured = frame.assign(level=level, height=rng.normal(170 + 5 * level, 6).round(1))
    straight = lacunet.fit(measured, 2, covariates="level", exclude=["region"], **QUICK)
    states = lacunet.fit(measured, 2, covariates="C(level)", exclude=["region"], **QUICK)
    assert straight.coefficients.titles == ("(intercept)", "level")
    assert states.coefficients.titles == ("(intercept)", "level = 2", "level = 3")
    assert straight.fit.gradient < 1e-5
    assert straight.intervals.summaries("height")["mean"].stderr.max() < 2.0


def test_stepmix_has_the_same_maximum():
    stepmix = Peer("stepmix.stepmix")
    frame, _ = people(400, seed=5)
    fitted = lacunet.fit(frame, 3, covariates=FORMULA, estimate="ml", **QUICK)
    items, age = frame[[f"y{j}" for j in range(6)]].astype(int), frame["age"].to_numpy()
    scaled = (age - age.mean()) / age.std()
    Z = np.column_stack([scaled, frame["region"] == "S", frame["region"] == "W"]).astype(float)
    theirs = stepmix.StepMix(
        3,
        measurement="binary",
        structural="covariate",
        n_steps=1,
        n_init=3,
        random_state=1,
        progress_bar=0,
        max_iter=3000,
        abs_tol=1e-11,
        rel_tol=0,
        structural_params={"method": "newton-raphson"},
    ).fit(items, Z)
    assert fitted.log_lik == pytest.approx(theirs.score(items, Z) * len(frame), abs=1e-5)
    beta = theirs.get_parameters()["structural"]["beta"]
    mine = fitted.model.predictors.coefficients[1:]
    order = min(
        ((a, b, c) for a in range(3) for b in range(3) for c in range(3) if len({a, b, c}) == 3),
        key=lambda o: np.abs(beta[list(o[1:])] - beta[o[0]] - mine).max(),
    )
    np.testing.assert_allclose(beta[list(order[1:])] - beta[order[0]], mine, atol=1e-4)
