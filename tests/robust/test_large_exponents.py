"""Exponents of any size: differences of log Γ are taken as such, and nothing above 0 leaves."""

import itertools
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lacunet import api
from lacunet.data.read import read_table
from lacunet.errors import ImpossibleNumberError, OptionError
from lacunet.evidence.estimate import Method
from lacunet.evidence.measure import measure
from lacunet.fitting.fit import Options, learn
from lacunet.flags import Kind
from lacunet.inference.classes import check_log_probability
from lacunet.likelihoods import gamma_functions
from lacunet.likelihoods.gamma_functions import LARGE, log_gamma_density, log_rising
from lacunet.models import conjugacy
from lacunet.models.layout import Layout
from lacunet.scores import DRAPER, SCORES, ScoreInput
from lacunet.structure.counting import log_rising_sum
from problems import problem_for

NETWORK_EXPONENTS = st.floats(1e-12, 1e100)
COUNTS = st.integers(0, 60)
FORTY = list(itertools.product("ny", repeat=4)) * 3
FORTY_ROWS = pl.DataFrame(FORTY[:40], schema=["a", "b", "c", "d"], orient="row")
TABLE, ONE_ROW = (
    read_table(FORTY_ROWS),
    read_table(FORTY_ROWS[:1], states=dict.fromkeys("abcd", "ny")),
)
LIMIT = -160 * math.log(2)  # every probability one half


def summed(a, n):
    """The rising factorial, factor by factor."""
    return math.fsum(math.log(a + i) for i in range(n))


@given(a=NETWORK_EXPONENTS, n=COUNTS)
def test_rising_factorials_are_products(a, n):
    exact = pytest.approx(summed(a, n), rel=1e-13, abs=1e-12)
    assert float(log_rising(a, n)) == exact
    assert gamma_functions.log_rising_scalar(a, float(n)) == exact
    above, rest = (gamma_functions.log_gamma_above(a, x) for x in (float(n), 0.0))
    assert above - rest == exact
    assert log_rising_sum(a, np.array([float(n), 0.0])) == exact


@given(a=NETWORK_EXPONENTS, n=st.floats(0, 50), more=st.floats(0, 50))
def test_rising_factorials_of_fractions_add_up(a, n, more):
    whole, parts = float(log_rising(a, n + more)), float(log_rising(a, n) + log_rising(a + n, more))
    assert whole == pytest.approx(parts, rel=1e-12, abs=1e-11)
    assert gamma_functions.log_rising_scalar(a, n) == pytest.approx(
        float(log_rising(a, n)), abs=1e-12
    )


@pytest.mark.parametrize("n", [0.5, 3.0, 1e6])
def test_nothing_jumps_where_the_formula_changes(n):
    below, at = (float(log_rising(a, n)) for a in (np.nextafter(LARGE, 0.0), LARGE))
    assert below == pytest.approx(at, rel=1e-14, abs=1e-13)


@given(a=st.floats(0.1, 1e15), share=st.floats(0.01, 0.99))
def test_densities_of_two_probabilities_are_those_of_a_beta(a, share):
    """Near its mode a Beta is a Gaussian, which tells what large exponents must give."""
    layout = Layout.build([2], [()], [False])
    alpha = a * np.array([share, 1 - share]) + 1.0
    mode = (alpha - 1.0) / (alpha.sum() - 2.0)
    density = conjugacy.log_prior(mode, alpha, layout)
    if a * min(share, 1 - share) > 1e7:
        variance = share * (1 - share) / alpha.sum()
        assert density == pytest.approx(-0.5 * math.log(2 * math.pi * variance), abs=1e-6)
    else:
        terms = math.lgamma(alpha.sum()) - sum(map(math.lgamma, alpha)) + (alpha - 1) @ np.log(mode)
        assert density == pytest.approx(terms, rel=1e-12, abs=1e-15 * a * 100 + 1e-9)


def test_gamma_densities_far_from_their_mean_are_still_right():
    a, x = np.array([40.0, 40.0, 3.0]), np.array([1e-9, 4000.0, 2.0])
    expected = a * np.log(x) - x - np.array([math.lgamma(v) for v in a])
    assert np.allclose(log_gamma_density(a, x), expected, rtol=1e-13)


