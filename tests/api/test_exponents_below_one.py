"""Dirichlet exponents below 1, BDeu among them: every function, score and command has an answer."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import lacunet
from examples import examples
from lacunet.cli.app import app
from lacunet.evidence.exact import exact_evidence
from lacunet.fitting.fit import Options, learn
from lacunet.fitting.objective import Estimate
from lacunet.flags import Kind
from lacunet.models.conjugacy import draw_theta
from lacunet.models.network import Model
from lacunet.models.prior import dirichlet
from lacunet.models.surgery import sample_codes
from lacunet.scores import SCORES, ScoreInput, choose_scores
from problems import Case, build, make, make_case, problem_for

QUICK = {"starts": 8, "threads": 1}
PRIORS = ["bdeu:1", "bdeu:5", 0.05, 0.5]  # below 1 with two classes of two answers or more
MANY = [score.name for score in SCORES if score.name != "bd"]
SMALL = build("H>a H>b H>c G>c", {"H": 2, "a": 2, "b": 3, "c": 2, "G": 2}, "HG")


@pytest.fixture(scope="module")
def carcinoma():
    return lacunet.load_dataset("carcinoma")


def mapping(classes):
    """Class sizes with exponents above 1, answers with exponents below."""
    return {"class": 3.0, **dict.fromkeys("ABCDEFG", np.full((classes, 2), 0.2))}


def values(at, *names):
    """Scores in the order in which they are named."""
    return [score(at) for name in names for score in choose_scores(name)]


def kinds(flags):
    return [flag.kind for flag in flags]


@pytest.mark.parametrize("alpha", [*PRIORS, mapping(3)], ids=[*map(str, PRIORS), "tables"])
def test_a_fit_at_the_softmax_mode_is_reported_as_one(carcinoma, alpha):
    fit = lacunet.fit(carcinoma, 3, alpha=alpha, **QUICK)
    assert fit.estimate is Estimate.SOFTMAX
    assert kinds(fit.flags)[0] is Kind.NO_MAP
    assert fit.gradient < 1e-6
    layout, exponents = fit.problem.layout, fit.point.N + fit.problem.alpha
    still = exponents / layout.spread(layout.sum_k(exponents))
    np.testing.assert_allclose(fit.model.theta, still, rtol=1e-4)
    assert math.isfinite(fit.log_posterior)


def test_a_requested_softmax_mode_is_no_warning(carcinoma):
    expected = lacunet.fit(carcinoma, 2, alpha=0.3, **QUICK)
    by_softmax = lacunet.fit(carcinoma, 2, alpha=0.3, estimate="softmax", **QUICK)
    np.testing.assert_array_equal(by_softmax.model.theta, expected.model.theta)
    assert Kind.NO_MAP not in kinds(by_softmax.flags)
    other = lacunet.fit(carcinoma, 2, alpha=1.01, estimate="softmax", **QUICK)
    assert other.estimate is Estimate.SOFTMAX
    assert other.log_posterior < lacunet.fit(carcinoma, 2, alpha=1.01, **QUICK).log_posterior


def test_complete_data_have_their_posterior_means():
    """With nothing hidden the softmax mode is the mean of the posterior."""
    case = make_case([3, 2], 1, 9, alpha=0.05, seed=4)
    theta = learn(case.problem).model.theta
    exponents = case.problem.seen + case.problem.alpha
    expected = exponents / case.layout.spread(case.layout.sum_k(exponents))
    np.testing.assert_allclose(theta, expected, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("alpha", ["bdeu:1", "bdeu:10", 0.05], ids=str)
def test_a_selection_has_every_score_but_laplaces(carcinoma, alpha):
    """Exponents of BDeu fall as classes are added: from 5 to 0.8 with a size of 10."""
    selection = lacunet.select(carcinoma, [1, 2, 6], alpha=alpha, scores=MANY, quick=True, **QUICK)
    for candidate in selection.candidates:
        gone = {"laplace"} if candidate.fit.estimate is Estimate.SOFTMAX else set()
        for name, evidence in candidate.scores.items():
            assert math.isnan(evidence.value) is (name in gone), name
            assert (Kind.NO_MODE in kinds(evidence.flags)) is (name in gone), name
    assert selection.candidates[2].fit.estimate is Estimate.SOFTMAX
    assert math.isfinite(selection.candidates[2].scores["csl-occupied"].value)


def test_networks_are_compared(carcinoma):
    """BDeu gives graphs that say the same the same evidence: an edge may be turned."""
    one, other = (build(e, {"a": 2, "b": 3}) for e in ("a>b", "b>a"))
    rows = make(one, 40, seed=2).table
    comparison = lacunet.compare(rows, [one, other], alpha="bdeu:1", scores="bd,csl,vb", **QUICK)
    for name in ("bd", "csl", "vb"):
        values = [c.scores[name].value for c in comparison.candidates]
        assert values[0] == pytest.approx(values[1], abs=1e-9)


@pytest.mark.slow
@examples(10)
@given(st.integers(0, 10_000), st.sampled_from([0.02, 0.1, 0.4, "bdeu:1"]))
def test_bounds_are_bounds(seed, alpha):
    """MLED ≤ CS ≤ VB ≤ log p(D|S), which the oracle sums over all completions."""
    case = make(SMALL, 4, alpha=alpha, seed=seed, missing=0.1)
    at = ScoreInput(case.problem, learn(case.problem, Options(starts=2)).model.theta)
    mled, cs, vb = (evidence.value for evidence in values(at, "mled", "cs", "vb"))
    assert mled <= cs + 1e-9
    assert cs <= vb + 1e-9
    assert vb <= case.log_evidence() + 1e-9


def drawn(alpha, seed, *, classes=2, rows=40):
    """Latent classes with data from the prior itself."""
    rng = np.random.default_rng([seed, rows])
    network = build("H>a H>b H>c H>d", dict.fromkeys("Habcd", 2) | {"H": classes}, "H")
    exponents = dirichlet(network, alpha)
    theta = draw_theta(exponents, network.layout, rng)
    codes = sample_codes(Model(network, theta, exponents), rows, rng, 0.0).astype(np.int8)
    return Case(network, theta, exponents, codes, np.ones(rows))


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.05, 0.2, 0.5, "bdeu:1"])
def test_occupancy_keeps_scores_near_the_exact_evidence(alpha):
    """Data from the prior."""
    errors = {name: [] for name in ("csl-occupied", "vb-occupied")}
    for seed in range(6):
        problem = drawn(alpha, seed).problem
        truth = exact_evidence(problem).value
        at = ScoreInput(problem, learn(problem, Options(starts=8)).model.theta)
        for score in choose_scores(list(errors)):
            unseen = 0.0 if score.every_labelling else math.log(2)
            errors[score.name].append(score(at).value + unseen - truth)
    assert np.abs(errors["csl-occupied"]).mean() < 0.75
    assert max(errors["vb-occupied"]) < 0.25  # a bound, but for the class that is taken as empty


@pytest.mark.slow
def test_csl_is_flagged_when_a_bound_is_above_it():
    """Two classes in use are a poor mode where the prior wants one."""
    case = make_case([2, 2, 2, 2], 2, 60, alpha=0.05, seed=3)
    at = ScoreInput(case.problem, learn(case.problem, Options(starts=8)).model.theta)
    csl, vb, occupied = values(at, "csl", "vb", "csl-occupied")
    short = vb.value - csl.value
    flagged = {flag.kind: flag for flag in csl.flags}.get(Kind.BELOW_BOUND)
    assert (flagged is not None) is (short > 0.5)
    assert short > 0.5
    assert flagged.detail["nats"] == pytest.approx(short)
    assert Kind.BELOW_BOUND not in kinds(occupied.flags)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["smc", "ais"])
def test_measured_evidence_is_the_exact_one(carcinoma, method):
    table = drawn(0.1, 3).table
    options = {"alpha": "bdeu:1", "threads": 1}
    exact = lacunet.log_evidence(table, 2, method="exact", **options)
    sampled = lacunet.log_evidence(table, 2, method=method, target=0.05, **options)
    assert abs(sampled.value - exact.value) < 4 * max(sampled.stderr, 0.02)


def test_intervals_and_statistics_at_the_softmax_mode(carcinoma):
    fit = lacunet.fit(carcinoma, 2, alpha=0.5, **QUICK)
    intervals = lacunet.intervals(carcinoma, fit)
    assert intervals.estimate is Estimate.SOFTMAX
    assert "at the softmax MAP parameters" in intervals.method
    assert np.isfinite(intervals.table("class").stderr).all()
    notes = str(lacunet.fit_statistics(carcinoma, fit))
    assert "log L is taken at the softmax MAP parameters" in notes


def test_estimators_take_such_priors():
    pytest.importorskip("sklearn")
    X = make_case([2, 3, 2], 2, 60, seed=1).codes.astype(float)
    for alpha in PRIORS:
        model = lacunet.LatentClassModel(2, alpha=alpha, n_init=4, random_state=0).fit(X)
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
        assert np.isfinite(model.score_samples(X)).all()


@pytest.mark.parametrize("alpha", ["bdeu:1", "0.05"])
def test_commands_take_such_priors(alpha):
    data = str(lacunet.dataset_path("carcinoma"))
    words = ["fit", data, "--weights", "count", "--states", "2", "--alpha", alpha, "--starts", "4"]
    ran = CliRunner().invoke(app, words)
    assert ran.exit_code == 0, ran.output
    assert "no MAP: an exponent of the prior" in " ".join(ran.output.split())
    document = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    assert document["estimate"] == "softmax"


def test_one_below_among_many_above():
    """The whole posterior is then taken in logarithms, not one table of it."""
    case = problem_for(lacunet.load_dataset("values"), 2, alpha=2.0)
    alpha = case.problem.alpha.copy()
    alpha[-1] = 0.5
    mixed = Case(case.network, case.theta, alpha, case.codes, case.counts).problem
    fit = learn(mixed, Options(starts=4))
    assert fit.estimate is Estimate.SOFTMAX
    assert fit.flags[0].detail == {"alpha": 0.5}
    assert fit.model.theta.min() > 0
