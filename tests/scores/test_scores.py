"""Every score through one contract, the facts of the design, and independent numbers."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oracle
from examples import examples
from lacunet.data.read import load_dataset
from lacunet.data.table import Table
from lacunet.errors import OptionError
from lacunet.fitting.fit import Options, learn
from lacunet.fitting.objective import Estimate
from lacunet.flags import Kind
from lacunet.inference.classes import expect
from lacunet.inference.problem import problem_of_codes
from lacunet.models.conjugacy import log_prior, random_theta
from lacunet.models.prior import uniform_alpha
from lacunet.scores import (
    BD,
    BIC,
    CS,
    DRAPER,
    GROUPS,
    LAPLACE,
    MLED,
    SCORES,
    ScoreInput,
    choose_scores,
)
from problems import cases, make_case, problem_for
from quick import AT_THETA


def at(case, theta=None):
    return ScoreInput(case.problem, case.theta if theta is None else theta)


@pytest.mark.parametrize("score", SCORES, ids=lambda score: score.name)
@examples(20)
@given(cases(max_rows=30))
def test_contract(score, case):
    """Every score: its name, finite terms that sum to its value, or a flag that says why not."""
    if not score.applies(case.problem):
        assert score is BD
        assert case.classes > 1
        return
    scores = score(at(case))
    assert scores.name == score.name
    assert scores.seconds > 0
    if scores.terms:
        assert all(math.isfinite(x) for x in scores.terms.values())
        assert scores.value == pytest.approx(sum(scores.terms.values()), rel=1e-12)
    else:
        assert math.isnan(scores.value)
        assert scores.flags


def tiny():
    return cases(max_rows=4, max_classes=3, max_leaves=3)


@examples(40)
@given(tiny().filter(lambda c: (c.table.codes < 0).sum() <= 4))
def test_bounds_hold_at_every_theta(case):
    """MLED ≤ CS ≤ log p(D|S), whatever θ."""
    truth = case.log_evidence()
    for seed in range(5):
        theta = random_theta(case.layout, np.random.default_rng(seed))
        mled, cs = MLED(at(case, theta)).value, CS(at(case, theta)).value
        assert mled <= cs + 1e-10
        assert cs <= truth + 1e-10


@examples(40)
@given(tiny().filter(lambda c: (c.table.codes < 0).sum() <= 4))
def test_scores_are_their_formulas(case):
    """Against the oracle's counts, likelihood and BD, written out."""
    counts = oracle.expected_counts(case.oracle(), case.rows, case.counts)
    log_lik = oracle.log_likelihood(case.oracle(), case.rows, case.counts)
    mled = oracle.log_bd(counts, case.tables(case.alpha))
    complete = sum(
        float(np.sum(N * np.log(table))) for N, table in zip(counts, case.tables(), strict=True)
    )
    d, n = case.problem.network.dimension, case.counts.sum()
    assert MLED(at(case)).value == pytest.approx(mled, abs=1e-9)
    assert CS(at(case)).value == pytest.approx(mled - complete + log_lik, abs=1e-9)
    assert BIC(at(case)).value == pytest.approx(log_lik - d / 2 * math.log(n), abs=1e-9)
    draper = log_lik - d / 2 * math.log(n / (2 * math.pi))
    assert DRAPER(at(case)).value == pytest.approx(draper, abs=1e-9)


@given(cases(max_rows=20, max_classes=4, max_leaves=4))
def test_cs_is_mled_plus_the_entropy_of_what_is_hidden(case):
    entropy = oracle.entropy(case.oracle(), case.rows, case.counts)
    assert CS(at(case)).value == pytest.approx(MLED(at(case)).value + entropy, abs=1e-8)


@given(cases(complete=True, max_classes=1, max_rows=30))
def test_nothing_hidden_makes_cs_mled_and_bd_one_number(case):
    values = [score(at(case)).value for score in (CS, MLED, BD)]
    assert values[0] == pytest.approx(values[2], abs=1e-9)
    assert values[1] == pytest.approx(values[2], abs=1e-9)


