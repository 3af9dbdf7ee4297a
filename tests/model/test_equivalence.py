"""Classes of graphs with the same independences, held to those of all graphs of four variables."""

from collections import defaultdict

import numpy as np
import pytest

import lacunet
from all_graphs import all_graphs, independences
from lacunet.errors import ModelError
from lacunet.model.equivalence import find_compelled
from lacunet.model.network import Network, Variable


def network(edges, names="abcd"):
    variables = [Variable(name, (0, 1)) for name in names]
    parents = [[names.index(u) for u, w in edges if w == v] for v in names]
    return Network.build(variables, parents)


def test_compelled_edges_are_those_that_all_graphs_of_a_class_share():
    classes = defaultdict(list)
    for parents in all_graphs(4):
        classes[independences(parents)].append(parents.T)
    assert len(classes) == 185  # Gillispie & Perlman 2002
    for members in classes.values():
        shared = np.logical_and.reduce(members)
        for edge in members:
            np.testing.assert_array_equal(find_compelled(edge), shared)


def test_what_it_says():
    collider = lacunet.cpdag(network(["ac", "bc", "cd"]))
    assert collider.compelled == (("a", "c"), ("b", "c"), ("c", "d"))
    assert collider.reversible == ()
    chain = lacunet.cpdag(network(["ba", "bc"]))
    assert chain.reversible == (("a", "b"), ("b", "c"))
    assert str(chain) == "a — b\nb — c"


def test_distances_between_classes():
    collider, chain = network(["ac", "bc"]), network(["ac", "cb"])
    assert lacunet.structural_hamming_distance(chain, network(["ca", "bc"])) == 0  # the same class
    assert lacunet.structural_hamming_distance(collider, chain) == 2
    assert lacunet.structural_hamming_distance(collider, network(["ac", "bc", "ad"])) == 1
    assert lacunet.edge_f1(collider, collider) == 1.0
    assert lacunet.edge_f1(network([]), network([])) == 1.0
    assert lacunet.edge_f1(network(["ab"]), network(["ab", "cd"])) == pytest.approx(2 / 3)
    assert lacunet.edge_f1(collider, chain) == 0.0


def test_variables_are_matched_by_name():
    turned = network(["ac", "bc"], "dcba")
    assert lacunet.structural_hamming_distance(turned, network(["ac", "bc"])) == 0
    with pytest.raises(ModelError, match="'d' is a variable of only one of the two graphs"):
        lacunet.edge_f1(network(["ab"], "abc"), network(["ab"]))


def test_several_graphs_against_a_reference():
    true = network(["ac", "bc"])
    found = lacunet.graph_distances({"same": true, "chain": network(["ac", "cb"])}, true)
    assert found.hamming == {"same": 0, "chain": 2}
    assert found.f1 == {"same": 1.0, "chain": 0.0}
    assert str(found).startswith("Distance from the reference, which has 2 edges")
