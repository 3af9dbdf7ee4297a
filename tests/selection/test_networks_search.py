"""Numbers of states of hidden variables of a network, and whole structures, compared."""

import math

import numpy as np
import pytest

import lacunet
from lacunet import api
from lacunet.data.table import Column, Table
from lacunet.errors import DataError, ModelError, OptionError
from lacunet.flags import Flag, Kind
from lacunet.models.network import Model, Network, Variable
from lacunet.models.prior import uniform_alpha
from lacunet.models.surgery import sample_codes, with_hidden
from lacunet.report.tables_file import save_selection
from lacunet.selection.average import Labellings
from lacunet.tabular import to_json
from problems import build

QUICK = {"starts": 8, "threads": 1}
SCORED = {**QUICK, "quick": True}  # nothing is measured


def model_of(network, tables):
    layout = network.layout
    theta = layout.flat([np.array(t, dtype=float) for t in tables])
    return Model(network, theta, uniform_alpha(layout, 1.01))


def rows_of(model, rows, *, missing=0.0, seed=0):
    network = model.network
    codes = sample_codes(model, rows, np.random.default_rng(seed), missing)
    columns = [network.variables[i] for i in network.observed]
    return Table.from_codes(codes, [Column(v.name, v.states) for v in columns])


NOISY = [[0.9, 0.1], [0.1, 0.9]]


@pytest.fixture(scope="module")
def truth():
    """a → H → x, y, z with 2 states of H; z has a parent of its own, G, also hidden, with v, w."""
    network = build(
        "a>H H>x H>y H>z G>z G>v G>w",
        {"a": 2, "H": 2, "x": 2, "y": 2, "z": 2, "G": 2, "v": 2, "w": 2},
        "HG",
    )
    return model_of(
        network,
        [
            [0.6, 0.4],
            [[0.85, 0.15], [0.2, 0.8]],
            NOISY,
            NOISY,
            [[[0.9, 0.1], [0.5, 0.5]], [[0.4, 0.6], [0.1, 0.9]]],
            [0.5, 0.5],
            NOISY,
            NOISY,
        ],
    )


@pytest.fixture(scope="module")
def table(truth):
    return rows_of(truth, 1500, missing=0.05)


@pytest.fixture(scope="module")
def one(truth, table):
    return api.select(table, range(1, 4), network=truth, hidden=["H"], **SCORED)


@pytest.mark.slow
def test_the_size_of_one_hidden_variable(one):
    assert [c.label for c in one.candidates] == [1, 2, 3]
    assert one.states == 2
    assert one.chosen["bic"] == 2
    sizes = [c.fit.model.network.hidden_sizes for c in one.candidates]
    assert sizes == [{"H": k, "G": 2} for k in (1, 2, 3)]  # the other as given
    text = str(one)
    assert text.startswith("2 states of H (probability ")
    assert "\np(H | a)\na  H = 1  H = 2\n" in text
    assert "\np(G)\n" in text


@pytest.mark.slow
def test_documents_of_numbers_of_states(one, tmp_path):
    result = one.to_dict()
    assert result["states"] == 2
    assert [c["label"] for c in result["candidates"]] == [1, 2, 3]
    assert [c["states"] for c in result["candidates"]] == [1, 2, 3]
    assert [c["hidden"] for c in result["candidates"]] == [{"H": k, "G": 2} for k in (1, 2, 3)]
    to_json(result)
    save_selection(one, tmp_path / "out")
    models = {f"model-{k}.json" for k in (1, 2, 3)}
    assert models <= {p.name for p in (tmp_path / "out").iterdir()}
    again = api.score(one.table, tmp_path / "out" / "model-2.json", scores="cs")
    assert again.evidence["cs"].value == pytest.approx(one.values("cs")[2], abs=1e-8)


def test_labellings_count_every_hidden_variable(one):
    """log k! of H and of G; G is the same everywhere, and cancels in the posterior."""
    assert [c.log_labellings for c in one.candidates] == pytest.approx(
        [math.log(math.factorial(k) * 2) for k in (1, 2, 3)]
    )
    plain, labelled = one.posterior("cs"), one.posterior("cs", Labellings.ALL)
    assert labelled[3] / labelled[2] == pytest.approx(3 * plain[3] / plain[2])
    assert labelled[2] / labelled[1] == pytest.approx(2 * plain[2] / plain[1])


