"""Probabilities of edges against enumeration of all graphs, with and without missing values."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lacunet
import oracle
from all_graphs import all_graphs, has_cycle
from examples import examples
from lacunet.data.table import Table
from lacunet.errors import DataError, OptionError
from lacunet.evidence.exact import exact_evidence
from lacunet.flags import Kind
from lacunet.inference.problem import build_problem
from lacunet.models.network import Network, Variable
from lacunet.models.prior import dirichlet
from lacunet.plots.graph_layout import draw
from lacunet.structure.counting import Columns, prior_of
from lacunet.structure.edges import completion, mcmc
from lacunet.structure.edges.certainty import EdgesBy
from lacunet.structure.edges.completion import advance, begin
from lacunet.structure.edges.mcmc import propose_sets
from lacunet.structure.edges.posterior import (
    EdgeSampling,
    as_cases,
    edge_probabilities,
    find_edges,
    sample_edges,
    shares,
)
from lacunet.structure.families import GraphPrior
from lacunet.structure.knowledge import Knowledge

NOTHING = Knowledge()


def table_of(n, rows, seed, missing=0.0, states=2):
    """Each column copies one before it, more or less; then missing values at random."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, states, (rows, n))
    for v in range(1, n):
        copied = rng.random(rows) < rng.uniform(0.2, 0.9)
        codes[:, v] = np.where(copied, codes[:, rng.integers(v)], codes[:, v])
    codes[0], codes[1] = states - 1, 0  # all states occur
    codes[2:] = np.where(rng.random((rows - 2, n)) < missing, -1, codes[2:])
    return Table.from_codes(codes)


def log_prior(graph, prior):
    """Fair: each number of parents, then each set of so many, is equally probable."""
    if prior is GraphPrior.UNIFORM:
        return 0.0
    return -sum(math.log(math.comb(len(graph) - 1, int(row.sum()))) for row in graph)


def enumerated(table, alpha, allowed=lambda graph: True, prior=GraphPrior.FAIR):
    """p(u → v | D) at [v, u]: exact evidence of every graph, and its prior probability."""
    variables = [Variable(c.name, c.states) for c in table.columns]
    graphs, values = [], []
    for graph in all_graphs(len(variables)):
        if allowed(graph):
            network = Network.build(variables, [np.flatnonzero(row).tolist() for row in graph])
            problem = build_problem(table, network, dirichlet(network, alpha))
            graphs.append(graph)
            values.append(exact_evidence(problem).value + log_prior(graph, prior))
    weights = np.exp(np.array(values) - max(values))
    return np.tensordot(weights / weights.sum(), np.array(graphs, dtype=float), 1)


@pytest.mark.parametrize("prior", GraphPrior)
@pytest.mark.parametrize(("seed", "alpha", "states"), [(0, "bdeu:4", 2), (1, "k2", 3), (2, 0.5, 2)])
def test_exact_sums_are_those_over_all_543_graphs(seed, alpha, states, prior):
    table = table_of(4, 40, seed, states=states)
    certainty = lacunet.edge_certainty(table, alpha=alpha, graph_prior=prior)
    assert certainty.by is EdgesBy.EXACT
    expected = enumerated(table, alpha, prior=prior)
    np.testing.assert_allclose(certainty.arrows, expected, atol=1e-10)


def random_knowledge(rng, names):
    """Edges required and forbidden along a random order, tiers, or few parents."""
    order = rng.permutation(names).tolist()
    pairs = [(order[0], order[2]), (order[1], order[3])]
    return [
        Knowledge(require=pairs[:1], forbid=[(order[3], order[0])], max_parents=2),
        Knowledge(tiers=[order[:2], order[2:]]),
        Knowledge(forbid=[(a, b) for a in order[:2] for b in order[2:]], max_parents=1),
    ][int(rng.integers(3))]


@pytest.mark.slow
@examples(20)
@given(st.integers(0, 10_000))
def test_what_is_known_is_kept(seed):
    """By exact sums and by every draw of a chain; and the sums are over just those graphs."""
    rng = np.random.default_rng(seed)
    table = table_of(4, 30, seed)
    names = [c.name for c in table.columns]
    limits = random_knowledge(rng, names).limits(names)

    def allowed(graph):
        few = (graph.sum(axis=1) <= limits.most).all()
        return few and not (graph & ~limits.allowed).any() and not (limits.required & ~graph).any()

    prior = GraphPrior.FAIR if rng.random() < 0.5 else GraphPrior.UNIFORM
    cases = as_cases(table, "bdeu:3", prior=prior)
    exact = edge_probabilities(cases, limits)
    np.testing.assert_allclose(exact, enumerated(table, "bdeu:3", allowed, prior), atol=1e-9)
    chain = begin(cases, limits, (seed, 0))
    choices = propose_sets(np.zeros((4, 4)), chain.cache, limits)
    for graph in advance(chain, choices, 40, 1)[1]:
        assert allowed(graph)
        assert not has_cycle(graph)


