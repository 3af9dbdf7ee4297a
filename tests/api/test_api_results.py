"""The Python functions: what they take, what they give, how it looks."""

import dataclasses
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest

import lacunet
from lacunet import DataError, LacunetError, ModelError, OptionError
from lacunet.tabular import Grid

HOSTILE = '<script>alert("x")</script> & co'


@pytest.fixture(scope="module")
def carcinoma():
    return lacunet.load_dataset("carcinoma")


@pytest.fixture(scope="module")
def selection(carcinoma):
    return lacunet.select(carcinoma, range(1, 4), starts=8)


def test_every_public_name_exists():
    assert lacunet.__all__ == sorted(lacunet.__all__)
    for name in lacunet.__all__:
        assert getattr(lacunet, name) is not None
        assert name in dir(lacunet)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = lacunet.nothing


def test_the_docstring_lists_public_names():
    block = lacunet.__doc__.split("Functions by task")[1].split(":", 1)[1].split("Results print")[0]
    tasks = [line.split("  ", 1)[1].strip() for line in block.strip().splitlines()]
    named = [name.strip() for task in tasks for name in task.split("  ")[-1].split(",")]
    assert len(named) > 40
    assert {*named} <= {*lacunet.__all__}
    assert {*lacunet.__all__} <= {*dir(lacunet)}


def test_the_import_loads_no_heavy_package():
    heavy = ("numpy", "scipy", "numba", "polars", "narwhals", "pandas", "typer", "rich")
    program = f"import sys, lacunet; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "[]"


def test_results_are_frozen(selection, carcinoma):
    fit = selection.best.fit
    scores = lacunet.score(carcinoma, fit.model, scores="bic")
    results = (selection, selection.best, fit, fit.model, scores, scores.evidence["bic"], carcinoma)
    for result in results:
        field = dataclasses.fields(result)[0].name
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(result, field, None)


def test_results_print_as_aligned_tables(selection, carcinoma):
    frame = lacunet.simulate(selection.best.fit.model, 30, seed=1)
    results = (
        selection,
        selection.best.fit,
        lacunet.score(carcinoma, selection.best.fit.model),
        lacunet.assign(frame, selection.best.fit.model),
        carcinoma,
    )
    for result in results:
        text = str(result)
        assert "object at 0x" not in text
        for grid in result.grids():
            if not grid.header:
                continue
            lines = grid.text().splitlines()[1 : 2 + len(grid.rows)]
            at = lines[0].index(grid.header[1])
            if 1 not in grid.left:  # numbers: the right edges stand below each other
                at += len(grid.header[1])
                cells = [row[1] for row in grid.rows]
                assert all(
                    line[:at].endswith(cell) for line, cell in zip(lines[1:], cells, strict=True)
                )
        page = result._repr_html_()
        assert page.count("<table>") == page.count("</table>") >= 1


def test_the_answer_of_a_selection(selection):
    assert selection.states == 3
    assert selection.chosen["cs"] == 3
    assert str(selection).startswith("At least 3 classes (3 is the most that was tried")
    assert selection.best.states == 3
    only = lacunet.select(selection.table, 2, starts=4, scores="bic")
    assert str(only).startswith("2 classes (the only candidate).\n")


def test_html_is_escaped():
    frame = pd.DataFrame({HOSTILE: ["<b>", "a&b", "<b>", "a&b"] * 5, "y": [0, 0, 1, 1] * 5})
    selection = lacunet.select(frame, [1, 2], starts=4)
    for page in (
        selection._repr_html_(),
        selection.table._repr_html_(),
        selection.best.fit._repr_html_(),
    ):
        assert "<script>" not in page
        assert "<b>" not in page
        assert "&lt;script&gt;" in page
        assert "a&amp;b" in page
    assert Grid(HOSTILE, (), (), notes=(HOSTILE,)).html().count("&lt;script&gt;") == 2


def test_wide_tables_are_split():
    grid = Grid(
        "Title",
        ("k", "first", "second", "third"),
        (("1", "0.5", "0.25", "12345678"), ("2", "0.1", "0.2", "0.3")),
        notes=("a note",),
    )
    assert grid.panels(width=100, gap=2) == [grid]
    one, two = grid.panels(width=16, gap=2)
    assert (one.title, one.header, one.notes) == ("Title", ("k", "first", "second"), ())
    assert (two.title, two.header, two.notes) == ("", ("k", "third"), ("a note",))
    assert two.rows == (("1", "12345678"), ("2", "0.3"))
    for narrow in grid.panels(width=1, gap=2):
        assert len(narrow.header) == 2
    words = Grid("", ("name", "value", "text"), (("a", "1", "word " * 50),), frozenset({0, 2}))
    assert words.panels(width=60, gap=3) == [words]
    assert Grid("Only a title", (), ()).panels(width=5, gap=2) == [Grid("Only a title", (), ())]


def test_data_of_every_kind_give_the_same_scores(carcinoma):
    path = lacunet.dataset_path("carcinoma")
    frame = pl.read_csv(path)
    options = {"states": [2], "starts": 4, "scores": "bic,cs", "weights": "count"}
    result = [
        lacunet.select(data, **options).values("cs")
        for data in (path, str(path), frame, frame.lazy(), frame.to_pandas(), frame.to_arrow())
    ]
    here = lacunet.select(carcinoma, 2, starts=4, scores="cs").values("cs")
    assert all(values == here for values in result)


