"""Latent trees: found where they are, kept to their shape, and bounds that are bounds."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from lacunet import learn_latent_tree
from lacunet.data.table import Column, Table
from lacunet.errors import DataError, OptionError
from lacunet.evidence.exact import exact_evidence
from lacunet.structure.hidden.latent_graph import (
    CompletedGraph,
    complete,
    empty_graph,
    fit,
    hidden_names,
    log_numberings,
    more_than_chance,
)
from lacunet.structure.hidden.latent_tree import MOVES, cleared, homes_of, links_of, tree_graph
from lacunet.structure.hidden.local_classes import LocalModels, strongest_tree

GROUPS = ((0, 1, 2), (3, 4, 5), (6, 7, 8))  # leaves of each hidden variable of a chain


def chain(rows, missing, seed, copies=0.85):
    """Three hidden bits in a chain, three leaves on each; `copies`: how often a leaf agrees."""
    rng = np.random.default_rng(seed)
    hidden = [rng.integers(0, 2, rows)]
    for _ in range(2):
        hidden.append(np.where(rng.random(rows) < 0.8, hidden[-1], 1 - hidden[-1]))
    leaves = [hidden[g] for g, group in enumerate(GROUPS) for _ in group]
    codes = np.column_stack([np.where(rng.random(rows) < copies, x, 1 - x) for x in leaves])
    codes[rng.random(codes.shape) < missing] = -1
    return Table.from_codes(codes)


def groups_of(tree):
    """Columns with the same parent, as a set of sets."""
    network = tree.network
    homes = {}
    for v in network.observed:
        homes.setdefault(network.parents[v], set()).add(v)
    return {frozenset(group) for group in homes.values()}


def reached(first, links):
    """All that links lead to from one."""
    result = {first}
    while wider := {v for link in links if result & {*link} for v in link} - result:
        result |= wider
    return result


def keeps_to_a_tree(network):
    """Every column hangs on one hidden variable, and edges join all hidden ones without a cycle."""
    assert all(len(network.parents[v]) == 1 for v in network.observed)
    assert all(set(network.parents[v]) <= {*network.hidden} for v in range(len(network.parents)))
    links = [(h, p) for h in network.hidden for p in network.parents[h]]
    first = network.hidden[0]
    return len(links) == len(network.hidden) - 1 and reached(first, links) == {*network.hidden}


@pytest.mark.slow
@pytest.mark.parametrize("missing", [0.0, 0.15])
def test_a_chain_of_hidden_variables_is_found(missing):
    tree = learn_latent_tree(chain(1500, missing, 1), threads=1)
    assert groups_of(tree) == {frozenset(g) for g in GROUPS}
    assert set(tree.hidden.values()) == {2}
    assert keeps_to_a_tree(tree.network)
    assert list(tree.bounds) == sorted(tree.bounds)
    assert tree.log_evidence == tree.bounds[-1]


@pytest.mark.slow
def test_a_forest_falls_apart_where_nothing_joins_its_parts():
    rng = np.random.default_rng(6)
    both = [rng.integers(0, 2, 800) for _ in range(2)]
    codes = np.column_stack([np.where(rng.random(800) < 0.9, x, 1 - x) for x in both * 3])
    alone = rng.integers(0, 2, 800)
    table = Table.from_codes(np.column_stack([codes, alone]))
    forest = learn_latent_tree(table, "forest", threads=1)
    evens, odds = frozenset({0, 2, 4}), frozenset({1, 3, 5})
    assert groups_of(forest) == {evens, odds, frozenset({6})}
    assert forest.network.parents[6] == ()
    assert not any(forest.network.parents[h] for h in forest.network.hidden)
    tree = learn_latent_tree(table, "tree", threads=1)
    assert keeps_to_a_tree(tree.network)
    assert forest.log_evidence > tree.log_evidence


@pytest.mark.slow
def test_naive_has_one_hidden_variable_behind_all():
    table = Table.from_codes(chain(300, 0.1, 3, copies=0.95).codes[:, :3])
    tree = learn_latent_tree(table, "naive", threads=1, starts=4)
    assert all(tree.network.parents[v] == tree.network.hidden for v in tree.network.observed)
    assert tree.hidden["class"] == 2
    assert "evidence" in tree.by


def completed(table, graph, drawn):
    """Rows with a column for each hidden variable."""
    return CompletedGraph(graph, np.column_stack([table.codes, *drawn]), table.counts)


@pytest.mark.slow
@examples(8)
@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.3]))
def test_whatever_is_proposed_is_a_tree_and_has_a_start(seed, missing):
    """Every kind of change of a tree gives trees, and completed rows that fit them."""
    table, rng = chain(40, missing, seed), np.random.default_rng(seed)
    drawn = [rng.integers(0, 2, len(table.codes)).astype(np.int32) for _ in range(3)]
    homes = rng.integers(9, 12, 9).tolist()
    graph = empty_graph(table, [2, 2, 2])
    graph = graph.with_graph(tree_graph(9, 3, homes, [(9, 10), (10, 11)]))
    now = fit(table, 1.0, completed(table, graph, drawn))
    models = LocalModels(complete(table, now, rng), 1.0, rng)
    for moves in MOVES:
        for proposal in map(cleared, moves(models, False)):
            assert keeps_to_a_tree(proposal.graph.network)
            assert proposal.codes.shape[1] == 9 + len(proposal.graph.sizes)
            states = proposal.codes[:, 9:]
            assert (states >= 0).all()
            assert (states < proposal.graph.sizes).all()


def test_the_bound_is_below_the_exact_evidence():
    table = Table.from_codes([[0, 0, 1], [1, 1, -1], [1, 1, 1], [0, 0, 0], [0, -1, 0]])
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, 2, 5).astype(np.int32)
    graph = empty_graph(table, [2])
    graph = graph.with_graph(tree_graph(3, 1, [3, 3, 3], []))
    result = fit(table, 1.0, completed(table, graph, [drawn])).brought_close()
    assert result.posterior.bound <= exact_evidence(result.posterior.problem).value


def test_only_numberings_that_make_a_difference_count():
    tables = np.array([[50.0, 5.0], [5.0, 50.0], [20.0, 20.0]])
    assert log_numberings(more_than_chance(tables)) == pytest.approx(np.log(6))
    empty = np.array([[50.0, 5.0], [5.0, 50.0], [0.1, 0.0], [0.0, 0.2]])
    assert log_numberings(more_than_chance(empty)) == pytest.approx(np.log(24 / 2))
    assert log_numberings(more_than_chance(np.full((5, 3), 7.0))) == pytest.approx(0.0)


@given(st.integers(0, 1000), st.integers(2, 7))
def test_the_strongest_tree_is_the_best_of_all_by_exchange(seed, n):
    """No link outside is stronger than one on the path that it would close."""
    strength = np.random.default_rng(seed).normal(size=(n, n))
    strength = strength + strength.T
    links = strongest_tree(strength)
    assert len(links) == n - 1
    assert reached(0, links) == set(range(n))
    for cut in links:
        rest = [link for link in links if link != cut]
        side = reached(cut[0], rest)
        across = [strength[a, b] for a in side for b in set(range(n)) - side]
        assert strength[cut] == max(across)


def test_homes_and_links_give_the_graph_back():
    homes, links = [5, 5, 6, -1, 7], [(5, 6), (6, 7)]
    graph = empty_graph(Table.from_codes([[0, 1, 0, 1, 0], [1, 0, 1, 0, 1]]), [2, 2, 2])
    graph = graph.with_graph(tree_graph(5, 3, homes, links))
    assert homes_of(graph) == homes
    assert sorted(links_of(graph)) == links


def test_hidden_variables_never_get_the_name_of_a_column():
    assert hidden_names(["H1", "x", "H3"], 3) == ["H2", "H4", "H5"]
    table = Table.from_codes(
        chain(200, 0, 1).codes[:, :3], [Column(f"H{i}", (0, 1)) for i in (1, 2, 3)]
    )
    assert set(learn_latent_tree(table, threads=1).hidden) == {"H4"}


def test_bad_input_is_refused_with_the_next_step():
    table = chain(50, 0, 1)
    with pytest.raises(OptionError, match=r"shape 'tre' is not known\. Did you mean 'tree'"):
        learn_latent_tree(table, "tre")
    two = Table.from_codes(table.codes[:, :2])
    assert list(learn_latent_tree(two, "tree").hidden) == [
        "H1"
    ]  # all are connected, by construction
    for shape in ("forest", "naive"):
        with pytest.raises(DataError, match=r"2 columns: .* only from 3 or more"):
            learn_latent_tree(two, shape)
    codes = table.codes.copy()
    codes[:, 4] = -1
    with pytest.raises(DataError, match="column 'x5' is all missing"):
        learn_latent_tree(Table.from_codes(codes))