def agree(estimate, expected, widths=4.5):
    """Within the errors that are claimed; and these are not wide."""
    assert estimate.arrows_stderr.max() < 0.06
    off = np.abs(estimate.arrows - expected) / np.where(
        expected == estimate.arrows, 1, estimate.arrows_stderr
    )
    assert off.max() < widths
    edges = np.abs(estimate.edges - expected - expected.T)
    assert (edges <= widths * estimate.edges_stderr + 1e-12).all()


SHORT = EdgeSampling(target=0.03, sweeps=250, rounds=4, prior=GraphPrior.FAIR)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_graphs_drawn_are_those_of_exact_sums(seed):
    table = table_of(5, 60, seed, states=2 + seed % 2)
    expected = lacunet.edge_certainty(table, alpha="bdeu:2").arrows
    cases = as_cases(table, "bdeu:2", prior=GraphPrior.FAIR)
    names = [c.name for c in table.columns]
    edges = sample_edges(names, cases, NOTHING.limits(names), SHORT)
    assert edges.by is EdgesBy.SAMPLED
    assert edges.flags == ()
    agree(edges, expected)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_with_missing_values_graphs_drawn_are_those_of_exact_evidence(seed):
    table = table_of(3, 24, seed, missing=0.3)
    edges = find_edges(table, "bdeu:3", NOTHING, SHORT)
    assert edges.by is EdgesBy.SAMPLED
    agree(edges, enumerated(table, "bdeu:3"))


@pytest.mark.slow
def test_with_missing_values_over_all_543_graphs():
    table = table_of(4, 12, 5, missing=0.3)
    assert (table.codes < 0).sum() >= 5
    agree(find_edges(table, "bdeu:4", NOTHING, SHORT), enumerated(table, "bdeu:4"))


def test_scores_of_families_are_those_of_the_oracle():
    table = table_of(4, 50, 3, states=3)
    cases = as_cases(table, "bdeu:6", prior=GraphPrior.FAIR)
    filled = cases.filled(np.random.default_rng(0))
    book = mcmc.family_cache(filled, cases.prior, cases.log_prior)
    rng = np.random.default_rng(1)
    for _ in range(30):
        v = int(rng.integers(4))
        parents = rng.random(4) < 0.5
        parents[v] = False
        shape = [3] * (int(parents.sum()) + 1)
        N = np.zeros(shape)
        rows = table.codes[:, [*np.flatnonzero(parents), v]]
        np.add.at(N, tuple(rows.T), table.counts)
        expected = oracle.log_bd([N], [np.full(shape, 6.0 / N.size)])
        expected -= math.log(math.comb(3, int(parents.sum())))
        for _ in range(2):  # computed, then looked up
            assert mcmc.score_family(book, v, parents) == pytest.approx(expected, rel=1e-12)


@pytest.mark.slow
def test_a_missing_value_is_drawn_by_what_the_other_cells_predict():
    """One missing value, many draws: p(state | all other cells), θ integrated out, by BD."""
    table = table_of(3, 12, 0)
    codes = np.repeat(table.codes, table.counts.astype(int), axis=0).T.astype(np.int64)
    graph = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0]], dtype=bool)
    columns = Columns(codes, np.ones(codes.shape[1]), np.array([2, 2, 2]))
    prior, rng, row = prior_of("bdeu:2"), np.random.default_rng(0), 7
    known = as_cases(table, "bdeu:2").known
    log = []
    for k in range(2):
        codes[0, row] = k
        tables = [np.zeros([2] * (1 + int(pa.sum()))) for pa in graph]
        for v, pa in enumerate(graph):
            np.add.at(tables[v], tuple(codes[[*np.flatnonzero(pa), v]]), 1.0)
        log.append(oracle.log_bd(tables, [np.full(N.shape, 2.0 / N.size) for N in tables]))
    expected = 1 / (1 + np.exp(log[0] - log[1]))
    counts = completion.lay_out(columns, prior, np.zeros(3, dtype=int), graph, known)
    ones = 0
    for _ in range(4000):
        completion.redraw(columns, np.array([[0, row]]), graph, counts, rng)
        ones += codes[0, row]
    assert ones / 4000 == pytest.approx(expected, abs=4 * np.sqrt(expected * (1 - expected) / 4000))
    fresh = completion.lay_out(columns, prior, np.zeros(3, dtype=int), graph, known)
    np.testing.assert_array_equal(counts.N, fresh.N)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_whatever_the_threads():
    table = table_of(4, 40, 2, missing=0.1)
    one, two = (lacunet.edge_certainty(table, target=1.0, threads=k) for k in (1, 2))
    np.testing.assert_array_equal(one.arrows, two.arrows)
    other = lacunet.edge_certainty(table, target=1.0, seed=1)
    assert (one.arrows != other.arrows).any()
    a, b = (lacunet.edge_certainty(table_of(4, 40, 2), resamples=8, threads=k) for k in (1, 2))
    np.testing.assert_array_equal(a.arrows, b.arrows)


