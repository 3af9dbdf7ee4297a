"""Three steps: against StepMix, against scores by finite differences, and against known truth."""

import numpy as np
import pytest
from class_worlds import people

import lacunet
from lacunet.summaries.first_step import Correction
from lacunet.summaries.outcomes import CategoryOutcome, LikelyStep, NumberOutcome
from peers import Peer

ITEMS = [f"y{j}" for j in range(6)]


@pytest.fixture(scope="module")
def frame():
    result, z = people(400, seed=5)
    rng = np.random.default_rng(1)
    income = rng.normal(np.array([0.0, 2.0, 1.0])[z], 1.0).round(4)
    party = rng.integers(0, 3, 400) * (rng.random(400) < np.array([0.9, 0.5, 0.3])[z])
    return result.astype(dict.fromkeys(ITEMS, int)).assign(
        income=income, party=np.array(["a", "b", "c"])[party]
    )


@pytest.fixture(scope="module")
def fit(frame):
    return lacunet.fit(frame, 3, columns=ITEMS, estimate="ml", starts=8, threads=1)


def in_order(theirs):
    return np.argsort(-theirs.weights_)


@pytest.mark.parametrize(
    ("correction", "assignment"),
    [("bch", "modal"), ("bch", "proportional"), ("ml", "modal"), ("none", "modal")],
)
def test_stepmix_has_the_same_numbers(frame, fit, correction, assignment):
    stepmix = Peer("stepmix.stepmix")
    result = lacunet.three_step(
        frame,
        fit,
        outcomes=["income", "party"],
        covariates="~ age + region",
        correction=correction,
        assignment=assignment,
    )
    options = {
        "measurement": "binary",
        "n_steps": 3,
        "correction": None if correction == "none" else correction.upper(),
        "assignment": "modal" if assignment == "modal" else "soft",
        "n_init": 3,
        "random_state": 1,
        "progress_bar": 0,
        "max_iter": 3000,
        "abs_tol": 1e-11,
        "rel_tol": 0,
    }
    X, age = frame[ITEMS], frame["age"].to_numpy()
    scaled = (age - age.mean()) / age.std()
    Z = np.column_stack([scaled, frame["region"] == "S", frame["region"] == "W"]).astype(float)
    newton = {"method": "newton-raphson", "max_iter": 200}  # one step alone is its usual
    theirs = stepmix.StepMix(3, structural="covariate", structural_params=newton, **options).fit(
        X, Z
    )
    beta = theirs.get_parameters()["structural"]["beta"][in_order(theirs)]
    units = np.array([1.0, age.std(), 1.0, 1.0])
    estimate = result.coefficients.estimate * units
    estimate[:, 0] += result.coefficients.estimate[:, 1] * age.mean()
    np.testing.assert_allclose(estimate, beta - beta[0], atol=1e-4)
    theirs = stepmix.StepMix(3, structural="gaussian_diag", **options).fit(X, frame[["income"]])
    means = theirs.get_parameters()["structural"]["means"][in_order(theirs)]
    np.testing.assert_allclose(result.outcomes["income"].estimate, means, atol=1e-4)
    codes = frame[["party"]].replace({"a": 0, "b": 1, "c": 2}).astype(int)
    theirs = stepmix.StepMix(3, structural="categorical", **options).fit(X, codes)
    shares = theirs.get_parameters()["structural"]["pis"][in_order(theirs)].reshape(3, 3)
    np.testing.assert_allclose(result.outcomes["party"].estimate, shares, atol=1e-4)


@pytest.mark.parametrize("kind", ["number", "category"])
def test_scores_and_curvature_are_those_of_the_likelihood(frame, fit, kind):
    rows = lacunet.three_step(frame, fit, outcomes="income").rows
    rng = np.random.default_rng(2)
    m = len(rows.counts)
    outcome = (
        NumberOutcome(rng.normal(size=m))
        if kind == "number"
        else CategoryOutcome(rng.integers(0, 3, m), ("a", "b", "c"))
    )
    coefficients = rng.normal(0, 0.5, (3, 2))

    def log_lik(x):
        joint = rows.sizes * np.exp(outcome.log_density(x.reshape(3, 2)))
        return rows.counts @ (rows.given * np.log(joint @ rows.errors)).sum(axis=1)

    def slope(x):
        solved = LikelyStep(outcome, x.reshape(3, 2))(rows)
        return solved.counts @ solved.scores

    x, steps = coefficients.reshape(-1), 1e-5 * np.eye(6)
    by_differences = [(log_lik(x + e) - log_lik(x - e)) / 2e-5 for e in steps]
    np.testing.assert_allclose(slope(x), by_differences, rtol=1e-5, atol=1e-5)
    curved = np.array([(slope(x - e) - slope(x + e)) / 2e-5 for e in steps])
    np.testing.assert_allclose(
        LikelyStep(outcome, coefficients)(rows).A, curved, rtol=1e-5, atol=1e-4
    )


