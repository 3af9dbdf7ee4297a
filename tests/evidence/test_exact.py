"""The exact evidence: against brute force, against reference values, and what it refuses."""

import itertools
import math
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cache
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import oracle
from examples import examples
from lacunet.data.read import load_dataset
from lacunet.data.table import Table
from lacunet.errors import DataError, OptionError
from lacunet.evidence import exact
from lacunet.evidence.exact import exact_evidence, plan_exact, terms
from lacunet.fitting.diagnose import at_theta, vary
from lacunet.inference.sums import order as summation_order
from lacunet.inference.sums import packing
from lacunet.inference.sums import packing as completion_kernels
from lacunet.inference.sums.blocks import compositions, log_multinomials, log_ways, ways
from lacunet.models.conjugacy import log_marginal as log_bd
from lacunet.models.network import Model, Network
from lacunet.models.prior import dirichlet
from problems import MODES, Case, build, cases, engine, make, make_case, network_cases, problem_for


def by_counts(case):
    """Exact log p(D|S), one case at a time: a dictionary from counts to the ways to get them."""
    cards, parents = case.layout.cards, case.network.parents
    sizes = [math.prod(cards[v] for v in (*pa, i)) for i, pa in enumerate(parents)]
    first = np.concatenate([[0], np.cumsum(sizes)])
    result = {(0,) * sum(sizes): 1}
    for row in case.cases:
        moves = []
        for full in oracle.completions(row, cards):
            move = [0] * sum(sizes)
            for i, pa in enumerate(parents):
                family = (*pa, i)
                place = np.ravel_multi_index([full[v] for v in family], [cards[v] for v in family])
                move[first[i] + place] = 1
            moves.append(move)
        after = {}
        for counts, n in result.items():
            for move in moves:
                key = tuple(a + b for a, b in zip(counts, move, strict=True))
                after[key] = after.get(key, 0) + n
        result = after
    alphas = case.tables(case.alpha)
    values = []
    for counts, n in result.items():
        tables = [
            np.array(counts[first[i] : first[i + 1]]).reshape(a.shape) for i, a in enumerate(alphas)
        ]
        values.append(oracle.log_bd(tables, alphas) + math.log(n))
    return float(np.logaddexp.reduce(values))


@pytest.mark.parametrize("mode", MODES)
@examples(40)
@given(case=network_cases(max_variables=5, max_rows=4, whole=True))
def test_networks_by_brute_force(case, mode):
    assume(case.worlds <= 500)
    truth = case.log_evidence()
    with engine(mode):
        estimate = exact_evidence(case.problem)
    assert estimate.value == pytest.approx(truth, abs=1e-10)
    assert estimate.states >= 1
    assert estimate.terms <= case.worlds


@examples(40)
@given(cases(max_rows=5, max_classes=3, max_leaves=3))
def test_latent_classes_by_brute_force(case):
    assume((case.table.codes < 0).sum() <= 3)
    assert exact_evidence(case.problem).value == pytest.approx(case.log_evidence(), abs=1e-10)


SCATTERED = build("a>b b>c c>d d>e", {"a": 2, "b": 2, "c": 2, "d": 2, "e": 2})
TWO_HIDDEN = build("H>a H>b G>b G>c", {"H": 2, "G": 2, "a": 2, "b": 2, "c": 2}, "HG")
CLASSES = build("H>a H>b H>c", {"H": 3, "a": 2, "b": 3, "c": 2}, "H")
LARGER = {
    "scattered": make(SCATTERED, 20, missing=0.2, seed=1),
    "two hidden": make(TWO_HIDDEN, 6, seed=1, counts=[1, 2, 1, 1, 1, 1]),
    "classes": make(CLASSES, 6, seed=2, counts=[3, 1, 2, 1, 1, 0]),
}
LARGER["scattered"].codes[:, -1] = 0  # no barren cells: the oracle would complete them too


@cache
def truth_of(name):
    return by_counts(LARGER[name])


@contextmanager
def different(path):
    """Work with small integers, with halves of components, or without a short cut."""
    never = {"return_value": None}
    patches = {
        "as it is": [],
        "narrow": [patch.object(packing, "WORD", 6)],
        "halved": [patch.object(summation_order, "WAYS_AT_ONCE", 3)],
        "no symmetry": [patch.object(summation_order, "symmetric_states", **never)],
    }
    with ExitStack() as stack:
        for each in patches[path]:
            stack.enter_context(each)
        yield


