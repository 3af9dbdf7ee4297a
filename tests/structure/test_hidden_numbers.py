"""Hidden variables over numbers: latent trees, hidden variables in graphs, labellings, groups."""

import itertools
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import logsumexp

from lacunet import OptionError, find_hidden, learn_latent_tree, read_table
from lacunet.fitting.agglomerate import LabelledRows, count_families
from lacunet.inference.leaves import leaves_apart
from lacunet.models import conjugacy
from lacunet.models.number_prior import NumberPrior
from lacunet.structure.hidden.latent_graph import (
    MOST,
    CompletedGraph,
    empty_graph,
    fit,
    numbers_apart,
    numbers_of,
)
from lacunet.structure.hidden.latent_tree import tree_graph

KINDS = {**{f"{x}{j}": "gaussian" for x in "ab" for j in range(3)}, "visits": "poisson"}


def two_behind(rows, missing, seed):
    """Two hidden bits: three numbers and a count on one, three and an answer on the other."""
    rng = np.random.default_rng(seed)
    one = rng.integers(0, 2, rows)
    other = np.where(rng.random(rows) < 0.8, one, 1 - one)
    columns = {f"a{j}": rng.normal(3.0 * one, 1.0) for j in range(3)}
    columns |= {f"b{j}": 100 * rng.normal(-3.0 * other, 1.0) for j in range(3)}
    columns |= {"visits": rng.poisson(np.where(one, 6, 2))}
    columns |= {"answer": np.where(rng.random(rows) < 0.9, other, 1 - other)}
    masked = rng.random((rows, len(columns))) < missing
    return pl.DataFrame({name: pl.Series(column) for name, column in columns.items()}).with_columns(
        pl.when(pl.Series(masked[:, j])).then(None).otherwise(pl.col(name)).alias(name)
        for j, name in enumerate(columns)
    )


def children(network):
    """The columns of each hidden variable, as a set of sets of names."""
    names = [v.name for v in network.variables]
    hidden = {*network.hidden}
    return {
        frozenset(n for v, n in enumerate(names) if v not in hidden and h in network.parents[v])
        for h in hidden
    }


APART = {frozenset({"a0", "a1", "a2", "visits"}), frozenset({"b0", "b1", "b2", "answer"})}


@pytest.mark.slow
def test_a_latent_tree_over_numbers_counts_and_answers_with_missing_values():
    tree = learn_latent_tree(two_behind(200, 0.15, 3), kinds=KINDS, threads=1)
    assert children(tree.network) == APART
    assert tree.hidden == {"H1": 2, "H2": 2}
    assert list(tree.bounds) == sorted(tree.bounds)


def test_the_unit_of_a_number_moves_the_evidence_and_nothing_else():
    data = two_behind(60, 0.1, 4)
    other = data.with_columns(pl.col("b1") * 8.0)
    one, two = (learn_latent_tree(d, kinds=KINDS, threads=1) for d in (data, other))
    seen = data["b1"].len() - data["b1"].null_count()
    assert two.log_evidence == pytest.approx(one.log_evidence - seen * np.log(8.0), abs=1e-6)
    assert children(one.network) == children(two.network)


def test_a_hidden_variable_behind_numbers_is_found_and_none_where_there_is_none():
    data, rng = two_behind(60, 0.1, 5).select("a0", "a1", "a2"), np.random.default_rng(0)
    assert find_hidden(data, most=1, kinds="gaussian", threads=1).hidden == {"H1": 2}
    apart = data.with_columns(pl.Series(n, rng.permutation(data[n])) for n in data.columns)
    assert find_hidden(apart, most=1, kinds="gaussian", threads=1, target=1.0).hidden == {}


def small(values, answers):
    return read_table(pl.DataFrame({"x": values, "y": answers}), kinds={"x": "gaussian"})


def fitted(table, states):
    """One hidden variable behind all columns, from states of rows."""
    n = len(table.columns)
    sketch = empty_graph(table, [2]).with_graph(tree_graph(n, 1, [n] * n, []))
    codes = np.column_stack([table.codes, np.array(states, dtype=np.int32)])
    return fit(table, 1.0, CompletedGraph(sketch, codes, table.counts)).brought_close()


def summed(problem):
    """Log p(D), over all states that hidden and missing cells may have; numbers may be missing."""
    network, rows = problem.network, len(problem.codes)
    codes = np.full((rows, len(network.variables)), -1)
    codes[:, list(network.observed)] = problem.codes
    categories = [v for v, one in enumerate(network.variables) if one.family.tabular]
    missing = [(r, v) for r in range(rows) for v in categories if codes[r, v] < 0]
    results = []
    for filled in itertools.product(*(range(len(network.variables[v].states)) for _, v in missing)):
        for (r, v), state in zip(missing, filled, strict=True):
            codes[r, v] = state
        N = count_families(network, LabelledRows(codes, problem.counts))
        results.append(conjugacy.log_marginal(N, problem.alpha, problem.layout).sum())
    return logsumexp(results) + problem.log_base


def test_the_bound_is_below_the_sum_over_all_labellings_and_near_it():
    table = small([0.1, 0.3, None, 2.0, 2.2], ["a", "a", "b", "b", None])
    fits = fitted(table, [0, 1, 1, 0, 1])
    truth = summed(fits.posterior.problem)
    assert truth - 3.0 < fits.posterior.bound <= truth


def test_states_are_distinguished_by_their_numbers():
    far = small([0.0, 0.1, 0.2, 0.3, 9.0, 9.1, 9.2, 9.3], ["a", "b"] * 4)
    order = np.argsort(far.codes[:, [c.name for c in far.columns].index("x")])
    states = np.zeros(8, dtype=np.int32)
    states[order[4:]] = 1
    q = fitted(far, states).posterior
    (hidden,), layout = q.problem.network.hidden, q.problem.layout
    assert numbers_apart(q, hidden)[0, 1]
    tables = [layout.table(q.N, i) for i in range(len(layout.families))]
    even = [
        np.broadcast_to(t.mean(axis=f.index(hidden), keepdims=True), t.shape)
        for t, f in zip(tables, layout.families, strict=True)
    ]
    assert not numbers_apart(replace(q, N=layout.flat(even)), hidden)[0, 1]


@given(st.lists(st.integers(0, 30), min_size=2, max_size=200).filter(lambda x: len({*x}) > 1))
def test_groups_are_of_neighbours_and_none_is_cut(values):
    table = read_table(pl.DataFrame({"x": [float(x) for x in values]}), kinds={"x": "gaussian"})
    (number,) = numbers_of(table, leaves_apart(table, NumberPrior())).values()
    assert len(number.group) == len(table.columns[0].states)
    steps = np.diff(number.group)
    assert ((steps == 0) | (steps == 1)).all()
    assert number.group[0] == 0
    assert number.group[-1] < MOST


def test_covariances_are_not_for_graphs():
    with pytest.raises(OptionError, match="below latent classes"):
        learn_latent_tree(two_behind(60, 0.0, 1), kinds=KINDS, covariance="full")
