"""ICL, the singular BIC and WBIC: by hand, by quadrature, and over repeated seeds."""

import math

import numpy as np
import pytest
from hypothesis import given

import oracle
from examples import examples
from lacunet.data.datasets import load_dataset
from lacunet.data.table import Column, Table
from lacunet.flags import Kind
from lacunet.inference.expectation import expect
from lacunet.learn.fit import Options, learn
from lacunet.learn.objective import Estimate
from lacunet.scores import ScoreInput
from lacunet.scores.bic import BIC
from lacunet.scores.icl import ICL
from lacunet.scores.sbic import SBIC, learning_coefficient, singular_bic
from lacunet.scores.wbic import WBIC, Tempered
from lacunet.scoring import log_gammas
from lacunet.scoring.chains import chain_mean
from problems import build, cases, make, make_case, problem_for
from quick import quick_sampling


def at(case, **how):
    return ScoreInput(case.problem, case.theta, **how)


# ICL.


@examples(40)
@given(cases(max_rows=15, max_classes=4))
def test_icl_takes_the_entropy_of_the_classes_from_bic(case):
    """Cells that are missing are no classes: their entropy does not count."""
    weights, *tables = case.tables()
    entropy = 0.0
    for (_, *row), n in zip(case.rows, case.counts, strict=True):
        if any(x >= 0 for x in row):
            seen = [t[:, x] for t, x in zip(tables, row, strict=True) if x >= 0]
            p = weights * np.prod(seen, axis=0)
            p = p / p.sum()
            entropy -= n * float(np.sum(p * np.log(p)))
    found = ICL(at(case))
    assert found.value == pytest.approx(BIC(at(case)).value - entropy, abs=1e-8)
    assert found.terms["−H(hidden|D,θ)"] == pytest.approx(-entropy, abs=1e-8)


def test_icl_of_a_network_takes_the_entropy_of_all_hidden_values():
    network = build("H>G H>a G>b G>c", {"H": 2, "G": 3, "a": 2, "b": 2, "c": 3}, "HG")
    case = make(network, 20, seed=3)
    entropy = oracle.entropy(case.oracle(), case.rows, case.counts)
    assert ICL(at(case)).value == pytest.approx(BIC(at(case)).value - entropy, abs=1e-8)


# Singular BIC.


def test_learning_coefficients_by_hand():
    """Seven binary items: r = 7 parameters a class; Drton & Plummer (2017), eq. 6.15 and 6.19."""
    assert learning_coefficient(1, 1, 7, 1.0, 127.0) == 7 / 2
    assert learning_coefficient(3, 3, 7, 1.0, 127.0) == 23 / 2  # its own dimension
    assert learning_coefficient(3, 1, 7, 1.0, 127.0) == (7 + 2 * 1) / 2  # two empty classes
    assert learning_coefficient(3, 2, 7, 50.0, 127.0) == (3 * 7 + 1) / 2  # one repeats another
    assert learning_coefficient(5, 5, 3, 1.0, 7.0) == 7 / 2  # 3 binary items: 8 kinds of rows


def test_singular_bic_by_hand():
    """L₁ = 1; L′₂₁ = 1, L′₂₂ = ½: L² + L/2 − 1 = 0."""
    second = math.log(2.0)
    found = singular_bic([0.0, second], [[0.0], [second, 2 * second]], 1.0)
    assert np.exp(found) == pytest.approx([1.0, (-0.5 + math.sqrt(4.25)) / 2])


def test_singular_bic_solves_its_equations_at_any_scale():
    rng = np.random.default_rng(0)
    for _ in range(20):
        log_liks = np.sort(rng.normal(-5000, 300, 6))
        coefficients = [np.sort(rng.uniform(1, 60, i + 1)) for i in range(6)]
        log_L = singular_bic(log_liks, coefficients, math.log(400))
        for i in range(6):
            left = log_L[i] + np.logaddexp.reduce(log_L[: i + 1])
            primes = log_liks[i] - coefficients[i] * math.log(400)
            right = np.logaddexp.reduce(primes + log_L[: i + 1])
            assert left == pytest.approx(right, abs=1e-9)


