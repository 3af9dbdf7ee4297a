"""Standard errors against finite differences; what cannot have one says so; the bootstrap."""

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import norm

import finite_differences as fd
from lacunet.data.read import load_dataset
from lacunet.data.table import Column, Table
from lacunet.errors import DataError, ModelError, OptionError
from lacunet.fitting.fit import Options, learn
from lacunet.fitting.objective import Estimate, Objective
from lacunet.flags import Flag, Kind
from lacunet.inference.problem import build_problem
from lacunet.models.network import Model, Network, Variable
from lacunet.models.prior import dirichlet
from lacunet.runtime.executor import on_threads
from lacunet.summaries.bootstrap import bootstrap_intervals, simulate_like
from lacunet.summaries.intervals import check_level, check_maximum, hessian_intervals
from problems import build, make, make_case, problem_for


def golden(problem, model, estimate, free=None):
    """Inverse observed information of the same objective, by independent code."""
    layout, network = problem.layout, problem.network
    n = len(layout.cards)
    tables = [layout.table(model.theta, i) for i in range(n)]
    less = 0.0 if estimate is Estimate.SOFTMAX else 1.0  # a density of log θ, or of θ
    exponents = [layout.table(problem.alpha, i) - less for i in range(n)]
    rows = np.full((len(problem.codes), n), -1)
    rows[:, list(network.observed)] = problem.codes
    log_lik = fd.LogLikelihood(layout.cards, network.parents, rows, problem.counts)

    def objective(given):
        if estimate is Estimate.ML:
            return log_lik(given)
        prior = sum((a * np.log(t)).sum() for a, t in zip(exponents, given, strict=True))
        return log_lik(given) + prior

    return fd.standard_errors(tables, objective, free)


def check(problem, model, intervals, expected, where=None):
    for i, reference in enumerate(expected):
        stderr = problem.layout.table(intervals.stderr, i)
        chosen = np.ones(stderr.shape, dtype=bool) if where is None else where[i]
        np.testing.assert_allclose(stderr[chosen], reference[chosen], rtol=2e-6)
        assert where is None or np.isnan(stderr[~chosen]).all()


@pytest.mark.parametrize("estimate", Estimate)
@pytest.mark.parametrize(
    ("cards", "classes", "rows", "missing", "seed"),
    [([2, 2, 2, 2], 2, 300, 0.0, 7), ([3, 2, 3], 2, 400, 0.2, 3), ([2, 3, 2], 2, 300, 0.3, 22)],
)
def test_standard_errors_are_the_inverse_observed_information(
    cards, classes, rows, missing, seed, estimate
):
    case = make_case(cards, classes, rows, missing=missing, seed=seed, alpha=1.5)
    fit = learn(case.problem, Options(estimate=estimate, starts=16))
    assert (fit.point.N > 1).all(), "this test wants a maximum in the interior"
    intervals = hessian_intervals(case.problem, fit.model, estimate)
    assert intervals.flags == ()
    check(case.problem, fit.model, intervals, golden(case.problem, fit.model, estimate))


@pytest.mark.parametrize("estimate", Estimate)
@pytest.mark.parametrize(
    ("edges", "hidden", "seed"),
    [
        ("H>a H>b H>c H>d a>b", "H", 13),
        ("H>G G>a G>b H>c H>d", "HG", 33),
        ("a>H H>b H>c H>d", "H", 8),
    ],
)
def test_standard_errors_of_networks(edges, hidden, seed, estimate):
    letters = sorted({letter for edge in edges.split() for letter in (edge[0], edge[-1])})
    network = build(edges, dict.fromkeys(letters, 2), hidden)
    case = make(network, 400, missing=0.1, seed=seed, alpha=2.0)
    fit = learn(case.problem, Options(estimate=estimate, starts=8))
    assert (fit.point.N > 1).all(), "this test wants a maximum in the interior"
    intervals = hessian_intervals(case.problem, fit.model, estimate)
    assert intervals.flags == ()
    check(case.problem, fit.model, intervals, golden(case.problem, fit.model, estimate))


@pytest.mark.parametrize("estimate", [Estimate.MAP, Estimate.ML])
def test_on_the_boundary_there_is_none_and_the_others_take_it_as_fixed(estimate):
    problem = problem_for(load_dataset("carcinoma"), 2).problem
    fit = learn(problem, Options(estimate=estimate))
    intervals = hessian_intervals(problem, fit.model, estimate)
    (flag,) = intervals.flags
    assert flag == Flag(Kind.HELD_AT_BOUNDARY, detail={"number": 10, "total": 30})
    where = [~np.isnan(problem.layout.table(intervals.stderr, i)) for i in range(8)]
    assert sum(int((~w).sum()) for w in where) == 10
    for i, tiny in enumerate(where):
        held = problem.layout.table(fit.model.theta, i)[~tiny]
        assert (np.minimum(held, 1 - held) < 1e-3).all()
    free = np.concatenate([w[..., :-1].ravel() for w in where])
    # Held probabilities may be exactly 0, whose logit does not exist: any tiny one will do.
    theta = np.clip(fit.model.theta, 1e-9, None)
    theta /= problem.layout.spread(problem.layout.sum_k(theta))
    model = Model(problem.network, theta, problem.alpha)
    check(problem, fit.model, intervals, golden(problem, model, estimate, free), where)
    text = str(intervals)
    assert "nan" not in text
    assert "class 2  C = 1             <0.001       –      –      –" in text


