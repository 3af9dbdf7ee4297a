"""Models in place of classes: their evidence by other means, and when they are named."""

import json
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import approx_fprime
from scipy.special import expit, logsumexp
from scipy.stats import multivariate_t, norm

import lacunet
from lacunet.data.table import Column, Table
from lacunet.evidence import shaped_classes, trait
from lacunet.evidence.shaped_classes import log_shape, shaped_problem
from lacunet.evidence.trait import SCALES, SLOPE, trait_of, trait_problem
from lacunet.flags import Kind
from lacunet.inference.leaves import leaves_of
from lacunet.inference.problem import build_problem
from lacunet.inference.queries.query import marginal
from lacunet.models.latent_class import over_leaves
from lacunet.models.number_prior import NumberPrior
from lacunet.models.prior import dirichlet
from lacunet.selection.misfit import Departure
from lacunet.selection.sentences import limits
from lacunet.summaries.predictive_checks import failed, predictive_checks
from lacunet.summaries.residuals import PairTables


@pytest.fixture
def rng():
    return np.random.default_rng(7)


QUICK = {"quick": True, "threads": 1, "starts": 16}


def problem_of(table, classes=1, alpha=1.01):
    network = over_leaves(leaves_of(table, NumberPrior()), classes)
    return build_problem(table, network, dirichlet(network, alpha))


def by_trait(rng, rows, items, slope=2.0):
    t = rng.normal(size=rows)
    difficult = rng.normal(size=items)
    return (rng.random((rows, items)) < expit(slope * (t[:, None] - difficult))).astype(int)


def tiny(rng, missing=True):
    codes = by_trait(rng, 40, 3)
    if missing:
        codes[rng.random(codes.shape) < 0.15] = -1
    return codes


def log_p_of_two_levels(codes, counts, a, b, alpha, spread):
    """Log p(D, log odds at 0 and slopes of log odds), by itself: dense sums, no contrasts."""
    t = np.linspace(-8, 8, 321)
    weight = norm.pdf(t) / norm.pdf(t).sum()
    p = expit(a[:, None] + b[:, None] * t)
    rows = np.ones((len(codes), len(t)))
    for j, column in enumerate(codes.T):
        rows *= np.where(
            (column == 1)[:, None], p[j], np.where((column == 0)[:, None], 1 - p[j], 1)
        )
    chance = expit(a)
    beta = 2 * math.lgamma(alpha) - math.lgamma(2 * alpha)
    prior = (alpha * np.log(chance) + alpha * np.log(1 - chance) - beta).sum()
    return counts @ np.log(rows @ weight) + prior + norm.logpdf(b, scale=spread).sum()


@pytest.mark.slow
def test_the_evidence_of_a_trait_is_that_of_integration(rng):
    codes = tiny(rng)
    counts = rng.integers(1, 3, len(codes)).astype(float)
    table = Table.from_codes(codes, counts=counts)
    result, total = trait_of(problem_of(table)), []
    for factor, chance in SCALES.items():
        spread = math.sqrt(2.0) * SLOPE * factor  # contrasts of two levels are log odds over √2

        def log_p(x, spread=spread):
            return log_p_of_two_levels(codes, counts, x[:3], x[3:], 1.01, spread)

        around = multivariate_t(np.r_[0, 0, 0, 1.5, 1.5, 1.5], np.diag([0.4] * 3 + [1.5] * 3), df=5)
        draws = around.rvs(4000, random_state=rng)
        weights = [log_p(x) - around.logpdf(x) for x in draws]
        # The other half of the slopes are those of the trait turned round.
        total.append(math.log(chance) + logsumexp(weights) - math.log(len(draws)))
    mirrored = logsumexp(total) + math.log(2.0)
    assert mirrored - math.log(2.0) < result.log_evidence + 0.5  # some draws lie in both halves
    assert result.log_evidence == pytest.approx(mirrored, abs=0.6)