@examples(25)
@given(cases(max_classes=1, max_rows=4, max_leaves=2))
def test_bd_is_exact_with_missing_values_too(case):
    assert BD(at(case)).value == pytest.approx(case.log_evidence(), abs=1e-10)


def test_bd_is_the_same_in_every_order_of_the_cases():
    """Dawid: the sum of one-step-ahead log predictions is the same number."""
    table = load_dataset("myocardial")
    whole = BD(at(problem_for(table, 1, alpha=1.0))).value
    rng = np.random.default_rng(0)
    rows = rng.permutation(np.repeat(table.codes, table.counts.astype(int), axis=0))
    seen = [[1.0, 1.0] for _ in range(rows.shape[1])]
    total = 0.0
    for row in rows:
        for counts, x in zip(seen, row, strict=True):
            total += math.log(counts[x] / sum(counts))
            counts[x] += 1
    assert whole == pytest.approx(total, rel=1e-12)


# Exact values with a = 1 and one class.
ONE_CLASS = {"carcinoma": -540.068, "values": -553.796, "myocardial": -261.580}


@pytest.mark.parametrize(("name", "value"), ONE_CLASS.items())
def test_exact_evidence_of_one_class(name, value):
    result = BD(at(problem_for(load_dataset(name), 1, alpha=1.0))).value
    assert result == pytest.approx(value, abs=6e-4)


@pytest.mark.parametrize(
    ("leaves", "copies", "one", "two"),
    [
        (3, 2, -36.887603, -36.428132),
        (3, 16, -272.786676, -272.924054),
        (2, 4, -24.591735, -24.178494),
    ],
)
def test_reference_tables_of_equal_rows(leaves, copies, one, two):
    """Each of the 2^n rows equally often: exact for one class, bounded for two."""
    rows = np.array(np.unravel_index(np.arange(2**leaves), [2] * leaves)).T
    table = Table.from_codes(rows, counts=np.full(len(rows), float(copies)))
    assert BD(at(problem_for(table, 1, alpha=1.0))).value == pytest.approx(one, abs=5e-7)
    case = problem_for(table, 2, alpha=1.0)
    for seed in range(20):
        theta = random_theta(case.layout, np.random.default_rng(seed))
        assert MLED(at(case, theta)).value <= CS(at(case, theta)).value <= two


# Computed elsewhere: CS + log c! with a = 1, at the MAP of the softmax basis (E N + a: α = 2 here).
CS_CARCINOMA = {2: -358.63, 3: -353.49, 4: -356.31, 5: -358.61}


@pytest.mark.parametrize(("classes", "value"), CS_CARCINOMA.items())
def test_cheeseman_stutz_of_the_carcinoma_data(classes, value):
    table = load_dataset("carcinoma")
    fit = learn(problem_for(table, classes, alpha=2.0).problem)
    case = problem_for(table, classes, alpha=1.0)
    result = CS(at(case, fit.model.theta)).value + math.lgamma(classes + 1)
    assert result == pytest.approx(value, abs=0.02)


# Evidence by long sampling runs, a = 1, all labellings; exact for the last.
EVIDENCE = {
    ("carcinoma", 2): -357.31,
    ("carcinoma", 3): -351.01,
    ("values", 2): -523.69,
    ("myocardial", 2): -201.11966052667,
}


@pytest.mark.parametrize(("which", "truth"), EVIDENCE.items())
def test_cs_is_below_the_sampled_evidence(which, truth):
    """The bound holds for all labellings together; with log c! it comes within a few nats."""
    name, classes = which
    table = load_dataset(name)
    fit = learn(problem_for(table, classes, alpha=2.0).problem)
    cs = CS(at(problem_for(table, classes, alpha=1.0), fit.model.theta)).value
    assert cs < truth
    assert cs + math.lgamma(classes + 1) == pytest.approx(truth, abs=4)