@pytest.mark.slow
def test_scores_at_the_parameters_and_after_a_refit(carcinoma):
    start = lacunet.random_model(2, 7, seed=3)
    names = {f"x{i}": letter for i, letter in enumerate("ABCDEFG", 1)}
    frame = pl.read_csv(lacunet.dataset_path("carcinoma")).rename({v: k for k, v in names.items()})
    at = lacunet.score(frame, start, weights="count")
    np.testing.assert_array_equal(at.model.theta, start.theta)
    assert at.fit is None
    refitted = lacunet.score(frame, start, weights="count", refit=True)
    assert refitted.log_likelihood == pytest.approx(-317.307, abs=1e-2)
    assert refitted.fit is not None
    assert refitted.log_likelihood == refitted.fit.log_lik
    table = lacunet.read_table(frame, weights="count")
    assert lacunet.score(table, start).log_likelihood == at.log_likelihood


def test_a_table_must_fit_the_model(carcinoma, selection):
    other = lacunet.load_dataset("values")
    with pytest.raises(LacunetError):
        lacunet.score(other, selection.best.fit.model)


def test_assign_wants_rows_in_order(carcinoma, selection):
    with pytest.raises(DataError, match=r"without the order of the rows\. Give the file or"):
        lacunet.assign(carcinoma, selection.best.fit.model)
    assignment = lacunet.assign(lacunet.dataset_path("carcinoma"), selection.best.fit.model)
    assert assignment.probabilities.shape == (20, 3)
    assert assignment.classes == ("1", "2", "3")
    np.testing.assert_allclose(assignment.probabilities.sum(axis=1), 1)
    np.testing.assert_array_equal(assignment.best, assignment.probabilities.argmax(axis=1))


def test_reading_options_belong_to_reading(carcinoma):
    with pytest.raises(OptionError, match="weights: this is already a table"):
        lacunet.select(carcinoma, [1], weights="count")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"states": []}, "no number of states to try"),
        ({"states": 0}, "0 hidden states: there must be at least 1"),
        ({"states": "1:8"}, r"states '1:8' are not whole numbers. Give for example range\(1, 9\)"),
        ({"states": [1.5]}, "are not whole numbers"),
        ({"states": 2.0}, "states 2.0 are not whole numbers"),
        ({"scores": []}, "no score is named. Name some, usual, or all"),
        ({"scores": "bd"}, "bd is exact, so defined only where nothing is hidden"),
        ({"scores": "best"}, "'best' is not a score"),
        ({"estimate": "mode"}, "estimate 'mode' is not known. Choose from map, ml"),
        (
            {"schedule": "fast"},
            "schedule 'fast' is not known. Choose from default, thorough, paper",
        ),
        ({"dimension": "full"}, "dimension 'full' is not known. Choose from parameters, rank"),
        ({"alpha": 0.0}, "alpha 0 is not allowed"),
        ({"alpha": float("nan")}, "alpha nan is not allowed"),
        ({"starts": 0}, "0 starts: there must be at least 1"),
        ({"threads": 0}, "0 threads: there must be at least 1"),
        ({"seed": -1}, "seed -1 is not allowed"),
        ({"prior": {1: 1.0}}, "the prior has no weight for 2"),
    ],
)
def test_arguments_out_of_range(carcinoma, options, text):
    with pytest.raises(OptionError, match=text):
        lacunet.select(carcinoma, **{"states": [1, 2], **options})


def test_exact_score_of_one_class(carcinoma):
    assert set(lacunet.select(carcinoma, 1, scores="bd").chosen) == {"bd"}
    one = lacunet.fit(carcinoma, 1).model
    assert set(lacunet.score(carcinoma, one, scores="bd").evidence) == {"bd"}


@pytest.mark.parametrize("states", [0, -1, 2.5, "2", None])
def test_fit_wants_one_whole_number(carcinoma, states):
    with pytest.raises(OptionError):
        lacunet.fit(carcinoma, states)


def test_numbers_of_numpy_are_numbers(carcinoma):
    selection = lacunet.select(carcinoma, np.arange(1, 3), starts=4, scores="bic")
    assert [c.states for c in selection.candidates] == [1, 2]
    assert lacunet.fit(carcinoma, np.int64(2), starts=2).model.network.dimension == 15


def test_simulate_and_random_models():
    model = lacunet.random_model(3, 4, leaf_states=3, seed=2)
    frame = lacunet.simulate(model, 200, seed=5, missing_rate=0.5)
    assert frame.shape == (200, 4)
    assert frame.equals(lacunet.simulate(model, 200, seed=5, missing_rate=0.5))
    assert not frame.equals(lacunet.simulate(model, 200, seed=6, missing_rate=0.5))
    assert 0.4 < sum(frame.null_count().row(0)) / 800 < 0.6
    for bad in ({"rows": 0}, {"rows": 5, "seed": -1}, {"rows": 5, "missing_rate": 1.0}):
        with pytest.raises(OptionError):
            lacunet.simulate(model, **bad)
    with pytest.raises(ModelError, match="No such file"):
        lacunet.simulate("nil.json", 5)


def test_errors_are_also_the_built_in_ones(tmp_path):
    with pytest.raises(ValueError, match="there is no file"):
        lacunet.select(tmp_path / "nil.csv")
    with pytest.raises(OSError, match="is a folder"):
        lacunet.write_model(lacunet.random_model(2, 2), tmp_path)


def test_a_link_is_followed_and_kept(tmp_path):
    (tmp_path / "real.json").write_text("old")
    link = tmp_path / "link.json"
    link.symlink_to("real.json")
    model = lacunet.random_model(2, 3, seed=1)
    lacunet.write_model(model, link)
    assert link.is_symlink()
    np.testing.assert_array_equal(lacunet.read_model(tmp_path / "real.json").theta, model.theta)
