"""Covariates in surveys: a sandwich by independent code, in (coefficients, items) together."""

import numpy as np
import pytest
from scipy import stats

import lacunet
from lacunet.summaries.coefficients import wald
from surveys import clustered, spread_of

ITEMS = list("ABCDE")


@pytest.fixture(scope="module")
def frame():
    result = clustered(11, missing=0.08)
    rng = np.random.default_rng(1)
    level = result[ITEMS].mean(axis=1)
    result["age"] = (40 + 8 * level + rng.normal(0, 6, len(result))).round()
    return result


def log_p(phi, x, answers):
    """Two classes whose log odds are linear in x, items in logits."""
    share = 1 / (1 + np.exp(-(phi[0] + phi[1] * x)))
    items = 1 / (1 + np.exp(-phi[2:].reshape(2, -1)))
    y, joint = np.nan_to_num(answers), 0
    for c, size in enumerate((1 - share, share)):
        each = np.where(y > 0.5, items[c], 1 - items[c])
        joint = joint + size * np.prod(np.where(np.isnan(answers), 1.0, each), axis=1)
    return np.log(joint)


def sandwich(phi, x, answers, w, stratum, unit):
    def scores(at):
        steps = 1e-30j * np.eye(len(at))
        return np.stack([log_p(at + s, x, answers).imag / 1e-30 for s in steps], axis=1)

    h = 1e-5
    ends = [(w @ scores(phi + s), w @ scores(phi - s)) for s in h * np.eye(len(phi))]
    inverse = np.linalg.inv(np.stack([(down - up) / (2 * h) for up, down in ends]))
    return inverse @ spread_of(w[:, None] * scores(phi), stratum, unit) @ inverse


@pytest.mark.parametrize("clusters", [True, False])
def test_standard_errors_are_a_sandwich_by_independent_code(frame, clusters):
    options = (
        {"strata": "stratum", "clusters": "unit"} if clusters else {"exclude": ["stratum", "unit"]}
    )
    fitted = lacunet.fit(
        frame,
        2,
        covariates=["age"],
        weights="w",
        estimate="ml",
        starts=4,
        kinds="age=gaussian",
        **options,
    )
    beta = fitted.coefficients.estimate[1]
    p = np.array([fitted.model.table(name)[:, 1] for name in ITEMS])
    x, w = frame["age"].to_numpy() - 45.0, frame["w"].to_numpy()  # centred: numbers of one size
    start = np.concatenate([[beta[0] + 45.0 * beta[1], beta[1]], *np.log(p / (1 - p)).T])
    stratum = frame["stratum"].to_numpy() if clusters else np.zeros(len(frame))
    unit = frame["unit"].to_numpy() if clusters else np.arange(len(frame))
    V = sandwich(start, x, frame[ITEMS].to_numpy(), w, stratum, unit)
    slope = fitted.coefficients.stderr[1, 1]
    assert slope == pytest.approx(np.sqrt(V[1, 1]), rel=1e-4)
    q = p[:, 0]
    expected = q * (1 - q) * np.sqrt(np.diag(V)[2:7])
    stderr = [fitted.intervals.table(name).stderr[0, 1] for name in ITEMS]
    np.testing.assert_allclose(stderr, expected, rtol=1e-4)
    degrees = 20 if clusters else len(frame) - 1
    assert fitted.coefficients.degrees == degrees
    z = abs(beta[1]) / slope
    assert fitted.coefficients.p_values[1, 1] == pytest.approx(2 * stats.t.sf(z, degrees))
    assert fitted.coefficients.test("age").p_value == pytest.approx(stats.f.sf(z**2, 1, degrees))
    assert fitted.coefficients.method.startswith("Linearised (sandwich) standard errors")


def test_rows_without_a_covariate_leave_and_their_units_stay(frame):
    some = frame.copy()
    some.loc[some["unit"] == 103, "age"] = np.nan
    design = {"weights": "w", "strata": "stratum", "clusters": "unit"}
    regression = lacunet.class_regression(
        some, 2, ["age"], missing_covariates="drop", starts=2, **design
    )
    assert regression.coefficients.degrees == 20


def test_missing_values_as_answers_stay_beside_their_covariates(frame):
    """The same as a table in which somebody has written the answer."""
    written = frame.fillna(dict.fromkeys(ITEMS, 2.0))
    options = {"weights": "w", "strata": "stratum", "clusters": "unit", "starts": 2, "seed": 1}
    regression = lacunet.class_regression(frame, 2, ["age"], missing_as_state=True, **options)
    same = lacunet.class_regression(written, 2, ["age"], **options)
    assert regression.log_lik == pytest.approx(same.log_lik, abs=1e-6)
    np.testing.assert_allclose(
        regression.coefficients.stderr[1], same.coefficients.stderr[1], rtol=1e-4
    )


def test_few_units_make_a_test_of_several_numbers_weak():
    values, V = np.array([1.0, 2.0, 1.5]), np.eye(3)
    assert wald("x", values, V, 4.0).p_value == pytest.approx(stats.f.sf(7.25 * 2 / 12, 3, 2))
    assert wald("x", values, V).p_value == pytest.approx(stats.chi2.sf(7.25, 3))
    assert np.isnan(wald("x", values, V, 2.0).p_value)


def test_three_steps_of_rows_drawn_one_by_one_are_as_ever(frame):
    """Rows as units of their own: the usual robust covariance, times n/(n − 1)."""
    plain = frame[[*ITEMS, "age"]].assign(row=np.arange(len(frame)))
    fit = lacunet.fit(plain, 2, columns=ITEMS, starts=4)
    usual = lacunet.three_step(plain, fit, outcomes="age")
    units = lacunet.three_step(plain, fit, outcomes="age", clusters="row")
    more = np.sqrt(len(frame) / (len(frame) - 1))
    np.testing.assert_allclose(
        units.outcomes["age"].stderr, more * usual.outcomes["age"].stderr, rtol=1e-6
    )


def test_three_steps_agree_with_a_jackknife_of_units():
    """Delete a unit, fit classes again, and take the other steps again; 28 units tell about so."""
    frame = clustered(5, strata=2, units=14, people=15, income=True)
    design = {"weights": "w", "strata": "stratum", "clusters": "unit"}
    options = {"columns": ITEMS, "estimate": "ml", "starts": 2}
    steps = {"outcomes": "income", "covariates": "~ income", "assignment": "proportional"}
    fit = lacunet.fit(frame, 2, **options, **design)
    result = lacunet.three_step(frame, fit, **steps, **design)
    outcome, slope = result.outcomes["income"], result.coefficients
    assert outcome.degrees == slope.degrees == 26
    assert "Linearised (sandwich)" in str(result)
    variance = np.zeros(3)
    for h, here in frame.groupby("stratum"):
        units = here["unit"].unique()
        for u in units:
            w = frame["w"].where(frame["stratum"] != h, frame["w"] * len(units) / (len(units) - 1))
            left = frame.assign(w=w.where(frame["unit"] != u, 0.0))
            again = lacunet.match_classes(lacunet.fit(left, 2, **options, weights="w"), like=fit)
            other = lacunet.three_step(left, again, **steps, weights="w")
            means = other.outcomes["income"].estimate - outcome.estimate
            logit = other.coefficients.estimate[1, 1] - slope.estimate[1, 1]
            moved = np.append(means.ravel(), logit)
            variance += (len(units) - 1) / len(units) * moved**2
    stderr = np.append(outcome.stderr.ravel(), slope.stderr[1, 1])
    np.testing.assert_allclose(np.sqrt(variance), stderr, rtol=0.15)
