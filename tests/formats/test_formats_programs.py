"""Files and objects of pgmpy, pyAgrum and networkx: theirs read by us, ours by them."""

import gzip
import re
from pathlib import Path

import networkx as nx
import numpy as np
import pytest
from format_networks import assert_alike, assert_same, models, ordinary, same_states
from hypothesis import given

import lacunet.optional
from examples import examples
from lacunet.errors import ModelError
from lacunet.models.formats import bif, read_network, write_network
from lacunet.models.formats.interop import (
    from_networkx,
    from_pgmpy,
    from_pyagrum,
    to_networkx,
    to_pgmpy,
    to_pyagrum,
)
from lacunet.models.network import Model, Network, Variable
from lacunet.models.surgery import sample_codes
from peers import Peer, needs

gum, pgmpy, files = Peer("pyagrum"), Peer("pgmpy"), Peer("pgmpy.readwrite")
models_of_pgmpy, tables_of_pgmpy = Peer("pgmpy.models"), Peer("pgmpy.factors.discrete")

PGMPY = {".bif": "BIF", ".xmlbif": "XMLBIF", ".xdsl": "XDSL"}
PYAGRUM_READS = {".bif": 1e-7, ".bifxml": 1e-15}  # its BIF reader holds numbers as float32
PYAGRUM_WRITES = {".bif": 1e-12, ".bifxml": 2e-6, ".xdsl": 2e-6}  # six digits, then renormalised


def alarm():
    folder = Path(pgmpy.__file__).parent / "utils" / "example_models"
    with gzip.open(folder / "alarm.bif.gz", "rt", encoding="utf-8") as file:
        return file.read()


@needs("pgmpy")
@pytest.mark.slow
@pytest.mark.parametrize("ending", PGMPY)
def test_pgmpy_reads_our_files(ending, tmp_path):
    write_network(ordinary(), tmp_path / f"net{ending}")
    theirs = getattr(files, f"{PGMPY[ending]}Reader")(str(tmp_path / f"net{ending}")).get_model()
    assert theirs.check_model()
    assert_alike(from_pgmpy(theirs), ordinary(), 1e-15)


@needs("pgmpy")
@pytest.mark.parametrize("ending", PGMPY)
def test_we_read_the_files_of_pgmpy(ending, tmp_path):
    getattr(files, f"{PGMPY[ending]}Writer")(to_pgmpy(words_only())).write(
        str(tmp_path / f"net{ending}")
    )
    back = read_network(tmp_path / f"net{ending}")
    assert_alike(back, words_only(), 1e-15)
    hidden = [back.network.variables[i].name for i in back.network.hidden]
    assert hidden == ([] if ending == ".xdsl" else ["c"])  # its XDSL does not say


def words_only():
    """Without bools: pgmpy writes them as 'True'."""
    model = ordinary()
    variables = [Variable(v.name, v.labels, hidden=v.hidden) for v in model.network.variables]
    network = Network.build(variables, model.network.parents)
    tables = [model.network.layout.table(model.theta, i) for i in range(len(variables))]
    return Model(network, network.layout.flat(tables), model.alpha)


@needs("pgmpy")
def test_pgmpy_writes_names_with_spaces_bare_and_we_read_them():
    variables = [Variable("my var", ("state one", "b c d")), Variable("k", ("[0;1[", "[1;2]"))]
    network = Network.build(variables, [(1,), ()])
    model = Model(network, np.array([0.1, 0.9, 0.2, 0.8, 0.3, 0.7]), np.ones(6))
    text = str(files.BIFWriter(to_pgmpy(model)))
    assert "( [0;1[ ) 0.1, 0.9;" in text
    assert_alike(bif.read(text), model, 1e-15)


