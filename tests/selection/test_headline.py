"""The answer in the words of those who ask, and why BIC may say something else."""

import math
from dataclasses import replace

import numpy as np
import pytest

import lacunet
from lacunet.flags import Flag, Kind
from lacunet.scores import SCORES
from lacunet.selection.sentences import answer, limits, why_not_bic
from lacunet.wording import ON_COMMAND_LINE


@pytest.fixture(scope="module")
def carcinoma():
    table = lacunet.load_dataset("carcinoma")
    return lacunet.select(table, range(1, 5), starts=8, quick=True, threads=1)


def only(selection, labels):
    """The same with some of the candidates."""
    kept = tuple(c for c in selection.candidates if c.label in labels)
    values = {k: v for k, v in selection.certainty.values.items() if k in labels}
    return replace(
        selection,
        candidates=kept,
        overall=replace(selection.overall, values=values),
    )


def test_it_names_no_score(carcinoma):
    message = answer(carcinoma)
    assert message.startswith("3 classes (probability 0.88")
    assert " that 3 is right, among 1 to 4; 4: 0.1" in message
    assert not [s.title for s in SCORES if s.title in message]
    assert "among 2 to 4;" in answer(only(carcinoma, (2, 3, 4)))
    assert "among 1, 3 and 4;" in answer(only(carcinoma, (1, 3, 4)))
    assert "among 3 and 4;" in answer(only(carcinoma, (3, 4)))
    assert answer(only(carcinoma, (3,))) == "3 classes (the only candidate)."


def test_an_answer_at_the_end_of_the_range_is_a_warning(carcinoma):
    assert not [text for text in limits(carcinoma) if "that was tried" in text]
    most = limits(replace(only(carcinoma, (1, 2, 3)), misfit=None))[0]
    assert most == (
        "Warning: 3 is the largest number that was tried. Try more: states=range(1, 7)."
    )
    before = ON_COMMAND_LINE.set(True)
    try:
        assert limits(only(carcinoma, (1, 2, 3)))[1].endswith("Try more: --classes 1:6.")
    finally:
        ON_COMMAND_LINE.reset(before)
    assert "3 is the smallest number that was tried" in limits(only(carcinoma, (3, 4)))[1]


def test_an_unstable_search_is_not_certain(carcinoma):
    """One start of nine at the optimum, and a probability of 0.999 beside it, cannot both be."""
    flags = (Flag(Kind.UNSTABLE_SEARCHES, detail={"candidates": "3 classes"}),)
    shaky = tuple(
        replace(
            c, fit=replace(c.fit, largest_mass=replace(c.fit.for_scores, reached=1, finalists=9))
        )
        for c in carcinoma.candidates
    )
    result = replace(carcinoma.overall, notes=flags)
    message = answer(replace(carcinoma, candidates=shaky, overall=result))
    assert message == "3 classes (its probability is unknown: the search is unstable)."


def test_the_deviation_of_bic_is_explained(carcinoma):
    """What BIC and the evidence charge, worked out by hand."""
    two, three = carcinoma.candidates[1], carcinoma.candidates[2]
    result = replace(carcinoma.overall, values={1: -400.0, 2: -330.0, 3: -320.0, 4: -325.0})
    assert why_not_bic(replace(carcinoma, overall=result)) is None  # both say 3
    gain = three.fit.log_lik - two.fit.log_lik
    bic = {c.label: c.fit.log_lik - c.dimension / 2 * math.log(118) for c in carcinoma.candidates}
    assert max(bic, key=bic.get) == 3
    other = replace(carcinoma, overall=replace(result, values={**result.values, 2: -310.0}))
    why = why_not_bic(other)
    assert why.title.startswith("Why BIC says 3, and the ")
    assert why.gain == pytest.approx(gain)
    assert why.charged == pytest.approx(8 / 2 * np.log(118))
    assert why.cost == pytest.approx(gain - (-320.0 + 310.0))
    words = " ".join(why.sentences)
    assert f"3 classes fit {gain:.1f} nats better than 2 classes, by 8 more parameters" in words
    assert "takes 19.1 nats for them, ½ log 118 each" in words
    assert why.title in str(other)


def test_classes_are_called_classes(carcinoma):
    assert "\nclasses   d  log p(D|θ)" in str(carcinoma)
    assert "state" not in answer(carcinoma)
    assert carcinoma.candidates[0].title == "1 class"
    assert next(iter(carcinoma.tidy())) == "states"  # programs go by that
