"""Draws against the expectations that they stand for, and against SciPy."""

import numpy as np
import pytest
from scipy.special import digamma, gammaln
from scipy.stats import chi2, kstest

from lacunet.errors import DataError
from lacunet.inference.classes import hidden_counts, safe_log
from lacunet.inference.kernels import draws as draw_kernels
from lacunet.inference.sampling.particles import Draws, check_whole
from lacunet.models import conjugacy
from problems import MODES, build, engine, make

CHAINS = 3000
NETWORKS = {
    "latent class": build("H>a H>b H>c", {"H": 3, "a": 2, "b": 3, "c": 2}, "H"),
    "two hidden": build("G>a H>a H>b G>c", {"G": 2, "H": 3, "a": 2, "b": 2, "c": 3}, "GH"),
    "hidden chain": build(
        "P>Q Q>R P>a Q>b R>c", {"P": 3, "Q": 3, "R": 2, "a": 2, "b": 2, "c": 2}, "PQR"
    ),
}


def worst_deviation(drawn, expected):
    """Largest |mean − expectation| in standard errors, over all positions that vary."""
    error = drawn.std(axis=0) / np.sqrt(len(drawn))
    varies = error > 0
    assert np.allclose(drawn[:, ~varies].mean(axis=0), expected[~varies], atol=1e-9)
    return np.abs((drawn.mean(axis=0) - expected)[varies] / error[varies]).max()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", NETWORKS)
def test_drawn_counts_average_to_the_expected_ones(name, mode):
    with engine(mode):
        case = make(NETWORKS[name], 12, missing=0.2, seed=3, counts=[1, 2, 40] * 4)
        problem = case.problem
    expected = hidden_counts(problem, safe_log(case.theta)).N
    draws = Draws(problem, np.random.default_rng(5))
    drawn = draws.hidden(np.tile(safe_log(case.theta), (CHAINS, 1)))
    assert (drawn == np.round(drawn)).all()
    assert (drawn >= 0).all()
    # About sixty positions: 4.5 standard errors is one chance in two thousand.
    assert worst_deviation(drawn, expected) < 4.5
    total = problem.layout.sum_k(drawn[0])
    assert total.sum() == pytest.approx(expected.sum())


def test_impossible_states_are_never_drawn():
    case = make(NETWORKS["latent class"], 6, seed=1, counts=[1, 3, 50] * 2)
    problem, layout = case.problem, case.layout
    theta = case.theta.copy()
    weights = theta[layout.block(0)]
    weights[:] = [0.5, 0.5, 0.0]
    drawn = Draws(problem, np.random.default_rng(0)).hidden(np.tile(safe_log(theta), (200, 1)))
    assert (drawn[:, layout.block(0)][:, 2] == 0).all()


@pytest.mark.parametrize("draws", [3, 4000])
def test_multinomial_draws_have_the_right_distribution(draws):
    weights = np.array([0.1, 0.0, 0.25, 0.65])
    rng, out, total = np.random.default_rng(2), np.empty(4, dtype=np.int64), np.zeros(4)
    rounds = 24_000 // draws
    for _ in range(rounds):
        draw_kernels.draw_cells(2 * weights, 2.0, 4, draws, rng, out)
        assert out.sum() == draws
        total += out
    assert total[1] == 0
    expected = weights * draws * rounds
    used = weights > 0
    statistic = ((total - expected)[used] ** 2 / expected[used]).sum()
    assert chi2.sf(statistic, 2) > 1e-3


@pytest.mark.parametrize("exponent", [0.01, 0.3, 1.0, 7.5])
def test_parameters_are_dirichlet(exponent):
    network = build("a>b", {"a": 3, "b": 2})
    problem = make(network, 2).problem
    eta = np.tile(np.full(problem.layout.size, exponent), (CHAINS, 1))
    log_theta = Draws(problem, np.random.default_rng(4)).natural(eta)
    assert np.isfinite(log_theta).all()
    total = np.array([problem.layout.sum_k(np.exp(x)) for x in log_theta])
    assert np.allclose(total, 1.0, atol=1e-12)
    # E log θ is a digamma difference; the marginal of one of two states is a beta variate.
    expected = digamma(exponent) - digamma(3 * exponent)
    first = log_theta[:, 0]
    assert abs(first.mean() - expected) < 4 * first.std() / np.sqrt(CHAINS)
    b = problem.layout.block(1)
    theta = np.exp(log_theta[:, b])[:, 0]
    if exponent < 0.1:  # most are 0 or 1 to the last digit
        assert abs((theta > 0.5).mean() - 0.5) < 2 / np.sqrt(CHAINS)
        return
    assert kstest(theta, "beta", args=(exponent, exponent)).pvalue > 1e-3


def test_normalising_integrals_are_those_of_scipy():
    problem = make(NETWORKS["two hidden"], 3).problem
    eta = np.random.default_rng(0).gamma(2.0, 3.0, (5, problem.layout.size))
    expected = [gammaln(x).sum() - gammaln(problem.layout.sum_k(x)).sum() for x in eta]
    assert np.allclose(conjugacy.log_integral(eta, problem.layout), expected, rtol=1e-13)


def test_fractional_weights_are_refused():
    case = make(NETWORKS["latent class"], 2, counts=[1.0, 1.5])
    with pytest.raises(DataError, match=r"weighs 1\.5.*whole"):
        check_whole(case.problem)