@needs("pyagrum")
@pytest.mark.parametrize("ending", PYAGRUM_READS)
def test_pyagrum_reads_our_files(ending, tmp_path):
    write_network(ordinary(), tmp_path / f"net{ending}")
    theirs = gum.loadBN(str(tmp_path / f"net{ending}"))
    got, want = {v.name: v for v in from_pyagrum(theirs).network.variables}, ordinary()
    assert {k: v.labels for k, v in got.items()} == {
        v.name: v.labels for v in want.network.variables
    }
    for i, v in enumerate(want.network.variables):
        cpt = theirs.cpt(v.name)
        table = want.network.layout.table(want.theta, i)
        for place in np.ndindex(table.shape[:-1]):
            names = [want.network.variables[p] for p in want.network.parents[i]]
            at = {p.name: p.labels[k] for p, k in zip(names, place, strict=True)}
            values = cpt[at] if at else cpt.toarray()
            np.testing.assert_allclose(values, table[place], atol=PYAGRUM_READS[ending], rtol=0)


@needs("pyagrum")
def test_pyagrum_reads_our_xdsl_where_each_variable_has_one_parent(tmp_path):
    network = Network.build([Variable("a", ("x", "y")), Variable("b", ("u", "v"))], [(), (0,)])
    model = Model(network, np.array([0.3, 0.7, 0.1, 0.9, 0.25, 0.75]), np.ones(6))
    write_network(model, tmp_path / "net.xdsl")
    assert_alike(from_pyagrum(gum.loadBN(str(tmp_path / "net.xdsl"))), model, 1e-15)


@needs("pyagrum")
@pytest.mark.parametrize("ending", PYAGRUM_WRITES)
def test_we_read_the_files_of_pyagrum(ending, tmp_path):
    gum.saveBN(to_pyagrum(ordinary()), str(tmp_path / f"net{ending}"))
    back = read_network(tmp_path / f"net{ending}")
    assert_alike(back, ordinary(), PYAGRUM_WRITES[ending])
    np.testing.assert_allclose(back.network.layout.sum_k(back.theta), 1.0, atol=1e-15)


@pytest.mark.slow
def test_a_table_of_several_parents_is_read_as_pgmpy_and_pyagrum_read_it(tmp_path):
    text = """network n {
}
variable a {
  type discrete [ 2 ] { no, yes };
}
variable b {
  type discrete [ 3 ] { x, y, z };
}
variable c {
  type discrete [ 2 ] { f, t };
}
probability ( a ) {
  table 0.2, 0.8;
}
probability ( b ) {
  table 0.1, 0.3, 0.6;
}
probability ( c | a, b ) {
  table 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.99, 0.98, 0.97, 0.96, 0.95, 0.94;
}
"""
    (tmp_path / "net.bif").write_text(text)
    ours = bif.read(text)
    assert ours.table("c")[1, 0].tolist() == [0.04, 0.96]
    assert_alike(from_pgmpy(files.BIFReader(string=text).get_model()), ours, 1e-15)
    assert_alike(from_pyagrum(gum.loadBN(str(tmp_path / "net.bif"))), ours, 1e-7)  # float32


@needs("pgmpy")
@pytest.mark.slow
def test_alarm():
    ours = bif.read(alarm())
    assert (len(ours.network.variables), ours.network.dimension) == (37, 509)
    assert_same(bif.read(bif.write(ours)), ours)
    assert_alike(from_pgmpy(files.BIFReader(string=alarm()).get_model()), ours, 1e-15)


@needs("pgmpy")
@needs("pyagrum")
def test_alarm_has_the_likelihood_that_pyagrum_computes():
    ours = bif.read(alarm())
    network = ours.network
    theirs = to_pyagrum(ours)
    codes = sample_codes(ours, 20, np.random.default_rng(0))
    for row in codes:
        log_p = sum(
            np.log(network.layout.table(ours.theta, i)[(*row[list(network.parents[i])], row[i])])
            for i in range(len(row))
        )
        instance = theirs.completeInstantiation()
        for v, k in zip(network.variables, row, strict=True):
            instance.chgVal(v.name, int(k))
        assert log_p == pytest.approx(theirs.log2JointProbability(instance) * np.log(2), abs=1e-9)


@given(models())
@examples(40)
def test_networkx_holds_everything(model):
    rng = np.random.default_rng(0)
    model = Model(model.network, model.theta, rng.exponential(size=model.theta.size))
    back = from_networkx(to_networkx(model))
    assert_same(back, model)
    np.testing.assert_array_equal(back.alpha, model.alpha)


