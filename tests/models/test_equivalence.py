"""Classes of graphs with the same independences, compared with enumerations of all graphs."""

from collections import defaultdict

import numpy as np
import pytest

import lacunet
from all_graphs import all_graphs, independences
from lacunet.errors import ModelError, OptionError
from lacunet.models.equivalence import find_compelled
from lacunet.models.network import Network, Variable
from lacunet.structure.knowledge import Knowledge


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


@pytest.fixture(scope="module")
def classes_of_five():
    """All graphs of five variables, [parent, child], by skeleton and v-structures."""
    classes = defaultdict(list)
    for parents in all_graphs(5):
        edge = parents.T
        apart = ~(edge | edge.T) & ~np.eye(5, dtype=bool)
        collided = edge[:, None, :] & edge[None, :, :] & apart[:, :, None]  # u → w ← v
        classes[(edge | edge.T).tobytes() + collided.tobytes()].append(edge)
    return list(classes.values())


def random_knowledge(edge, rng):
    """What a graph keeps to, in one of several forms."""
    names = "abcde"
    present = [(names[u], names[v]) for u, v in np.argwhere(edge)]
    absent = [(u, v) for u in names for v in names if u != v and (u, v) not in present]
    order = sorted(range(5), key=lambda v: depth(edge, v))
    cut = sorted(rng.choice(6, 2))
    tiers = [[names[v] for v in part] for part in (order[: cut[0]], order[cut[0] : cut[1]])]
    some = [pair for pair in present if rng.random() < 0.3]
    not_these = [pair for pair in absent if rng.random() < 0.15]
    kind = rng.integers(4)
    if kind == 0:
        return Knowledge(require=some)
    if kind == 1:
        return Knowledge(forbid=not_these)
    if kind == 2:
        return Knowledge(tiers=[tier for tier in tiers if tier])
    return Knowledge(require=some, forbid=not_these, tiers=[tier for tier in tiers if tier])


def depth(edge, v):
    return 1 + max((depth(edge, u) for u in np.flatnonzero(edge[:, v])), default=0)


def keeps_to(edge, known):
    """Whether a graph keeps to what is known: said again, from the words of each field."""
    pairs = {("abcde"[u], "abcde"[v]) for u, v in np.argwhere(edge)}
    tier = {name: k for k, names in enumerate(known.tiers) for name in names}
    back = {(u, v) for u, v in pairs if u in tier and v in tier and tier[u] > tier[v]}
    return {*known.require} <= pairs and not pairs & {*known.forbid} and not back


@pytest.mark.slow
def test_an_edge_is_undirected_if_both_directions_keep_to_what_is_known(classes_of_five):
    assert len(classes_of_five) == 8782  # Gillispie & Perlman 2002
    rng = np.random.default_rng(5)
    by_knowledge = turned = 0
    for chosen in rng.choice(len(classes_of_five), 2500):
        members = classes_of_five[chosen]
        edge = members[rng.integers(len(members))]
        known = random_knowledge(edge, rng)
        allowed = [member for member in members if keeps_to(member, known)]
        shared = np.logical_and.reduce(allowed)
        pairs = [("abcde"[u], "abcde"[v]) for u, v in np.argwhere(edge)]
        pattern = lacunet.cpdag(network(pairs, "abcde"), known)
        assert {*pattern.compelled} == {("abcde"[u], "abcde"[v]) for u, v in np.argwhere(shared)}
        assert len(pattern.compelled) + len(pattern.reversible) == edge.sum()
        by_knowledge += int((shared & ~np.logical_and.reduce(members)).any())
        turned += bool(pattern.reversible)
    assert min(by_knowledge, turned) > 300  # there was something to orient, and to leave


def test_rule_4_of_meek():
    # a — k → l → b with k and b apart: b → a would need a → k and l → a or make a cycle.
    true = network(["kl", "lb", "ab", "ak", "al"], "abkl")
    pattern = lacunet.cpdag(true, Knowledge(require=[("k", "l"), ("l", "b")]))
    assert ("a", "b") in pattern.compelled
    assert {*pattern.reversible} == {("a", "k"), ("a", "l")}


def test_distances_count_no_direction_that_is_known():
    tiers, turned = Knowledge(tiers=["a", "b"]), network(["ab"], "ab")
    assert lacunet.structural_hamming_distance(turned, turned, tiers) == 0
    assert lacunet.graph_distances({"x": turned}, turned, tiers).reference.reversible == ()
    assert lacunet.edge_f1(turned, turned, tiers) == 1.0
    with pytest.raises(OptionError, match="the network has the edge b → a, which is against"):
        lacunet.cpdag(network(["ba"], "ab"), tiers)


def test_its_text():
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
    result = lacunet.graph_distances({"same": true, "chain": network(["ac", "cb"])}, true)
    assert result.hamming == {"same": 0, "chain": 2}
    assert result.f1 == {"same": 1.0, "chain": 0.0}
    assert str(result).startswith("Distance from the reference, which has 2 edges")