def test_a_grid_of_two(truth, table, tmp_path):
    selection = api.select(table, [1, 2], network=truth, scores="cs,bic", **SCORED)
    labels = ["H=1, G=1", "H=1, G=2", "H=2, G=1", "H=2, G=2"]
    assert [c.label for c in selection.candidates] == labels
    assert selection.states == "H=2, G=2"
    assert str(selection).startswith("At least H=2, G=2 (H and G are at the largest number")
    document = selection.to_dict()
    assert document["states"] == "H=2, G=2"
    assert document["candidates"][1]["states"] == {"H": 1, "G": 2}
    assert list(document["posterior"]["cs"]) == labels
    save_selection(selection, tmp_path / "out")
    assert (tmp_path / "out" / "model-H=2_G=1.json").exists()
    first = (tmp_path / "out" / "candidates.csv").read_text().splitlines()[1]
    assert first.startswith('"H=1, G=1",')
    prior = dict.fromkeys(labels, 0.0) | {"H=2, G=1": 1.0}
    weighed = api.select(
        table, [1, 2], network=truth, hidden=["H", "G"], scores="bic", prior=prior, **SCORED
    )
    assert weighed.states == "H=2, G=1"


@pytest.mark.slow
def test_a_latent_class_model_is_one_case_of_it():
    """The same graph, said as a network: the same numbers."""
    data = lacunet.load_dataset("carcinoma")
    here = api.select(data, [2, 3], starts=16, threads=1)
    nested = api.select(data, [2, 3], network=here.candidates[0].fit.model, starts=16, threads=1)
    for a, b in zip(here.candidates, nested.candidates, strict=True):
        np.testing.assert_array_equal(a.fit.model.theta, b.fit.model.theta)
        assert {n: e.value for n, e in a.scores.items()} == {
            n: e.value for n, e in b.scores.items()
        }
    assert str(nested).startswith("At least 3 classes (3 is the most that was tried")


def test_compare_finds_the_true_structure(truth, table):
    """Against one without a → H, one with both effects of H through G, and one without G."""
    network = truth.network
    names = [v.name for v in network.variables]

    def changed(**parents):
        networks = [
            [names.index(p) for p in parents[name]] if name in parents else network.parents[i]
            for i, name in enumerate(names)
        ]
        return Network.build(network.variables, networks)

    comparison = api.compare(
        table,
        {
            "no edge from a": changed(H=""),
            "true": truth,
            "one cause of z": changed(z="H"),
            "too many edges": changed(x="aH"),
        },
        **SCORED,
    )
    assert comparison.states == "true"
    assert {comparison.chosen[name] for name in ("cs", "bic", "draper", "laplace")} == {"true"}
    assert sum(comparison.posterior("cs").values()) == pytest.approx(1)
    text = str(comparison)
    assert text.startswith("true (probability ")
    assert "k!" not in text  # all have the same labellings, so these are uninformative
    assert "p(S): posterior by CSL, occupancy." in text


def test_compare_of_complete_data_goes_by_the_exact_score():
    truth = model_of(build("a>b b>c", dict.fromkeys("abc", 2)), [[0.5, 0.5], NOISY, NOISY])
    table = rows_of(truth, 300)
    comparison = api.compare(
        table,
        {
            "chain": truth,
            "empty": build("", dict.fromkeys("abc", 2)),
            "fork": build("b>a b>c", dict.fromkeys("abc", 2)),
        },
        alpha="bdeu:8",
        estimate="ml",
    )
    assert comparison.headline == "bd"
    values = comparison.values("bd")
    assert values["chain"] > values["empty"] + 50
    assert values["fork"] == pytest.approx(values["chain"])  # BDeu: equivalent structures are equal


@pytest.mark.slow
def test_structures_that_differ_in_labellings(truth, table):
    with_three = with_hidden(truth.network, {"H": 3})
    comparison = api.compare(table, {"two": truth, "three": with_three}, scores="bic", **SCORED)
    assert "p(S), k!" in str(comparison)
    plain, labelled = comparison.posterior("bic"), comparison.posterior("bic", Labellings.ALL)
    assert labelled["three"] / labelled["two"] == pytest.approx(
        3 * plain["three"] / plain["two"], rel=1e-9
    )