def test_sure_classes_give_plain_means_with_their_plain_errors():
    """Where every row shows its class, there is nothing to correct."""
    rng = np.random.default_rng(3)
    z = np.repeat([0, 1], [60, 40])
    sure = {f"i{j}": z for j in range(12)}
    y = rng.normal(z, 1.0)
    data = {**sure, "y": y}
    fitted = lacunet.fit(data, 2, columns=list(sure), starts=4, threads=1)
    for correction in Correction:
        outcome = lacunet.three_step(data, fitted, outcomes="y", correction=correction).outcomes[
            "y"
        ]
        np.testing.assert_allclose(
            outcome.estimate.ravel(), [y[z == 0].mean(), y[z == 1].mean()], atol=1e-6
        )
        plain = [y[z == c].std() / np.sqrt((z == c).sum()) for c in (0, 1)]
        np.testing.assert_allclose(outcome.stderr.ravel(), plain, rtol=1e-4)
    apart = outcome.estimate[0, 0] - outcome.estimate[1, 0]
    assert outcome.equality.statistic == pytest.approx(
        apart**2 / (plain[0] ** 2 + plain[1] ** 2), rel=1e-3
    )


def test_mistakes_and_missing_outcomes(frame, fit):
    with pytest.raises(lacunet.OptionError, match="Did you mean 'income'"):
        lacunet.three_step(frame, fit, outcomes="incom")
    with pytest.raises(lacunet.OptionError, match="'y1' is an item of the model"):
        lacunet.three_step(frame, fit, outcomes=["y1"])
    with pytest.raises(lacunet.OptionError, match="nothing to relate classes to"):
        lacunet.three_step(frame, fit)
    with pytest.raises(lacunet.OptionError, match="correction 'bhc' is not known"):
        lacunet.three_step(frame, fit, outcomes="income", correction="bhc")
    missing = frame.copy()
    missing.loc[:9, "income"] = np.nan
    outcome = lacunet.three_step(missing, fit, outcomes="income").outcomes["income"]
    assert (outcome.cases, outcome.missing) == (390, 10)
    few = lacunet.three_step(frame[:200], fit, outcomes="income")
    assert any("not at its maximum for these rows" in note for note in few.notes)


@pytest.mark.long
def test_intervals_cover_the_truth():
    """Two overlapping classes, 200 data sets: 95 % intervals hold the truth 91 to 99 times of 100.

    The standard error of a share of 200 is 1.5 %.
    """
    held = []
    for r in range(200):
        rng = np.random.default_rng([5, r])
        x = rng.normal(size=500)
        z = (rng.random(500) < 1 / (1 + np.exp(0.3 - 0.8 * x))).astype(int)
        answers = rng.random((500, 5)) < np.array([0.25, 0.75])[z][:, None]
        data = {name: answers[:, j].astype(int) for j, name in enumerate("abcde")}
        data |= {"x": x, "y": rng.normal(z, 1.0)}
        fit = lacunet.fit(data, 2, columns=list("abcde"), starts=4, threads=1, estimate="ml")
        high = int(fit.model.table("a")[:, 1].argmax())
        steps = lacunet.three_step(data, fit, outcomes="y", covariates=["x"])
        one = lacunet.fit(data, 2, columns=list("abcde"), covariates=["x"], starts=2, threads=1)
        first = int(one.model.table("a")[:, 1].argmax())
        slopes = [(steps.coefficients, high), (one.coefficients, first)]
        row = []
        for coefficients, c in slopes:
            low, top = coefficients.against(coefficients.classes[1 - c]).interval
            row.append(low[c, 1] < 0.8 < top[c, 1])
        low, top = steps.outcomes["y"].interval
        held.append([*row, low[high, 0] < 1.0 < top[high, 0]])
    assert (np.abs(np.mean(held, axis=0) - 0.95) < 0.04).all()
