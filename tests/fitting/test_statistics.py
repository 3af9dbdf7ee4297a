"""Fit statistics against published values, and against tables written out cell by cell."""

import itertools
from math import inf, log

import numpy as np
import pytest
from scipy.stats import chi2

import oracle
from lacunet.data.read import load_dataset
from lacunet.fitting.fit import Options, learn
from lacunet.fitting.objective import Estimate
from lacunet.models.network import Model
from lacunet.summaries.residuals import PairTables, bivariate_residuals, goodness_of_fit
from lacunet.summaries.statistics import FORMULAS, classify, criteria, fit_statistics
from problems import build, make, make_case, problem_for

# G² and X² that poLCA's documentation prints for the carcinoma data; G² of Stouffer and Toby's
# values with two classes is 2.72 with 6 degrees of freedom since Goodman (1974).
PUBLISHED = [
    ("carcinoma", 2, 62.36543, 92.64814, 112),
    ("carcinoma", 3, 15.26171, 20.50336, 104),
    ("values", 2, 2.71995, None, 6),
]


@pytest.mark.parametrize(("name", "classes", "g2", "x2", "df"), PUBLISHED)
def test_published_goodness_of_fit(name, classes, g2, x2, df):
    problem = problem_for(load_dataset(name), classes).problem
    fit = learn(problem, Options(estimate=Estimate.ML))
    goodness = goodness_of_fit(fit.model, problem.codes, problem.counts)
    assert goodness.g2 == pytest.approx(g2, abs=1e-4)
    assert x2 is None or goodness.x2 == pytest.approx(x2, abs=1e-4)
    assert goodness.df == df
    if name == "values":
        assert goodness.p_g2 == chi2.sf(goodness.g2, 6)
    else:  # 118 cases in 128 cells: χ² does not describe that
        assert np.isnan(goodness.p_g2)


def test_goodness_of_fit_cell_by_cell():
    """Every cell of the table of every pattern of missing values, empty ones too."""
    case = make_case([2, 3, 2], 2, 80, missing=0.15, seed=3)
    goodness = goodness_of_fit(case.model, case.problem.codes, case.problem.counts)
    weights, *tables = case.tables()
    counts = {tuple(row): n for (_, *row), n in zip(case.rows, case.counts, strict=True)}
    g2 = x2 = cells = degrees = 0
    patterns = {tuple(x < 0 for x in row) for row in counts}
    for missing in patterns:
        options = [
            (-1,) if h else range(r) for h, r in zip(missing, case.layout.cards[1:], strict=True)
        ]
        table = list(itertools.product(*options))
        total = sum(counts.get(row, 0) for row in table)
        degrees += len(table) - 1
        cells += len(table)
        for row in table:
            p = sum(
                w * np.prod([t[c][x] for t, x in zip(tables, row, strict=True) if x >= 0])
                for c, w in enumerate(weights)
            )
            n, m = counts.get(row, 0), total * p
            g2 += 2 * n * log(n / m) if n else 0.0
            x2 += (n - m) ** 2 / m
    assert goodness.g2 == pytest.approx(g2)
    assert goodness.x2 == pytest.approx(x2)
    assert (goodness.cells, goodness.patterns) == (cells, len(patterns))
    assert goodness.df == degrees - (1 + 2 * (1 + 2 + 1))


def test_impossible_rows_and_huge_tables():
    case = make_case([2, 2], 2, 30, seed=1)
    theta = case.theta.copy()
    block = case.layout.block(1)
    theta[block] = [1.0, 1.0, 0.0, 0.0]  # x0 is always 0
    goodness = goodness_of_fit(
        Model(case.problem.network, theta, case.problem.alpha),
        case.problem.codes,
        case.problem.counts,
    )
    assert goodness.g2 == goodness.x2 == inf
    wide = make_case([2] * 25, 2, 30, seed=1)
    assert goodness_of_fit(wide.model, wide.problem.codes, wide.problem.counts) is None


def test_criteria_follow_their_formulas():
    result = criteria(-317.2568, 15, 118)
    assert list(result) == list(FORMULAS)
    # AIC and BIC as poLCA prints them for the carcinoma data with two classes.
    assert result["AIC"] == pytest.approx(664.5137, abs=1e-3)
    assert result["BIC"] == pytest.approx(706.0739, abs=1e-3)
    assert result["CAIC"] == pytest.approx(result["BIC"] + 15)
    assert result["SABIC"] == pytest.approx(634.5136 + 15 * log(120 / 24), abs=1e-3)