def laplace_by_hand(case, theta):
    """Eq. 8 with A by finite differences of g itself, in free coordinates of our own choice."""
    layout, n = case.layout, len(case.layout.cards)
    blocks = [layout.table(theta, i).reshape(-1, layout.cards[i]) for i in range(n)]
    free = np.concatenate([b[:, :-1].reshape(-1) for b in blocks])

    def g(x):
        tables, used = [], 0
        for b in blocks:
            size = b.shape[0] * (b.shape[1] - 1)
            part = x[used : used + size].reshape(b.shape[0], -1)
            used += size
            tables.append(np.column_stack([part, 1 - part.sum(axis=1)]))
        flat = layout.flat([t.reshape(layout.table(theta, i).shape) for i, t in enumerate(tables)])
        return expect(case.problem, flat).log_lik + log_prior(flat, case.problem.alpha, layout)

    d = len(free)
    A = np.empty((d, d))
    steps = 2e-4 * np.minimum(free, 1 - free)
    for i in range(d):
        for j in range(d):
            e, f = np.eye(d)[i] * steps[i], np.eye(d)[j] * steps[j]
            A[i, j] = -(g(free + e + f) - g(free + e - f) - g(free - e + f) + g(free - e - f)) / (
                4 * steps[i] * steps[j]
            )
    sign, log_det = np.linalg.slogdet(A)
    assert sign > 0
    return g(free) + d / 2 * math.log(2 * math.pi) - log_det / 2


@pytest.mark.parametrize(
    ("cards", "classes", "missing"), [([2] * 4, 2, 0.0), ([3, 2, 3, 2], 2, 0.2), ([3, 3], 1, 0.1)]
)
def test_laplace_is_its_formula(cards, classes, missing):
    case = make_case(cards, classes, 120, missing=missing, seed=9, alpha=1.5)
    theta = learn(case.problem).model.theta
    result = LAPLACE(at(case, theta))
    assert not {Kind.NOT_POSITIVE_DEFINITE, Kind.NOT_AT_MAXIMUM} & {f.kind for f in result.flags}
    assert result.value == pytest.approx(laplace_by_hand(case, theta), abs=0.02)


def test_laplace_approaches_the_exact_value_as_data_grow():
    """One class: the exact evidence is known, and the error is O(1/N)."""
    errors = []
    for rows in (50, 500, 5000):
        case = make_case([2] * 6, 1, rows, seed=2, alpha=1.01, true_classes=2)
        theta = learn(case.problem).model.theta
        errors.append(abs(LAPLACE(at(case, theta)).value - BD(at(case, theta)).value))
    assert errors[2] < errors[1] < errors[0]
    assert errors[2] * 5000 == pytest.approx(errors[1] * 500, rel=0.3)


@pytest.mark.slow
def test_laplace_is_flagged_when_unreliable():
    case = make_case([2] * 4, 2, 100, seed=1)
    somewhere = LAPLACE(at(case))
    assert {Kind.NOT_POSITIVE_DEFINITE, Kind.NOT_AT_MAXIMUM} & {f.kind for f in somewhere.flags}
    theta = case.theta.copy()
    theta[:2] = [1.0, 0.0]
    edge = LAPLACE(at(case, theta))
    assert math.isnan(edge.value)
    assert [flag.kind for flag in edge.flags] == [Kind.ON_BOUNDARY]
    # Six classes in four binary columns: unidentified, and the Gaussian is far too wide.
    wide = problem_for(load_dataset("values"), 6)
    flags = LAPLACE(at(wide, learn(wide.problem).model.theta)).flags
    assert Kind.WIDE_GAUSSIAN in [flag.kind for flag in flags]


def test_effective_dimension_changes_bic_draper_and_cs_only():
    case = make_case([2] * 3, 3, 50, seed=6)
    plain, ranked = at(case), ScoreInput(case.problem, case.theta, effective_dimension=7)
    assert (plain.dimension, ranked.dimension, ranked.parameters) == (11, 7, 11)
    gain = (11 - 7) / 2 * math.log(50)
    for score in (BIC, CS):
        assert score(ranked).value == pytest.approx(score(plain).value + gain)
    assert DRAPER(ranked).value == pytest.approx(
        DRAPER(plain).value + gain - 2 * math.log(2 * math.pi)
    )
    assert MLED(ranked).value == MLED(plain).value
    assert "(d′−d)/2 log N" in CS(ranked).terms


