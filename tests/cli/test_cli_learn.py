"""`lacunet learn` and `lacunet paper`, as a user meets them."""

import numpy as np
import pytest

from lacunet import api, dataset_path, read_network
from lacunet.paper import reproduce as module
from lacunet.paper.experiments import Design

TINY = Design(
    figures={1: ((3, 2, 30),) * 4},
    states={2: range(1, 3)},
    timed=(3, 2, 30),
    reality=((3, 2, 30),),
    reality_states=range(1, 3),
    epsilon_panels=(),
    epsilons=(0.01,),
)


@pytest.mark.slow
def test_learn_in_a_process(lacunet, carcinoma, tmp_path):
    size = ("--alpha", "bdeu:2")
    ran = lacunet("learn", carcinoma, "--weights", "count", *size, "--save", "net.bif", "--json")
    assert ran.code == 0, ran.err
    document = ran.json
    assert document["log_evidence"] == pytest.approx(sum(document["families"].values()))
    assert document["data"]["weight"] == 118
    model = read_network(tmp_path / "net.bif")
    names = [v.name for v in model.network.variables]
    assert {
        name: [names[p] for p in parents]
        for name, parents in zip(names, model.network.parents, strict=True)
    } == document["parents"]
    assert "written: net.bif" in ran.err
    # What was learned can be scored: nothing is hidden, so BD is there and is the same number.
    scored = lacunet(
        "score", carcinoma, "--model", "net.bif", "--weights", "count", "--json", "--scores", "bd"
    )
    assert scored.code == 0, scored.err


def test_learn_prints_a_table(invoke, carcinoma):
    ran = invoke("learn", carcinoma, "--weights", "count", "--max-parents", 1, "--sweeps", 0)
    assert ran.code == 0
    assert ran.out.startswith("log p(D|S) = ")
    assert "families scored" in ran.out


def test_learn_reports_bounds_of_the_evidence(invoke, tmp_path):
    data, kept = tmp_path / "holes.csv", tmp_path / "search.json"
    data.write_text("a,b\n" + "1,1\n0,0\n" * 9 + "1,\n,0\n")
    learn = ("learn", data, "--resume", kept, "--json")
    ran = invoke(*learn, "--evidence")
    assert ran.code == 0, ran.err
    document = ran.json
    assert document["score"] == "bound"
    assert document["log_evidence"] <= document["measured"]["value"]
    assert document["measured"]["verdict"] == "exact"
    assert document["csl"] == pytest.approx(document["measured"]["value"], abs=0.5)
    assert invoke(*learn).json["parents"] == document["parents"]
    ran = invoke(*learn, "--score", "available")
    assert ran.code == 2
    assert "search.json: it belongs to a run with other settings" in ran.err


def test_learn_a_latent_tree(invoke, carcinoma, tmp_path):
    learn = ("learn", carcinoma, "--weights", "count", "--shape", "tree")
    ran = invoke(*learn, "--save", "net.json", "--report", "net.html", "--json")
    assert ran.code == 0, ran.err
    document = ran.json
    assert document["alpha"] == 1.01
    assert all(
        parents == ["H1"] for name, parents in document["parents"].items() if name in "ABCDEFG"
    )
    assert document["log_evidence"] == document["bounds"][-1]
    assert read_network(tmp_path / "net.json").network.hidden
    assert "H1" in (tmp_path / "net.html").read_text()
    with_prior = invoke(*learn, "--alpha", "bdeu:10", "--json")
    assert with_prior.json["alpha"] == "bdeu:10"


@pytest.mark.parametrize(
    ("also", "words"),
    [
        (("--max-parents", 2), "--shape tree determines the edges"),
        (("--edges",), "--edges is about graphs over the columns alone"),
        (("--columns", "A"), "only from 2 or more"),
        (("--hidden", "auto"), "has hidden variables of its own"),
        (("--resume", "x.json"), "--resume stores a graph search"),
    ],
)
def test_a_shape_refuses_what_it_leaves_no_room_for(invoke, carcinoma, also, words):
    ran = invoke("learn", carcinoma, "--shape", "tree", *also)
    assert ran.code != 0
    assert words in ran.err