@needs("pgmpy")
@given(models())
@examples(40)
def test_pgmpy_objects_hold_all_but_the_prior(model):
    assert_same(from_pgmpy(to_pgmpy(model)), model)


@needs("pyagrum")
@given(models())
@examples(40)
def test_pyagrum_objects_hold_all_but_the_prior(model):
    assert_same(from_pyagrum(to_pyagrum(model)), model)


@needs("pgmpy")
@needs("pyagrum")
def test_ordinary_objects():
    assert_same(from_pyagrum(to_pyagrum(ordinary())), ordinary())
    assert_same(from_pgmpy(to_pgmpy(ordinary())), ordinary())
    assert to_pgmpy(ordinary()).latents == {"c"}
    assert from_pgmpy(to_pgmpy(ordinary()), alpha=2.0).alpha.tolist() == [2.0] * 96
    assert from_pyagrum(to_pyagrum(ordinary()), alpha=2.0).alpha[0] == 2.0
    graph = to_networkx(ordinary())
    assert list(graph.predecessors("leaf")) == list(graph.nodes["leaf"]["parents"])
    assert graph.nodes["leaf"]["table"].shape == (3, 4, 2, 3)


@needs("pyagrum")
def test_other_kinds_of_pyagrum_variables_become_typed_states():
    other = gum.BayesNet()
    other.add(gum.RangeVariable("r", "", 1, 3))
    other.add(gum.NumericalDiscreteVariable("q", "", [0.5, 2.5]))
    other.add(gum.DiscretizedVariable("d", "", [0, 1.5, 3]))
    other.generateCPTs()
    states = {v.name: v.states for v in from_pyagrum(other).network.variables}
    assert states == {"r": (1, 2, 3), "q": (0.5, 2.5), "d": ("[0;1.5[", "[1.5;3]")}


@needs("pgmpy")
def test_a_cpd_may_order_the_states_of_its_parents_anew():
    other = models_of_pgmpy.DiscreteBayesianNetwork([("a", "b")])
    other.add_cpds(
        tables_of_pgmpy.TabularCPD("a", 2, [[0.2], [0.8]], state_names={"a": ["no", "yes"]}),
        tables_of_pgmpy.TabularCPD(
            "b", 2, [[0.1, 0.3], [0.9, 0.7]], ["a"], [2],
            state_names={"b": ["u", "v"], "a": ["yes", "no"]},
        ),
    )  # fmt: skip
    assert from_pgmpy(other).table("b").tolist() == [[0.3, 0.7], [0.1, 0.9]]


def test_a_plain_digraph_with_states_and_tables_is_enough():
    graph = nx.DiGraph([("a", "b")])
    nx.set_node_attributes(graph, {"a": (0, 1), "b": ("x", "y")}, "states")
    nx.set_node_attributes(graph, {"a": [0.5, 0.5], "b": [[0.1, 0.9], [1, 0]]}, "table")
    model = from_networkx(graph, alpha=3.0)
    assert model.table("b").tolist() == [[0.1, 0.9], [1.0, 0.0]]
    assert set(model.alpha) == {3.0}
    assert not model.network.hidden
    assert same_states(from_networkx(to_networkx(model)), model)


def changed(node, **attributes):
    graph = to_networkx(ordinary())
    graph.nodes[node].update(attributes)
    return graph


def cyclic():
    graph = changed("a", parents=("leaf",))
    graph.add_edge("leaf", "a")
    return graph


def unnamed():
    graph = to_networkx(ordinary())
    graph.add_node(3)
    return graph


def without(key):
    graph = to_networkx(ordinary())
    del graph.nodes["a"][key]
    return graph