@pytest.mark.parametrize("alpha", [1e6, 1e12, 1e14, 1e15, 1e17, 1e100])
def test_evidence_with_large_exponents_is_that_of_known_probabilities(alpha):
    estimate = api.log_evidence(FORTY_ROWS, states=2, alpha=alpha)
    assert estimate.method is Method.EXACT
    assert estimate.value == pytest.approx(LIMIT, abs=100 / alpha + 1e-10)


@pytest.mark.parametrize("method", ["ais", "smc", "walk"])
def test_sampled_evidence_with_large_exponents_agrees(method):
    """A walk, particles and annealing take the same differences, in kernels of their own."""
    estimate = api.log_evidence(FORTY_ROWS, states=2, alpha=1e12, method=method, target=0.3)
    assert abs(estimate.value - LIMIT) < 4 * (estimate.stderr or 0.3) + 1e-6
    with pytest.raises(OptionError, match=r"add up to 1.8e\+18.*a case is lost.*smaller alpha"):
        api.log_evidence(FORTY_ROWS, states=2, alpha=1e17, method=method)


@pytest.mark.parametrize("alpha", [1e12, 1e17])
def test_scores_with_large_exponents_are_the_evidence(alpha):
    names = ["laplace", "csl", "vb", "cs"]
    candidate = api.select(FORTY_ROWS, [2], alpha=alpha, scores=names, quick=True).candidates[0]
    for name in names:
        assert candidate.scores[name].value == pytest.approx(LIMIT, abs=1e-3), name


@pytest.mark.parametrize("alpha", [1e-9, "bdeu:1e-9", 0.001])
@pytest.mark.parametrize("estimate", ["map", "ml", "softmax"])
def test_every_score_with_tiny_exponents_is_a_number_or_has_a_reason(alpha, estimate):
    names = [s.name for s in SCORES]
    rows = FORTY_ROWS[:12]
    options = {"alpha": alpha, "estimate": estimate, "scores": names, "quick": True, "starts": 4}
    for candidate in api.select(rows, [1, 2], **options).candidates:
        for score in candidate.scores.values():
            assert math.isfinite(score.value) or score.flags, score.name
            assert score.value <= 1e-9 or score.flags or math.isnan(score.value), score.name


@pytest.mark.parametrize("alpha", [0.0, -1.0, 1e101, 1e-101, math.nan, math.inf])
def test_exponents_out_of_range_are_refused(alpha):
    allowed = r"alpha .* is not allowed.*must be (above 0|from 1e-100 to 1e.100)\."
    with pytest.raises(OptionError, match=allowed):
        api.log_evidence(FORTY_ROWS, states=2, alpha=alpha)


def test_a_log_probability_above_zero_is_kept_back_with_its_terms():
    problem = problem_for(TABLE, 2, alpha=1.0).problem
    terms = {"of hits": 120.5, "of all": -100.0}
    with pytest.raises(ImpossibleNumberError, match=r"cs is 20.5.*of hits = 120.5, of all"):
        check_log_probability(problem, "cs", terms)
    with pytest.raises(ImpossibleNumberError, match="cs is nan"):
        check_log_probability(problem, "cs", {"x": math.nan})
    check_log_probability(problem, "cs", terms, noise=21.0)
    check_log_probability(problem, "cs", {"x": 1e-12})


def test_measured_evidence_is_looked_at_before_it_leaves(monkeypatch):
    problem = problem_for(TABLE, 1, alpha=1.0).problem
    problem.__dict__["log_seen"] = 49.098
    with pytest.raises(ImpossibleNumberError, match=r"evidence is 49.098"):
        measure(problem)


def test_an_approximation_above_zero_is_flagged():
    problem = problem_for(ONE_ROW, 2, alpha=1.01).problem
    result = DRAPER(ScoreInput(problem, learn(problem, Options(starts=1)).model.theta))
    assert result.value > 0
    assert Kind.ABOVE_ZERO in {flag.kind for flag in result.flags}


@pytest.mark.parametrize("name", ["weight", "degrees", "shape"])
def test_priors_of_numbers_that_would_drown_the_data_are_refused(name):
    with pytest.raises(OptionError, match=rf"{name} 1e.15 is not allowed\. It is worth cases"):
        api.fit(FORTY_ROWS, 2, number_prior=f"{name}=1e15")
