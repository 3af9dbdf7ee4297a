"""Networks on the command line: every command that takes one, and what users get wrong."""

import csv
import itertools
import json
import math

import numpy as np
import pytest

import lacunet as package
from lacunet.api import observed_columns
from lacunet.data.write import write_codes
from lacunet.models.ensemble import model_as_shown
from lacunet.models.network import Model, Network, Variable
from lacunet.models.prior import uniform_alpha
from lacunet.models.surgery import sample_codes

NO_YES = ("no", "yes")
QUICK = ("--starts", 8)


def example(hidden=("H", "G")):
    """a → H → x, y ← G → z, w: H hidden and no root, G a second hidden cause of y."""
    states = {
        "a": NO_YES,
        "H": ("low", "high"),
        "G": (1, 2),
        "x": NO_YES,
        "y": (0, 1, 2),
        "z": NO_YES,
        "w": (0, 1, 2),
    }
    parents = [(), (0,), (), (1,), (1, 2), (2,), (2,)]
    network = Network.build(
        [Variable(name, values, hidden=name in hidden) for name, values in states.items()], parents
    )
    tables = [
        [0.6, 0.4],
        [[0.9, 0.1], [0.2, 0.8]],
        [0.5, 0.5],
        [[0.85, 0.15], [0.1, 0.9]],
        [[[0.8, 0.1, 0.1], [0.1, 0.8, 0.1]], [[0.1, 0.1, 0.8], [0.3, 0.4, 0.3]]],
        [[0.9, 0.1], [0.1, 0.9]],
        [[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]],
    ]
    theta = network.layout.flat([np.array(t) for t in tables])
    return Model(network, theta, uniform_alpha(network.layout, 1.01))


@pytest.fixture
def files(tmp_path):
    """A network in several formats, the same without its hidden marks, and incomplete data."""
    model = example()
    for name in ("net.bif", "net.xmlbif", "net.xdsl", "net.json"):
        package.write_network(model, tmp_path / name)
    package.write_network(example(hidden=()), tmp_path / "plain.bif")
    codes = sample_codes(model, 600, np.random.default_rng(0), 0.1)
    write_codes(observed_columns(model.network), codes, tmp_path / "data.csv")
    return tmp_path


@pytest.fixture
def refused(invoke, tmp_path):
    """Run a command that must be refused, and give what it says."""

    def run(*arguments):
        before = sorted(p.name for p in tmp_path.iterdir())
        ran = invoke(*arguments)
        assert ran.code == 2, ran.out + ran.err
        assert ran.out == ""
        assert "error: " in ran.err
        assert sorted(p.name for p in tmp_path.iterdir()) == before
        return ran.err

    return run


# What works.


@pytest.mark.slow
def test_fit_a_network(lacunet, files):
    ran = lacunet("fit", "data.csv", "--network", "net.bif", "--save", "fitted.json", *QUICK)
    assert ran.code == 0, ran.err
    assert ran.out.startswith("log p(D|θ) = ")
    assert "\np(H | a)\na    H = low  H = high\nno  " in ran.out
    assert "\np(y | H, G)\nH     G  y = 0  y = 1  y = 2\n" in ran.out
    assert "600 rows" in ran.err
    assert "preparing" in ran.err
    assert "written: fitted.json" in ran.err
    fitted = package.read_model(files / "fitted.json")
    assert fitted.network == example().network
    here = package.fit(files / "data.csv", network=files / "net.bif", starts=8)
    np.testing.assert_array_equal(fitted.theta, model_as_shown(here.model).theta)


@pytest.mark.parametrize("name", ["net.xmlbif", "net.xdsl", "net.json"])
def test_every_format_gives_the_same_fit(invoke, files, name):
    options = ("--json", "--starts", 2)
    first = invoke("fit", "data.csv", "--network", "net.bif", *options).json
    second = invoke("fit", "data.csv", "--network", name, *options, "--save", "out.bif").json
    assert second["log_likelihood"] == first["log_likelihood"]
    assert second["hidden"] == {"H": 2, "G": 2}
    scored = invoke("score", "data.csv", "--model", "out.bif", "--scores", "bic", "--json").json
    assert scored["log_likelihood"] == pytest.approx(second["log_likelihood"], abs=1e-9)


