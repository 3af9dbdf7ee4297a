"""Hidden variables: found where there are some, not where there are none, and what is kept."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from lacunet import Knowledge, find_hidden, learn_structure
from lacunet.data.table import Table
from lacunet.errors import DataError, OptionError
from lacunet.evidence.measure import measure
from lacunet.report.page.network_page import hidden_answer
from lacunet.selection import hidden_search, measuring
from lacunet.selection.hidden_comparison import WITHOUT
from lacunet.settings import Settings
from lacunet.structure.hidden import growing as groups
from lacunet.structure.hidden.growing import Growing, behind, has_sense, split_off
from lacunet.structure.hidden.latent_graph import LatentGraph, edge_matrix, empty_graph
from lacunet.structure.learning import learn_task
from lacunet.structure.moves import find_ancestors
from lacunet.structure.searching import GraphSearch
from lacunet.structure.task import graph_task

NO_PARENTS = np.zeros(5, dtype=np.int64)


def copied(rng, x, share):
    return np.where(rng.random(len(x)) < share, x, 1 - x)


def leaves(number, rows, missing, seed, parents=1):
    """Copies of hidden bits, one the parent of the next."""
    rng = np.random.default_rng(seed)
    hidden = [rng.integers(0, 2, rows)]
    while len(hidden) < parents:
        hidden.append(copied(rng, hidden[-1], 0.8))
    codes = np.column_stack([copied(rng, x, 0.87) for x in hidden for _ in range(number)])
    codes[rng.random(codes.shape) < missing] = -1
    return Table.from_codes(codes)


def tasked(table, **known):
    return graph_task(table, "bdeu:10", GraphSearch(), Knowledge(**known))


@pytest.mark.slow
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_a_hidden_parent_of_all_columns_is_found(missing):
    search = find_hidden(leaves(6, 500, missing, 1), threads=1, most=1)
    assert search.hidden == {"H1": 2}
    (h,) = search.network.hidden
    assert sum(h in parents for parents in search.network.parents) >= 5
    assert search.factor.log > 5.0
    assert search.log_evidence - search.factor.log == search.selection.certainty.values[WITHOUT]


@pytest.mark.slow
def test_two_hidden_variables_in_a_row_are_found():
    search = find_hidden(leaves(4, 900, 0.0, 3, parents=2), threads=1, most=2, budget=5)
    assert search.hidden == {"H1": 2, "H2": 2}
    network = search.network
    homes = [{*network.parents[v]} & {*network.hidden} for v in network.observed]
    assert homes[0] == homes[1] == homes[3]
    assert homes[4] == homes[5] == homes[7]
    assert homes[0] != homes[4]


@pytest.mark.slow
def test_a_chain_of_columns_has_none_and_the_factor_is_that_of_measured_evidence():
    rng = np.random.default_rng(4)
    columns = [rng.integers(0, 2, 120)]
    for _ in range(4):
        columns.append(copied(rng, columns[-1], 0.8))
    search = find_hidden(Table.from_codes(np.column_stack(columns)), threads=1, most=2)
    assert search.hidden == {}
    assert search.factor.log < 0
    assert not search.network.hidden
    assert search.log_evidence == pytest.approx(search.without.log_evidence)
    assert edge_matrix(search.network).tolist() == edge_matrix(search.without.network).tolist()
    other = next(c for c in search.selection.candidates if c.label != WITHOUT)
    again = measure(other.problem, seed=9)
    assert search.factor.log == pytest.approx(again.value - search.log_evidence, abs=1.0)


def large_table(seed, rows=400):
    """Three columns that are independent, and a fourth with any table of all of them."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, [4, 4, 2, 4], (rows, 4))
    given = (codes[:, 0] * 4 + codes[:, 1]) * 2 + codes[:, 2]
    below = np.cumsum(rng.dirichlet(np.ones(4), 32), axis=1)[given]
    codes[:, 3] = np.minimum((rng.random(rows)[:, None] > below).sum(axis=1), 3)
    return Table.from_codes(codes)


@pytest.mark.parametrize("seed", [0, 1, 5])
def test_a_prior_that_does_not_fit_large_tables_makes_no_hidden_variable(seed):
    """Under BDeu alone the factor speaks for one: it has smaller tables than the true graph."""
    search = find_hidden(large_table(seed), alpha="bdeu:10", threads=1, most=1)
    assert search.factor.log > 2.0
    assert len(search.averaged.pairs) == 2
    assert search.averaged.factor.log < -2.0
    assert search.hidden == {}
    assert search.probability < 0.1
    assert "averaged over both" in str(search)


