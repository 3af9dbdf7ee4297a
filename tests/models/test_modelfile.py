import copy
import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lacunet.errors import ModelError, OutputError
from lacunet.models.conjugacy import random_theta
from lacunet.models.formats import read_model, write_model
from lacunet.models.formats.json_model import read as model_from_json
from lacunet.models.formats.json_model import write as model_to_json
from lacunet.models.latent_class import latent_class
from lacunet.models.network import Model, Network, Variable


def example():
    network = latent_class([("a", ("no", "yes")), ("b", (1, 2, 3))], 2)
    theta = random_theta(network.layout, np.random.default_rng(0))
    return Model(network, theta, np.full(network.layout.size, 1.01))


@given(st.integers(0, 1000))
def test_files_read_back_exactly(seed):
    rng = np.random.default_rng(seed)
    variables = [
        Variable("h", (1, 2, 3), hidden=True),
        Variable("a", ("no", "yes")),
        Variable('ü, "b"', (True, False)),
        Variable("c", (0.5, 1.5)),
    ]
    network = Network.build(variables, [(), (0,), (1, 0), (2, 0, 1)])
    theta = random_theta(network.layout, rng)
    alpha, posterior = rng.exponential(size=(2, network.layout.size))
    model = Model(network, theta, alpha, posterior if seed % 2 else None)
    back = model_from_json(model_to_json(model))
    assert back.network == network
    assert [type(s) for v in back.network.variables for s in v.states] == [
        type(s) for v in variables for s in v.states
    ]
    np.testing.assert_array_equal(back.theta, model.theta)
    np.testing.assert_array_equal(back.alpha, model.alpha)
    assert (back.posterior is None) == (model.posterior is None)
    np.testing.assert_array_equal(back.predictive.theta, model.predictive.theta)


def test_the_format_is_the_documented_one(tmp_path):
    write_model(example(), tmp_path / "sub" / "m.json")
    document = json.loads((tmp_path / "sub" / "m.json").read_text())
    assert document["format"] == "lacunet-model/1"
    assert document["variables"][0] == {"name": "class", "states": [1, 2], "hidden": True}
    family = document["families"][2]
    assert (family["child"], family["parents"], family["alpha"]) == ("b", ["class"], 1.01)
    assert np.shape(family["table"]) == (2, 3)
    assert not list((tmp_path / "sub").glob(".*"))


def broken(change):
    document = json.loads(model_to_json(example()))
    change(document)
    return json.dumps(document)


def put(value, *path):
    def change(document):
        for key in path[:-1]:
            document = document[key]
        document[path[-1]] = value

    return change


def drop(*path):
    def change(document):
        for key in path[:-1]:
            document = document[key]
        del document[path[-1]]

    return change


BROKEN = [
    (put("other/9", "format"), 'no "format": "lacunet-model/1"'),
    (drop("variables"), 'the file has no "variables"'),
    (put({}, "families"), '"families" of the file must be a list'),
    (put("x", "variables", 1, "name"), "family 'a': no variable has this name"),
    (drop("families", 1), "variable 'a' has no family"),
    (put("a", "families", 2, "child"), "family 'a' occurs twice"),
    (put(["z"], "families", 1, "parents"), "its parent 'z' is not a variable"),
    (put(["class", "class"], "families", 1, "parents"), "its parent 'class' occurs twice"),
    (put([[0.5, 0.5]], "families", 1, "table"), r"table has shape \(1, 2\).*require \(2, 2\)"),
    (put([[0.5, 0.6], [0.5, 0.5]], "families", 1, "table"), "sums to 1.1 at parent states"),
    (put([[1.5, -0.5], [0.5, 0.5]], "families", 1, "table"), r"negative at \[0, 1\]"),
    (put([[float("nan"), 0.5], [0.5, 0.5]], "families", 1, "table"), "not a finite number at"),
    (put("text", "families", 1, "table"), "not a nested list of numbers"),
    (drop("families", 1, "table"), "family 'a' has no \"table\""),
    (put(0.0, "families", 1, "alpha"), "every alpha must be a number above 0"),
    (put([1.0], "families", 1, "alpha"), "its alpha has shape"),
    (put([[2.0, 1.0]], "families", 1, "posterior"), "family 'class' has no \"posterior\""),
    (put([], "variables", 1, "states"), "variable 'a' has no states"),
    (put([["x"]], "variables", 1, "states"), "states must be texts, numbers or true/false"),
    (put("class", "variables", 1, "name"), "family 'a': no variable has this name|occurs twice"),
]


@pytest.mark.parametrize(("change", "text"), BROKEN)
def test_errors_of_broken_files_name_the_cause(change, text):
    with pytest.raises(ModelError, match=text):
        model_from_json(broken(change))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ([[2.0, 1.0]], r"family 'a': its posterior has shape \(1, 2\)"),
        ([[2.0, 1.0], [0.0, 1.0]], "family 'a': every posterior must be a number above 0"),
    ],
)
def test_a_posterior_that_is_none(value, text):
    model = example()
    document = json.loads(model_to_json(replace(model, posterior=model.alpha + 1)))
    document["families"][1]["posterior"] = value
    with pytest.raises(ModelError, match=text):
        model_from_json(json.dumps(document))


def test_cycles_in_a_file():
    document = json.loads(model_to_json(example()))
    a, b = document["families"][1], document["families"][2]
    a["parents"], b["parents"] = ["b"], ["a"]
    a["table"], b["table"] = [[0.5, 0.5]] * 3, [[0.2, 0.3, 0.5]] * 2
    a = copy.deepcopy(document)
    with pytest.raises(ModelError, match="form a cycle"):
        model_from_json(json.dumps(a))


def test_files_that_are_no_model_files(tmp_path):
    whole = model_to_json(example())
    with pytest.raises(ModelError, match=r"line \d+: this is not valid JSON.*cut off"):
        model_from_json(whole[: len(whole) // 2])
    with pytest.raises(ModelError, match=r"nothing\.json: No such file.*path of a network file"):
        read_model(tmp_path / "nothing.json")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(ModelError, match=r"not UTF-8 text \(byte 0\)"):
        read_model(tmp_path / "binary.json")


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path):
    (tmp_path / "file").write_text("here first")
    with pytest.raises(OutputError, match="cannot be written"):
        write_model(example(), tmp_path / "file" / "m.json")
    with pytest.raises(OutputError, match="is a folder"):
        write_model(example(), tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