@pytest.mark.parametrize("path", ["as it is", "narrow", "halved", "no symmetry"])
@pytest.mark.parametrize("name", LARGER)
def test_larger_sums_in_every_way(name, path):
    case = LARGER[name]
    with different(path):
        assert exact_evidence(case.problem).value == pytest.approx(truth_of(name), abs=1e-9)


def test_the_larger_sums_use_what_they_are_there_for():
    orders = {name: [o for _, o in plan_exact(c.problem).blocks] for name, c in LARGER.items()}
    assert any(any(o.closing) for o in orders["scattered"])
    assert any(o.states is not None for o in orders["classes"])
    assert all(o.states is None for o in orders["two hidden"])
    merged = exact_evidence(LARGER["classes"].problem)
    with different("no symmetry"):
        assert exact_evidence(LARGER["classes"].problem).states > 4 * merged.states
    with different("narrow"):
        block, order = plan_exact(LARGER["two hidden"].problem).blocks[0]
        kept = np.ones(len(block.tables), dtype=bool)
        assert packing.pack_counts(block, order.parts, kept).words > 1
    with different("halved"):
        ((block, order),) = plan_exact(LARGER["classes"].problem).blocks
        assert len(order.parts) > len(block.parts)


def equal_rows(leaves, copies):
    rows = np.array(np.unravel_index(np.arange(2**leaves), [2] * leaves)).T
    return Table.from_codes(rows, counts=np.full(len(rows), float(copies)))


# Exact values with a = 1 and two classes.
TWO_CLASSES = {
    (2, 4): (-24.178494, 5**4),
    (3, 2): (-36.428132, 3**8),
    (3, 16): (-272.924054, 17**8),
}


*SMALL, LARGE = TWO_CLASSES


@pytest.mark.parametrize("which", [*SMALL, pytest.param(LARGE, marks=pytest.mark.slow)])
def test_reference_tables_of_equal_rows(which):
    value, completions = TWO_CLASSES[which]
    estimate = exact_evidence(problem_for(equal_rows(*which), 2, alpha=1.0).problem)
    assert estimate.value == pytest.approx(value, abs=5e-7)
    assert estimate.terms == completions


@pytest.mark.slow
def test_reference_of_the_myocardial_data():
    case = problem_for(load_dataset("myocardial"), 2, alpha=1.0)
    assert exact_evidence(case.problem).value == pytest.approx(-201.11966052667, abs=1e-10)


@pytest.mark.parametrize("missing", [False, True])
def test_all_data_sets_have_probability_one(missing):
    """N = 4 cases of two binary columns and two classes; also where the second is never seen."""
    shown = [(a, -1) for a in range(2)] if missing else list(itertools.product(range(2), repeat=2))
    total = 0.0
    for counts in compositions(4, len(shown)):
        table = Table.from_codes(
            np.array(shown), problem_for(equal_rows(2, 1), 2).table.columns, counts.astype(float)
        )
        value = exact_evidence(problem_for(table, 2, alpha=1.0).problem).value
        total += math.exp(value + log_multinomials(counts[None])[0])
    assert total == pytest.approx(1.0, abs=1e-12)


@given(network_cases(complete=True, whole=True, max_rows=20))
def test_nothing_missing_is_bd(case):
    estimate = exact_evidence(case.problem)
    bd = log_bd(case.problem.components.seen, case.alpha, case.layout).sum()
    assert estimate.value == pytest.approx(float(bd), abs=1e-9)
    assert (estimate.terms, estimate.states, estimate.steps) == (1, 1, 0)


@examples(25)
@given(network_cases(max_variables=4, max_rows=5, whole=True))
def test_bounds_are_below_and_climb(case):
    """CS ≤ VB ≤ log p(D|S); barren variables are in none of them."""
    assume(terms(case.problem) < 1e5)
    start = at_theta(case.problem, case.theta)
    end = vary(start, max_steps=50)
    assert start.bound <= end.bound + 1e-9
    assert end.bound <= exact_evidence(case.problem).value + 1e-9


