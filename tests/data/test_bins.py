"""Numbers in bins: cut by quantiles or edges, which the model keeps; missing values stay."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lacunet
from lacunet.api.inputs import as_table
from lacunet.api.options import ReadSettings
from lacunet.data.read import read_table
from lacunet.errors import DataError, ModelError, OptionError
from lacunet.models.formats import read_network, write_network
from lacunet.runtime.states import Bins, bin_labels, bin_numbers, quantiles, understand_bins

few = st.lists(st.integers(-4, 4).map(lambda x: x / 2), min_size=2, max_size=30)


@given(few, st.integers(2, 7))
def test_quantiles_are_those_of_numpy(numbers, bins):
    values, cases = np.unique(numbers, return_counts=True)
    shares = np.arange(1, bins) / bins
    np.testing.assert_allclose(
        quantiles(values, cases.astype(float), shares), np.quantile(numbers, shares), atol=1e-12
    )


@given(few, st.integers(2, 7))
def test_bins_have_every_number_and_none_is_empty(numbers, bins):
    values, cases = np.unique(numbers, return_counts=True)
    cut = bin_numbers(values, cases.astype(float), bins)
    if len(values) == 1:
        assert cut is None
        return
    places = cut.codes(np.array(numbers))
    assert set(places) == set(range(len(cut.edges) - 1))
    assert len(cut.typical) <= bins
    assert (cut.codes(np.array(cut.typical)) == np.arange(len(cut.typical))).all()
    assert len(set(bin_labels(cut.edges, exact=False))) == len(cut.typical)
    assert cut.codes(np.array([-99.0, 99.0])).tolist() == [0, len(cut.typical) - 1]


def test_many_equal_numbers_leave_fewer_bins():
    zeros = bin_numbers(np.arange(4.0), np.array([90.0, 4.0, 3.0, 3.0]), 5)
    assert zeros.edges == (0.0, 1.0, 3.0)
    top = bin_numbers(np.array([0.0, 1.0]), np.array([1.0, 9.0]), 5)
    assert bin_labels(top.edges, exact=False) == ("0 – 1", "1")


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    sort = rng.random(400) < 0.5
    frame = pd.DataFrame(
        {
            "age": rng.normal(np.where(sort, 30, 60), 8).round(),
            "income": rng.lognormal(np.where(sort, 7, 9), 0.5),
            "votes": np.where(rng.random(400) < np.where(sort, 0.2, 0.8), "yes", "no"),
        }
    )
    return frame.mask(rng.random(frame.shape) < 0.1)


BIN = {"age": 4, "income": [0, 2000, 5000]}


def test_frames_files_and_texts_are_cut_alike(people, tmp_path):
    path = tmp_path / "p.csv"
    people.to_csv(path, index=False)
    one, *others = (
        read_table(source, bin=BIN) for source in (people, pl.from_pandas(people), path)
    )
    message = read_table(path, bin="age=4, income=0:2000:5000")
    for other in (*others, message):
        assert other.columns == one.columns
        np.testing.assert_array_equal(other.codes, one.codes)
        np.testing.assert_array_equal(other.counts, one.counts)
    age, income, votes = one.columns
    np.testing.assert_allclose(age.bins.edges, people["age"].quantile(np.linspace(0, 1, 5)))
    assert income.states == ("0 – 2000", "2000 – 5000")
    assert income.bins.edges == (0.0, 2000.0, 5000.0)  # what is above 5000 is in the last
    assert votes.bins is None
    assert one.missing[0] == pytest.approx(people["age"].isna().mean())
    assert age.why == "in bins, as declared"


def test_a_weight_is_that_many_rows(people):
    weighted = people.assign(n=1 + np.arange(len(people)) % 3)
    repeated = weighted.loc[weighted.index.repeat(weighted["n"])].drop(columns="n")
    assert read_table(weighted, weights="n", bin=4).columns == read_table(repeated, bin=4).columns


@pytest.fixture(scope="module")
def model(people):
    return lacunet.fit(people, 2, bin=BIN, starts=4).model


def test_edges_are_kept_in_the_model_and_its_file(model, tmp_path):
    for name in ("m.json", "m.bif", "m.xdsl", "m.xmlbif"):
        write_network(model, tmp_path / name)
        back = read_network(tmp_path / name)
        assert [v.bins for v in back.network.variables] == [v.bins for v in model.network.variables]
        assert [v.states for v in back.network.variables][1:] == [
            v.states for v in model.network.variables
        ][1:]
    document = json.loads((tmp_path / "m.json").read_text())
    document["variables"][1]["bins"]["edges"].reverse()
    (tmp_path / "m.json").write_text(json.dumps(document))
    with pytest.raises(ModelError, match="\"bins\" of variable 'age': bins have the edges"):
        read_network(tmp_path / "m.json")


def test_new_rows_are_cut_at_the_same_edges(model, people):
    age = next(v for v in model.network.variables if v.name == "age")
    rows = pd.DataFrame({"age": [-5.0, 1e9, None], "income": [2500.0, None, None]})
    names = pd.DataFrame(
        {"age": [age.states[0], age.states[-1], None], "income": ["2000 – 5000", None, None]}
    )
    numbers, texts = (lacunet.log_likelihoods(table, model) for table in (rows, names))
    np.testing.assert_array_equal(numbers, texts)
    assert numbers[2] == pytest.approx(0.0, abs=1e-9)
    young, named = (lacunet.query(model, "class", {"age": a}) for a in (20, age.states[0]))
    assert str(young) == str(named)
    with pytest.raises(DataError, match="'age', row 1: 'old' is not one of its 4 states"):
        lacunet.log_likelihoods(pd.DataFrame({"age": ["old"]}), model)


def test_an_estimator_cuts_fills_and_reads_back(people):
    model = lacunet.LatentClassModel(2, bin={"age": 4, "income": 3}, n_init=4, random_state=0)
    model.fit(people)
    assert model.numbers_ == {}
    assert len(model.categories_["age"]) == 4
    filled = model.impute(people)
    assert filled["age"].dtype == people["age"].dtype  # numbers of the bins, not their names
    assert not filled.isna().any().any()
    np.testing.assert_array_equal(model.predict(filled).shape, (len(people),))
    beyond = people.assign(income=people["income"] * 1e6)
    assert np.isfinite(model.score_samples(beyond)).all()
    with pytest.raises(OptionError, match="bin name 'aeg', which is not a column"):
        lacunet.LatentClassModel(2, bin={"aeg": 3}).fit(people)


def test_only_categories_can_be_so_numbers_are_in_bins(people):
    table = as_table(people)  # as functions for categories read it
    bins = {c.name: c.bins for c in table.columns if c.bins is not None}
    assert {name: len(column.typical) for name, column in bins.items()} == {"age": 5, "income": 5}
    for name in bins:
        assert any(f"'{name}' holds numbers" in n and f"bin='{name}=5'" in n for n in table.notes)
    message = as_table(people, ReadSettings(bin=3))
    assert {len(c.states) for c in message.columns if c.bins is not None} == {3}
    assert not any("holds numbers" in note for note in message.notes)


@pytest.mark.parametrize(
    ("bins", "words"),
    [
        ({"age": 1}, "1 bins. Give 2 to 1,000"),
        ({"age": [0, 0, 1]}, "are not edges"),
        ({"age": [0, 1]}, "at least three"),
        ({"age": "x"}, "are not edges"),
        ("age=x", "'x' is not understood"),
        ("0:1:2", "edges are those of one column"),
        ({"aeg": 3}, "no column 'aeg'.*Did you mean 'age'"),
        ({"votes": 3}, "'(yes|no)' is not a number, and the column is put into bins"),
        (2.5, "2.5 is not understood"),
    ],
)
def test_bins_that_are_refused(people, bins, words):
    with pytest.raises((OptionError, DataError), match=words):
        read_table(people, bin=bins)


def test_what_cannot_be_cut(people):
    with pytest.raises(DataError, match=r"'age' has only one value, 3.*exclude=\['age'\]"):
        read_table(people.assign(age=3.0), bin={"age": 3})
    with pytest.raises(OptionError, match="gaussian in kinds=, and in bins by bin="):
        read_table(people, kinds="age=gaussian", bin="age=3")
    with pytest.raises(OptionError, match="at least three"):
        Bins((1.0, 0.0, 2.0), (0.5, 1.0))
    assert understand_bins(None).named == {}
