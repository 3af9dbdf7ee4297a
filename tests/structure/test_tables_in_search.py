"""Fixed tables, tied tables and zeros in the search for a graph; what contradicts, by name."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lacunet
from all_graphs import all_graphs
from examples import examples
from lacunet import Knowledge
from lacunet.data.table import Table
from lacunet.errors import DataError, LacunetError, OptionError
from lacunet.evidence.exact import exact_evidence
from lacunet.inference.problem import build_problem
from lacunet.models.prior import dirichlet
from lacunet.structure.edges import completion
from lacunet.structure.edges.mcmc import family_cache, score_family
from lacunet.structure.edges.posterior import EdgeSampling, as_cases, find_edges
from lacunet.structure.families import CompleteCounts
from lacunet.structure.knowledge import edges_of, read_knowledge
from lacunet.structure.searching import GraphSearch
from lacunet.structure.task import graph_task

SKIPPED = [
    {"child": "x3", "state": k, "given": {"x1": 0}} for k in (1, 2)
]  # who answers 0 to the first is not asked the third
KNOWN = {
    "zeros": Knowledge(zeros=SKIPPED),
    "fixed": Knowledge(
        fixed=[{"child": "x2", "parents": ["x1"], "table": [[0.8, 0.2], [0.1, 0.9]]}]
    ),
    "tied": Knowledge(require=[("x1", "x2"), ("x2", "x4")], tied=[["x2", "x4"]]),
}
BOTH = Knowledge(zeros=SKIPPED, fixed=KNOWN["fixed"].fixed)


def survey(rows=150, seed=0, missing=0.0):
    """Four questions, of which the third is skipped where the first is 0."""
    rng = np.random.default_rng(seed)
    x1 = rng.integers(0, 2, rows)
    x2 = np.where(rng.random(rows) < 0.15, 1 - x1, x1)
    x4 = np.where(rng.random(rows) < 0.2, 1 - x2, x2)
    x3 = np.where(x1 == 0, 0, rng.integers(0, 2 + x4))
    codes = np.column_stack([x1, x2, x3, x4])
    codes[:3] = [[1, 1, 2, 1], [0, 0, 0, 0], [1, 0, 1, 1]]
    codes[3:][rng.random((rows - 3, 4)) < missing] = -1
    return Table.from_codes(codes)


def allowed_graphs(task):
    for graph in all_graphs(len(task.start)):
        if not (graph & ~task.limits.allowed).any() and not (task.limits.required & ~graph).any():
            yield graph


def evidence(task, graph):
    network = task.network(graph)
    return build_problem(task.table, network, dirichlet(network, task.alpha)).log_seen


def fair(graph):
    """Log p of a graph where each number of parents, then each set of so many, is as probable."""
    return -sum(math.log(math.comb(len(graph) - 1, int(row.sum()))) for row in graph)


@pytest.mark.parametrize("alpha", ["bdeu:5", "k2"])
@pytest.mark.parametrize("known", KNOWN.values(), ids=KNOWN)
def test_the_best_graph_and_its_edges_are_those_of_all_graphs(known, alpha):
    table = survey()
    task = graph_task(table, alpha, GraphSearch(), known)
    graphs = list(allowed_graphs(task))
    logs = np.array([evidence(task, graph) for graph in graphs])
    for prior in ("uniform", "fair"):
        values = logs + [fair(graph) for graph in graphs] if prior == "fair" else logs
        options = {"alpha": alpha, "knowledge": known, "graph_prior": prior}
        learned = lacunet.learn_structure(table, **options)
        assert learned.log_evidence == pytest.approx(logs[values.argmax()], abs=1e-9)
        weights = np.exp(values - values.max())
        expected = np.tensordot(weights / weights.sum(), np.array(graphs, dtype=float), 1)
        sure = lacunet.edge_certainty(table, **options)
        np.testing.assert_allclose(sure.arrows, expected, atol=1e-9)


@pytest.mark.slow
@examples(12)
@given(st.sampled_from([*KNOWN.values()]), st.integers(0, 1000), st.sampled_from([0.0, 0.2]))
def test_learning_keeps_known_tables(known, seed, missing):
    table = survey(60, seed, missing)
    model = lacunet.learn_structure(table, knowledge=known).model
    for entry in known.fixed:
        assert np.array_equal(model.table(entry["child"]), entry["table"])
        assert model.posterior is not None
    for first, *others in known.tied:
        assert all(np.array_equal(model.table(first), model.table(name)) for name in others)
    for zero in known.zeros:
        i = model.network.index(zero["child"])
        parents = [model.network.variables[p].name for p in model.network.parents[i]]
        where = tuple(zero["given"].get(name, slice(None)) for name in parents)
        assert not model.table(zero["child"])[(*where, zero["state"])].any()


def test_a_row_against_zeros_is_named_before_the_search():
    codes = survey().codes.copy()
    codes[0] = [0, 1, 2, 1]
    with pytest.raises(DataError, match=r"x1 = 0, x3 = 2.*'x3'"):
        lacunet.learn_structure(Table.from_codes(codes), knowledge=KNOWN["zeros"])


@pytest.mark.slow
@pytest.mark.parametrize("name", [*KNOWN, "all"])
def test_edges_with_missing_values_are_those_of_exact_evidence(name):
    """Every graph under the constraints, with its exact evidence over missing values."""
    known = BOTH if name == "all" else KNOWN[name]
    table = survey(18, 3, missing=0.25)
    assert (table.codes < 0).sum() >= 7
    task = graph_task(table, "bdeu:4", GraphSearch(), known)
    graphs = list(allowed_graphs(task))
    networks = [task.network(graph) for graph in graphs]
    problems = [build_problem(table, n, dirichlet(n, "bdeu:4")) for n in networks]
    values = np.array([exact_evidence(problem).value for problem in problems])
    weights = np.exp(values - values.max())
    expected = np.tensordot(weights / weights.sum(), np.array(graphs, dtype=float), 1)
    sampling = EdgeSampling(target=0.02, sweeps=500, rounds=4)
    edges = find_edges(table, "bdeu:4", known, sampling)
    assert edges.arrows_stderr.max() < 0.06
    off = np.abs(edges.arrows - expected)
    assert (off <= 4.5 * edges.arrows_stderr + 1e-12).all()


def test_a_missing_value_in_tied_tables_is_drawn_by_both():
    """x2 has the table of x4, and is its parent: p(x2 | all other cells), by sums over both."""
    codes = np.array([[1, 1, 0, 1], [0, 0, 0, 0], [1, -1, 0, 0], [0, 1, 0, 1], [1, 0, 0, 1]])
    table = Table.from_codes(codes)
    known = KNOWN["tied"]
    cases = as_cases(table, "k2", known)
    network = graph_task(table, "k2", GraphSearch(), known).network(known.first_graph(names(table)))
    log = [
        build_problem(
            Table.from_codes(np.where(codes < 0, k, codes)), network, np.ones(network.layout.size)
        ).log_seen
        for k in (0, 1)
    ]
    expected = 1 / (1 + np.exp(log[0] - log[1]))
    columns, rng = cases.filled(np.random.default_rng(0)), np.random.default_rng(1)
    parents = known.first_graph(names(table))
    counts = completion.lay_out(columns, cases.prior, np.zeros(4, dtype=int), parents, cases.known)
    drawn = 0
    for _ in range(4000):
        completion.redraw(columns, np.argwhere(cases.codes < 0), parents, counts, rng)
        drawn += columns.codes[tuple(np.argwhere(cases.codes < 0)[0])]
    assert drawn / 4000 == pytest.approx(
        expected, abs=4 * np.sqrt(expected * (1 - expected) / 4000)
    )


def names(table):
    return [column.name for column in table.columns]


def test_chains_over_graphs_score_zeros_as_searches_do():
    table, known = survey(80), KNOWN["zeros"]
    counts = CompleteCounts(table, "bdeu:5", known.tables)
    book = family_cache(counts.columns, counts.prior, np.zeros((4, 4)))
    for parents in ([1, 0, 0, 0], [1, 1, 0, 0], [1, 0, 0, 1], [1, 1, 0, 1]):
        chosen = np.array(parents, dtype=bool)
        assert score_family(book, 2, chosen) == pytest.approx(counts(2, chosen)[2], abs=1e-9)
    cases = as_cases(table, "bdeu:5", known)
    assert np.array_equal(cases.filled(np.random.default_rng(0)).possible, counts.columns.possible)


TEST = {"child": "x2", "parents": ["x1"], "table": [[0.8, 0.2], [0.1, 0.9]]}


def knowledge(**known):
    return known


WRONG = {
    "a child twice": (knowledge(fixed=[TEST, TEST]), "x2.*twice"),
    "fixed and tied": (knowledge(fixed=[TEST], tied=[["x2", "x4"]]), "'x2'.*tied"),
    "fixed with zeros": (
        knowledge(fixed=[TEST], zeros=[{"child": "x2", "state": 0}]),
        "'x2'.*zeros",
    ),
    "a parent besides": (knowledge(fixed=[TEST], require=[("x3", "x2")]), "x3 → x2.*fixed"),
    "a forbidden parent": (knowledge(fixed=[TEST], forbid=[("x1", "x2")]), "x1 → x2.*forbidden"),
    "a tie with one variable": (knowledge(tied=[["x1"]]), "two variables"),
    "two groups": (knowledge(tied=[["x1", "x2"], ["x2", "x4"]]), "two groups"),
    "a table of no variable": (knowledge(fixed=[{**TEST, "child": "y"}]), "'y'"),
    "another shape": (knowledge(fixed=[{**TEST, "table": [0.5, 0.5]}]), "shape"),
    "no sum of one": (knowledge(fixed=[{**TEST, "table": [[0.8, 0.3], [0.1, 0.9]]}]), "1.1"),
    "no number": (
        knowledge(fixed=[{**TEST, "table": [["a", 0.3], [0.1, 0.9]]}]),
        "not a nested list",
    ),
    "a state left out": (knowledge(fixed=[{**TEST, "table": {"0": [0.5, 0.5]}}]), "x1 = 1"),
    "no such state": (knowledge(zeros=[{"child": "x3", "state": "9"}]), "'9'"),
    "nothing left": (knowledge(zeros=[{"child": "x1", "state": k} for k in (0, 1)]), "no state"),
    "shapes unlike": (
        knowledge(require=[("x3", "x2"), ("x1", "x4")], tied=[["x2", "x4"]]),
        "shapes",
    ),
    "no child": (knowledge(fixed=[{"table": [0.5, 0.5]}]), "'child'"),
}


@pytest.mark.parametrize(("known", "words"), WRONG.values(), ids=WRONG)
def test_errors_name_the_cause(known, words):
    with pytest.raises(LacunetError, match=words):
        lacunet.learn_structure(survey(), knowledge=Knowledge(**known))


def test_a_file_gives_the_same_knowledge(tmp_path):
    known = {"fixed": [TEST], "tied": [], "zeros": SKIPPED, "require": [["x1", "x4"]]}
    path = tmp_path / "known.json"
    path.write_text(json.dumps(known))
    assert read_knowledge(path) == Knowledge(require=[("x1", "x4")], fixed=[TEST], zeros=SKIPPED)
    path.write_text(json.dumps({"zeros": ["x1"]}))
    with pytest.raises(OptionError, match="list of objects"):
        read_knowledge(path)


def test_knowledge_in_fit_select_and_compare():
    table = survey(missing=0.1)
    data = pd.DataFrame(
        np.where(table.codes < 0, None, table.codes), columns=["x1", "x2", "x3", "x4"]
    )
    graph = lacunet.learn_structure(table, knowledge=KNOWN["zeros"]).model.network
    fit = lacunet.fit(table, network=graph, knowledge=KNOWN["zeros"])
    assert not fit.model.table("x3")[0, ..., 1:].any()
    compared = lacunet.compare(
        table, {"known": graph}, knowledge=KNOWN["zeros"], quick=True, starts=4
    )
    assert compared.candidates[0].fit.model.network == fit.model.network
    fixed = {"child": "x1", "parents": ["class"], "table": [[0.9, 0.1], [0.3, 0.7]]}
    classes = lacunet.fit(data, 2, knowledge=Knowledge(fixed=[fixed]), starts=4)
    assert np.array_equal(classes.model.table("x1"), fixed["table"])
    assert classes.model.network.dimension == 1 + 2 + 4 + 2
    with pytest.raises(LacunetError, match="shape"):  # a fixed table has as many classes as it has
        lacunet.select(data, [2, 3], knowledge=Knowledge(fixed=[fixed]), quick=True, starts=4)
    u, v = edges_of(graph)[0]
    with pytest.raises(OptionError, match=f"{v} → {u}, which is required"):
        lacunet.fit(table, network=graph, knowledge=Knowledge(require=[(v, u)]))
