"""Graphs as short texts: what they mean, the same fit as the network, and what people get wrong."""

import json

import numpy as np
import pytest

import lacunet
from lacunet import ModelError, Network, Variable
from lacunet.models.equivalence import read_sketch

FEW = {"starts": 2, "threads": 1}


@pytest.fixture(scope="module")
def frame():
    """Two classes, three answers, and B that also listens to A."""
    rng = np.random.default_rng(0)
    members = rng.integers(0, 2, 400)

    def answer(of=members, much=0.8):
        return np.where(rng.random(400) < much, of, 1 - of)

    a = answer()
    b = np.where(rng.random(400) < 0.6, a, answer())
    return {"A": a, "B": b, "C": answer(), "D": answer(), "id": np.arange(400)}


def test_the_text():
    sketch = read_sketch("class[3] -> A, B 'my mood'  # the items\nA → B -> C; class->C")
    assert sketch.names == ("class", "A", "B", "my mood", "C")
    assert dict(sketch.sizes) == {"class": 3}
    assert sketch.parents_of("C") == ["B", "class"]
    assert sketch.parents_of("B") == ["class", "A"]


WRONG = [
    ("class ->", "an arrow has no name on one of its sides. Write for example: class"),
    ("-> A", "an arrow has no name"),
    ("A -> A", "leads from 'A' to itself"),
    ("[3] -> A", r"\[3\] follows no name"),
    ("H[0] -> A", "'H' would have no state"),
    ("H[2] -> A; H[3] -> B", "'H' has 2 states in one place, 3 later"),
    ("A -> B]", "']' is not understood"),
    ("A -> 'B", "is not understood"),
]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_what_is_no_graph(text, message):
    with pytest.raises(ModelError, match=message):
        read_sketch(text)


def test_a_fit_is_that_of_the_network(frame):
    fitted = lacunet.fit(frame, network="class[2] -> A B C; A -> B", **FEW)
    variables = [Variable("class", (1, 2), hidden=True)]
    variables += [Variable(name, (0, 1)) for name in "ABC"]
    same = Network.build(variables, [(), (0,), (0, 1), (0,)])
    assert fitted.model.network == same
    expected = lacunet.fit({n: frame[n] for n in "ABC"}, network=same, **FEW)
    assert fitted.log_lik == expected.log_lik
    by_number = lacunet.fit(frame, 2, network="class -> A B C; A -> B", **FEW)
    assert by_number.log_lik == fitted.log_lik


def test_the_sizes_of_what_is_open_are_tried(frame):
    quick = {"quick": True, "scores": "bic", **FEW}
    selection = lacunet.select(frame, [1, 2], network="class -> A B C D; G[2] -> A B", **quick)
    assert [c.proposal.sizes for c in selection.candidates] == [{"class": 1}, {"class": 2}]
    assert selection.candidates[0].fit.model.network.hidden_sizes == {"class": 1, "G": 2}


def test_graphs_are_compared_by_their_texts(frame):
    graphs = ["class[2] -> A B C D", "class[2] -> A B C D; A -> B"]
    comparison = lacunet.compare(frame, graphs, quick=True, scores="csl", **FEW)
    assert [c.label for c in comparison.candidates] == graphs
    assert comparison.label == graphs[1]