def test_what_the_data_do_not_determine_has_none():
    """Two binary leaves do not identify two classes; a column beside them is known as ever."""
    network = build("H>a H>b", {"H": 2, "a": 2, "b": 2, "z": 3}, "H")
    case = make(network, 500, seed=2)
    alpha = dirichlet(network, 1.0)
    problem = build_problem(case.table, network, alpha)
    fit = learn(problem, Options(estimate=Estimate.ML, starts=8))
    intervals = hessian_intervals(problem, fit.model, Estimate.ML)
    assert Kind.NOT_IDENTIFIED in [flag.kind for flag in intervals.flags]
    for name in ("H", "a", "b"):
        assert np.isnan(intervals.table(name).stderr).all()
    z = intervals.table("z")
    np.testing.assert_allclose(z.stderr, np.sqrt(z.estimate * (1 - z.estimate) / 500), rtol=1e-9)


def test_an_uninformative_interval_is_omitted():
    """One case, and a prior worth 0.6 of each state: at a high level, anything may be so."""
    network = Network.build([Variable("x1", (0, 1))], [()])
    problem = build_problem(
        Table.from_codes([[0]], [Column("x1", (0, 1))]), network, dirichlet(network, 1.6)
    )
    fit = learn(problem, Options(starts=1))
    theta = fit.model.theta[1]
    # One case and a prior of 0.6 cases each: logit ± 1.96/√(2.2 θ (1 − θ)).
    reach = 1.96 / np.sqrt(2.2 * theta * (1 - theta))
    low, high = expit(logit(theta) - reach), expit(logit(theta) + reach)
    wide = hessian_intervals(problem, fit.model, Estimate.MAP)
    np.testing.assert_allclose([wide.low[1], wide.high[1]], [low, high], rtol=1e-3)
    none = hessian_intervals(problem, fit.model, Estimate.MAP, 0.9999999)
    assert Kind.ANYWHERE in [flag.kind for flag in none.flags]
    assert np.isnan([none.stderr, none.low, none.high]).all()
    assert "<0.001" not in str(none)


def test_a_weak_prior_does_not_make_a_standard_error():
    """With α = 1.01 the matrix is regular, by the prior alone: the result is not a probability."""
    case = make_case([2, 2], 2, 2000, seed=1)
    fit = learn(case.problem, Options(starts=8))
    intervals = hessian_intervals(case.problem, fit.model, Estimate.MAP)
    assert Kind.HARDLY_IDENTIFIED in [flag.kind for flag in intervals.flags]
    assert np.isnan(intervals.stderr).any()
    assert not (intervals.stderr > 0.5).any()


def test_nothing_hidden_is_the_binomial():
    problem = problem_for(load_dataset("values"), 1).problem
    fit = learn(problem, Options(estimate=Estimate.ML))
    intervals = hessian_intervals(problem, fit.model, Estimate.ML, level=0.9)
    a = intervals.table("A")
    np.testing.assert_allclose(a.stderr, np.sqrt(a.estimate * (1 - a.estimate) / 216), rtol=1e-12)
    reach = norm.ppf(0.95) / np.sqrt(216 * a.estimate * (1 - a.estimate))
    np.testing.assert_allclose(a.low, expit(logit(a.estimate) - reach), rtol=1e-12)
    np.testing.assert_allclose(a.high, expit(logit(a.estimate) + reach), rtol=1e-12)
    size = intervals.table("class")  # one class: no parameter, no doubt
    assert (size.stderr[0], size.low[0], size.high[0]) == (0.0, 1.0, 1.0)


@pytest.mark.parametrize("estimate", [Estimate.MAP, Estimate.ML])
@pytest.mark.parametrize("classes", [1, 2])
def test_data_without_any_variation(classes, estimate, capfd):
    """Everything is on the boundary: no parameter is left, without a warning."""
    columns = [Column("a", (0, 1)), Column("b", (0, 1))]
    problem = problem_for(Table.from_codes([[0, 0], [0, 0]], columns), classes).problem
    fit = learn(problem, Options(estimate=estimate, starts=2))
    intervals = hessian_intervals(problem, fit.model, estimate)
    for name in "ab":
        assert np.isnan(intervals.table(name).stderr).all()
    assert capfd.readouterr() == ("", "")


def test_intervals_stay_inside_and_grow_with_the_level():
    case = make_case([2, 3, 2, 2], 2, 120, missing=0.1, seed=1, alpha=1.2)
    fit = learn(case.problem, Options(starts=16))
    narrow, wide = (
        hessian_intervals(case.problem, fit.model, Estimate.MAP, level) for level in (0.5, 0.999)
    )
    known = ~np.isnan(narrow.stderr)
    assert known.sum() > 10
    theta = fit.model.theta[known]
    assert (narrow.low[known] < theta).all()
    assert (theta < narrow.high[known]).all()
    assert (wide.low[known] < narrow.low[known]).all()
    assert (narrow.high[known] < wide.high[known]).all()
    assert (wide.low[known] > 0).all()
    assert (wide.high[known] < 1).all()


