"""The evidence with covariates: against sums over all classes of all rows, and without any."""

import numpy as np
import pandas as pd
import pytest
from class_oracle import log_evidence, log_evidence_dirichlet
from class_worlds import people
from scipy.special import polygamma

import lacunet

ITEMS = np.array(
    [[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, -1, 1], [1, 0, 1], [0, 0, 0]]
)
GROUP = np.array([0, 0, 0, 1, 1, 1, 1, 0])
SD, ALPHA = 1.5, 2.0
QUICK = {"starts": 8, "threads": 1, "alpha": ALPHA, "coefficient_sd": SD}


def frame():
    answers = pd.DataFrame(ITEMS, columns=["a", "b", "c"]).replace(-1, None).astype("Int64")
    return answers.assign(group=np.array(["x", "y"])[GROUP])


def prior(columns):
    """Covariance of the scores of one class: ψ′(α), and of two states each SD²/4."""
    u = SD**2 / 4
    whole = np.array([[polygamma(1, ALPHA) + u, -u], [-u, 2 * u]])
    return whole if columns == 2 else whole[:1, :1] - u


@pytest.fixture(scope="module")
def regression():
    return lacunet.class_regression(frame(), 2, ["group"], evidence=True, target=0.1, **QUICK)


@pytest.mark.parametrize("covariates", [["group"], []])
def test_the_evidence_is_the_sum_over_all_classes(regression, covariates):
    design = np.column_stack([np.ones(8), GROUP])[:, : 1 + len(covariates)].astype(float)
    truth = log_evidence(ITEMS, design, [2, 2, 2], 2, prior(design.shape[1]), ALPHA)
    (worth,) = regression.worth
    value = regression.log_evidence - (0.0 if covariates else worth.log_bayes_factor)
    error = regression.weighed.measured.stderr if covariates else worth.stderr
    assert error < 0.15
    assert value == pytest.approx(truth, abs=4 * error)
    if covariates:  # of eight rows; the error of the approximation is O(1/N)
        assert regression.weighed.approximated.value == pytest.approx(truth, abs=0.6)


def test_without_covariates_only_the_prior_of_class_sizes_is_another():
    """One sum over classes of rows: sizes have a Dirichlet prior, or a Gaussian of their log odds.

    With the Dirichlet it is the package's evidence. The other has the same mean and covariance of
    log odds: for one class against another mean 0 and variance 2 ψ′(α).
    """
    items = frame()[["a", "b", "c"]]
    evidence = lacunet.log_evidence(items, states=2, alpha=ALPHA, method="exact").value
    assert evidence == pytest.approx(
        log_evidence_dirichlet(ITEMS, [2, 2, 2], 2, ALPHA, ALPHA), abs=1e-9
    )
    other = log_evidence(ITEMS, np.ones((8, 1)), [2, 2, 2], 2, prior(1), ALPHA)
    assert other == pytest.approx(evidence, abs=0.02)
    regression = lacunet.class_regression(items, 2, "~ 1", evidence=True, target=0.1, **QUICK)
    assert regression.log_evidence == pytest.approx(
        other, abs=4 * regression.weighed.measured.stderr
    )


def test_the_approximation_is_near_what_is_measured():
    people_, _ = people(300, seed=7)
    regression = lacunet.class_regression(
        people_, 3, "~ age", exclude=["region"], evidence=True, starts=4, threads=1
    )
    measured = regression.weighed.measured
    assert measured.stderr < 0.1
    assert regression.weighed.approximated.value == pytest.approx(
        measured.value, abs=0.3 + 4 * measured.stderr
    )
    assert regression.worth[0].log_bayes_factor > 5  # ages do predict classes


def test_a_covariate_of_noise_is_not_worth_its_parameters():
    people_, _ = people(300, seed=8)
    noise = people_.assign(noise=np.random.default_rng(0).normal(size=300))
    fitted = lacunet.fit(
        noise, 3, covariates=["age", "noise"], exclude=["region"], starts=4, threads=1
    )
    worth = {w.name: w.log_bayes_factor for w in fitted.worth}
    assert worth["noise"] < 0 < worth["age"] < worth["all of them"] + 5