@examples(25)
@given(network_cases(max_variables=4, max_rows=5, whole=True), st.randoms(use_true_random=False))
def test_nothing_depends_on_orders_and_names(case, random):
    assume(terms(case.problem) < 1e5)
    # A prior that tells hidden states apart: then renumbering them renumbers the prior too.
    alpha = case.alpha * np.random.default_rng(0).uniform(0.5, 2.0, len(case.alpha))
    case = Case(case.network, case.theta, alpha, case.codes, case.counts)
    expected = pytest.approx(exact_evidence(case.problem).value, abs=1e-9)
    rows = random.sample(range(len(case.codes)), len(case.codes))
    shuffled = Case(case.network, case.theta, alpha, case.codes[rows], case.counts[rows])
    assert exact_evidence(shuffled.problem).value == expected
    model = Model(case.network, case.theta, alpha)
    for h in case.network.hidden:
        states = range(case.layout.cards[h])
        model = model.permuted(h, random.sample(states, len(states)))
    renamed = Case(case.network, case.theta, model.alpha, case.codes, case.counts)
    assert exact_evidence(renamed.problem).value == expected
    n = len(case.network.variables)
    order = random.sample(range(n), n)
    parents = [[order.index(p) for p in case.network.parents[v]] for v in order]
    network = Network.build([case.network.variables[v] for v in order], parents)
    column = {v: j for j, v in enumerate(case.network.observed)}
    moved = Case(
        network,
        case.theta,
        network.layout.flat([case.layout.table(alpha, v) for v in order]),
        case.codes[:, [column[order[i]] for i in network.observed]],
        case.counts,
    )
    assert exact_evidence(moved.problem).value == expected


def test_many_cases_of_few_rows():
    """2000 cases of one binary column and two classes; against one sum written out."""
    table = Table.from_codes([[0], [1]], counts=[1200.0, 800.0])
    estimate = exact_evidence(problem_for(table, 2, alpha=1.0).problem)
    lg = np.array([math.lgamma(n) if n else math.nan for n in range(2003)])
    i, j = np.arange(1201)[:, None], np.arange(801)[None, :]  # cases of class 0 in each row

    def column(a, b):  # log of Γ(1+a) Γ(1+b) / Γ(2+a+b)
        return lg[1 + a] + lg[1 + b] - lg[2 + a + b]

    orders = lg[1201] - lg[1 + i] - lg[1201 - i] + lg[801] - lg[1 + j] - lg[801 - j]
    values = orders + column(i + j, 2000 - i - j) + column(i, j) + column(1200 - i, 800 - j)
    assert estimate.value == pytest.approx(float(np.logaddexp.reduce(values.ravel())), abs=1e-9)
    assert estimate.terms == 1201 * 801


def test_a_wide_table_of_few_cases():
    """Nothing merges, and no integer holds 64 columns: 4096 completions all the same."""
    case = make_case([2] * 64, 2, 12, seed=4)
    estimate = exact_evidence(case.problem)
    with different("no symmetry"):
        assert exact_evidence(case.problem).value == pytest.approx(estimate.value, abs=1e-9)
    assert estimate.terms == 2**12


