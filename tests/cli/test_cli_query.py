"""`lacunet query`, as it is typed."""

import csv
import io

import numpy as np
import pytest

import lacunet as package
from problems import build


@pytest.fixture
def net(tmp_path):
    """Smoking makes bronchitis and cancer likelier, each of which makes breathing hard."""
    network = build("s>l s>b l>d b>d", dict.fromkeys("slbd", 2))
    words = [package.Variable(v.name, ("yes", "no")) for v in network.variables]
    network = package.Network.build(words, network.parents)
    tables = [
        [0.5, 0.5],
        [[0.1, 0.9], [0.01, 0.99]],
        [[0.6, 0.4], [0.3, 0.7]],
        [[[0.9, 0.1], [0.7, 0.3]], [[0.8, 0.2], [0.1, 0.9]]],
    ]
    theta = network.layout.flat([np.array(t) for t in tables])
    path = tmp_path / "net.bif"
    package.write_network(package.Model(network, theta, np.ones(len(theta))), path)
    return path


def test_a_table_in_every_format(invoke, net):
    ask = ("query", net, "--of", "l,b", "--given", "d=yes")
    expected = package.query(net, ["l", "b"], {"d": "yes"})
    text = invoke(*ask)
    assert text.code == 0
    assert text.out.startswith("p(l, b | d = yes)\nl    b        p\nyes  yes  0.066\n")
    assert text.out.endswith("p(what is given) = 0.432\n")
    rows = list(csv.reader(io.StringIO(invoke(*ask, "--format", "csv").out)))
    assert rows[0] == ["l", "b", "p"]
    np.testing.assert_allclose([float(row[2]) for row in rows[1:]], expected.reshape(-1))
    assert "| l | b | p |" in invoke(*ask, "--format", "markdown").out
    document = invoke(*ask, "--json").json
    assert document["of"] == ["l", "b"]
    assert document["given"] == {"d": "yes"}
    assert document["states"] == {"l": ["yes", "no"], "b": ["yes", "no"]}
    np.testing.assert_allclose(document["probabilities"], expected)


def test_what_is_heard_and_what_is_set(invoke, net):
    ran = invoke("query", net, "--of", "l", "--soft", "d=yes:0.7,no:0.3", "--do", "s=no", "--json")
    expected = package.query(net, "l", {"d": [0.7, 0.3]}, do={"s": "no"})
    np.testing.assert_allclose(ran.json["probabilities"], expected)
    assert ran.json["soft"] == {"d": {"yes": 0.7, "no": 0.3}}
    assert ran.json["do"] == {"s": "no"}
    text = invoke("query", net, "--of", "l", "--soft", "d=yes:0.7,no:0.3", "--do", "s=no").out
    assert text.startswith("p(l | d ~ yes 0.7 : no 0.3, do(s = no))\n")


def test_the_most_probable_states(invoke, net):
    every = invoke("query", net, "--most-probable", "--given", "d=yes", "--json").json
    assert every["most_probable"] == {"s": "yes", "l": "no", "b": "yes"}
    joint = package.query(net, ["s", "l", "b"], {"d": "yes"})
    assert every["probability"] == pytest.approx(joint.max())
    some = invoke("query", net, "--most-probable", "--of", "s", "--given", "d=yes")
    assert some.out.startswith("Most probable together | d = yes\nvariable         state\ns ")
    assert f"p(all of these)  {joint.sum(axis=(1, 2)).max():.3g}\n" in some.out


def test_what_the_graph_separates(invoke, net):
    ask = ("query", net, "--separated", "l,b,s")
    document = invoke(*ask, "--json").json
    assert [pair["d_separated"] for pair in document["pairs"]] == [False, False, False]
    assert invoke(*ask, "--given", "d").out.startswith("d-separated given d\n")
    (pair,) = invoke("query", net, "--separated", "l,b", "--given", "s=yes", "--json").json["pairs"]
    assert pair == {"variables": ["l", "b"], "d_separated": True}


MISTAKES = [
    ((), "no query is given. Give --of NAME, --most-probable, or --separated NAME,NAME."),
    (("--of", ""), "no query is given."),
    (("--of", "ll"), "'ll' is not a variable of the network. Did you mean 'l'?"),
    (("--of", "l", "--given", "d=Yes"), "'d': 'Yes' is not one of its states. Did you mean 'yes'"),
    (("--of", "l", "--given", "d"), "--given 'd' is not understood. Give NAME=STATE as in C=yes."),
    (("--of", "l", "--given", "d=yes", "--given", "d=no"), "--given names 'd' twice."),
    (("--of", "l", "--given", "l=yes"), "'l' is both a target and given."),
    (("--of", "l", "--do", "l=yes"), "'l' is both a target and set by do."),
    (("--of", "l", "--do", "b=yes", "--given", "b=yes"), "'b' is both given and set by do."),
    (("--of", "l", "--soft", "d=yes"), "--soft 'd=yes' is not understood. Give NAME=STATE:WEIGHT"),
    (("--of", "l", "--soft", "d=yes:0"), "'d': likelihoods [0.0, 0.0] are not allowed."),
    (("--of", "l", "--soft", "d=yes:1", "--given", "d=no"), "'d' is in both --given and --soft."),
    (("--of", "l,l"), "name one or more different variables as targets."),
    (("--separated", "l"), "name two or more variables, to be separated from each other."),
    (("--separated", "l,b", "--of", "d"), "--separated concerns only the graph."),
    (("--separated", "l,b", "--given", "l"), "'l' occurs twice."),
]


@pytest.mark.parametrize(("options", "text"), MISTAKES)
def test_mistakes(invoke, net, options, text):
    ran = invoke("query", net, *options)
    assert ran.code == 2
    assert ran.out == ""
    assert f"error: {text}" in ran.err


def test_evidence_that_cannot_be(invoke, net, tmp_path):
    model = package.read_network(net)
    theta = model.theta.copy()
    model.network.layout.table(theta, 0)[:] = [0, 1]
    package.write_network(package.Model(model.network, theta, model.alpha), tmp_path / "never.bif")
    ran = invoke("query", "never.bif", "--of", "l", "--given", "s=yes")
    assert ran.code == 2
    assert "the evidence is impossible: s = yes has probability 0 under this model." in ran.err
