"""Missing at random or as an answer: both readings held to enumeration, and to each other."""

import dataclasses
from math import lgamma

import numpy as np
import pytest

import oracle
from lacunet.data.table import Column, Table
from lacunet.data.transform import missing_as_state, with_masks
from lacunet.errors import DataError, OptionError
from lacunet.fitting.fit import Options, learn
from lacunet.inference.problem import build_problem
from lacunet.models.latent_class import latent_class
from lacunet.models.prior import dirichlet
from lacunet.scores import HEADLINE, ScoreInput
from lacunet.selection.missing_comparison import (
    AN_ANSWER,
    AT_RANDOM,
    compare_readings,
    mask_prior,
    the_hidden,
    with_mask_variables,
    words,
)
from lacunet.settings import Settings
from problems import build, make_case

TINY = Table.from_codes(
    [[0, -1], [1, 2], [-1, 0], [1, 1], [-1, -1]], [Column("a", (0, 1)), Column("b", (0, 1, 2))]
)


def quick(starts, **more):
    return Settings(starts=starts, scores=HEADLINE.name, **more)


def structure(table, classes):
    return latent_class([(c.name, c.states) for c in table.columns], classes)


def evidence(table, network, alphas):
    """Exact log p(D|S), by enumeration of every completion."""
    rows = np.full((len(table.codes), len(network.variables)), -1)
    names = [c.name for c in table.columns]
    for i in network.observed:
        rows[:, i] = table.codes[:, names.index(network.variables[i].name)]
    cases = [
        tuple(r) for r, n in zip(rows.tolist(), table.counts, strict=True) for _ in range(int(n))
    ]
    return oracle.log_evidence(network.layout.cards, network.parents, alphas, cases)


def tables(network, alpha):
    exponents = dirichlet(network, alpha)
    return [network.layout.table(exponents, i) for i in range(len(network.variables))]


@pytest.mark.parametrize("alpha", [1.01, 2.5])
def test_an_answer_is_exactly_one_more_state(alpha):
    """Dirichlets aggregate: a mask beside the values has the evidence of one more state."""
    network = structure(TINY, 2)
    masked, masks = with_masks(TINY)
    dependent = with_mask_variables(network, 0, masks, masks)
    beside = evidence(
        masked, dependent, tables(dependent, mask_prior(network, dependent, masks, alpha))
    )
    one_more = missing_as_state(TINY)
    answered = structure(one_more, 2)
    assert beside == pytest.approx(evidence(one_more, answered, tables(answered, alpha)), abs=1e-9)


def test_at_random_is_the_usual_reading_and_a_closed_form():
    """The values as ever, and each mask by itself: Beta-binomial."""
    alpha = 1.01
    network = structure(TINY, 2)
    masked, masks = with_masks(TINY)
    free = with_mask_variables(network, 0, masks, [])
    result = evidence(masked, free, tables(free, mask_prior(network, free, masks, alpha)))
    usual = evidence(TINY, network, tables(network, alpha))
    for r, missing in ((2, 2), (3, 2)):
        a, b, n = alpha, r * alpha, 5
        usual += lgamma(a + b) - lgamma(a + b + n)
        usual += lgamma(a + missing) - lgamma(a) + lgamma(b + n - missing) - lgamma(b)
    assert result == pytest.approx(usual, abs=1e-9)


@pytest.mark.slow
def test_scores_of_the_readings_are_close_to_the_exact_bayes_factor():
    network = structure(TINY, 2)
    masked, masks = with_masks(TINY)
    exact = {}
    for dependent in ([], ["a"], ["b"], ["a", "b"]):
        net = with_mask_variables(network, 0, masks, dependent)
        exact[tuple(dependent)] = evidence(
            masked, net, tables(net, mask_prior(network, net, masks, 1.01))
        )
    comparison = compare_readings(TINY, network, quick(8), both_ways=True)
    # Five rows, and a bound with an error of its own on each side.
    assert comparison.log_bayes_factor == pytest.approx(exact["a", "b"] - exact[()], abs=0.7)
    for column in comparison.columns:
        others = tuple(n for n in ("a", "b") if n != column.name)
        assert column.alone[HEADLINE.name] == pytest.approx(
            exact[column.name,] - exact[()], abs=0.5
        )
        assert column.given_others[HEADLINE.name] == pytest.approx(
            exact["a", "b"] - exact[others], abs=0.5
        )


def test_the_score_at_random_is_that_of_the_table_alone():
    """CS of the values, plus the closed form: the masks change nothing in the fit."""
    case = make_case([2, 3, 2], 2, 150, missing=0.2, seed=3)
    network = case.problem.network
    comparison = compare_readings(case.table, network, quick(8))
    problem = build_problem(case.table, network, dirichlet(network, 1.01))
    fit = learn(problem, Options(starts=8))
    usual = HEADLINE(ScoreInput(problem, fit.model.theta)).value
    for column, share in zip(case.table.columns, case.table.missing, strict=True):
        missing, n = share * 150, 150
        a, b = 1.01, 1.01 * len(column.states)
        usual += lgamma(a + b) - lgamma(a + b + n)
        usual += lgamma(a + missing) - lgamma(a) + lgamma(b + n - missing) - lgamma(b)
    assert comparison.selection.candidates[0].scores[HEADLINE.name].value == pytest.approx(
        usual, abs=1e-5
    )