@pytest.mark.slow
def test_a_sum_that_is_longer_than_planned_ends(monkeypatch):
    """Of symmetric states a plan is an estimate: it must not run on for minutes if it was wrong."""
    problem = make_case([2] * 4, 3, 12, seed=1).problem
    steps = exact_evidence(problem).steps
    plan = exact.order_parts
    monkeypatch.setattr(exact, "order_parts", lambda *given: replace(plan(*given), steps=1.0))
    assert exact_evidence(problem, largest=steps).steps == steps
    with pytest.raises(OptionError, match="may take more than"):
        exact_evidence(problem, largest=steps // 3)


def test_one_row_with_very_many_cells():
    """A chain of 14 hidden variables, one case: its probability at the mean of the prior."""
    names = "ABCDEFGHIJKLMN"
    edges = " ".join(f"{a}>{b}" for a, b in itertools.pairwise(names)) + " N>x"
    case = make(build(edges, dict.fromkeys(names, 2) | {"x": 3}, names), 1, alpha="bdeu:3")
    estimate = exact_evidence(case.problem)
    assert estimate.value == pytest.approx(math.log(1 / 3), abs=1e-9)
    assert estimate.terms == 2**14


def test_refuses_what_is_too_large():
    case = make_case([2] * 64, 16, 400, seed=1)
    with pytest.raises(OptionError, match=r"a sum over about 10\^\d+ completions .*method='ais'"):
        exact_evidence(case.problem)
    small = problem_for(equal_rows(3, 2), 2).problem
    with pytest.raises(OptionError, match=r"6,561 completions .* more than 1,000 steps"):
        exact_evidence(small, largest=1000)
    with (
        pytest.raises(OptionError, match="10 count vectors"),
        patch.object(exact, "MOST_VECTORS", 10),
    ):
        exact_evidence(small)
    long = build(
        " ".join(f"{a}>{b}" for a, b in itertools.pairwise("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
        + " A>a Z>z",
        dict.fromkeys("ABCDEFGHIJKLMNOPQRSTUVWXYZ", 4) | {"a": 2, "z": 2},
        "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
    )
    with pytest.raises(OptionError, match=r"about 10\^16 completions"):
        exact_evidence(make(long, 1).problem)


@examples(40)
@given(network_cases(max_rows=8, whole=True))
def test_never_more_steps_than_planned(case):
    assume(2 < terms(case.problem) < 1e6)
    with different("no symmetry"):
        planned = sum(order.steps for _, order in plan_exact(case.problem).blocks)
        assert exact_evidence(case.problem).steps <= planned * (1 + 1e-9)


def test_renumbers_sooner_where_room_is_short():
    case = problem_for(equal_rows(3, 4), 2).problem
    result, plan = exact_evidence(case), plan_exact(case)
    with (
        patch.object(exact, "plan_exact", return_value=plan),
        patch.object(exact, "_room", lambda words: result.states + 2 * (words == 2)),
    ):
        assert exact_evidence(case).value == pytest.approx(result.value, abs=1e-10)


def test_stops_when_more_vectors_turn_up_than_planned():
    case = problem_for(equal_rows(3, 4), 2).problem
    plan = plan_exact(case)
    with (
        patch.object(exact, "plan_exact", return_value=plan),
        patch.object(exact, "MOST_VECTORS", 100),
        pytest.raises(OptionError, match="100 count vectors"),
    ):
        exact_evidence(case)


def test_refuses_parts_of_cases():
    case = make(CLASSES, 3, counts=[1.0, 0.5, 2.0])
    with pytest.raises(DataError, match=r"0\.5.*whole"):
        exact_evidence(case.problem)


@pytest.mark.parametrize(("cases", "cells"), [(1, 1), (3, 1), (0, 4), (1, 6), (5, 3), (4, 4)])
def test_compositions(cases, cells):
    result = compositions(cases, cells)
    assert len({tuple(row) for row in result.tolist()}) == len(result) == ways(cases, cells)
    assert (result.sum(axis=1) == cases).all()
    assert log_ways(cases, cells) == pytest.approx(math.log(ways(cases, cells)), abs=1e-12)
    assert np.exp(log_multinomials(result)).sum() == pytest.approx(cells**cases)


def test_the_log_of_huge_numbers_of_ways():
    assert log_ways(3, 2**60) == pytest.approx(math.log(ways(3, 2**60)), rel=1e-12)
    assert log_ways(1, 2**3000) == pytest.approx(3000 * math.log(2), rel=1e-12)
    assert log_ways(10**6, 4) == pytest.approx(math.log(ways(10**6, 4)), rel=1e-12)


def as_dictionary(keys, values):
    """Packed vectors and the log of the sum of their values."""
    results = {}
    for key, x in zip(map(tuple, keys.tolist()), values, strict=True):
        results[key] = np.logaddexp(results.get(key, -np.inf), x)
    return results


@pytest.mark.parametrize("words", [1, 3])
@pytest.mark.parametrize("sizes", [(300, 200), (1, 50), (40, 1), (7, 7)])
def test_merging_is_what_a_dictionary_does(words, sizes):
    rng = np.random.default_rng(len(sizes) + words)
    tables = []
    for size in sizes:
        keys, values = rng.integers(0, 6, (size, words)), rng.normal(0, 300, size)
        order = np.lexsort(keys.T[::-1])
        table = completion_kernels.merge_neighbours(keys[order].copy(), values[order].copy())
        assert [tuple(k) for k in table[0].tolist()] == sorted(set(map(tuple, keys.tolist())))
        assert as_dictionary(*table) == pytest.approx(as_dictionary(keys, values))
        tables.append(table)
    (keys, values), (other_keys, other_values) = tables
    merged = completion_kernels.merge_tables(keys, values, other_keys, other_values)
    both = np.concatenate([keys, other_keys]), np.concatenate([values, other_values])
    assert as_dictionary(*merged) == pytest.approx(as_dictionary(*both))
    assert [tuple(k) for k in merged[0].tolist()] == sorted(as_dictionary(*both))


def test_symmetric_prior_or_not():
    """A prior that tells the classes apart must not be taken for one that does not."""
    even = make(CLASSES, 6, seed=5)
    root = np.array([1.0, 2.0, 3.0])
    alpha = dirichlet(CLASSES, {"H": root, "a": 1.0, "b": 1.0, "c": 1.0})
    odd = Case(CLASSES, even.theta, alpha, even.codes, even.counts)
    assert all(o.states is None for _, o in plan_exact(odd.problem).blocks)
    assert exact_evidence(odd.problem).value == pytest.approx(by_counts(odd), abs=1e-9)