def test_columns_that_the_network_does_not_have_may_be_left_out(invoke, files):
    rows = (files / "data.csv").read_text().splitlines()
    wide = [f"id,{rows[0]},note", *(f"{i},{row},?" for i, row in enumerate(rows[1:]))]
    (files / "wide.csv").write_text("\n".join(wide) + "\n")
    options = ("--starts", 2, "--json")
    plain = invoke("fit", "data.csv", "--network", "net.bif", *options)
    left = invoke("fit", "wide.csv", "--network", "net.bif", "--exclude", "id,note", *options)
    assert left.code == 0, left.err
    assert "not used" not in left.err  # the command that left them out reported it
    assert left.json["log_likelihood"] == plain.json["log_likelihood"]
    quick = ("--quick", "--scores", "cs", *options)
    both = invoke("compare", "wide.csv", "net.bif", "net.json", "--exclude", "id", *quick)
    assert both.code == 0, both.err
    assert "not used: 'note'." in both.err


@pytest.mark.parametrize("command", ["fit", "evidence", "lrt", "select", "compare-missing"])
def test_networks_and_classes_have_two_names_each(invoke, command):
    shown = invoke(command, "--help").out
    for option in ("--network", "--model", "--classes", "--states"):
        assert option in shown
    for name in ("score", "assign", "simulate"):
        assert "--network" in invoke(name, "--help").out


def test_both_names_do_the_same(invoke, files):
    options = ("--starts", 2, "--json")
    one = invoke("fit", "data.csv", "--model", "net.bif", *options).json
    other = invoke("fit", "data.csv", "--network", "net.bif", *options).json
    assert one["log_likelihood"] == other["log_likelihood"]
    two = invoke("fit", "data.csv", "--classes", 2, *options).json
    assert two["hidden"] == {"class": 2}


@pytest.mark.slow
def test_hidden_variables_by_option(invoke, files):
    options = ("--network", "plain.bif", "--hidden", "H=3", "--hidden", "G", "--json", *QUICK)
    document = invoke("fit", "data.csv", *options).json
    assert document["hidden"] == {"H": 3, "G": 2}
    assert document["dimension"] == 1 + 2 * 2 + 1 + 3 + 3 * 2 * 2 + 2 + 2 * 2
    other = invoke("fit", "data.csv", "--network", "net.bif", "--hidden", "H=3", "--json", *QUICK)
    assert other.json["log_likelihood"] == pytest.approx(document["log_likelihood"])


