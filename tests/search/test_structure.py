"""The greedy search against exhaustive enumeration, and what must hold at every step."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lacunet.api import learn_structure, random_model, with_parameters
from lacunet.data.table import Table
from lacunet.errors import DataError, OptionError
from lacunet.inference.problem import build_problem
from lacunet.model.conjugacy import random_theta
from lacunet.model.network import Model, Network, Variable
from lacunet.model.prior import dirichlet
from lacunet.model.sampling import sample_codes
from lacunet.scores import ScoreInput
from lacunet.scores.bd import BD
from lacunet.search.families import CompleteCounts, FamilyScores
from lacunet.search.greedy import Graph, GreedySearch


def sampled(cards, parents, rows, seed):
    rng = np.random.default_rng(seed)
    variables = [Variable(f"x{i + 1}", tuple(range(r))) for i, r in enumerate(cards)]
    network = Network.build(variables, parents)
    model = Model(network, random_theta(network.layout, rng), np.ones(network.layout.size))
    return Table.from_codes(sample_codes(model, rows, rng))


def all_graphs(n):
    """Every directed graph without cycles, as parent masks."""
    pairs = list(itertools.combinations(range(n), 2))
    for choice in itertools.product((0, 1, 2), repeat=len(pairs)):
        parents = [0] * n
        for (u, v), way in zip(pairs, choice, strict=True):
            if way == 1:
                parents[v] |= 1 << u
            elif way == 2:
                parents[u] |= 1 << v
        left = set(range(n))
        while left and (free := [v for v in left if not any(parents[v] >> u & 1 for u in left)]):
            left.difference_update(free)
        if not left:
            yield tuple(parents)


def test_there_are_543_graphs_of_four_variables():
    assert len(set(all_graphs(4))) == 543


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("alpha", ["k2", "bdeu:4", 0.5])
def test_the_search_finds_the_best_of_all_graphs(seed, alpha):
    table = sampled([2, 3, 2, 3], [(), (0,), (0, 1), (2,)], 120, seed)
    score = FamilyScores(CompleteCounts(table), alpha)
    best = max(sum(score(v, p) for v, p in enumerate(g)) for g in all_graphs(4))
    plain = learn_structure(table, alpha=alpha)
    assert plain.log_bd <= best + 1e-9
    found = learn_structure(table, alpha=alpha, restarts=10, tabu=4)
    assert found.log_bd == pytest.approx(best, abs=1e-9)
    assert found.log_bd >= plain.log_bd - 1e-9


@given(st.integers(0, 10_000), st.integers(2, 5), st.sampled_from(["k2", "bdeu:7", 2.0]))
def test_the_score_is_the_exact_evidence_of_the_graph(seed, n, alpha):
    rng = np.random.default_rng(seed)
    table = Table.from_codes(rng.integers(0, 3, (30, n)), counts=rng.integers(1, 4, 30))
    found = learn_structure(table, alpha=alpha)
    problem = build_problem(table, found.network, dirichlet(found.network, alpha))
    exact = BD(ScoreInput(problem, np.ones(found.network.layout.size))).value
    assert found.log_bd == pytest.approx(exact, rel=1e-10)


@given(st.integers(0, 10_000), st.integers(2, 7))
def test_moves_never_close_a_cycle_and_descendants_stay_true(seed, n):
    rng = np.random.default_rng(seed)
    graph = Graph(n)
    for _ in range(25):
        moves = list(graph.moves(n))
        graph.apply(moves[int(rng.integers(len(moves)))])
        adjacency = np.array([[p >> u & 1 for p in graph.parents] for u in range(n)], dtype=bool)
        reach = adjacency.copy()
        for _ in range(n):
            reach |= (reach.astype(int) @ adjacency.astype(int)) > 0
        assert not reach.diagonal().any()
        assert [sum(1 << v for v in range(n) if reach[u, v]) for u in range(n)] == graph.below


def test_independent_columns_stay_unconnected():
    """Every combination equally often: no edge can help."""
    rows = np.array(list(itertools.product((0, 1), (0, 1, 2), (0, 1), (0, 1))))
    found = learn_structure(Table.from_codes(rows, counts=np.full(len(rows), 20.0)))
    assert found.network.parents == ((),) * 4


def test_limits_ties_and_seeds():
    table = sampled([2] * 5, [(), (0,), (0, 1), (0, 1, 2), (3,)], 400, 3)
    for limit in (0, 1, 2):
        found = learn_structure(table, max_parents=limit)
        assert max(len(p) for p in found.network.parents) <= limit
    again = [learn_structure(table, seed=4, restarts=3) for _ in range(2)]
    assert again[0].network == again[1].network
    # Either direction of a single edge scores the same under BDeu: the seed decides.
    pair = sampled([2, 2], [(), (0,)], 300, 1)
    found = {learn_structure(pair, alpha="bdeu:1", seed=s).network.parents for s in range(12)}
    assert found == {((), (0,)), ((1,), ())}


def test_hidden_root_data_need_many_edges():
    model = random_model(3, 12, seed=1)
    table = Table.from_codes(sample_codes(model, 800, np.random.default_rng(0)))
    found = learn_structure(table)
    assert sum(len(p) for p in found.network.parents) >= 8
    fitted = with_parameters(found.network, table, "k2")
    np.testing.assert_allclose(fitted.network.layout.sum_k(fitted.theta), 1.0, rtol=1e-12)


def test_what_the_search_refuses():
    with pytest.raises(DataError, match=r"'x2' has missing cells \(50.0%\).*assign --impute"):
        learn_structure(Table.from_codes([[0, 1], [1, -1]]))
    for bad in ({"max_parents": -1}, {"restarts": -1}, {"tabu": -1}, {"seed": -1}):
        with pytest.raises(OptionError, match="is not allowed: give 0 or more"):
            GreedySearch(**bad)


def test_it_prints(capsys):
    table = sampled([2, 2], [(), (0,)], 300, 1)
    text = str(learn_structure(table))
    assert "log p(D|S) = " in text
    assert "families scored" in text