@pytest.mark.slow
def test_the_decision_goes_by_evidence_averaged_over_priors(monkeypatch):
    monkeypatch.setattr(hidden_search, "CLOSE", 0.0)  # nothing has to be measured
    search = find_hidden(large_table(4), alpha="bdeu:10", threads=1, most=1)
    averaged = search.averaged
    (states,) = averaged.pairs[0].candidates[-1].problem.network.hidden_sizes.values()
    assert averaged.prior_odds == pytest.approx(1 / 2 / 2 ** (states - 2))  # two places
    scaled = np.exp(averaged.log_evidence - averaged.log_evidence.max())
    odds = np.exp(averaged.log_prior_odds) @ scaled[:, 1] / scaled[:, 0].sum()
    assert averaged.probability == pytest.approx(odds / (1 + odds))
    assert averaged.factor.log == pytest.approx(np.log(scaled[:, 1].sum() / scaled[:, 0].sum()))
    document = search.to_dict()
    assert [one["alpha"] for one in document["by_prior"]] == ["bdeu:10", 2.0]
    assert document["probability"] == search.probability
    assert document["averaged_log_bayes_factor"]["value"] == averaged.factor.log


@pytest.mark.slow
def test_a_graph_without_hidden_variables_is_searched_again_with_missing_values():
    table = leaves(5, 200, 0.2, 2)
    task = tasked(table)
    growing = Growing(task, np.random.default_rng(0))
    empty = growing.first(learn_task(replace(task, limits=task.limits._replace(most=NO_PARENTS))))
    assert not empty.graph.parents.any()
    behind_all = growing.one_more(growing.first(learn_task(task)))[0]
    again = growing.without_again(empty, behind_all)
    assert not again.graph.sizes
    assert again.value > empty.value + 20.0


def test_near_cliques_are_what_their_definition_says():
    touching = np.zeros((6, 6), dtype=bool)
    for u, v in [(0, 1), (1, 2), (2, 3), (3, 0), (3, 4), (4, 5)]:
        touching[u, v] = touching[v, u] = True
    assert groups.is_near_clique(touching, {0, 1, 2, 3})  # a ring of four: two of three others
    assert not groups.is_near_clique(touching, {0, 1, 2, 3, 5})
    result = groups.groups_of(touching)
    assert (0, 1, 2, 3) in result
    assert (0, 1, 2, 3, 4, 5) in result  # they hang together
    assert all(len(group) >= groups.FEWEST_IN_CLIQUE for group in result)


@given(st.integers(0, 1000))
def test_groups_from_cliques_touch_at_least_half_of_each_other(seed):
    rng = np.random.default_rng(seed)
    half = np.triu(rng.random((7, 7)) < 0.4, 1)
    touching = half | half.T
    for group in groups.near_cliques(touching):
        inside = touching[np.ix_(sorted(group), sorted(group))].sum(axis=1)
        assert (inside >= (len(group) - 1) / 2).all()


def test_groups_that_depend_on_each_other_are_all_of_few_columns_and_the_nearest_of_many():
    rng = np.random.default_rng(3)
    near = rng.normal(size=(9, 9))
    near = near + near.T
    few = groups.dependent_groups(near[:6, :6])
    assert len(few) == len({*few}) == 20 + 15 + 6
    many = groups.dependent_groups(near)
    weakest = {g: min(near[u, v] for u, v in combinations(g, 2)) for g in combinations(range(9), 3)}
    best = sorted(weakest, key=lambda group: -weakest[group])[: groups.BEAM]
    assert {group for group in many if len(group) == 3} == {*best}
    assert {len(group) for group in many} == {3, 4, 5}


@given(st.integers(0, 1000), st.integers(1, 3))
def test_a_variable_put_behind_a_group_keeps_to_what_is_known(seed, most):
    rng = np.random.default_rng(seed)
    table = Table.from_codes(rng.integers(0, 2, (20, 6)))
    require = [("x1", "x2")] if seed % 2 else []
    task = tasked(table, require=require, forbid=[("x3", "x4")], max_parents=most)
    growing = Growing(task, rng)
    parents = np.tril(rng.random((6, 6)) < 0.5, -1) & task.limits.allowed | task.limits.required
    for v in range(6):
        parents[v, np.flatnonzero(parents[v] & ~task.limits.required[v])[most - 1 :]] = False
    before = LatentGraph(table.columns, (), parents)
    group = rng.permutation(6)[:4].tolist()
    after = behind(before, group, 2, growing.limits(before))
    limits = growing.limits(after)
    assert (after.parents[group, 6]).all() or require  # a required parent may leave no room
    assert not (after.parents & ~limits.allowed).any()
    assert not (limits.required & ~after.parents).any()
    assert (after.parents.sum(axis=1) <= limits.most).all() or require
    assert not np.diag(find_ancestors(after.parents)).any()


def test_a_variable_that_is_split_off_takes_its_neighbours_along():
    sketch = empty_graph(Table.from_codes([[0] * 6, [1] * 6])).with_hidden(2, [0], [1, 2, 3, 4, 5])
    after = split_off(sketch, 6, [0, 4, 5], 3)
    assert after.sizes == (2, 3)
    assert np.flatnonzero(after.parents[:, 6]).tolist() == [1, 2, 3, 7]
    assert np.flatnonzero(after.parents[:, 7]).tolist() == [4, 5]
    assert np.flatnonzero(after.parents[7]).tolist() == [0, 6]
    assert has_sense(after)


