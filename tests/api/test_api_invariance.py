"""Numbers that must not depend on how the same data are written down, or on the machine's load."""

import functools
import json
import math

import numpy as np
import polars as pl
import pytest

import lacunet
from lacunet.models.formats.json_model import read as model_from_json
from lacunet.models.formats.json_model import write as model_to_json

SMALL = ("carcinoma", "values", "myocardial")
OPTIONS = {"states": (1, 2, 3), "starts": 16, "seed": 0}


def frame(name: str) -> pl.DataFrame:
    return pl.read_csv(lacunet.dataset_path(name))


def scores(data, **options) -> dict[tuple[int, str], float]:
    selection = lacunet.select(data, **{**OPTIONS, **options})
    return {(c.states, n): e.value for c in selection.candidates for n, e in c.scores.items()}


@functools.cache
def usual_scores(name: str) -> dict[tuple[int, str], float]:
    """Of the data as they are: what most tests compare with."""
    return scores(frame(name), weights="count")


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_weight_two_is_the_row_twice(name):
    weighted = frame(name)
    rows = weighted.select(pl.all().repeat_by("count").explode()).drop("count")
    assert len(rows) == weighted["count"].sum()
    assert scores(rows) == usual_scores(name)


@pytest.mark.slow
def test_split_weights_are_one_weight():
    whole = frame("values")
    halves = pl.concat([whole.with_columns(pl.col("count") / 2)] * 2)
    result = scores(halves, weights="count", weights_as="frequency")
    assert result == usual_scores("values")


@pytest.mark.slow
def test_rows_of_weight_zero_change_nothing():
    whole = frame("carcinoma")
    swapped = whole.with_columns(pl.exclude("count") * -1 + 1).with_columns(
        count=0 * pl.col("count")
    )
    more = pl.concat([whole, swapped])
    given, result = usual_scores("carcinoma"), scores(more, weights="count")
    for key, value in given.items():
        assert result[key] == pytest.approx(value, abs=1e-6), key


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_the_order_of_the_rows_does_not_matter(name):
    whole = frame(name)
    shuffled = whole.sample(fraction=1.0, shuffle=True, seed=3)
    assert not shuffled.equals(whole)
    assert scores(shuffled, weights="count") == usual_scores(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_the_order_of_the_columns_does_not_matter_to_scores(name):
    """At the same parameters: the model's variables are put into another order."""
    data, weights = lacunet.dataset_path(name), {"weights": "count"}
    given = lacunet.fit(data, 3, starts=8, **weights).model
    document = json.loads(model_to_json(given))
    for key in ("variables", "families"):
        root, *leaves = document[key]
        document[key] = [root, *reversed(leaves)]
    turned = model_from_json(json.dumps(document))
    evidence = lacunet.score(data, turned, **weights).evidence
    for name, e in lacunet.score(data, given, **weights).evidence.items():
        assert evidence[name].value == pytest.approx(e.value, abs=1e-9), name


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_the_order_of_the_columns_does_not_matter_to_learning(name):
    """Other sums, another path, the same optimum.

    Where a search stops, it is within 1e-6 of a zero gradient, which leaves the maximum itself
    second-order small. The scores are not stationary there, and some directions are nearly flat, so
    they feel the last digits of the parameters.
    """
    whole = frame(name)
    turned = whole.select(reversed(whole.columns))
    options = {**OPTIONS, "weights": "count", "quick": True}  # samples are other ones
    one, two = (lacunet.select(data, **options) for data in (whole, turned))
    for a, b in zip(one.candidates, two.candidates, strict=True):
        assert a.fit.log_posterior == pytest.approx(b.fit.log_posterior, abs=1e-9)
        for score, e in a.scores.items():
            assert b.scores[score].value == pytest.approx(e.value, abs=1e-3), (a.states, score)


@pytest.mark.slow
def test_the_names_of_the_states_do_not_matter():
    whole = frame("myocardial")
    named = whole.with_columns(
        pl.exclude("count").replace_strict({0: "absent", 1: "present"}, return_dtype=pl.String)
    )
    assert scores(named, weights="count") == usual_scores("myocardial")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["carcinoma", "myocardial"])
@pytest.mark.usefixtures("short_steps_on_threads")
def test_the_number_of_threads_does_not_matter(name):
    table = lacunet.load_dataset(name)
    one, two = (lacunet.select(table, **OPTIONS, threads=t) for t in (1, 2))
    for a, b in zip(one.candidates, two.candidates, strict=True):
        np.testing.assert_array_equal(a.fit.model.theta, b.fit.model.theta)
        assert a.fit.flags == b.fit.flags
        assert {n: e.terms for n, e in a.scores.items()} == {
            n: e.terms for n, e in b.scores.items()
        }
    fits = [lacunet.fit(table, 3, starts=16, threads=t) for t in (1, 2)]
    np.testing.assert_array_equal(fits[0].model.theta, fits[1].model.theta)
    np.testing.assert_array_equal(fits[0].model.theta, one.candidates[2].fit.model.theta)


def test_another_seed_finds_the_same_optimum():
    table = lacunet.load_dataset("carcinoma")
    result = [lacunet.fit(table, 2, starts=16, seed=seed) for seed in (0, 1)]
    assert result[0].log_posterior == pytest.approx(result[1].log_posterior, abs=1e-9)


def test_a_cell_that_is_missing_everywhere_in_a_row_keeps_the_row():
    whole = frame("values").drop("count")
    empty = whole.clear(1)
    table = lacunet.read_table(pl.concat([whole, empty]))
    assert (table.rows, table.empty_rows) == (len(whole) + 1, 1)
    with_it, without = lacunet.fit(table, 2, starts=4), lacunet.fit(whole, 2, starts=4)
    assert with_it.log_lik == pytest.approx(without.log_lik, abs=1e-6)


def test_errors_in_threads_come_out(monkeypatch):
    from lacunet.runtime.executor import on_threads

    def fail(k):
        if k == 3:
            raise ValueError("three")
        return k

    for threads in (1, 2):
        with pytest.raises(ValueError, match="three"), on_threads(threads) as executor:
            executor.map(fail, range(6))
        with on_threads(threads) as executor:
            assert executor.map(math.sqrt, [1, 4, 9]) == [1, 2, 3]