def test_singular_bic_of_the_carcinoma_data():
    """From poLCA's maximum log-likelihoods, with λ and the quadratics written out."""
    log_n, top = math.log(118), -293.705 - 23 / 2 * math.log(118)
    one, two, three = -524.4648, -317.2568, -293.705

    def relative(log_lik, coefficient):
        return math.exp(log_lik - coefficient * log_n - top)

    L1 = relative(one, 7 / 2)
    b, c = L1 - relative(two, 15 / 2), relative(two, 8 / 2) * L1
    L2 = (-b + math.sqrt(b * b + 4 * c)) / 2
    b, c = (
        L1 + L2 - relative(three, 23 / 2),
        relative(three, 9 / 2) * L1 + relative(three, 16 / 2) * L2,
    )
    L3 = (-b + math.sqrt(b * b + 4 * c)) / 2
    found = SBIC(at(problem_for(load_dataset("carcinoma"), 3, alpha=1.0)))
    assert found.value == pytest.approx(top + math.log(L3), abs=2e-3)
    assert found.terms["log p(D|θ̂)"] == pytest.approx(three, abs=1e-3)


def test_singular_bic_of_one_class_is_bic_at_the_maximum():
    case = make_case([2, 3, 2], 1, 50, missing=0.1, seed=2)
    best = learn(case.problem, Options(estimate=Estimate.ML)).model.theta
    wanted = BIC(ScoreInput(case.problem, best)).value
    assert SBIC(at(case)).value == pytest.approx(wanted, abs=1e-9)


def test_singular_bic_does_not_depend_on_the_parameters_given():
    case = make_case([2] * 4, 3, 100, seed=5)
    other = learn(case.problem, Options(starts=4)).model.theta
    assert SBIC(at(case)).value == SBIC(ScoreInput(case.problem, other)).value


# WBIC.


def test_the_tempered_gradient_is_finite_differences():
    case = make_case([3, 2], 2, 30, missing=0.2, seed=1, alpha=0.6)
    target = Tempered(case.problem, 0.3)
    u = np.random.default_rng(0).normal(size=case.layout.size)
    gradient = target(u)[1]
    for i, e in enumerate(np.eye(len(u))):
        slope = (target(u + 1e-6 * e)[0] - target(u - 1e-6 * e)[0]) / 2e-6
        assert gradient[i] == pytest.approx(slope, abs=1e-6)
    theta = np.exp(log_gammas.log_theta_of(u, case.layout))
    assert target(u)[2] == pytest.approx(expect(case.problem, theta).log_lik, rel=1e-12)


def test_log_gamma_draws_of_tiny_shapes():
    """E log X = ψ(a), Var log X = ψ′(a); ordinary draws would be 0."""
    from scipy.special import digamma, polygamma

    for a in (0.01, 1.0, 20.0):
        draws = log_gammas.draw(np.full(20_000, a), np.random.default_rng(1))
        assert np.isfinite(draws).all()
        sd = math.sqrt(polygamma(1, a))
        assert draws.mean() == pytest.approx(digamma(a), abs=5 * sd / math.sqrt(20_000))
        assert draws.std() == pytest.approx(sd, rel=0.06)


COIN = Table.from_codes(np.array([[0], [1]]), [Column("x", (0, 1))], np.array([9.0, 4.0]))


def coin_by_quadrature():
    """One binary leaf, two classes, α = 1: three parameters, each uniform on 0 to 1."""
    x, w = np.polynomial.legendre.leggauss(40)
    x, w = (x + 1) / 2, w / 2
    a, p, q = np.meshgrid(x, x, x, indexing="ij")
    weights = w[:, None, None] * w[:, None] * w
    zero = a * p + (1 - a) * q
    log_lik = 9 * np.log(zero) + 4 * np.log(1 - zero)
    tempered = weights * np.exp(log_lik / math.log(13))
    return float(np.sum(tempered * log_lik) / tempered.sum())