GRAPHS = [
    (nx.Graph, r"is not a networkx\.DiGraph\. Give one"),
    (lambda: 5, r"5 is not a networkx\.DiGraph"),
    (nx.DiGraph, "a network needs at least one variable"),
    (lambda: without("table"), "node 'a' has no attribute 'table'. Every node needs one"),
    (lambda: without("states"), "node 'a' has no attribute 'states'"),
    (unnamed, "node 3: names are texts. Relabel the nodes first"),
    (cyclic, "the parents form a cycle: .*Remove one of these edges"),
    (lambda: changed("a", parents=("d",)), r"names \['d'\], but its edges come from \[\]\. Make"),
    (lambda: changed("a", table=[0.5, 0.6]), "node 'a': its table sums to 1.1. Each distribution"),
    (lambda: changed("a", table=[0.5]), r"its table has shape \(1,\), but .* require \(2,\)"),
    (lambda: changed("a", table="x"), r"its table is not an array of numbers of shape \(2,\)"),
    (lambda: changed("a", table=[-0.5, 1.5]), "its table is negative at 'no'"),
    (lambda: changed("a", alpha=0), "node 'a': every alpha must be a number above 0"),
    (lambda: changed("a", alpha=[1, 1, 1]), r"its alpha has shape \(3,\)"),
    (lambda: changed("a", states=("x", "x")), "variable 'a' has a state twice"),
]


@pytest.mark.parametrize(("make", "text"), GRAPHS)
def test_graphs_that_are_no_models(make, text):
    with pytest.raises(ModelError, match=text):
        from_networkx(make())


@needs("pgmpy")
def test_pgmpy_objects_that_are_no_models():
    with pytest.raises(ModelError, match="5 is not a pgmpy DiscreteBayesianNetwork"):
        from_pgmpy(5)
    other = models_of_pgmpy.DiscreteBayesianNetwork([("a", "b")])
    other.add_cpds(tables_of_pgmpy.TabularCPD("a", 2, [[0.2], [0.8]]))
    with pytest.raises(ModelError, match=r"node 'b' has no TabularCPD\. Add one with add_cpds"):
        from_pgmpy(other)
    other.add_cpds(tables_of_pgmpy.TabularCPD("b", 2, [[0.2], [0.8]]))
    with pytest.raises(ModelError, match=r"has the parents \[\], but its edges come from \['a'\]"):
        from_pgmpy(other)
    other.remove_cpds("b")
    names = {"b": [0, 1], "a": ["no", "yes"]}
    other.add_cpds(
        tables_of_pgmpy.TabularCPD("b", 2, [[0.2, 0.5], [0.8, 0.5]], ["a"], [2], state_names=names)
    )
    with pytest.raises(ModelError, match=r"gives 'a' the states \['no', 'yes'\], but they are"):
        from_pgmpy(other)
    number = models_of_pgmpy.DiscreteBayesianNetwork()
    number.add_node(3)
    with pytest.raises(ModelError, match="node 3: names are texts"):
        from_pgmpy(number)


@needs("pyagrum")
def test_pyagrum_objects_that_are_no_models():
    with pytest.raises(ModelError, match=r"5 is not a pyagrum\.BayesNet"):
        from_pyagrum(5)
    other = gum.BayesNet()
    other.add(gum.LabelizedVariable("a", "", ["x", "y"]))
    with pytest.raises(ModelError, match=r"node 'a': its table sums to 0\. Each distribution"):
        from_pyagrum(other)


@pytest.mark.parametrize(
    ("door", "package"),
    [(to_networkx, "networkx"), (to_pgmpy, "pgmpy"), (to_pyagrum, "pyagrum")],
)
def test_a_missing_package_is_named_with_its_extra(door, package, monkeypatch):
    def missing(module):
        raise ModuleNotFoundError(f"No module named '{package}'", name=package)

    monkeypatch.setattr(lacunet.optional, "import_module", missing)
    text = rf"{package} is not installed\. Install it with: pip install 'lacunet\[{package}\]'\."
    with pytest.raises(ModelError, match=text):
        door(ordinary())


@pytest.mark.parametrize(
    "error",
    [
        ModuleNotFoundError("No module named 'inner'", name="inner"),
        ImportError("libgomp.so.1: cannot open shared object file"),
        OSError("libgomp.so.1: cannot open shared object file"),
    ],
)
def test_a_broken_package_is_not_called_missing(error, monkeypatch):
    def broken(module):
        raise error

    monkeypatch.setattr(lacunet.optional, "import_module", broken)
    text = f"networkx is installed but cannot be loaded: {error}. Install the library"
    with pytest.raises(ModelError, match=re.escape(text)):
        to_networkx(ordinary())
