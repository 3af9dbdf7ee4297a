"""DOT, read by Graphviz: every variable and every edge."""

import pytest
from format_networks import models, ordinary
from hypothesis import given

from examples import examples
from lacunet.errors import ModelError
from lacunet.model.formats import dot, read_network, write_network

pygraphviz = pytest.importorskip("pygraphviz")


def read_back(text):
    return pygraphviz.AGraph(string=text)


def test_names_edges_and_what_is_hidden():
    model = ordinary()
    graph, network = read_back(dot.write(model)), model.network
    names = [v.name for v in network.variables]
    assert sorted(graph.nodes()) == sorted(names)
    edges = {(names[p], names[i]) for i, pa in enumerate(network.parents) for p in pa}
    assert set(graph.edges()) == edges
    hidden = [n for n in graph.nodes() if "dashed" in (n.attr["style"] or "")]
    assert hidden == ["c"]
    assert "p(leaf | b_2, c, a)" in graph.get_node("leaf").attr["tooltip"]


@given(model=models())
@examples(40)
def test_any_name_is_kept_apart(model):
    graph = read_back(dot.write(model))
    assert graph.number_of_nodes() == len(model.network.variables)
    assert graph.number_of_edges() == sum(map(len, model.network.parents))


def test_it_is_written_only(tmp_path):
    write_network(ordinary(), tmp_path / "net.dot")
    assert (tmp_path / "net.dot").read_text().startswith("digraph lacunet {")
    with pytest.raises(ModelError, match=r"net\.dot: DOT is a picture .* Give the network as"):
        read_network(tmp_path / "net.dot")
