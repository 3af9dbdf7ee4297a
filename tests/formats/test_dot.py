"""DOT, read by pydot: every variable and every edge."""

import re

import pytest
from format_networks import models, ordinary
from hypothesis import given

from examples import examples
from lacunet.errors import ModelError
from lacunet.models.formats import interop, read_network, write_network

# pydot calls pyparsing by names of old.
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def plain(quoted):
    """A name, as Graphviz reads it between quotes."""
    assert quoted[0] == quoted[-1] == '"'
    return re.sub(r"\\(.)", r"\1", quoted[1:-1], flags=re.DOTALL)


def read_back(text):
    pydot = pytest.importorskip("pydot")
    (graph,) = pydot.graph_from_dot_data(text)
    nodes = {plain(n.get_name()): n for n in graph.get_nodes() if n.get_name() != "node"}
    edges = [(plain(e.get_source()), plain(e.get_destination())) for e in graph.get_edges()]
    return nodes, edges


def test_names_edges_and_what_is_hidden():
    model = ordinary()
    (nodes, result), network = read_back(interop.write(model)), model.network
    names = [v.name for v in network.variables]
    assert sorted(nodes) == sorted(names)
    edges = [(names[p], names[i]) for i, pa in enumerate(network.parents) for p in pa]
    assert result == edges
    hidden = [n for n, node in nodes.items() if "dashed" in (node.get("style") or "")]
    assert hidden == ["c"]
    assert "p(leaf | b_2, c, a)" in nodes["leaf"].get("tooltip")


@given(model=models())
@examples(40)
def test_any_name_is_kept_apart(model):
    nodes, edges = read_back(interop.write(model))
    assert len(nodes) == len(model.network.variables)
    assert len(edges) == sum(map(len, model.network.parents))


def test_it_is_written_only(tmp_path):
    write_network(ordinary(), tmp_path / "net.dot")
    assert (tmp_path / "net.dot").read_text().startswith("digraph lacunet {")
    with pytest.raises(ModelError, match=r"net\.dot: DOT is a picture .* Give the network as"):
        read_network(tmp_path / "net.dot")