def test_a_trait_of_numbers_is_one_linear_factor(rng):
    """Two numbers by one factor: at fixed parameters they are normal together."""
    x = rng.normal(size=(30, 2))
    table = lacunet.read_table(
        {"x": x[:, 0], "y": x[:, 1]}, kinds={"x": "gaussian", "y": "gaussian"}
    )
    given = trait_problem(problem_of(table))
    p = np.array([0.1, -0.3, 0.5, -0.2, 0.1, -0.4])  # mean, log variance, slope of each
    units = [problem_of(table).network.variables[i].unit for i in (1, 2)]
    covariance = np.outer([p[2], p[5]], [p[2], p[5]]) + np.diag(np.exp([p[1], p[4]]))
    z = np.column_stack([(x[:, j] - u.origin) / u.size for j, u in enumerate(units)])
    apart = z - [p[0], p[3]]
    log_density = -0.5 * np.einsum("ia,ab,ib", apart, np.linalg.inv(covariance), apart)
    log_density -= len(x) * (0.5 * np.linalg.slogdet(covariance)[1] + math.log(2 * math.pi))
    log_density -= len(x) * sum(math.log(u.size) for u in units)
    assert given.log_lik(p)[0] == pytest.approx(log_density, abs=2e-3)  # the trait ends at 4.2


def test_gradients_are_those_of_differences(rng):
    codes = np.column_stack([tiny(rng), rng.integers(0, 3, 40)])
    counts, x = rng.poisson(3, 40), rng.standard_t(3, 40)
    rows = {f"a{j}": [str(v) if v >= 0 else None for v in c] for j, c in enumerate(codes.T)}
    rows |= {"n": counts.tolist(), "x": [None if i % 7 == 0 else v for i, v in enumerate(x)]}
    table = lacunet.read_table(rows, kinds={"n": "poisson", "x": "gaussian"})
    given = trait_problem(problem_of(table))
    p = given.start() + 0.1 * rng.normal(size=given.size)
    numeric = approx_fprime(p, lambda q: given.log_density(q)[0], 1e-6)
    np.testing.assert_allclose(given.log_density(p)[1], numeric, rtol=1e-3, atol=1e-2)
    shaped = shaped_problem(problem_of(table))
    p = shaped.start(rng.dirichlet(np.ones(2), len(shaped.X))) + 0.1 * rng.normal(
        size=shaped.size(2)
    )
    numeric = approx_fprime(p, lambda q: shaped.log_density(q, 2)[0], 1e-6)
    np.testing.assert_allclose(shaped.log_density(p, 2)[1], numeric, rtol=1e-3, atol=1e-2)


def test_without_slopes_and_shapes_the_evidence_is_that_of_one_class(rng, monkeypatch):
    """Which is exact: so all constants of priors, units and volumes are right."""
    rows = {
        "x": [None if i % 9 == 0 else v for i, v in enumerate(rng.normal(5, 3, 300))],
        "n": rng.poisson(3, 300).tolist(),
        "a": rng.choice(["u", "v", "w"], 300).tolist(),
        "s": rng.integers(0, 5, 300).tolist(),
    }
    kinds = {"x": "gaussian", "n": "poisson", "a": "categorical", "s": "ordinal"}
    problem = problem_of(lacunet.read_table(rows, kinds=kinds))
    exact = problem.log_seen
    for name in ("SLOPE", "OF_NUMBERS"):
        monkeypatch.setattr(trait, name, 1e-3)
    result = trait.trait_of(problem)
    assert result.log_evidence - math.log(2.0) == pytest.approx(exact, abs=0.03)
    for name in ("SKEWNESS", "TAILS"):
        monkeypatch.setattr(shaped_classes, name, 1e-3)
    shaped = shaped_problem(problem).fitted([np.ones((len(problem.codes), 1))])
    assert shaped.log_evidence == pytest.approx(exact, abs=0.03)


def test_shapes_are_densities():
    z = np.array([[0.5], [0.3]])
    for shape in ([0.0, 0.0], [0.8, -0.4], [-0.5, 0.3]):

        def density(x, shape=shape):
            return float(np.exp(log_shape(np.array([[x]]), z, np.array(shape))[0])[0, 0])

        total = sum(quad(density, a, b)[0] for a, b in [(-2000, -20), (-20, 20), (20, 2000)])
        assert total == pytest.approx(1.0, abs=1e-3)
    normal = log_shape(np.array([[1.7]]), z, np.zeros(2))[0]
    assert normal == pytest.approx(norm.logpdf(1.7, 0.5, math.exp(0.15)))