@pytest.mark.slow
def test_learn_hidden_variables(invoke, tmp_path):
    rng = np.random.default_rng(0)
    hidden = rng.integers(0, 2, 1000)
    columns = [np.where(rng.random(1000) < 0.9, hidden, 1 - hidden) for _ in range(5)]
    np.savetxt(
        tmp_path / "d.csv", np.column_stack(columns), "%d", ",", header="a,b,c,H1,e", comments=""
    )
    learn = ("learn", tmp_path / "d.csv", "--hidden", "auto", "--most", 1)
    ran = invoke(*learn, "--save", "net.json", "--report", "net.html", "--json")
    assert ran.code == 0, ran.err
    document = ran.json
    assert document["hidden"] == {"H2": 2}  # H1 is a column
    assert document["log_bayes_factor"]["value"] > 0
    assert document["without"]["complete"]
    assert read_network(tmp_path / "net.json").network.hidden
    assert "Are there hidden variables?" in (tmp_path / "net.html").read_text()
    assert "1 hidden variable: log p(D|S)" in invoke(*learn).out


def test_hidden_refuses_unknown_names(invoke, carcinoma):
    ran = invoke("learn", carcinoma, "--hidden", "H")
    assert ran.code == 2
    assert "Give --hidden auto" in ran.err
    ran = invoke("learn", carcinoma, "--hidden", "auto", "--most", 0)
    assert ran.code == 2
    assert "most 0: give 1 or more" in ran.err
    for also in ((), ("--shape", "tree")):
        ran = invoke("learn", carcinoma, "--most", 3, *also)  # the default, but it was said
        assert ran.code == 2
        assert "Give --hidden auto too" in ran.err


def test_learn_keeps_constraints(invoke, carcinoma, tmp_path):
    known = tmp_path / "known.json"
    known.write_text('{"require": [["A", "B"]], "max_parents": 2}')
    learn = ("learn", carcinoma, "--weights", "count", "--sweeps", 0, "--json")
    options = ("--knowledge", known, "--forbid", "C>D,D>C", "--tiers", "A,B;C,D,E,F,G")
    ran = invoke(*learn, *options, "--save", "net.bif")
    assert ran.code == 0, ran.err
    parents = ran.json["parents"]
    assert "A" in parents["B"]
    assert "C" not in parents["D"]
    assert "D" not in parents["C"]
    assert {*parents["A"], *parents["B"]} <= {"A", "B"}
    assert max(map(len, parents.values())) <= 2
    edges = [*ran.json["compelled"], *ran.json["reversible"]]
    assert len(edges) == sum(map(len, parents.values()))
    again = invoke(*learn, "--start", "net.bif", "--exact")
    assert again.code == 0, again.err
    assert again.json["log_evidence"] >= ran.json["log_evidence"] - 1e-9


def test_weights_that_edges_cannot_have_are_refused_before_the_search(
    invoke, tmp_path, monkeypatch
):
    monkeypatch.setattr(api, "learn_structure", lambda *_, **__: pytest.fail("too late"))
    half = tmp_path / "half.csv"
    half.write_text("a,b,w\n1,1,1.5\n0,0,1\n0,,0.5\n")
    learn = ("learn", half, "--weights", "w", "--weights-as", "frequency", "--edges")
    assert "a row with missing cells weighs 0.5" in invoke(*learn).err
    assert "the bootstrap draws whole rows" in invoke(*learn, "--resamples", 9).err


