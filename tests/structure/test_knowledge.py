"""What is known of a graph: contradictions are named, and every search keeps to the rest."""

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lacunet import Knowledge, edge_certainty, learn_structure
from lacunet.data.table import Table
from lacunet.errors import OptionError
from lacunet.structure.families import CompleteCounts, FamilyScores
from lacunet.structure.knowledge import parse_edges, parse_tiers, read_knowledge
from lacunet.structure.searching import GraphSearch, search, search_exactly

NAMES = [f"x{i}" for i in range(1, 6)]
EDGES = st.lists(
    st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)).filter(lambda e: e[0] != e[1]),
    max_size=5,
)


@given(
    EDGES,
    EDGES,
    st.permutations(NAMES),
    st.integers(0, 5),
    st.sampled_from([None, 2, 3]),
    st.integers(0, 1000),
)
def test_every_search_keeps_to_what_is_known(require, forbid, order, cut, most, seed):
    tiers = [order[:cut], order[cut:]] if 0 < cut < 5 else []
    try:
        known = Knowledge(require, forbid, tiers, (), most)
    except OptionError:
        return
    rng = np.random.default_rng(seed)
    base = rng.integers(0, 2, (60, 1))
    table = Table.from_codes(np.where(rng.random((60, 5)) < 0.8, base, 1 - base))
    start, limits = known.first_graph(NAMES), known.limits(NAMES)
    scores = FamilyScores(CompleteCounts(table, "bdeu:10"))
    for parents in (
        search_exactly(scores.statistics, limits).parents,
        search([start], scores, limits, GraphSearch(restarts=0, seed=seed)).parents,
    ):
        edges = {(NAMES[u], NAMES[v]) for v, u in np.argwhere(parents)}
        assert edges >= set(require)
        assert not edges & set(forbid)
        if tiers:
            assert not [(u, v) for u, v in edges if u in tiers[1] and v in tiers[0]]
        if most is not None:
            assert parents.sum(axis=1).max() <= most


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"require": [("a", "b")], "forbid": [("a", "b")]}, "require: the edge a → b is also for"),
        ({"require": [("a", "b"), ("b", "c"), ("c", "a")]}, r"form a cycle: .*Take one of them"),
        ({"require": [("c", "a")], "tiers": [["a"], ["c"]]}, "against the tiers: 'c' is in tier 2"),
        ({"tiers": [["a", "b"], ["b"]]}, "'b' occurs twice. Put it in one tier"),
        ({"require": [("a", "a")]}, "'a' cannot be its own parent"),
        ({"forbid": [("a", "b", "c")]}, r"forbid: \['a', 'b', 'c'\] is not an edge"),
        ({"start": [("a", "b")], "forbid": [("a", "b")]}, "start: the edge a → b is also forbid"),
        ({"start": [("a", "b")], "require": [("b", "a")]}, "start from and required ones form a c"),
        ({"require": [("a", "c"), ("b", "c")], "max_parents": 1}, "'c' is given the parents a, b"),
        ({"max_parents": -1}, "max_parents -1 is not allowed"),
    ],
)
def test_contradictions_are_named(given, text):
    with pytest.raises(OptionError, match=text):
        Knowledge(**given)


def test_names_are_those_of_columns():
    table = Table.from_codes([[0, 1, 0], [1, 0, 1]])
    with pytest.raises(
        OptionError, match=r"name 'x22', which is not a column. Did you mean 'x2'\?"
    ):
        learn_structure(table, knowledge=Knowledge(require=[("x1", "x22")]))
    with pytest.raises(
        OptionError, match=r"name 'smoking', which is not a column. There are x1, x2, x3."
    ):
        learn_structure(table, knowledge=Knowledge(tiers=[["smoking"]]))