def missing_in(codes, which, rate, rng):
    codes = codes.copy()
    codes[which & (rng.random(len(codes)) < rate), 0] = -1
    return codes


def test_it_finds_the_column_whose_missing_values_go_with_the_classes():
    rng = np.random.default_rng(5)
    classes = rng.random(600) < 0.5
    codes = np.where(rng.random((600, 5)) < np.where(classes, 0.85, 0.15)[:, None], 1, 0)
    codes[classes & (rng.random(600) < 0.5), 0] = -1  # only in one class
    codes[rng.random(600) < 0.25, 1] = -1  # anywhere
    table = Table.from_codes(codes)
    comparison = compare_readings(table, structure(table, 2), quick(8), both_ways=True)
    one, two = comparison.columns
    assert (one.name, two.name) == ("x1", "x2")
    assert one.alone[HEADLINE.name] > 30
    assert one.given_others[HEADLINE.name] > 30
    assert -8 < two.alone[HEADLINE.name] < -1
    assert comparison.log_bayes_factor > 30
    assert comparison.log_bayes_factor == pytest.approx(
        one.alone[HEADLINE.name] + two.given_others[HEADLINE.name], abs=1e-9
    )
    text = str(comparison)
    assert text.startswith(
        "All missing values together: depend on the classes (very strong); log Bayes factor +"
    )
    assert "do not depend on the classes" in text
    assert "No data can tell whether a cell is missing because of its own value" in text


@pytest.mark.slow
@pytest.mark.usefixtures("short_steps_on_threads")
def test_results_do_not_depend_on_threads():
    from lacunet.runtime.executor import on_threads

    case = make_case([2, 2, 3], 2, 80, missing=0.2, seed=1)
    alone = compare_readings(case.table, case.problem.network, quick(4))
    with on_threads(2) as executor:
        both = compare_readings(case.table, case.problem.network, quick(4), executor=executor)
    assert alone.log_bayes_factors == both.log_bayes_factors
    assert [c.alone for c in alone.columns] == [c.alone for c in both.columns]


def test_a_network_with_one_hidden_variable():
    network = build("a>H H>b H>c", {"a": 2, "H": 2, "b": 2, "c": 2}, "H")
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 2, (80, 3))
    codes[rng.random((80, 3)) < 0.2] = -1
    table = Table.from_codes(codes, [Column(n, (0, 1)) for n in "abc"])
    comparison = compare_readings(table, network, quick(4, alpha="bdeu:20"))
    assert comparison.hidden == "H"
    random, answer = comparison.selection.candidates
    assert (random.label, answer.label) == (AT_RANDOM, AN_ANSWER)
    assert random.fit.model.network.parents[4:] == ((), (), ())
    assert answer.fit.model.network.parents[4:] == ((1,), (1,), (1,))
    # An equivalent sample size is spread over classes and r + 1 states.
    np.testing.assert_allclose(
        answer.fit.model.network.layout.table(answer.fit.model.alpha, 4), [[20 / 3, 10 / 3]] * 2
    )


def test_what_cannot_be_compared():
    complete = Table.from_codes([[0, 1], [1, 0]])
    with pytest.raises(DataError, match="no cell is missing, so there is nothing to compare"):
        compare_readings(complete, structure(complete, 2))
    with pytest.raises(OptionError, match="'class' has 1 state: then both models are the same"):
        compare_readings(TINY, structure(TINY, 1))
    with pytest.raises(OptionError, match=r"the network has 2 hidden variables \('G', 'H'\)"):
        the_hidden(build("G>a H>a", dict.fromkeys("GHa", 2), "GH"))
    with pytest.raises(OptionError, match="the network has 0 hidden variables; missing values are"):
        the_hidden(build("a>b", dict.fromkeys("ab", 2)))
    with pytest.raises(OptionError, match="a prior for each family has none for missing values"):
        compare_readings(TINY, structure(TINY, 2), quick(1, alpha={"a": 1.0}))


def test_one_column_with_missing_values_is_all_of_them():
    table = dataclasses.replace(TINY, codes=np.abs(TINY.codes).astype(np.int8))
    codes = table.codes.copy()
    codes[0, 0] = -1
    table = Table.from_codes(codes, TINY.columns)
    comparison = compare_readings(table, structure(table, 2), quick(2), both_ways=True)
    (column,) = comparison.columns
    assert column.alone == column.given_others == comparison.log_bayes_factors


def test_words_follow_the_size():
    assert words(float("nan"), "H") == "no value"
    assert words(1.0, "H") == "depend on H (some)"
    assert words(-3.0, "H") == "do not depend on H (strong)"