def test_chains_that_are_stuck_apart_are_unreliable():
    apart = np.zeros((4, 100, 2, 2), dtype=bool)
    apart[:2, :, 1, 0] = True
    result = shares(apart)
    assert result.r_hat[1, 0] == np.inf
    assert result.stderr[1, 0] > 0.2
    once = np.zeros((2, 9, 2, 2), dtype=bool)
    once[0, 4, 1, 0] = True  # in the middle, where a chain is cut
    assert 0 < shares(once).stderr[1, 0] < 1
    still = shares(np.zeros((4, 100, 2, 2), dtype=bool))
    assert still.stderr[1, 0] == 1 / 400  # in 400 graphs it was not: not exactly never
    assert still.stderr[0, 0] == 0


def test_disagreement_is_reported():
    """A table that leaves two ways to see it, and chains too short to change between them."""
    rng = np.random.default_rng(0)
    rows = np.repeat(rng.integers(0, 2, (400, 1)), 8, axis=1) ^ (rng.random((400, 8)) < 0.02)
    cases = as_cases(Table.from_codes(rows), "bdeu:1")
    names = [f"x{i}" for i in range(8)]
    short = EdgeSampling(chains=4, sweeps=8, rounds=1)
    edges = sample_edges(names, cases, NOTHING.limits(names), short)
    assert [flag.kind for flag in edges.flags] == [Kind.CHAINS_DISAGREE]
    assert "the chains disagree" in str(edges)


def test_resamples_count_edges_and_halve_what_may_turn():
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, 300))
    both = np.where(rng.random(300) < 0.9, a | b, 1 - (a | b))
    lone = rng.integers(0, 2, 300)
    table = Table.from_codes(np.stack([a, b, both, lone, lone], axis=1))
    certainty = lacunet.edge_certainty(table, resamples=20)
    assert certainty.by is EdgesBy.BOOTSTRAP
    assert certainty.draws == 20
    assert certainty.edges[2, 0] == certainty.edges[2, 1] == 1.0
    assert (
        min(certainty.arrows[2, :2]) > 0.8
    )  # two causes that meet: compelled, if nothing is added
    assert certainty.edges[4, 3] == 1.0
    assert certainty.edges[0, 3] < 0.5
    assert "Shares of 20 resamples" in str(certainty)
    copies = lacunet.edge_certainty(Table.from_codes(np.stack([lone, lone], axis=1)), resamples=5)
    assert copies.arrows.tolist() == [[0.0, 0.5], [0.5, 0.0]]


def test_rows_that_occur_often_are_as_rows_one_by_one():
    table = table_of(4, 60, 4)
    rows = np.repeat(table.codes, table.counts.astype(int), axis=0)
    weighted = Table.from_codes(table.codes, table.columns, table.counts)
    a, b = (lacunet.edge_certainty(t) for t in (weighted, Table.from_codes(rows, table.columns)))
    np.testing.assert_allclose(a.arrows, b.arrows, atol=1e-12)


def test_invalid_queries():
    table = table_of(3, 20, 0, missing=0.2)
    halves = Table.from_codes(table.codes, table.columns, table.counts / 2)
    with pytest.raises(DataError, match=r"a row with missing cells weighs 0\.5"):
        lacunet.edge_certainty(halves)
    with pytest.raises(DataError, match=r"weighs 0\.5: the bootstrap draws whole rows"):
        lacunet.edge_certainty(halves, resamples=10)
    with pytest.raises(OptionError, match="a prior for each family needs a graph"):
        lacunet.edge_certainty(table, alpha={"x1": 1})
    wide = Table.from_codes(np.arange(4000)[:, None] % [50, 60, 70, 80])
    edges = [(f"x{i}", "x4") for i in (1, 2, 3)]
    with pytest.raises(OptionError, match="'x4' give it a table of 16,800,000 numbers"):
        lacunet.edge_certainty(wide, knowledge=Knowledge(require=edges))


def test_one_column_has_no_edge():
    certainty = lacunet.edge_certainty(Table.from_codes([[0], [1]]))
    assert certainty.arrows.tolist() == [[0.0]]
    assert certainty.pairs() == []


def test_a_picture_takes_them():
    """By both names, in either order, as probabilities that a drawing accepts."""
    table = lacunet.load_dataset("myocardial")
    result, learned = lacunet.edge_certainty(table), lacunet.learn_structure(table)
    chances = result.by_edge()
    assert chances["Q", "H"] == chances["H", "Q"]
    drawn = draw(learned.network, chances)
    names = [v.name for v in learned.network.variables]
    for arrow in drawn.arrows:
        assert arrow.certainty == chances[names[arrow.parent], names[arrow.child]]
