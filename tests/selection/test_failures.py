"""Arithmetic that fails for one score, one candidate or one measurement ends nothing else."""

import json
import re

import numpy as np
import polars as pl
import pytest
from numpy.linalg import LinAlgError

import lacunet
from lacunet.errors import ModelError
from lacunet.evidence.measure import measure
from lacunet.flags import Kind
from lacunet.scores import VB, Fitting
from lacunet.tabular import to_json

ROWS = np.random.default_rng(0).integers(0, 2, (60, 3))


def failing(error, function, *, states):
    """The same function, which fails for one number of classes."""

    def of(problem):
        return len(problem.network.variables[problem.network.hidden[0]].states)

    def call(at, *args, **kwargs):
        if of(getattr(at, "problem", at)) in states:
            raise error
        return function(at, *args, **kwargs)

    return call


@pytest.mark.parametrize("error", [LinAlgError("Singular matrix"), ZeroDivisionError("by 0")])
def test_a_candidate_that_cannot_be_fitted_is_a_row_of_dashes(monkeypatch, error):
    monkeypatch.setattr(Fitting, "fit", failing(error, Fitting.fit, states=[2]))
    selection = lacunet.select(ROWS, [1, 2, 3], quick=True, threads=1, scores="bic,vb")
    assert [c.label for c in selection.candidates] == [1, 3]
    assert [(f.label, f.reason) for f in selection.failed] == [(2, str(error))]
    assert f"not fitted, and left out: 2 classes: {error}" in str(selection)
    assert re.search(r"\n +2( +–)+\n", str(selection))
    document = json.loads(to_json(selection.to_dict()))
    assert document["failed"] == [{"label": 2, "title": "2 classes", "reason": str(error)}]
    monkeypatch.setattr(Fitting, "fit", failing(error, Fitting.fit, states=[1, 2, 3]))
    with pytest.raises(ModelError, match=f"1 class could not be fitted: {error}"):
        lacunet.select(ROWS, [1, 2, 3], quick=True, threads=1)


def test_a_score_that_fails_is_a_dash_with_its_reason(monkeypatch):
    calls = failing(FloatingPointError("overflow"), VB.evaluate, states=[2])
    monkeypatch.setitem(VB.__dict__, "evaluate", calls)
    selection = lacunet.select(ROWS, [1, 2], quick=True, threads=1, scores="vb,bic")
    one, two = (c.scores["vb"] for c in selection.candidates)
    assert np.isfinite(one.value)
    assert np.isnan(two.value)
    assert [str(flag) for flag in two.flags] == ["not computed: overflow"]
    assert "2 classes: Variational Bayes: not computed: overflow" in str(selection)
    assert np.isfinite(selection.candidates[1].scores["bic"].value)


def test_a_score_that_is_no_number_is_a_dash(monkeypatch):
    monkeypatch.setitem(VB.__dict__, "evaluate", _vb)
    selection = lacunet.select(ROWS, [1, 2], quick=True, threads=1, scores="vb,bic")
    assert all(c.scores["vb"].flags[0].kind is Kind.FAILED for c in selection.candidates)
    assert "vb is -inf, which is impossible" in str(selection)


def _vb(at):
    from lacunet.scores import Evidence

    return Evidence("vb", {"bound": -np.inf})


def test_a_measurement_that_fails_leaves_the_score(monkeypatch):
    fails = failing(LinAlgError("Singular matrix"), measure, states=[2])
    monkeypatch.setattr("lacunet.selection.measuring.measure", fails)
    selection = lacunet.select(ROWS, [1, 2, 3], evidence=True, threads=1, scores="csl,bic")
    assert [c.measured is None for c in selection.candidates] == [False, True, False]
    assert Kind.NOT_MEASURED in {note.kind for note in selection.certainty.notes}
    assert "The evidence of 2 classes could not be measured: its score is used instead." in str(
        selection
    )
    assert 0 < selection.certainty.probabilities[2] < 1


def test_a_defect_is_not_hidden(monkeypatch):
    monkeypatch.setattr(Fitting, "fit", failing(KeyError("x"), Fitting.fit, states=[2]))
    with pytest.raises(KeyError):
        lacunet.select(ROWS, [1, 2], quick=True, threads=1)


def test_text_and_json_have_no_number_where_rows_are_impossible():
    answers = pl.DataFrame({"a": pl.Series(["x"] * 10, dtype=pl.Enum(["x", "y"]))})
    model = lacunet.fit(answers, 1, estimate="ml", threads=1).model
    scores = lacunet.score(pl.DataFrame({"a": ["x", "y"] * 5}), model)
    assert scores.log_likelihood == -np.inf
    assert str(scores).startswith("log p(D|θ) = –, log p(θ) = –, d = 1")
    assert "inf" not in str(scores).split()


def test_numbers_beyond_their_digits_are_written_short():
    x = np.random.default_rng(0).normal(size=(30, 1))
    model = lacunet.fit(x, 1, kinds="gaussian", threads=1).model
    scores = lacunet.score(np.array([[1e90], [0.5]]), model)
    assert re.match(r"log p\(D\|θ\) = -[0-9.]+e\+179, ", str(scores))
