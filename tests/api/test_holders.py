"""Whatever holds a model is taken for it: a fit, a selection, a fitted estimator, a stack."""

from dataclasses import replace

import pandas as pd
import pytest

import lacunet
from lacunet import LatentClassModel, LatentClassSelector, OptionError

ROWS = pd.DataFrame({name: list("xyxyxxyy" * 3) for name in "abc"}).assign(b=list("uuvvuvuv" * 3))
QUICK = {"starts": 2, "threads": 1}


@pytest.fixture(scope="module")
def holders():
    fit = lacunet.fit(ROWS, 2, **QUICK)
    selection = lacunet.select(ROWS, [2], quick=True, **QUICK)
    estimator = LatentClassModel(2, n_init=2, n_jobs=1, random_state=0).fit(ROWS)
    selector = LatentClassSelector([2], n_init=2, n_jobs=1, quick=True, random_state=0).fit(ROWS)
    return {
        "model": (fit.model, fit.model),
        "fit": (fit, fit.model),
        "selection": (selection, selection.best.fit.model),
        "candidate": (selection.best, selection.best.fit.model),
        "estimator": (estimator, estimator.model_),
        "selector": (selector, selector.model_),
    }


@pytest.mark.parametrize(
    "which", ["model", "fit", "selection", "candidate", "estimator", "selector"]
)
def test_it_answers_queries_like_its_model(holders, which, tmp_path):
    held, model = holders[which]
    answer = lacunet.query(held, "a", {"b": "u"})
    assert answer.tolist() == lacunet.query(model, "a", {"b": "u"}).tolist()
    assert lacunet.assign(ROWS, held).to_frame().equals(lacunet.assign(ROWS, model).to_frame())
    assert lacunet.log_likelihoods(ROWS, held).tolist() == (
        lacunet.log_likelihoods(ROWS, model).tolist()
    )
    drawn = [lacunet.simulate(x, 5, seed=1) for x in (held, model)]
    assert drawn[0].equals(drawn[1])
    lacunet.write_model(held, tmp_path / "model.json")
    assert lacunet.read_model(tmp_path / "model.json").network == model.network
    lacunet.write_network(held, tmp_path / "net.bif")
    assert set(lacunet.to_networkx(held)) == {"class", "a", "b", "c"}
    assert lacunet.cpdag(held) == lacunet.cpdag(model)
    chosen = lacunet.compare(ROWS, {"one": held, "two": model}, quick=True, **QUICK)
    assert len(chosen.candidates) == 2


@pytest.mark.parametrize("which", ["model", "fit", "selection", "estimator"])
def test_it_is_described_like_its_fit(holders, which):
    held, model = holders[which]
    assert lacunet.intervals(ROWS, held).level == lacunet.intervals(ROWS, model).level
    assert lacunet.fit_statistics(ROWS, held).brief() == (
        lacunet.fit_statistics(ROWS, model).brief()
    )
    assert lacunet.match_classes(model, held).network == model.network
    assert lacunet.match_classes(held, model) is not None
    if which in ("fit", "selection", "estimator"):
        assert lacunet.em_traces(ROWS, held).best.end <= 0


def test_a_stack_predicts_like_its_ensemble(tmp_path):
    stack = lacunet.stack(ROWS, folds=2, only="classes", threads=1)
    scores = [lacunet.log_likelihoods(ROWS, x).tolist() for x in (stack, stack.ensemble)]
    assert scores[0] == scores[1]
    lacunet.write_stack(stack, tmp_path / "stack.json")


@pytest.mark.parametrize("other", [None, 3, ROWS, {"a": 1}, object(), LatentClassModel(2)])
def test_anything_else_is_refused_in_our_words(other):
    with pytest.raises(OptionError, match=r"is no model. Give a model, a fit, a selection"):
        lacunet.assign(ROWS, other)
    with pytest.raises(OptionError, match="is no model"):
        lacunet.write_model(other, "model.json")
    with pytest.raises(OptionError, match="is no network"):
        lacunet.cpdag(other)
    with pytest.raises(OptionError, match=r"is no fit. Give what fit\(\) returned"):
        lacunet.em_traces(ROWS, other)
    with pytest.raises(OptionError, match="is no selection"):
        lacunet.information_criteria(other)


def test_wrong_questions_are_refused_in_our_words(holders):
    _, model = holders["model"]
    for wrong, message in (
        (lambda: lacunet.query(model, 3), "targets are names"),
        (lambda: lacunet.query(model, ["a", 2]), "targets are names"),
        (lambda: lacunet.simulate(model, "5"), "give a whole number"),
        (lambda: lacunet.simulate(model, 2.5), "give a whole number"),
        (lambda: lacunet.likelihood_ratio_test(ROWS, [1, 2]), "give a single number"),
        (lambda: lacunet.fit(ROWS, [1, 2]), "give a single number"),
        (lambda: lacunet.class_regression(ROWS, [2, 3], ["a"]), "give a single number"),
        (lambda: lacunet.compare(ROWS, model), "Give a list"),
        (lambda: lacunet.compare(ROWS, "net.bif"), "Give a list"),
        (lambda: lacunet.graph_distances([model], model), "mapping of names"),
    ):
        with pytest.raises(OptionError, match=message):
            wrong()


def test_a_fit_keeps_its_options_and_table(holders):
    """What is known of a fit is not lost on the way through what holds it."""
    fit = lacunet.fit(ROWS, 2, estimate="ml", **QUICK)
    held = lacunet.select(ROWS, [2], estimate="ml", quick=True, **QUICK)
    intervals = lacunet.intervals(ROWS, fit).to_frame()
    assert lacunet.intervals(ROWS, held).to_frame().equals(intervals)
    assert replace(fit, seconds=0.0).estimate is held.best.fit.estimate
    rows = ROWS.assign(income=range(len(ROWS)))
    steps = [lacunet.three_step(rows, x, outcomes="income").to_frame() for x in (fit, held)]
    assert steps[0].equals(steps[1])
