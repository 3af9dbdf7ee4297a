"""Rows with numbers, as users ask about them: assigned, filled in, drawn, weighed."""

import numpy as np
import polars as pl
import pytest

import lacunet
from lacunet.data.read import read_table
from lacunet.errors import DataError
from lacunet.inference.leaves import leaves_of
from lacunet.models.formats import read_network, write_network
from lacunet.models.network import Network, Variable
from lacunet.models.number_prior import NumberPrior
from people import FAST, KINDS, people


@pytest.fixture(scope="module")
def frame():
    return people()


@pytest.fixture(scope="module")
def model(frame):
    return lacunet.fit(frame, 2, kinds=KINDS, **FAST).model


def test_rows_are_assigned_and_filled_in(frame, model):
    assignment = lacunet.assign(frame, model, impute=True)
    assert assignment.impossible == 0
    assert assignment.probabilities.shape == (120, 2)
    assert [v.name for v in assignment.variables] == ["class", "sex"]
    numbers = {n.name: n for n in assignment.numbers}
    assert list(numbers) == ["height", "income", "visits", "agree"]
    for name, n in numbers.items():
        given = frame[name].to_numpy()
        seen = ~np.isnan(given.astype(float))
        np.testing.assert_array_equal(n.missing, ~seen)
        np.testing.assert_array_equal(n.best[seen], given[seen])  # to the last digit
        assert (n.spread[n.missing] > (1.0 if name == "income" else 0.0)).all()
    for name in ("visits", "agree"):
        assert (numbers[name].best % 1 == 0).all()
        assert (numbers[name].mean[numbers[name].missing] % 1 != 0).any()
    # The tall ones are expected to be tall.
    tall = assignment.best == 1
    height = numbers["height"]
    assert (height.mean[tall & height.missing] > 170).all()
    assert (height.mean[~tall & height.missing] < 175).all()
    assert numbers["income"].titles == ("geometric mean", "factor")
    assert "Numbers" in str(assignment)


def test_filled_cells_are_nearer_to_the_truth_than_the_mean_of_their_column():
    whole = people(300, seed=5, missing=0.0)
    incomplete = people(300, seed=5, missing=0.2)
    model = lacunet.fit(incomplete, 2, kinds=KINDS, **FAST).model
    assignment = lacunet.assign(incomplete, model, impute=True)
    for n in assignment.numbers:
        truth = whole[n.name].to_numpy().astype(float)[n.missing]
        usual = np.nanmean(incomplete[n.name].to_numpy().astype(float))
        ours, theirs = (np.sqrt(np.mean((x - truth) ** 2)) for x in (n.mean[n.missing], usual))
        assert ours < 0.9 * theirs


def test_rows_that_show_new_numbers_or_none(model):
    new = pl.DataFrame({"height": [171.234, None], "visits": [100, None]})
    assignment = lacunet.assign(new, model)
    assert assignment.probabilities[0, 0] > 0.99
    np.testing.assert_allclose(assignment.probabilities[1], model.predictive.table("class"))
    np.testing.assert_allclose(lacunet.log_likelihoods(new, model)[1], 0.0, atol=1e-12)
    alone = lacunet.assign(new[:1], model)
    np.testing.assert_allclose(alone.probabilities[0], assignment.probabilities[0])
    nothing = new.with_columns(height=pl.lit(None, pl.Float64))
    assert lacunet.assign(nothing, model).best[0] == 0


def test_rows_have_the_likelihood_of_the_fit(frame):
    fit = lacunet.fit(frame, 2, kinds=KINDS, **FAST)
    plain = lacunet.log_likelihoods(frame, fit.model, plug_in=True)
    assert plain.sum() == pytest.approx(fit.log_lik, abs=1e-8)
    averaged = lacunet.log_likelihoods(frame, fit.model)
    assert averaged.sum() != pytest.approx(plain.sum(), abs=0.01)
    # A number far off is less of a wonder if the parameters are not certain.
    odd = pl.DataFrame({"height": [250.0]})
    learned, certain = (
        lacunet.log_likelihoods(odd, fit.model, plug_in=p)[0] for p in (False, True)
    )
    assert learned > certain + 5


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"agree": [3, 7]}, "'agree', row 2: 7 is not among the answers of the model"),
        ({"visits": [-1]}, "'visits', row 1: -1 is not a count"),
        ({"visits": [1.5]}, "1.5 is not a count"),
        ({"income": [0.0]}, "is not above 0"),
        ({"height": ["tall"]}, "'tall' is not a number"),
        ({"height": [float("inf")]}, "inf is not a finite number"),
        ({"sex": ["x"]}, "'x' is not one of its 2 states"),
    ],
)
def test_values_that_cannot_be_are_named(model, row, words):
    with pytest.raises(DataError, match=words) as caught:
        lacunet.assign(pl.DataFrame(row), model)
    assert "--kinds" not in str(caught.value)  # the model says what its columns are


def test_drawn_rows_name_their_source(model, tmp_path):
    drawn = lacunet.simulate(model, 3000, seed=1, missing_rate=0.2)
    assert drawn.schema["height"] == pl.Float64
    assert drawn.schema["visits"] == pl.Int64
    assert drawn["agree"].drop_nulls().is_between(1, 5).all()
    assert (drawn["income"].drop_nulls() > 0).all()
    missing = sum(drawn.null_count().row(0)) / 15_000
    assert missing == pytest.approx(0.2, abs=0.02)
    again = lacunet.fit(drawn, 2, kinds=KINDS, **FAST).model
    for name in ("height", "income", "visits", "agree"):
        i = model.network.index(name)
        mine, theirs = (m.moments(i)[0] for m in (model, again))
        v, w = (m.network.variables[i] for m in (model, again))
        np.testing.assert_allclose(v.unit.values(mine), w.unit.values(theirs), rtol=0.06)
    # What is written is read.
    path = tmp_path / "model.json"
    write_network(model, path)
    assert lacunet.simulate(read_network(path), 50, seed=4).equals(
        lacunet.simulate(model, 50, seed=4)
    )


def test_a_network_answers_queries(frame):
    """A number with a seen and a hidden parent; where neither is seen, it is a mixture of all."""
    table = read_table(frame, kinds=KINDS)
    root = Variable("class", (1, 2), hidden=True)
    network = Network.build(
        [root, *leaves_of(table, NumberPrior())], [(), (0, 5), (5,), (0,), (0,), (0,)]
    )
    model = lacunet.fit(table, network=network, **FAST).model
    assignment = lacunet.assign(frame, model, impute=True)
    heights = next(n for n in assignment.numbers if n.name == "height")
    assert np.isfinite(heights.best).all()
    assert lacunet.simulate(model, 20).columns == frame.columns