def test_only_a_maximum_has_standard_errors():
    case = make_case([2, 2, 2], 2, 100, seed=1)
    problem, layout = case.problem, case.layout
    start = Model(problem.network, case.theta, problem.alpha)
    with pytest.raises(ModelError, match="not at the MAP maximum for these data: the scaled grad"):
        hessian_intervals(problem, start, Estimate.MAP)
    # All classes alike: EM stands still there, but it is a saddle.
    objective = Objective.build(problem, Estimate.MAP)
    alike = np.ones(layout.size) / layout.spread(layout.sum_k(np.ones(layout.size)))
    saddle = objective.em_step(objective.at(alike)).theta
    model = Model(problem.network, saddle, problem.alpha)
    check_maximum(objective, model)
    intervals = hessian_intervals(problem, model, Estimate.MAP)
    assert Kind.SADDLE in [flag.kind for flag in intervals.flags]
    assert np.isnan(intervals.stderr).all()


@pytest.mark.parametrize("level", [0.0, 1.0, 95.0, float("nan")])
def test_levels_out_of_range(level):
    with pytest.raises(OptionError, match=r"give a number between 0 and 1, as 0\.95"):
        check_level(level)


def test_simulated_data_have_the_missing_values_and_the_size_of_the_real():
    case = make_case([2, 3, 4], 2, 60, missing=0.3, seed=4)
    drawn = simulate_like(case.problem, case.theta, 5, 0)
    assert drawn.cases == case.problem.cases

    def missing(problem):
        patterns, index = np.unique(problem.codes < 0, axis=0, return_inverse=True)
        return patterns.tolist(), np.bincount(index.ravel(), problem.counts).tolist()

    assert missing(drawn) == missing(case.problem)
    again = simulate_like(case.problem, case.theta, 5, 0)
    np.testing.assert_array_equal(drawn.codes, again.codes)
    other = simulate_like(case.problem, case.theta, 5, 1)
    assert drawn.codes.shape != other.codes.shape or (drawn.counts != other.counts).any()


@pytest.mark.slow
def test_the_bootstrap_of_the_binomial():
    problem = problem_for(load_dataset("values"), 1).problem
    fit = learn(problem, Options(estimate=Estimate.ML))
    intervals = bootstrap_intervals(problem, fit.model, Options(estimate=Estimate.ML), 400)
    for name in "ABCD":
        b = intervals.table(name)
        exact = np.sqrt(b.estimate * (1 - b.estimate) / 216)
        # The standard deviation of 400 draws is known to 1/√800: four of those.
        np.testing.assert_allclose(b.stderr, exact, rtol=4 / np.sqrt(800))
        assert (b.low < b.estimate).all()
        assert (b.estimate < b.high).all()
    assert intervals.replicates == 400
    assert "400 parametric bootstrap replicates" in intervals.method


@pytest.mark.slow
@pytest.mark.usefixtures("short_steps_on_threads")
def test_the_bootstrap_agrees_with_the_hessian_and_keeps_labels_apart():
    """Well separated classes: a refit whose labels had moved would be off by the whole profile."""
    case = make_case([2] * 6, 2, 400, seed=8, alpha=1.1)
    fit = learn(case.problem, Options(starts=8))
    exact = hessian_intervals(case.problem, fit.model, Estimate.MAP)
    with on_threads(2) as executor:
        drawn = bootstrap_intervals(case.problem, fit.model, Options(), 120, executor=executor)
    alone = bootstrap_intervals(case.problem, fit.model, Options(), 120)
    np.testing.assert_array_equal(drawn.stderr, alone.stderr)
    np.testing.assert_array_equal(drawn.low, alone.low)
    known = exact.stderr > 0.01
    np.testing.assert_allclose(drawn.stderr[known], exact.stderr[known], rtol=0.35)


def test_few_replicates_and_broken_weights_are_named():
    problem = problem_for(load_dataset("values"), 2).problem
    fit = learn(problem, Options(starts=4))
    intervals = bootstrap_intervals(problem, fit.model, Options(), 10)
    (few,) = (flag for flag in intervals.flags if flag.kind is Kind.FEW_REPLICATES)
    assert few.detail["replicates"] == 10
    with pytest.raises(OptionError, match="1 bootstrap replicates: there must be at least 2"):
        bootstrap_intervals(problem, fit.model, Options(), 1)
    table = Table.from_codes(
        [[0, 1], [1, 0], [1, 1]],
        [Column("a", (0, 1)), Column("b", (0, 1))],
        counts=[1.5, 2, 1],
    )
    case = problem_for(table, 2)
    with pytest.raises(DataError, match=r"a row weighs 1\.5: the bootstrap draws whole rows"):
        bootstrap_intervals(case.problem, fit.model, Options(), 5)