def test_our_bic_is_minus_half_of_theirs():
    from lacunet.scores import ScoreInput, choose_scores

    problem = problem_for(load_dataset("values"), 2).problem
    fit = learn(problem, Options(estimate=Estimate.ML))
    (score,) = choose_scores("bic")
    ours = score(ScoreInput(problem, fit.model.theta)).value
    theirs = criteria(fit.log_lik, problem.network.dimension, problem.cases)["BIC"]
    assert ours == pytest.approx(-theirs / 2)


def test_classification_by_hand():
    case = make_case([2, 3, 2], 3, 50, missing=0.2, seed=2)
    (result,) = classify(case.problem, case.theta)
    weights, *tables = case.tables()
    expected, entropy, error = np.zeros((3, 3)), 0.0, 0.0
    for (_, *row), n in zip(case.rows, case.counts, strict=True):
        p = np.array(
            [
                w * np.prod([t[c][x] for t, x in zip(tables, row, strict=True) if x >= 0])
                for c, w in enumerate(weights)
            ]
        )
        p /= p.sum()
        expected[p.argmax()] += n * p
        entropy -= n * np.sum(p * np.log(p))
        error += n * (1 - p.max())
    total = case.counts.sum()
    np.testing.assert_allclose(result.expected, expected)
    assert result.entropy_r2 == pytest.approx(1 - entropy / (total * log(3)))
    assert result.error == pytest.approx(error / total)
    np.testing.assert_allclose(result.sizes, expected.sum(axis=0) / total)
    given = result.given > 0
    np.testing.assert_allclose(result.average[given].sum(axis=1), 1)
    one = problem_for(case.table, 1)
    (alone,) = classify(one.problem, one.theta)
    assert np.isnan(alone.entropy_r2)
    assert alone.error == 0


def test_pairs_of_columns_by_hand():
    case = make_case([2, 3, 2], 2, 60, missing=0.2, seed=7)
    result = bivariate_residuals(case.model, case.problem.codes, case.problem.counts)
    weights, *tables = case.tables()
    cards = case.layout.cards[1:]
    assert [r.value for r in result] == sorted([r.value for r in result], reverse=True)
    assert {(r.first, r.second) for r in result} == {("x0", "x1"), ("x0", "x2"), ("x1", "x2")}
    for r in result:
        i, j = int(r.first[1]), int(r.second[1])
        observed = np.zeros((cards[i], cards[j]))
        for (_, *row), n in zip(case.rows, case.counts, strict=True):
            if row[i] >= 0 and row[j] >= 0:
                observed[row[i], row[j]] += n
        expected = observed.sum() * sum(
            w * np.outer(tables[i][c], tables[j][c]) for c, w in enumerate(weights)
        )
        assert r.cases == observed.sum()
        assert r.x2 == pytest.approx(((observed - expected) ** 2 / expected).sum())
        assert r.df == (cards[i] - 1) * (cards[j] - 1)


def test_pairs_in_a_network_are_its_marginals():
    network = build("H>a H>b a>b b>c", {"H": 2, "a": 2, "b": 3, "c": 2}, "H")
    case = make(network, 40, seed=3)
    joint = oracle.joint(case.oracle())
    for i, j in itertools.combinations(range(1, 4), 2):
        np.testing.assert_allclose(PairTables(case.model)(i, j), oracle.marginal(joint, (i, j)))
    statistics = fit_statistics(case.problem, case.model)
    assert len(statistics.residuals) == 3
    assert statistics.log_lik == pytest.approx(
        oracle.log_likelihood(case.oracle(), case.rows, case.counts)
    )


def test_one_class_too_few_shows_in_the_pairs():
    """Columns that go together beyond one class have large residuals; with two classes none has."""
    table = load_dataset("values")
    worst = {}
    for k in (1, 2):
        problem = problem_for(table, k).problem
        fit = learn(problem, Options(estimate=Estimate.ML, starts=8))
        worst[k] = fit_statistics(problem, fit.model, Estimate.ML).residuals[0].value
    assert worst[1] > 10
    assert worst[2] < 2


def test_the_tables_mark_the_better_method():
    problem = problem_for(load_dataset("carcinoma"), 2).problem
    fit = learn(problem, Options(starts=8))
    text = str(fit_statistics(problem, fit.model, fit.options.estimate))
    assert text.startswith("Fit statistics (lower is better)\ncriterion")
    assert "there, higher is better" in text
    assert "estimate='ml'" in text
    assert "no p-values: 128 cells for 118 cases are too sparse" in text
