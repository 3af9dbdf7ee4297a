"""The search for graphs against enumeration, the exact one, and the graphs that made the data."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from all_graphs import all_graphs, ancestors, has_cycle
from lacunet import Knowledge
from lacunet.api import learn_structure, random_model
from lacunet.data.table import Column, Table
from lacunet.errors import OptionError
from lacunet.inference.problem import build_problem
from lacunet.models.conjugacy import random_theta
from lacunet.models.network import Model, Network, Variable
from lacunet.models.prior import dirichlet
from lacunet.models.surgery import sample_codes
from lacunet.scores import BD, ScoreInput
from lacunet.structure import learning, moves, searching
from lacunet.structure.families import (
    AVERAGED,
    CompleteCounts,
    FamilyScores,
    GraphPrior,
    log_prior_over,
)
from lacunet.structure.moves import neighbourhood, scatter, turn_covered
from lacunet.structure.searching import ONE_CLIMB, GraphSearch, search
from studies.calibration.known_networks import KNOWN


def drawn(network, rows, seed, concentration=1.0):
    """Rows of a network with random tables; small concentrations make them nearly certain."""
    rng = np.random.default_rng(seed)
    if concentration == 1.0:
        theta = random_theta(network.layout, rng)
    else:
        gamma = rng.standard_gamma(concentration, network.layout.size)
        theta = gamma / network.layout.spread(network.layout.sum_k(gamma))
    model = Model(network, theta, np.ones(network.layout.size))
    return Table.from_codes(sample_codes(model, rows, rng))


def sampled(cards, parents, rows, seed):
    variables = [Variable(f"x{i + 1}", tuple(range(r))) for i, r in enumerate(cards)]
    return drawn(Network.build(variables, parents), rows, seed)


def score_of(table, alpha, parents):
    scores = FamilyScores(CompleteCounts(table, alpha))
    return sum(scores(v, p).score for v, p in enumerate(parents))


def unlimited(n):
    return moves.Limits(~np.eye(n, dtype=bool), np.zeros((n, n), dtype=bool), np.full(n, n))


def test_there_are_543_graphs_of_four_variables():
    assert len({graph.tobytes() for graph in all_graphs(4)}) == 543


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("alpha", ["k2", "bdeu:4", 0.5])
def test_the_search_finds_the_best_of_all_graphs(seed, alpha):
    table = sampled([2, 3, 2, 3], [(), (0,), (0, 1), (2,)], 120, seed)
    prior = GraphPrior.FAIR if seed % 2 else GraphPrior.UNIFORM
    sizes = np.array([-math.log(math.comb(3, k)) for k in range(4)])
    by_size = np.tile(sizes if prior is GraphPrior.FAIR else np.zeros(4), (4, 1))
    scores = FamilyScores(CompleteCounts(table, alpha), by_size)
    best = max(sum(scores(v, p).score for v, p in enumerate(g)) for g in all_graphs(4))
    learned = search([np.zeros((4, 4), dtype=bool)], scores, unlimited(4), GraphSearch())
    assert learned.families.sum() == pytest.approx(best, abs=1e-9)
    surely = learn_structure(table, alpha=alpha, graph_prior=prior)
    assert surely.log_joint == pytest.approx(best, abs=1e-9)
    assert sum(surely.families) == pytest.approx(surely.log_bd, abs=1e-9)
    assert surely.exact
    assert surely.scored == 4 * 8
    plain = learning.learn_structure(table, alpha, replace(ONE_CLIMB, prior=prior))
    assert plain.log_joint <= best + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_the_search_finds_what_the_exact_one_finds(seed):
    """Nine variables, nearly certain tables: one climb alone is often 10 nats and more below."""
    rng = np.random.default_rng(seed)
    variables = [Variable(f"x{i}", tuple(range(int(rng.integers(2, 4))))) for i in range(9)]
    parents = [sorted(rng.choice(i, min(i, 2), replace=False).tolist()) for i in range(9)]
    table = drawn(Network.build(variables, parents), 400, seed, concentration=0.4)
    surely = learn_structure(table, alpha="bdeu:10", graph_prior="uniform")
    scores = FamilyScores(CompleteCounts(table, "bdeu:10"))
    assert surely.exact
    empty = np.zeros((9, 9), dtype=bool)
    result = search([empty], scores, unlimited(9), GraphSearch()).families.sum()
    assert surely.log_bd - 1.0 < result < surely.log_bd + 1e-6
    longer = search([empty], scores, unlimited(9), GraphSearch(sweeps=4, restarts=3))
    assert longer.families.sum() == pytest.approx(surely.log_bd, abs=1e-6)
    assert score_of(table, "bdeu:10", _matrix(surely.network)) == pytest.approx(surely.log_bd)


def _matrix(network):
    n = len(network.variables)
    return np.array([[u in pa for u in range(n)] for pa in network.parents])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["child", "insurance"])
@pytest.mark.parametrize("seed", [0, 1])
def test_it_reaches_the_score_of_the_graph_that_made_the_data(name, seed):
    table = drawn(KNOWN[name], 5000, seed, concentration=0.5)
    for alpha, prior in (("bdeu:10", GraphPrior.UNIFORM), (AVERAGED, GraphPrior.FAIR)):
        scores = FamilyScores(CompleteCounts(table, alpha), log_prior_over(table, prior))
        true = sum(scores(v, pa).score for v, pa in enumerate(_matrix(KNOWN[name])))
        learned = learn_structure(table, alpha=alpha, graph_prior=prior)
        assert learned.log_joint >= true - 1e-6


@given(st.integers(0, 10_000), st.integers(2, 5), st.sampled_from(["k2", "bdeu:7", 2.0]))
def test_the_score_is_the_exact_evidence_of_the_graph(seed, n, alpha):
    rng = np.random.default_rng(seed)
    table = Table.from_codes(rng.integers(0, 3, (30, n)), counts=rng.integers(1, 4, 30))
    learned = learn_structure(table, alpha=alpha)
    problem = build_problem(table, learned.network, dirichlet(learned.network, alpha))
    evidence = BD(ScoreInput(problem, np.ones(learned.network.layout.size))).value
    assert learned.log_bd == pytest.approx(evidence, rel=1e-10)


@given(st.integers(0, 10_000), st.integers(2, 6))
def test_the_best_move_is_the_best_of_all_that_close_no_cycle(seed, n):
    rng = np.random.default_rng(seed)
    order = rng.permutation(n)
    parents = np.zeros((n, n), dtype=bool)
    for i, v in enumerate(order):
        parents[v, order[:i]] = rng.random(i) < 0.4
    np.testing.assert_array_equal(moves.find_ancestors(parents), ancestors(parents))
    gains = rng.normal(size=(n, n)).round(1)  # so that there are ties
    limits = moves.Limits(rng.random((n, n)) < 0.8, rng.random((n, n)) < 0.1, np.full(n, 2))
    top, tied = moves.find_best(parents, limits, gains)
    possible = dict(_every_move(parents, limits, gains))
    best = max(possible.values(), default=-np.inf)
    assert top == pytest.approx(best)
    assert {tuple(move) for move in tied.tolist()} == {
        move for move, gain in possible.items() if gain >= best - 1e-9
    }


def _every_move(parents, limits, gains):
    n = len(parents)
    for v, u in itertools.permutations(range(n), 2):
        for kind in (moves.ADD, moves.DELETE, moves.REVERSE):
            after, gain = parents.copy(), gains[v, u]
            after[v, u] = kind == moves.ADD
            if kind == moves.REVERSE:
                after[u, v], gain = True, gain + gains[u, v]
            new, gone = after & ~parents, parents & ~after
            if (
                (kind == moves.ADD) != parents[v, u]
                and not has_cycle(after)
                and not (new & ~limits.allowed).any()
                and not (gone & limits.required).any()
                and all(after[w].sum() <= 2 for w in np.flatnonzero(new.any(axis=1)))
            ):
                yield (kind, u, v), gain


@given(st.integers(0, 10_000), st.integers(2, 7))
def test_a_shaken_graph_is_a_graph_and_turning_alone_changes_no_score(seed, n):
    rng = np.random.default_rng(seed)
    table = Table.from_codes(rng.integers(0, 3, (40, n)))
    limits, order = unlimited(n), rng.permutation(n)
    parents = np.zeros((n, n), dtype=bool)
    for i, v in enumerate(order):
        parents[v, order[:i]] = rng.random(i) < 0.5
    turned = parents.copy()
    turn_covered(turned, limits, rng)
    assert not has_cycle(turned)
    same = score_of(table, "bdeu:3", parents)
    assert score_of(table, "bdeu:3", turned) == pytest.approx(same, abs=1e-9)
    near = neighbourhood(parents, 0, rng)
    assert near[0]
    assert near.sum() <= 4
    scatter(turned, 0, limits, rng)
    assert not has_cycle(turned)


def test_independent_columns_stay_unconnected():
    """Every combination equally often: no edge can help."""
    rows = np.array(list(itertools.product((0, 1), (0, 1, 2), (0, 1), (0, 1))))
    learned = learn_structure(Table.from_codes(rows, counts=np.full(len(rows), 20.0)))
    assert learned.network.parents == ((),) * 4


def test_limits_ties_and_seeds():
    table = sampled([2] * 5, [(), (0,), (0, 1), (0, 1, 2), (3,)], 400, 3)
    for limit in (0, 1, 2):
        for options in ({}, {"sweeps": 0}):
            result = learn_structure(table, max_parents=limit, **options)
            assert max(len(p) for p in result.network.parents) <= limit
    again = [learn_structure(table, seed=4, restarts=3, sweeps=0) for _ in range(2)]
    assert again[0].network == again[1].network
    # Either direction of a single edge scores the same under BDeu: the seed decides.
    pair = sampled([2, 2], [(), (0,)], 300, 1)
    both = [learn_structure(pair, alpha="bdeu:1", seed=s, sweeps=0) for s in range(12)]
    result = {one.network.parents for one in both}
    assert result == {((), (0,)), ((1,), ())}


def test_hidden_root_data_need_many_edges():
    model = random_model(3, 12, seed=1)
    table = Table.from_codes(sample_codes(model, 800, np.random.default_rng(0)))
    learned = learn_structure(table)
    assert sum(len(p) for p in learned.network.parents) >= 8
    model = learned.model
    np.testing.assert_allclose(model.network.layout.sum_k(model.theta), 1.0, rtol=1e-12)
    assert (model.theta == model.predictive.theta).all()


def test_odd_tables():
    """A variable of 1,000 states, one of one state, and fewer rows than variables."""
    rng = np.random.default_rng(5)
    many = np.column_stack([np.arange(1000), np.arange(1000) % 2, rng.integers(0, 2, 1000)])
    learned = learn_structure(Table.from_codes(np.column_stack([many, np.zeros(1000, dtype=int)])))
    assert learned.network.parents[3] == ()
    wide = learn_structure(Table.from_codes(rng.integers(0, 2, (5, 30))))
    assert np.isfinite(wide.log_bd)
    assert learn_structure(Table.from_codes([[0], [1]]), exact=True).network.parents == ((),)


@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_a_column_that_never_changes_has_no_edges_unless_they_are_required(missing):
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 2, (60, 11))
    codes[:, 4] = codes[:, 5]
    codes[:, 10] = 0
    codes[rng.random(codes.shape) < missing] = -1
    columns = [Column(f"x{v}", (0, 1)[: 1 + (v < 10)]) for v in range(11)]
    table = Table.from_codes(codes, columns)
    for seed in range(5):
        parents = learn_structure(table, seed=seed, threads=1).network.parents
        assert not parents[10]
        assert not any(10 in pa for pa in parents)
    parents = learn_structure(table, knowledge=Knowledge(require=[("x3", "x10")])).network.parents
    assert parents[10] == (3,)


def test_what_the_search_refuses():
    for bad in ({"sweeps": -1}, {"restarts": -1}, {"seed": -1}):
        with pytest.raises(OptionError, match="is not allowed: give 0 or more"):
            GraphSearch(**bad)
    with pytest.raises(OptionError, match="max_parents -1 is not allowed: give 0 or more"):
        learn_structure(Table.from_codes([[0, 1]]), max_parents=-1)


def test_an_exact_search_that_does_not_fit_reports_its_memory():
    assert searching.needed_memory(20) < searching.MEMORY
    with pytest.raises(OptionError, match=r"30 variables would score 1.6e\+10 families and take"):
        learn_structure(Table.from_codes(np.zeros((2, 30), dtype=int)), exact=True)


def test_it_prints_what_is_sure_and_what_may_be_turned():
    table = sampled([2, 2, 2], [(), (), (0, 1)], 2000, 1)
    learned = learn_structure(table)
    assert learned.equivalence_class.compelled == (("x1", "x3"), ("x2", "x3"))
    text = str(learned)
    assert "x1 →, x2 →" in text
    assert "sizes from 0.5 to 10; of graphs, each number of parents is" in text
    assert "families scored" in text
    pair = str(learn_structure(sampled([2, 2], [(), (0,)], 300, 1), alpha="k2"))
    assert "—, " not in pair
    assert " —" in pair
