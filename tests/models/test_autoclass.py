"""Priors of AutoClass: its estimates in closed form, and what becomes of them in a fit."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import lacunet
from lacunet.errors import OptionError
from lacunet.likelihoods import GAUSSIAN
from lacunet.likelihoods.gaussian import NormalInverseGamma
from lacunet.likelihoods.likelihood import Segment
from lacunet.models.number_prior import Extent, understand_number_prior

PRIORS = {"alpha": "autoclass", "number_prior": "autoclass", "starts": 4}


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    sort = rng.random(120) < 0.4
    return pd.DataFrame(
        {
            "x": rng.normal(np.where(sort, 4.0, 0.0), 1.0).round(2),
            "y": rng.normal(np.where(sort, 0.0, 3.0), 1.0).round(2),
            "colour": rng.choice(["red", "green", "blue"], 120),
        }
    )


def test_probabilities_are_estimated_as_there(frame):
    """(cases + 1/r)/(all cases + 1), of values and of classes."""
    one = lacunet.fit(frame[["colour"]], 1, **PRIORS).model.table("colour")[0]
    cases = frame["colour"].value_counts().sort_index().to_numpy()
    np.testing.assert_allclose(one, (cases + 1 / 3) / 121, rtol=1e-9)
    fit = lacunet.fit(frame, 2, kinds="auto", **PRIORS)
    N = fit.problem.layout.table(fit.point.N, 0)
    np.testing.assert_allclose(fit.model.table("class"), (N + 1 / 2) / 121, rtol=1e-6)


def test_variances_are_estimated_as_there_by_softmax(frame):
    fit = lacunet.fit(
        frame[["x"]].join(frame["colour"]), 1, kinds="auto", estimate="softmax", **PRIORS
    )
    v = fit.model.network.variables[fit.model.network.index("x")]
    summary = v.summary(fit.model.table("x"))
    x = frame["x"].to_numpy()
    assert summary["sd"][0] ** 2 == pytest.approx(((x - x.mean()) ** 2).sum() / 121, rel=0.01)
    assert summary["mean"][0] == pytest.approx(x.mean(), abs=1e-9)


def test_a_variance_may_be_anything_between_precision_and_range():
    """Nothing below, about as high as a log-uniform distribution, and nearly as flat."""
    prior = understand_number_prior("autoclass").of_gaussian(Extent(6.0, 0.01))
    at = Segment.of_table(GAUSSIAN, 1, 4)
    m, kappa, a, b = (float(x[0]) for x in NormalInverseGamma.of(np.array(prior), at))
    assert (m, kappa) == (0.0, pytest.approx((2.0 / 6.0) ** 2))
    low, high = np.log(0.01**2), np.log(3.0**2)
    x = np.linspace(low - 8.0, high + 60.0, 20_001)
    p = stats.invgamma.pdf(np.exp(x), a, scale=b) * np.exp(x)  # of log σ²
    inside = (x > low + 2.0) & (x < high)
    share = np.trapezoid(p[inside], x[inside]) / np.trapezoid(p, x)
    assert share > 0.4
    assert p[inside].max() < 3.0 * p[inside].min()
    assert p.max() == pytest.approx(1.0 / (high - low), rel=1 / 3)
    assert p[x < low - 3.0].max() < 1e-6 * p.max()


def test_blocks_have_as_many_degrees_of_freedom_as_columns(frame):
    fit = lacunet.fit(frame, 2, kinds="auto", covariance="full", **PRIORS)
    prior = next(v.prior for v in fit.model.network.variables if v.prior)
    assert prior[-1] == 2 + 1.0  # ν + 1
    scaled = frame.assign(x=frame["x"] * 10.0 + 3.0)
    other = lacunet.fit(scaled, 2, kinds="auto", covariance="full", **PRIORS)
    assert other.log_lik == pytest.approx(fit.log_lik - 120 * np.log(10.0), abs=1e-4)


def test_it_is_a_prior_of_classes(frame):
    with pytest.raises(OptionError, match="alpha autoclass is the prior of latent class models"):
        lacunet.learn_structure(frame[["colour"]], alpha="autoclass")
    with pytest.raises(OptionError, match="or give autoclass alone"):
        lacunet.fit(frame, 2, kinds="auto", number_prior="width=3")
    selection = lacunet.select(frame, [1, 2, 3], kinds="auto", quick=True, **PRIORS)
    assert selection.states == 2