@pytest.mark.slow
def test_score_a_network_file(invoke, files):
    """At its own parameters, against the rows written out; hidden by the file or by the option."""
    document = invoke("score", "data.csv", "--model", "net.bif", "--json").json
    model = example()
    t = {v.name: model.table(v.name) for v in model.network.variables}
    total = 0.0
    with (files / "data.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            p = 0.0
            seen = {
                v.name: v.labels.index(row[v.name])
                for v in model.network.variables
                if row.get(v.name)
            }
            for h, g, a in itertools.product(range(2), range(2), range(2)):
                if seen.get("a", a) != a:
                    continue
                q = t["a"][a] * t["H"][a, h] * t["G"][g]
                for name, place in (("x", (h,)), ("y", (h, g)), ("z", (g,)), ("w", (g,))):
                    q *= t[name][(*place, seen[name])] if name in seen else 1.0
                p += q
            total += math.log(p)
    assert document["log_likelihood"] == pytest.approx(total, abs=1e-9)
    plain = ("score", "data.csv", "--model", "plain.bif", "--hidden", "H", "--hidden", "G=2")
    assert invoke(*plain, "--json").json["scores"] == document["scores"]
    assert invoke("score", "data.csv", "--model", "net.bif", "--refit", "--json").json["refit"]


@pytest.mark.slow
def test_assign_several_hidden_variables_and_missing_values(lacunet, files):
    ran = lacunet("assign", "data.csv", "--model", "net.bif", "-o", "out.csv", "--impute", "--json")
    document = ran.json
    assert set(document["variables"]) == set("HGaxyzw")
    with (files / "out.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 600
    missing = 0
    for row in rows:
        assert row["H"] in {"low", "high"}
        assert float(row["p(H=low)"]) + float(row["p(H=high)"]) == pytest.approx(1)
        for name, states in (("a", NO_YES), ("y", "012")):
            p = [float(row[f"p({name}={s})"]) for s in states]
            best = row[f"{name} (imputed)"]
            assert best == states[int(np.argmax(p))]
            if row[name]:
                assert best == row[name]
                assert max(p) == 1.0
            missing += name == "y" and not row[name]
    assert sum(document["variables"]["y"].values()) == missing > 0
    answer = package.query(
        files / "net.bif", ["H", "y"], {"a": "no", "x": "yes", "z": "no", "w": 1}
    )
    assert answer.shape == (2, 3)
    assert answer.sum() == pytest.approx(1)


def test_assign_without_impute_gives_only_what_is_hidden(invoke, files):
    ran = invoke("assign", "data.csv", "--model", "net.bif", "-o", "out.csv")
    assert ran.code == 0
    assert "H: 600 of 600 rows assigned\nH " in ran.out
    header = (files / "out.csv").read_text().splitlines()[0]
    assert header == "a,x,y,z,w,H,p(H=low),p(H=high),G,p(G=1),p(G=2)"
    ran = invoke(
        *("assign", "data.csv", "--model", "plain.bif", "-o", "b.csv"),
        *("--hidden", "H", "--hidden", "G"),
    )
    assert ran.code == 0
    assert (files / "b.csv").read_text() == (files / "out.csv").read_text()


@pytest.mark.slow
def test_select_the_states_of_one_hidden_variable(lacunet, files):
    options = (
        "--network",
        "net.bif",
        "--hidden",
        "H",
        "--states",
        "1:3",
        "--save",
        "out",
        *QUICK,
        "--quick",
    )
    ran = lacunet("select", "data.csv", *options)
    assert ran.out.startswith("2 states of H (probability ")
    assert "\np(H | a)\n" in ran.out
    assert {p.name for p in (files / "out").iterdir()} == {
        *("selection.json", "selection.txt", "candidates.csv"),
        *("model-1.json", "model-2.json", "model-3.json"),
    }
    document = json.loads((files / "out" / "selection.json").read_text("utf-8"))
    assert document["states"] == 2
    assert document["candidates"][2]["hidden"] == {"H": 3, "G": 2}


@pytest.mark.slow
def test_select_takes_the_hidden_variables_of_the_network(invoke, files):
    ran = invoke("select", "data.csv", "--network", "net.bif", "--states", "1,2", "--json", *QUICK)
    assert "note: 2 numbers of states of H, G in every combination: 4 networks." in ran.err
    labels = ["H=1, G=1", "H=1, G=2", "H=2, G=1", "H=2, G=2"]
    assert [c["label"] for c in ran.json["candidates"]] == labels
    assert ran.json["states"] == "H=2, G=2"
    assert ran.json["candidates"][1]["states"] == {"H": 1, "G": 2}


@pytest.mark.slow
def test_compare_structures(lacunet, files):
    model = example()
    network = model.network
    without = Network.build(network.variables, [(), (), *network.parents[2:]])
    tables = [network.layout.table(model.theta, i) for i in range(7)]
    tables[1] = tables[1][0]
    other = Model(without, without.layout.flat(tables), uniform_alpha(without.layout, 1.0))
    package.write_network(other, files / "without.bif")
    ran = lacunet("compare", "data.csv", "without.bif", "net.bif", *QUICK)
    assert ran.out.startswith("net.bif (probability >0.999 that it is right, among 2 networks")
    assert "\nnetwork " in ran.out
    ran = lacunet("compare", "data.csv", "without.bif", "net.bif", "--json", "--save", "o", *QUICK)
    assert ran.json["states"] == "net.bif"
    assert ran.json["candidates"][0]["label"] == "without.bif"
    assert (files / "o" / "model-without.bif.json").exists()
    assert (files / "o" / "candidates.csv").read_text().startswith("network,dimension,")


def test_compare_measures_distances_from_a_reference(invoke, files):
    (files / "other.bif").write_bytes((files / "net.bif").read_bytes())
    command = ("compare", "data.csv", "net.bif", "other.bif", "--reference", "net.bif")
    options = ("--scores", "bic", "--starts", 2, "--quick")
    document = invoke(*command, *options, "--json").json
    assert document["distances"] == {
        "hamming": {"net.bif": 0, "other.bif": 0},
        "f1": {"net.bif": 1.0, "other.bif": 1.0},
    }
    assert "Distance from the reference" in invoke(*command, *options).out


def test_files_with_one_name_are_distinguished(invoke, files):
    (files / "there").mkdir()
    (files / "there" / "net.bif").write_bytes((files / "net.bif").read_bytes())
    options = ("--scores", "bic", "--json", "--starts", 2, "--quick")
    document = invoke("compare", "data.csv", "net.bif", "there/net.bif", *options).json
    assert [c["label"] for c in document["candidates"]] == ["1: net.bif", "2: net.bif"]
    assert list(document["posterior"]["bic"].values()) == pytest.approx([0.5, 0.5])


@pytest.mark.slow
def test_priors(invoke, files):
    def scores(*options):
        ran = invoke("fit", "data.csv", "--network", "net.bif", *options, "--json", *QUICK)
        assert ran.code == 0, ran.err
        return ran.json

    assert scores("--alpha", "k2")["alpha"] == "k2"
    assert scores("--alpha", "k2")["log_posterior"] == scores("--alpha", "1")["log_posterior"]
    assert scores("--alpha", "bdeu:24")["alpha"] == "bdeu:24"
    assert scores("--alpha", "bdeu:10", "--estimate", "ml")["alpha"] == "bdeu:10"


def test_priors_that_are_none(refused, files):
    for alpha in ("bdeu", "bdeu:", "bdeu:many"):
        assert f"alpha '{alpha}' is not understood. Give a number above 0, k2, bdeu:" in refused(
            "fit", "data.csv", "--network", "net.bif", "--alpha", alpha
        )


# Columns and variables that do not meet.


def test_a_hidden_variable_that_is_a_column(invoke, files):
    ran = invoke("fit", "data.csv", "--network", "net.bif", "--hidden", "x", "--starts", 2)
    assert ran.code == 0
    assert (
        "note: column 'x' is not used: the network has it as hidden. To use it, leave out "
        "--hidden x, or its mark in the network file." in ran.err
    )


def test_a_column_that_is_no_variable(invoke, files):
    lines = (files / "data.csv").read_text().splitlines()
    more = [f"{line},{end}" for line, end in zip(lines, ["q,Count", *["z,2"] * 600], strict=True)]
    (files / "more.csv").write_text("\n".join(more) + "\n")
    options = ("--model", "net.bif", "--scores", "bic", "--json")
    ran = invoke("score", "more.csv", *options)
    assert "note: not in the model, so not used: 'q', 'Count'." in ran.err
    assert "note: column 'Count' may hold counts of rows. If so, give --weights C" in ran.err
    weighted = invoke("score", "more.csv", *options, "--weights", "Count")
    assert "not used: 'q'." in weighted.err
    assert "may hold counts" not in weighted.err
    assert weighted.json["log_likelihood"] == pytest.approx(2 * ran.json["log_likelihood"])


def test_variables_that_no_column_shows(refused, files):
    text = (
        "the data have no columns 'H', 'G', which the network has. Their columns are 'a', 'x', "
        "'y', 'z', 'w'. Add them (empty cells are fine), or declare them hidden: with "
        "--hidden H --hidden G, or in the model file."
    )
    assert text in refused("fit", "data.csv", "--network", "plain.bif")
    assert text in refused("score", "data.csv", "--model", "plain.bif")
    assert "with --hidden G, or" in refused(
        "select", "data.csv", "--network", "plain.bif", "--hidden", "H"
    )


def test_assign_names_absent_columns(invoke, files):
    ran = invoke("assign", "data.csv", "--model", "plain.bif", "-o", "out.csv", "--impute")
    assert ran.code == 0, ran.err
    assert "note: no column shows 'H', 'G': not observed in any row." in ran.err
    assert "H (imputed),p(H=" in (files / "out.csv").read_text().splitlines()[0]


def test_states_that_the_network_does_not_have(refused, files):
    (files / "bad.csv").write_text("a,x,y,z,w\nno,yes,0,no,1\nno,maybe,0,no,1\n")
    text = (
        "column 'x', row 2 (line 3): 'maybe' is not one of its 2 states 'no', 'yes'. Declare it "
        "with --missing maybe, or add it to the states."
    )
    assert text in refused("fit", "bad.csv", "--network", "net.bif")
    assert text in refused("score", "bad.csv", "--model", "net.bif")
    assert text in refused("compare", "bad.csv", "net.bif")


# Options.

WRONG = [
    (("fit",), "give --classes for a latent class model, or --network; one of the two."),
    (("fit", "--network", "net.bif", "--states", 2), "or --network; one of the two."),
    (("fit", "--states", 2, "--hidden", "H"), "--hidden names variables of a network. Give the"),
    (("select", "--hidden", "H"), "--hidden names variables of a network. Give the network: --n"),
    (("fit", "--network", "net.bif", "--hidden", "h"), "'h' is not a variable of the network."),
    (
        ("fit", "--network", "net.bif", "--hidden", "H=two"),
        "--hidden 'H=two' is not understood. Give NAME, or NAME=STATES as in H=3.",
    ),
    (("fit", "--network", "net.bif", "--hidden", "H=0"), "there must be at least 1 hidden state"),
    (
        ("fit", "--network", "net.bif", "--hidden", "H", "--hidden", "H=2"),
        "--hidden names 'H' twice.",
    ),
    (
        ("fit", "--network", "net.bif", "--columns", "a"),
        "--columns: column 'w' is left out, but the network has it. Keep it, or declare it hidden",
    ),
    (
        ("fit", "--network", "net.bif", "--exclude", "x"),
        "--exclude: column 'x' is left out, but the network has it.",
    ),
    (("fit", "--network", "net.bif", "--exclude", "X"), "there is no column 'X' in data.csv. Did"),
    (("compare", "net.bif", "--bin", "x=2"), "the network has states already."),
    (
        ("fit", "--network", "net.bif", "--hidden", "H=100000000"),
        "the table of 'H' would have 200,000,000 numbers, one for each combination of states of ",
    ),
    (("fit", "--states", 100_000_000), "the table of 'class' would have 100,000,000 numbers"),
    (("select", "--network", "net.bif", "--hidden", "H=2"), "no hidden variable to try numbers"),
    (
        ("select", "--network", "net.bif", "--states", "1,2", "--prior", "1,2"),
        "--prior has no meaning for combinations of several hidden variables.",
    ),
    (
        ("score", "--model", "net.bif", "--hidden", "H=3"),
        "hidden variable 'H' with 3 states: the parameters of the model are for 2. Give --hidden",
    ),
    (("score", "--model", "net.bif", "--scores", "bd"), "bd is exact, so defined only where"),
    (("compare", "net.bif", "plain.bif"), "'net.bif' and 'plain.bif' differ in their observed"),
    (("compare", "net.bif", "--hidden", "Q"), "'Q' is not a variable of any of the networks."),
    (("compare", "net.bif", "--scores", "bd"), "bd is exact, so defined only where nothing is h"),
]


@pytest.mark.parametrize(("arguments", "text"), WRONG, ids=lambda x: x[0] if len(x) < 9 else "")
def test_wrong_options(refused, files, arguments, text):
    command, *rest = arguments
    assert text in refused(command, "data.csv", *rest)


# Network files with mistakes.

GOOD = """network x {{}}
variable a {{ type discrete [2] {{no, yes}}; }}
variable {b} {{ type discrete [2] {{no, yes}}; }}
probability (a | b) {{ (no) 0.5, 0.5; (yes) 0.1, 0.9; }}
{probability}
"""
ROOT = "probability (b) { table 0.5, 0.5; }"

NETWORKS = [
    (
        {"probability": "probability (b | a) { (no) 0.5, 0.5; (yes) 0.1, 0.9; }"},
        "the parents form a cycle: 'a' → 'b' → 'a'. Remove one of these edges.",
    ),
    ({"probability": ""}, "variable 'b' has no probability block. Add its table."),
    (
        {"probability": "probability (b) { table 0.5, 0.4, 0.1; }"},
        "line 5: probability block 'b': its table has 3 numbers. It needs 2, one per state.",
    ),
    ({"b": "a"}, "variable 'a' occurs twice. Names must differ."),
]


@pytest.mark.parametrize(("change", "text"), NETWORKS)
def test_networks_with_mistakes(refused, tmp_path, change, text):
    (tmp_path / "d.csv").write_text("a,b\nno,yes\nyes,no\n")
    (tmp_path / "n.bif").write_text(GOOD.format(**{"b": "b", "probability": ROOT} | change))
    assert f"error: n.bif: {text}" in refused("fit", "d.csv", "--network", "n.bif")
    assert f"error: n.bif: {text}" in refused("score", "d.csv", "--model", "n.bif")
    assert f"error: n.bif: {text}" in refused("compare", "d.csv", "n.bif")


def test_files_that_are_cut_off_or_another_format(refused, files):
    def said(name, content):
        (files / name).write_text(content)
        return refused("fit", "data.csv", "--network", name)

    bif = (files / "net.bif").read_text()
    assert "cut.bif: line " in said("cut.bif", bif[:250])
    assert "the file ends inside" in said("cut.bif", bif[:250])
    xml = (files / "net.xmlbif").read_text()
    assert "cut.xmlbif: " in said("cut.xmlbif", xml[: len(xml) // 2])
    assert "this looks like BIF, not XDSL. Give the file the ending .bif." in said("b.xdsl", bif)
    model = (files / "net.json").read_text()
    assert "this looks like JSON model, not BIF." in said("j.bif", model)
    assert "the file is empty" in said("empty.bif", "")
    assert "data.csv: the ending '.csv' belongs to no network format. Allowed are .bif" in refused(
        "fit", "data.csv", "--network", "data.csv"
    )
    assert "(DOT)" not in refused("query", "data.csv", "--of", "a")  # it is written only
    assert "nil.bif: No such file or directory. Give the path of a network file." in refused(
        "fit", "data.csv", "--network", "nil.bif"
    )
    assert "Is a directory. Give the path of a network file." in refused(
        "fit", "data.csv", "--network", "."
    )


def test_tied_says_with_what(refused, files):
    document = json.loads((files / "net.json").read_text())
    document["families"][1]["tied"] = True
    (files / "net.json").write_text(json.dumps(document))
    assert 'family \'H\' is "tied". Say "tied_to": the variable whose table it shares.' in refused(
        "fit", "data.csv", "--network", "net.json"
    )


@pytest.mark.parametrize("fixed", [True, False])
def test_a_fixed_family_of_a_file_is_kept(invoke, files, fixed):
    document = json.loads((files / "net.json").read_text())
    document["families"][1]["fixed"] = fixed
    (files / "net.json").write_text(json.dumps(document))
    ran = invoke("fit", "data.csv", "--network", "net.json", "--starts", 2, "--save", "fit.json")
    assert ran.code == 0, ran.err
    fitted = json.loads((files / "fit.json").read_text())["families"][1]
    kept = np.array_equal(fitted["table"], document["families"][1]["table"])
    assert kept is fixed


@pytest.mark.slow
def test_a_clique_that_would_not_fit(refused, tmp_path):
    """Ten hidden variables of 20 states, each pair with a child: refused before it is made."""
    hidden = [Variable(f"h{i}", tuple(range(20)), hidden=True) for i in range(10)]
    pairs = list(itertools.combinations(range(10), 2))
    seen = [Variable(f"x{a}{b}", (0, 1)) for a, b in pairs]
    network = Network.build([*hidden, *seen], [*[()] * 10, *pairs])
    size = network.layout.size
    uniform = 1.0 / network.layout.spread(network.layout.sum_k(np.ones(size)))
    model = Model(network, uniform, np.ones(size))
    package.write_network(model, tmp_path / "pairs.json")
    names = [v.name for v in seen]
    (tmp_path / "d.csv").write_text(",".join(names) + "\n" + ",".join(["0"] * len(names)) + "\n")
    text = refused("fit", "d.csv", "--network", "pairs.json")
    assert "some rows leave these variables unknown together: 'h0' (20), 'h1' (20), " in text
    assert f"Their joint table would have {20**10:,} cells (76,293.9 GiB); at most " in text
    assert "unknown together" in refused("score", "d.csv", "--model", "pairs.json")
    assert "unknown together" in refused("assign", "d.csv", "--model", "pairs.json", "-o", "o.csv")


@pytest.mark.slow
def test_mistakes_in_a_process(lacunet, files):
    for arguments, text in (
        (("fit", "data.csv", "--network", "plain.bif"), "error: the data have no columns 'H', 'G'"),
        (("compare", "data.csv"), "Missing argument 'NETWORK...'"),
        (("compare", "data.csv", "net.bif", "--scores", "bd"), "error: bd is exact"),
    ):
        ran = lacunet(*arguments)
        assert (ran.code, ran.out) == (2, "")
        assert text in ran.err
        assert "Traceback" not in ran.err