def test_empty_rows_and_copies_do_not_change_the_evidence(rng):
    codes = by_trait(rng, 60, 4)
    once = trait_of(problem_of(Table.from_codes(np.vstack([codes, codes]))))
    nothing = np.full((5, 4), -1)
    counts = np.r_[np.full(60, 2.0), np.ones(5)]
    weighed = trait_of(problem_of(Table.from_codes(np.vstack([codes, nothing]), counts=counts)))
    assert weighed.log_evidence == pytest.approx(once.log_evidence, abs=1e-3)


def test_tables_of_pairs_joined_by_effects_are_marginals():
    table = lacunet.read_table(lacunet.simulate(lacunet.random_model(3, 5, seed=4), 200, seed=1))
    names = [c.name for c in table.columns]
    fit = lacunet.fit(table, 2, edges=[(names[0], names[1])], starts=4)
    tables = PairTables(fit.model)
    seen = fit.model.network.observed
    for a, b in [(0, 1), (0, 2), (1, 3), (3, 4)]:
        expected = marginal(fit.model, (seen[a], seen[b]))
        np.testing.assert_allclose(tables(seen[a], seen[b]), expected, rtol=1e-10)


def pairs(rng, rows):
    z = rng.random(rows) < 0.5
    x = (rng.random((rows, 8)) < np.where(z[:, None], 0.8, 0.25)).astype(int)
    for first in (0, 2, 4):
        copied = rng.random(rows) < 0.6
        x[copied, first + 1] = x[copied, first]
    return x


def frame(x):
    return {f"a{j}": column.astype(str) for j, column in enumerate(x.T)}


@pytest.mark.slow
def test_classes_that_stand_for_pairs_are_called_so(rng):
    selection = lacunet.select(frame(pairs(rng, 500)), range(1, 6), **QUICK)
    assert selection.states > 2
    best = selection.misfit.clear[0]
    assert best.departure is Departure.EDGES
    assert len({"a0:a1", "a2:a3", "a4:a5"} & set(best.edges)) >= 2
    assert best.classes < selection.states
    second = limits(selection)[0]
    assert second.startswith(f"Warning: {selection.states} classes may stand for direct dependence")
    assert "add_direct_effects()" in second
    assert "In place of classes" in str(selection)
    document = json.loads(json.dumps(selection.to_dict()["misfit"]))
    assert document["warning"] == selection.misfit.warning(selection.best.title)
    assert {c["name"] for c in document["checks"]} == {"pairs of answers", "repeated rows"}
    assert document["models"][0]["edges"] == list(best.edges)


@pytest.mark.slow
def test_a_trait_is_distinguished_from_classes(rng):
    selection = lacunet.select(frame(by_trait(rng, 400, 8)), range(1, 5), **QUICK)
    assert selection.misfit.clear[0].departure is Departure.TRAIT
    assert "slices of a continuum" in limits(selection)[0]


@pytest.mark.slow
def test_tails_and_covariances_are_distinguished_from_classes(rng):
    z = rng.integers(0, 2, 300)
    noise = rng.standard_t(3, (300, 4))
    x = 5.0 * z[:, None] + noise
    selection = lacunet.select({f"x{j}": c for j, c in enumerate(x.T)}, range(1, 4), **QUICK)
    (best, *_) = selection.misfit.clear
    assert (best.departure, best.classes) == (Departure.SHAPE, 2)
    assert len(best.heavy) >= 3
    noise = rng.multivariate_normal(np.zeros(3), 0.7 + 0.3 * np.eye(3), 300)
    x = 5.0 * z[:, None] + noise
    selection = lacunet.select({f"x{j}": c for j, c in enumerate(x.T)}, range(1, 4), **QUICK)
    (best, *_) = selection.misfit.clear
    assert best.departure is Departure.COVARIANCE
    assert best.classes in (1, 2)