def test_learn_refuses(invoke, carcinoma):
    for arguments, text in (
        ((carcinoma, "--restarts", -1), "restarts -1 is not allowed: give 0 or more."),
        ((carcinoma, "--require", "A>B", "--forbid", "A>B"), "the edge A → B is also forbidden"),
        ((carcinoma, "--require", "A>Z"), "name 'Z', which is not a column. There are A, B"),
        ((carcinoma, "--alpha", "bdeu:0"), "Dirichlet exponents must be above 0"),
        ((carcinoma, "--save", "net.doc"), "the ending '.doc' belongs to no network format"),
    ):
        ran = invoke("learn", *arguments)
        assert ran.code == 2
        assert text in " ".join(ran.err.split())
        assert ran.out == ""


@pytest.mark.slow
def test_paper_writes_its_page(invoke, monkeypatch, tmp_path):
    monkeypatch.setattr(module, "PAPER", TINY)
    monkeypatch.setitem(module.reproduce.__kwdefaults__, "design", TINY)
    ran = invoke("paper", "--out", "ch96", "--datasets", 2, "--threads", 1, "--json")
    assert ran.code == 0, ran.err
    assert ran.json["datasets"] == 2
    assert (tmp_path / "ch96" / "paper.html").read_text().startswith("<!doctype html>")
    again = invoke("paper", "--out", "ch96", "--datasets", 2, "--threads", 1)
    assert "Table 1: states chosen by a score" in again.out
    assert "Findings" in again.out


def test_paper_refuses(invoke, tmp_path):
    (tmp_path / "file").write_text("")
    assert "a folder is needed" in invoke("paper", "--out", "file").err
    assert "0 models: there must be at least 1." in invoke("paper", "--out", "x", "--models", 0).err
    assert not (tmp_path / "x").exists()


def test_how_sure_each_edge_is(invoke, tmp_path):
    path = dataset_path("myocardial")
    ask = ("learn", path, "--weights", "count", "--edges")
    text = invoke(*ask)
    assert text.code == 0
    assert "Edge probabilities\npair       p(edge)   p(→)   p(←)\nCPK – Q" in text.out
    edges = invoke(*ask, "--json").json["edges"]
    assert edges["by"] == "exact"
    pair = edges["pairs"][0]
    assert pair["forward"] + pair["backward"] == pytest.approx(pair["edge"])
    shares = invoke(*ask, "--resamples", "5", "--json").json["edges"]
    assert (shares["by"], shares["draws"]) == ("bootstrap", 5)
    ran = invoke("learn", path, "--weights", "count", "--resamples", "5")
    assert ran.code == 2
    assert "--resamples estimates edge probabilities. Give --edges too." in ran.err


def test_priors_and_knowledge_reach_the_answer(invoke, carcinoma, tmp_path):
    learn = ("learn", carcinoma, "--weights", "count", "--json")
    usual = invoke(*learn, "--tiers", "A,B;C,D,E,F,G", "--save", "net.bif").json
    assert (usual["alpha"], usual["graph_prior"]) == ("bdeu:0.5-10", "fair")
    assert usual["sensitivity"]["alphas"] == ["bdeu:0.25-5", "bdeu:1-20"]
    later = {tuple(edge) for edge in usual["reversible"]}
    assert not {edge for edge in later if (edge[0] in "AB") != (edge[1] in "AB")}
    former = invoke(*learn, "--alpha", "bdeu:10", "--graph-prior", "uniform").json
    assert sum(map(len, former["parents"].values())) > sum(map(len, usual["parents"].values()))
    for also in (("--hidden", "auto"), ("--shape", "tree")):
        ran = invoke("learn", carcinoma, "--graph-prior", "fair", *also)
        assert ran.code == 2
        assert "--graph-prior is about graphs over the columns alone" in ran.err
    ran = invoke("learn", carcinoma, "--graph-prior", "sparse")
    assert ran.code == 2
    assert "graph_prior" in ran.err.replace("-", "_")
    known = tmp_path / "known.json"
    known.write_text('{"tiers": [["A", "B"], ["C", "D", "E", "F", "G"]]}')
    compare = ("compare", carcinoma, "net.bif", "--weights", "count", "--quick", "--starts", 1)
    actual = invoke(*compare, "--reference", "net.bif", "--knowledge", known)
    assert actual.code == 0, actual.err