@pytest.mark.slow
@examples(3)
@given(st.integers(0, 1000))
def test_hidden_variables_are_never_added_against_what_is_known(seed):
    table = leaves(5, 200, 0.1, seed)
    task = tasked(table, forbid=[("x1", "x2"), ("x2", "x1")], max_parents=2)
    growing = Growing(task, np.random.default_rng(seed))
    learned = learn_structure(table, knowledge=task.known, threads=1)
    for result in growing.one_more(growing.first(learned)):
        limits = growing.limits(result.graph)
        assert not (result.graph.parents & ~limits.allowed).any()
        assert (result.graph.parents.sum(axis=1) <= 2).all()
        assert has_sense(result.graph)


@pytest.mark.slow
def test_small_gains_by_approximations_alone_are_not_kept(monkeypatch):
    monkeypatch.setattr(hidden_search, "CLOSE", 1e3)
    monkeypatch.setattr(measuring, "MOST_MEASURED", 0.0)
    search = find_hidden(leaves(6, 300, 0.05, 1), threads=1, most=1)
    assert search.factor.log > 3.0
    assert search.hidden == {}
    assert "the approximation cannot separate them" in str(search)


def with_known_tables(rows=300):
    """Five copies of a hidden bit; x6 and x7 follow x1 and x2 by one table; x8 is not asked."""
    rng = np.random.default_rng(8)
    hidden = rng.integers(0, 2, rows)
    codes = np.column_stack([copied(rng, hidden, 0.87) for _ in range(5)])
    x6, x7 = (copied(rng, codes[:, v], 0.9) for v in (0, 1))
    x8 = np.where(codes[:, 2] == 0, 0, 1 + copied(rng, codes[:, 4], 0.9))
    codes = np.column_stack([codes, x6, x7, x8])
    codes[5:][rng.random((len(codes) - 5, 8)) < 0.05] = -1
    return Table.from_codes(codes)


ALIKE = [[0.9, 0.1], [0.1, 0.9]]
TABLES = {
    "fixed": Knowledge(fixed=[{"child": "x6", "parents": ["x1"], "table": ALIKE}]),
    "tied": Knowledge(require=[("x1", "x6"), ("x2", "x7")], tied=[["x6", "x7"]]),
    "zeros": Knowledge(
        zeros=[
            {"child": "x8", "state": k, "given": {"x3": given}}
            for k, given in ((0, 1), (1, 0), (2, 0))
        ]
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("known", TABLES.values(), ids=TABLES)
def test_tables_that_are_known_are_kept(known, monkeypatch):
    monkeypatch.setattr(hidden_search, "CLOSE", 0.0)  # nothing has to be measured
    search = find_hidden(with_known_tables(), threads=1, most=1, knowledge=known)
    assert any(other.problem.network.hidden for other in search.selection.candidates)
    for other in search.selection.candidates:
        model = other.fit.model
        names = [v.name for v in model.network.variables]
        for child, table in known.ordered_parents.items():
            i = names.index(child)
            assert [names[p] for p in model.network.parents[i]] == table
        for entry in known.fixed:
            assert np.array_equal(model.table(entry["child"]), entry["table"])
        for first, *others in known.tied:
            assert all(np.array_equal(model.table(first), model.table(name)) for name in others)
        for zero in known.zeros:
            parents = [names[p] for p in model.network.parents[names.index(zero["child"])]]
            where = tuple(zero["given"].get(name, slice(None)) for name in parents)
            assert not model.table(zero["child"])[(*where, zero["state"])].any()


def test_no_hidden_variable_is_proposed_as_a_parent_of_a_known_table():
    table, known = with_known_tables(), TABLES["fixed"]
    task = graph_task(table, "bdeu:10", GraphSearch(), known)
    growing = Growing(task, np.random.default_rng(0))
    sketch = empty_graph(table).with_hidden(2, [], [0, 1, 2])
    may = growing.limits(sketch).allowed[:, -1]
    assert [c.name for c, yes in zip(table.columns, may, strict=False) if not yes] == ["x6"]


def test_nothing_is_kept_that_is_no_better():
    """One row has no information: every graph has the same evidence."""
    table = Table.from_codes([[1, 1, 1, 1]])
    search = find_hidden(table, threads=1, most=1)
    assert search.hidden == {}
    assert search.factor.log == pytest.approx(0.0)
    calls = [hidden_answer(search, table, Settings(), most).call for most in (1, 3)]
    assert ["most=1, " in call for call in calls] == [True, False]  # 3 is the default


def test_bad_input_is_refused_with_the_next_step():
    table = leaves(4, 30, 0.0, 0)
    with pytest.raises(OptionError, match="most 0: give 1 or more"):
        find_hidden(table, most=0)
    with pytest.raises(OptionError, match="max_parents 0 leaves no room"):
        find_hidden(table, max_parents=0)
    with pytest.raises(DataError, match="only from 3 or more"):
        find_hidden(Table.from_codes(table.codes[:, :2]))