@pytest.mark.slow
def test_classes_that_are_classes_get_no_warning(rng):
    z = rng.integers(0, 3, 400)
    p = rng.dirichlet([0.8] * 3, (8, 3))
    x = np.stack([[rng.choice(3, p=p[j, c]) for c in z] for j in range(8)], axis=1)
    gone = rng.random(x.shape) < 0.15
    rows = {
        f"a{j}": [None if g else str(v) for v, g in zip(x[:, j], gone[:, j], strict=True)]
        for j in range(8)
    }
    selection = lacunet.select(rows, range(1, 6), **QUICK)
    assert selection.misfit is not None
    assert selection.misfit.alternatives
    assert not selection.misfit.clear
    assert not selection.misfit.failed
    assert "may stand for" not in str(selection)
    assert "do not explain all" not in str(selection)


def test_a_fit_names_the_pair_that_its_classes_do_not_explain(rng):
    fit = lacunet.fit(frame(pairs(rng, 500)), 2, starts=8)
    flag, *_ = (flag for flag in fit.flags if flag.kind is Kind.MISFIT)
    assert "pairs of answers" in str(flag)
    assert "edges=['a" in str(flag)
    assert str(flag) in str(fit)
    good = (rng.random((500, 6)) < np.where(rng.random(500) < 0.4, 0.9, 0.2)[:, None]).astype(int)
    assert Kind.MISFIT not in [flag.kind for flag in lacunet.fit(frame(good), 2, starts=8).flags]


def test_a_fit_names_numbers_of_another_distribution(rng):
    z = 6.0 * (rng.random(400) < 0.5)
    x = np.column_stack([z + rng.gamma(1.5, size=400), z + rng.normal(size=400)])
    checks = predictive_checks(lacunet.fit({"x": x[:, 0], "y": x[:, 1]}, 2, starts=8))
    (worst,) = failed(checks)
    assert (worst.name, worst.columns) == ("shapes of numbers", ("x",))
    noise = rng.normal(size=400)
    x = np.column_stack([z + noise, z + 0.7 * noise + rng.normal(size=400)])
    checks = predictive_checks(lacunet.fit({"x": x[:, 0], "y": x[:, 1]}, 2, starts=8))
    (worst,) = failed(checks)
    assert (worst.name, set(worst.columns)) == ("pairs of numbers", {"x", "y"})


def test_a_number_that_depends_on_an_answer_within_classes_is_found(rng):
    z, a = rng.random(600) < 0.5, rng.integers(0, 2, 600)
    b = (rng.random((600, 3)) < np.where(z, 0.9, 0.1)[:, None]).astype(int)
    counts = rng.poisson(np.where(a == 1, 6.0, 3.0))
    rows = {"a": a.astype(str), "n": counts} | frame(b)
    fit = lacunet.fit(rows, 2, starts=8, kinds={"n": "poisson"})
    names = {check.name: check for check in failed(predictive_checks(fit))}
    assert set(names) <= {"answers and numbers", "shapes of numbers"}
    if "answers and numbers" in names:
        assert set(names["answers and numbers"].columns) == {"a", "n"}
    else:
        assert names


def test_checks_with_weights_and_missing_cells_pass_where_the_model_is_right(rng):
    model = lacunet.random_model(2, 6, leaf_states=3, seed=5)
    table = lacunet.simulate(model, 400, seed=6, missing_rate=0.2)
    fit = lacunet.fit(table, 2, starts=8)
    checks = predictive_checks(fit)
    assert {check.name for check in checks} == {"pairs of answers", "repeated rows"}
    assert not failed(checks)


def test_networks_have_no_such_warning():
    model = lacunet.random_model(2, 3, seed=1)
    table = lacunet.simulate(model, 50, seed=2)
    comparison = lacunet.compare(table, {"one": model.network}, quick=True)
    assert comparison.misfit is None


def test_columns_of_one_level_have_no_curve():
    columns = (Column("a", ("u", "v")), Column("b", ("x", "y")), Column("c", ("only",)))
    rng = np.random.default_rng(3)
    codes = np.column_stack([by_trait(rng, 50, 2), np.zeros(50, dtype=int)])
    trait = trait_of(problem_of(Table.from_codes(codes, columns)))
    assert set(trait.slopes) == {"a", "b"}
    assert math.isfinite(trait.log_evidence)