def test_the_command_line(frame, tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from lacunet.cli.app import app

    monkeypatch.chdir(tmp_path)
    rows = zip(*frame.values(), strict=True)
    lines = [",".join(frame), *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "d.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "graph.txt").write_text("class -> A B C\nA -> B\n")

    def run(*words):
        return CliRunner().invoke(app, [*map(str, words)], catch_exceptions=False)

    quick = ("--starts", 2, "--json")
    plain = run("fit", "d.csv", "--network", "class[2] -> A B C; A -> B", *quick)
    assert plain.exit_code == 0, plain.stderr
    assert "not in the graph, so not used: 'D', 'id'." in plain.stderr
    filed = run("fit", "d.csv", "--network", "graph.txt", "--classes", 2, *quick)
    one, other = (json.loads(ran.stdout)["log_likelihood"] for ran in (plain, filed))
    assert one == other
    open_ = run("fit", "d.csv", "--network", "klass -> A B")
    assert open_.exit_code == 2
    assert "'klass' is not a column of the data, so it is hidden: how many states" in open_.stderr
    direct = run("fit", "d.csv", "--columns", "A,B,C", "--classes", 2, "--edge", "A:B", *quick)
    assert json.loads(direct.stdout)["dimension"] == json.loads(plain.stdout)["dimension"] == 9
    misspelt = run("fit", "d.csv", "--network", "class[2] -> A B a; A -> B", "--hidden", "X")
    assert "'X' is not a variable of the graph" in misspelt.stderr
    learned = run(
        "learn", "d.csv", "--exclude", "id", "--start", "A -> B", "--require", "A -> C", "--json"
    )
    assert learned.exit_code == 0, learned.stderr


def test_a_column_has_its_own_states(frame):
    with pytest.raises(ModelError, match=r"A\[3\]: column 'A' has 2 states"):
        lacunet.fit(frame, network="class[2] -> A[3] B", **FEW)
    with pytest.raises(lacunet.DataError, match="the data show no variable of the graph, 'x', 'y'"):
        lacunet.fit(frame, network="x[2] -> y", **FEW)


def test_direct_effects_of_a_latent_class_model(frame):
    """The same as the graph that says so; a selection still has classes."""
    items = {n: frame[n] for n in "ABCD"}
    fitted = lacunet.fit(items, 2, edges=["A:B"], **FEW)
    expected = lacunet.fit(items, network="class[2] -> A B C D; A -> B", **FEW)
    assert fitted.model.network == expected.model.network
    assert fitted.log_lik == expected.log_lik
    quick = {"quick": True, "scores": "csl", **FEW}
    chosen = lacunet.select(items, [1, 2], edges=[("A", "B")], **quick)
    assert str(chosen).startswith("At least 2 classes (")
    assert chosen.candidates[0].title == "1 class"
    alone = lacunet.select(items, [2], **quick)
    best = chosen.candidates[1].scores["csl"].value
    assert best > alone.candidates[0].scores["csl"].value + 5  # they do listen to each other


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        (["A"], "edge 'A' is not an edge. Give PARENT:CHILD, as in A:B"),
        (["A:X"], "'X' is not a column that is used"),
        (["A:A"], "give two columns, and each pair once"),
        (["A:B", "A:B"], "give two columns, and each pair once"),
        (["class:B"], "'class' is not a column that is used"),
    ],
)
def test_what_is_no_direct_effect(frame, edges, message):
    with pytest.raises(lacunet.OptionError, match=message):
        lacunet.fit({n: frame[n] for n in "ABCD"}, 2, edges=edges, **FEW)


def test_a_network_has_edges_of_its_own(frame):
    with pytest.raises(lacunet.OptionError, match="A network has edges of its own"):
        lacunet.fit(frame, network="class[2] -> A B", edges=["A:B"], **FEW)
    with pytest.raises(ModelError, match="cycle"):
        lacunet.fit({n: frame[n] for n in "ABCD"}, 2, edges=["A:B", "B:A"], **FEW)


def test_residuals_name_the_pair_that_needs_a_direct_effect():
    """Eight answers hold the classes where they are; two of them go together beyond that."""
    rng = np.random.default_rng(1)
    members = rng.integers(0, 2, 800)
    items = {n: np.where(rng.random(800) < 0.8, members, 1 - members) for n in "ABCDEFGH"}
    items["B"] = np.where(rng.random(800) < 0.4, items["A"], items["B"])
    statistics = lacunet.fit_statistics(items, lacunet.fit(items, 2, **FEW))
    assert {statistics.residuals[0].first, statistics.residuals[0].second} == {"A", "B"}
    assert "A and B are dependent within classes" in str(statistics)
    assert "edges=['A:B']" in str(statistics)
    direct = lacunet.fit_statistics(items, lacunet.fit(items, 2, edges=["A:B"], **FEW))
    assert "within classes" not in str(direct)