def test_what_cannot_be_compared(truth, table):
    network = truth.network
    fewer = Network.build(network.variables[:5], [*network.parents[:4], network.parents[4][:1]])
    with pytest.raises(
        ModelError, match="'network 1' and 'network 2' differ in their observed var"
    ):
        api.compare(table, [truth, fewer])
    other = Network.build([Variable("a", (0, 1, 2)), *network.variables[1:]], network.parents)
    with pytest.raises(ModelError, match=r"differ in their observed variables: 'a'\. Evidence can"):
        api.compare(table, [truth, other])
    with pytest.raises(ModelError, match="'Q' is not a variable of any of the networks"):
        api.compare(table, [truth, truth], hidden=["Q"])
    with pytest.raises(OptionError, match="no network to compare"):
        api.compare(table, [])
    with pytest.raises(OptionError, match="bd is exact, so defined only where nothing is hidden"):
        api.compare(table, [truth, truth], scores="bd", starts=1)
    with pytest.raises(DataError, match="column 'x' has the states"):
        api.compare(
            Table.from_codes(
                np.zeros((2, 6), dtype=int),
                [Column(n, (0, 1) if n != "x" else ("no", "yes")) for n in "axyzvw"],
            ),
            [truth],
        )


def test_what_cannot_be_selected(truth, table):
    plain = build("a>b", {"a": 2, "b": 2})
    with pytest.raises(OptionError, match="no hidden variable to try numbers of states for"):
        api.select(Table.from_codes([[0, 1], [1, 0]]), [2], network=plain)
    with pytest.raises(OptionError, match="no hidden variable to try numbers of states for"):
        api.select(table, [2], network=truth, hidden={"H": 2})
    with pytest.raises(ModelError, match="'Hh' is not a variable of the network"):
        api.select(table, [2], network=truth, hidden=["Hh"])
    with pytest.raises(OptionError, match="hidden variables are named, but no network"):
        api.select(table, [2], hidden=["H"])
    with pytest.raises(OptionError, match="the prior has no weight for 'H=1, G=2'"):
        api.select(table, [1, 2], network=truth, prior={"H=1, G=1": 1.0})
    with pytest.raises(ModelError, match="the table of 'H' would have 200,000,000 numbers"):
        api.select(table, [10**8], network=truth, hidden=["H"])


def test_a_hidden_variable_that_nothing_shows_is_named():
    """G is a hidden leaf: no data can tell anything of it, and that is said."""
    network = build("H>x H>y H>z H>G", {"H": 2, "x": 2, "y": 2, "z": 2, "G": 3}, "HG")
    truth = model_of(network, [[0.5, 0.5], NOISY, NOISY, NOISY, [[0.2, 0.3, 0.5]] * 2])
    table = rows_of(truth, 200)
    fitted = api.fit(table, network=network, **QUICK)
    assert Flag(Kind.UNKNOWABLE, ("G",)) in fitted.flags


def test_empty_states_of_a_hidden_variable_are_named():
    """Three rows cannot fill eight states."""
    network = build("a>H H>x H>y", {"a": 2, "H": 8, "x": 2, "y": 2}, "H")
    table = Table.from_codes([[0, 0, 0], [0, 1, 1], [1, 1, 0]], [Column(n, (0, 1)) for n in "axy"])
    flags = api.fit(table, network=network, starts=2, threads=1, estimate="ml").flags
    assert ("H",) in [flag.where[:1] for flag in flags if flag.kind is Kind.EMPTY_STATE]


def test_states_are_numbered_by_size_whatever_the_prior(truth, table):
    for alpha in (1.01, "bdeu:40"):
        fitted = api.fit(table, network=truth, alpha=alpha, **QUICK)
        for h in fitted.problem.network.hidden:
            N = fitted.problem.layout.table(fitted.point.N, h)
            sizes = N.reshape(-1, 2).sum(axis=0)
            assert sizes[0] >= sizes[1]


def test_refitting_a_model_keeps_the_numbers_of_its_states(truth, table):
    """The states of a given model have a meaning already: a new size gives them no new name."""
    turned = truth.permuted(1, [1, 0])
    at = {
        name: api.score(table, m, refit=True, scores="bic").model.table("x")
        for name, m in (("as it is", truth), ("turned", turned))
    }
    np.testing.assert_allclose(at["as it is"], at["turned"][::-1], atol=1e-5)
