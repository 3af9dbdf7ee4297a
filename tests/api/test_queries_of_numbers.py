"""Questions about one case, to a model with numbers: given, and asked for."""

import numpy as np
import polars as pl
import pytest

import lacunet
from lacunet.errors import OptionError
from lacunet.models.surgery import intervened
from people import FAST, KINDS, people


@pytest.fixture(scope="module")
def model():
    return lacunet.fit(people(), 2, kinds=KINDS, **FAST).model


def test_numbers_are_evidence(model):
    case = {"height": 181.2, "visits": 3, "sex": "m"}
    rows = pl.DataFrame({name: [value] for name, value in case.items()})
    expected = lacunet.assign(rows, model).probabilities[0]
    np.testing.assert_allclose(lacunet.query(model, "class", case), expected, rtol=1e-12)
    as_text = {**case, "height": "181.20"}  # as a command line has it
    np.testing.assert_allclose(lacunet.query(model, "class", as_text), expected, rtol=1e-12)
    np.testing.assert_allclose(lacunet.query(model, "class", rows)[0], expected, rtol=1e-12)
    answer = lacunet.api.answer(model, "class", case)
    assert answer.log_known == pytest.approx(lacunet.log_likelihoods(rows, model)[0], rel=1e-12)
    assert "density(what is given)" in str(answer)
    hidden = lacunet.query(model, "sex", {"height": 181.2, "class": 2})
    np.testing.assert_allclose(hidden, model.predictive.table("sex")[1], rtol=1e-12)
    soft = lacunet.query(model, "class", {"height": 181.2, "sex": {"m": 1.0}})
    np.testing.assert_allclose(soft, lacunet.query(model, "class", {"height": 181.2, "sex": "m"}))
    best = lacunet.most_probable(model, evidence=case)
    assert best.states == {"class": "2"}


def test_a_number_is_the_target_of_a_query(model):
    rows = pl.DataFrame({"visits": [3], "height": [None]}, schema_overrides={"height": pl.Float64})
    filled = next(n for n in lacunet.assign(rows, model, impute=True).numbers if n.name == "height")
    answer = lacunet.query(model, "height", {"visits": 3})
    np.testing.assert_allclose(answer, [filled.mean[0], filled.spread[0]], rtol=1e-12)
    np.testing.assert_allclose(lacunet.query(model, "height", rows), [answer], rtol=1e-12)
    actual = lacunet.api.answer(model, "income", {"visits": 3})
    assert actual.titles == ("geometric mean", "factor")
    assert "income | visits = 3" in str(actual)
    by_class = lacunet.query(model, "height", {"class": 1}, plug_in=True)
    v = model.network.variables[model.network.index("height")]
    numbers = v.summary(model.table("height"))
    np.testing.assert_allclose(by_class, [numbers["mean"][0], numbers["sd"][0]], rtol=1e-12)


def test_setting_what_a_number_depends_on(model):
    done = lacunet.query(model, "height", do={"class": 1})
    np.testing.assert_allclose(done, lacunet.query(model, "height", {"class": 1}), rtol=1e-12)
    assert intervened(model.predictive, {0: 1}).averaged is not None


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda m: lacunet.query(m, ["height", "class"]), "Query it alone"),
        (lambda m: lacunet.query(m, "class", {"height": "tall"}), "'tall' is not a number"),
        (lambda m: lacunet.query(m, "class", {"visits": -1}), "must be a whole number from 0"),
        (lambda m: lacunet.query(m, "class", {"agree": 7}), "a whole number from 1 to 5"),
        (lambda m: lacunet.query(m, "class", {"agree": 2.5}), "cannot be"),
        (lambda m: lacunet.query(m, "class", {"income": 0}), "cannot be"),
        (lambda m: lacunet.query(m, "class", {"height": [1, 2]}), "is not a number"),
        (lambda m: lacunet.query(m, "class", do={"height": 170}), "has no effect"),
        (lambda m: lacunet.most_probable(m, "height"), "numbers have no most probable state"),
        (lambda m: lacunet.api.answer(m, "height", {"height": 170}), "both a target and given"),
    ],
)
def test_invalid_questions(model, ask, words):
    with pytest.raises(OptionError, match=words):
        ask(model)