def test_a_search_starts_at_the_given_model():
    """Two rows: any edge costs, none is worth a climb through another; without moves it stays."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, 300)
    table = Table.from_codes(np.column_stack([x, x, rng.integers(0, 2, 300)]))
    known = Knowledge(start=[("x2", "x1")])
    learned = learn_structure(table, knowledge=known, sweeps=0, restarts=0)
    assert learned.network.parents == ((1,), (), ())
    assert learned.steps == 0


def test_files_and_options(tmp_path):
    path = tmp_path / "known.json"
    path.write_text(
        json.dumps({"require": [["x1", "x2"]], "tiers": [["x1"], ["x2", "x3"]], "max_parents": 1})
    )
    known = read_knowledge(path)
    assert known == Knowledge([("x1", "x2")], (), [["x1"], ["x2", "x3"]], (), 1)
    more = known.and_also(Knowledge(forbid=parse_edges("--forbid", ["x2>x3"]), max_parents=2))
    assert (more.require, more.forbid, more.max_parents) == ((("x1", "x2"),), (("x2", "x3"),), 2)
    assert more.tiers == known.tiers
    with pytest.raises(OptionError, match="against the tiers"):
        known.and_also(Knowledge(require=[("x3", "x1")]))
    assert parse_tiers("a, b;c") == [["a", "b"], ["c"]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "give an object with some of require"),
        ('{"required": []}', r"'required' is not known. Did you mean 'require'\?"),
        ('{"require": ["a>b"]}', "'require' must be a list of lists of names"),
        ('{"max_parents": "two"}', "max_parents 'two' is not a whole number"),
        ('{"require": [["a", "a"]]}', r"known.json: require: 'a' cannot be its own parent"),
    ],
)
def test_mistakes_in_a_file_are_named(tmp_path, text, message):
    path = tmp_path / "known.json"
    path.write_text(text)
    with pytest.raises(OptionError, match=message):
        read_knowledge(path)


def test_mistakes_in_options_are_named():
    with pytest.raises(OptionError, match=r"require='a-b' is not an edge. Give PARENT>CHILD"):
        parse_edges("--require", ["a-b"])
    with pytest.raises(OptionError, match="tiers='a;;b' is not understood"):
        parse_tiers("a;;b")
    with pytest.raises(OptionError, match=r"nowhere.json cannot be read: No such file"):
        read_knowledge("nowhere.json")


def test_what_is_known_orients_edges_in_text_json_and_resamples():
    rng = np.random.default_rng(1)
    first = rng.integers(0, 2, 1500)
    second = np.where(rng.random(1500) < 0.8, first, 1 - first)
    third = np.where(rng.random(1500) < 0.8, second, 1 - second)
    table = Table.from_codes(np.column_stack([first, second, third]))  # x1 → x2 → x3
    free = learn_structure(table)
    assert free.equivalence_class.reversible == (("x1", "x2"), ("x2", "x3"))
    for known in (
        Knowledge(require=[("x1", "x2")]),
        Knowledge(tiers=[["x1"], ["x2", "x3"]]),
        Knowledge(forbid=[("x2", "x1")]),
    ):
        learned = learn_structure(table, knowledge=known)
        assert learned.equivalence_class.compelled == (("x1", "x2"), ("x2", "x3"))
        assert "—, " not in str(learned)
        assert "as in every graph with the same independences under the" in str(learned)
        assert learned.to_dict()["reversible"] == ()
        assert learned.tidy()["compelled"] == [True, True]
        sure = edge_certainty(table, knowledge=known, resamples=4)
        assert sure.arrows[1, 0] == sure.arrows[2, 1] == 1.0


def test_numbers_below_a_required_edge():
    rng = np.random.default_rng(1)
    sort = rng.integers(0, 2, 400)
    kind = np.where(rng.random(400) < 0.8, sort, 1 - sort)
    height = rng.normal(5.0 * sort, 1.0)
    table = pl.DataFrame({"sort": sort, "kind": kind, "height": height})
    learned = learn_structure(
        table, kinds="height=gaussian", knowledge=Knowledge(tiers=[["kind"], ["sort"]])
    )
    assert {*learned.equivalence_class.compelled} >= {("kind", "sort"), ("sort", "height")}