@examples(25)
@given(cases(max_rows=25, max_classes=4, max_leaves=4), st.integers(0, 1000))
def test_names_and_orders_do_not_matter(case, seed):
    """Permuting hidden states, rows or columns changes no score."""
    rng = np.random.default_rng(seed)
    scores = [s for s in AT_THETA if s.applies(case.problem)]
    before = {s.name: s(at(case)).value for s in scores}
    order = rng.permutation(case.classes).tolist()
    model = case.model.permuted(0, order)
    compare(before, {s.name: s(at(case, model.theta)).value for s in scores})
    rows = rng.permutation(len(case.table.codes))
    shuffled = problem_of_codes(
        np.ascontiguousarray(case.table.codes[rows]),
        case.table.counts[rows],
        case.problem.network,
        case.problem.alpha,
    )
    compare(before, {s.name: s(ScoreInput(shuffled, case.theta)).value for s in scores})
    columns = rng.permutation(len(case.table.columns))
    table = Table.from_codes(
        case.table.codes[:, columns], [case.table.columns[c] for c in columns], case.table.counts
    )
    other = problem_for(table, case.classes, alpha=float(case.problem.alpha[0]))
    weights, *tables = case.tables()
    theta = other.layout.flat([weights, *(tables[c] for c in columns)])
    compare(before, {s.name: s(at(other, theta)).value for s in scores})


def compare(before, after):
    for name, value in before.items():
        if math.isfinite(value):
            assert after[name] == pytest.approx(value, rel=1e-9, abs=1e-9), name
        else:
            assert not math.isfinite(after[name])


@pytest.mark.slow
@examples(20)
@given(cases(max_rows=20, max_classes=3))
def test_weight_two_is_the_row_twice(case):
    doubled = Table.from_codes(case.table.codes, case.table.columns, 2 * case.table.counts)
    twice = Table.from_codes(
        np.repeat(case.table.codes, 2, axis=0),
        case.table.columns,
        np.repeat(case.table.counts, 2),
    )
    alpha = float(case.problem.alpha[0])
    a, b = (problem_for(t, case.classes, alpha=alpha) for t in (doubled, twice))
    for score in GROUPS["usual"]:
        if score.applies(a.problem):
            x, y = score(at(a, case.theta)).value, score(at(b, case.theta)).value
            assert x == y or (math.isnan(x) and math.isnan(y))


@pytest.mark.parametrize("estimate", Estimate)
def test_scores_at_either_estimate(estimate):
    case = make_case([3] * 5, 2, 300, missing=0.1, seed=12)
    fit = learn(case.problem, Options(estimate=estimate))
    for score in (CS, MLED, BIC, DRAPER):
        assert math.isfinite(score(at(case, fit.model.theta)).value)


def test_alpha_below_one_is_fine_for_scores():
    case = make_case([2] * 4, 2, 60, seed=2)
    low = problem_for(case.table, 2, alpha=0.5)
    fit = learn(low.problem, Options(estimate=Estimate.ML))
    assert math.isfinite(CS(at(low, fit.model.theta)).value)


def test_choosing_scores():
    assert choose_scores("all") == SCORES
    usual = choose_scores("usual")
    paper = {"laplace", "cs", "mled", "draper", "bic", "bd"}
    assert paper | {"csl", "csl-occupied", "vb"} == {s.name for s in usual}
    assert {s.name for s in choose_scores("usual,icl")} == {"icl", *(s.name for s in usual)}
    assert [s.name for s in choose_scores("bic, CS")] == ["cs", "bic"]
    assert [s.name for s in choose_scores(["laplace"])] == ["laplace"]
    with pytest.raises(OptionError, match=r"'laplac' is not a score\. Did you mean 'laplace'\?"):
        choose_scores("laplac")
    with pytest.raises(OptionError, match=r"Choose from laplace, .*, vb-occupied; usual or all"):
        choose_scores("zzz")


def test_uniform_alpha_is_what_problems_use():
    case = make_case([2, 2], 2, 10, alpha=1.5)
    np.testing.assert_array_equal(case.problem.alpha, uniform_alpha(case.layout, 1.5))