@pytest.mark.slow
def test_wbic_is_the_mean_over_the_tempered_posterior():
    """By quadrature; and over seeds its errors are as large as it says."""
    truth = coin_by_quadrature()
    case = problem_for(COIN, 2, alpha=1.0)
    with quick_sampling(warm_up=120, draws=120):
        found = [WBIC(at(case, options=Options(seed=seed))) for seed in range(10)]
    scores = np.array([(e.value - truth) / e.stderr for e in found])
    assert np.abs(scores).max() < 4
    assert 0.5 < np.sqrt(np.mean(scores**2)) < 1.7
    assert abs(np.mean([e.value for e in found]) - truth) < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.2, 1.0, 4.0])
def test_wbic_of_complete_data_has_a_closed_form_that_sampling_agrees_with(alpha):
    """The same data with a hidden variable that changes nothing: one state would be known."""
    full = make(build("a>b", {"a": 2, "b": 3}), 40, alpha=alpha, seed=4)
    exact = WBIC(ScoreInput(full.problem, full.theta))
    assert exact.stderr is None
    hidden = build("a>b H>c", {"a": 2, "b": 3, "H": 2, "c": 1}, "H")
    order = [hidden.observed.index([v.name for v in hidden.variables].index(n)) for n in "abc"]
    codes = np.zeros((len(full.codes), 3), dtype=np.int8)
    codes[:, order[:2]] = full.codes
    other = make(hidden, len(codes), alpha=alpha)
    other = type(other)(hidden, other.theta, other.alpha, codes, full.counts)
    with quick_sampling(warm_up=200, draws=250):
        sampled = WBIC(at(other))
    assert sampled.value == pytest.approx(exact.value, abs=4 * sampled.stderr)
    assert sampled.stderr < 0.6


def test_wbic_is_the_same_for_the_same_seed_only():
    case = make_case([2] * 4, 2, 60, seed=1)
    with quick_sampling():
        one, two, other = (WBIC(at(case, options=Options(seed=s))) for s in (7, 7, 8))
    assert (one.value, one.stderr) == (two.value, two.stderr)
    assert one.value != other.value


def test_one_case_has_no_temperature():
    case = make_case([2, 2], 2, 1)
    found = WBIC(at(case))
    assert math.isnan(found.value)
    assert [flag.kind for flag in found.flags] == [Kind.ONE_CASE]


def test_chains_that_disagree_are_flagged():
    """Two modes that no chain of this length changes between: warm-up apart, means apart."""
    rng = np.random.default_rng(0)
    agreeing = rng.normal(size=(4, 400))
    found = chain_mean(agreeing)
    assert found.r_hat < 1.02
    assert found.stderr == pytest.approx(1 / math.sqrt(1600), rel=0.2)
    apart = chain_mean(agreeing + np.array([[0.0], [0.0], [3.0], [3.0]]))
    assert apart.r_hat > 1.5
    assert apart.stderr > 0.5


def test_standard_errors_of_slow_chains():
    """AR(1) with ρ = 0.9: one draw in 19 is worth a fresh one."""
    rng = np.random.default_rng(2)
    errors, said = [], []
    for _ in range(60):
        x = np.zeros((4, 500))
        x[:, 0] = rng.normal(size=4)
        for t in range(1, 500):
            x[:, t] = 0.9 * x[:, t - 1] + math.sqrt(1 - 0.81) * rng.normal(size=4)
        found = chain_mean(x)
        errors.append(found.value)
        said.append(found.stderr)
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(math.sqrt(19 / 2000), rel=0.3)
    assert np.mean(said) == pytest.approx(math.sqrt(19 / 2000), rel=0.2)
