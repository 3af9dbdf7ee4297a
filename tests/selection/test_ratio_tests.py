"""Bootstrap tests beside a selection: those of `likelihood_ratio_test`, and in every table."""

import io
import math

import numpy as np
import polars as pl
import pytest

import lacunet
from lacunet import OptionError
from lacunet.report.page import write_report

OPTIONS = {"quick": True, "scores": "bic", "starts": 4, "threads": 1}


@pytest.fixture(scope="module")
def values():
    return lacunet.load_dataset("values")


@pytest.fixture(scope="module")
def selection(values):
    return lacunet.select(values, [1, 2, 3], blrt=29, **OPTIONS)


@pytest.fixture(scope="module")
def tables(selection):
    return lacunet.paper_tables(selection)


def test_they_are_the_tests_of_one_number_after_the_other(values, selection):
    assert list(selection.ratio_tests) == [2, 3]
    for k, test in selection.ratio_tests.items():
        alone = lacunet.likelihood_ratio_test(
            values, k - 1, replicates=29, stop_after=20, starts=4, threads=1
        )
        assert test.statistic == alone.statistic
        np.testing.assert_array_equal(test.replicates, alone.replicates)
        assert (test.p_value, test.stopped) == (alone.p_value, alone.stopped)
    assert selection.ratio_tests[2].p_value == 1 / 30
    assert selection.ratio_tests[3].stopped


def test_the_error_of_p_is_that_of_a_share_of_draws(selection):
    for test in selection.ratio_tests.values():
        p, n = test.p_value, len(test.replicates)
        assert test.stderr == pytest.approx(math.sqrt(p * (1 - p) / n))


def test_one_class_less_is_fitted_if_needed(values, selection):
    alone = lacunet.select(values, [3], blrt=29, **OPTIONS)
    assert [c.label for c in alone.candidates] == [3]
    np.testing.assert_array_equal(
        alone.ratio_tests[3].replicates, selection.ratio_tests[3].replicates
    )


def test_p_is_in_the_fit_table(selection, tables):
    two, three = selection.ratio_tests.values()
    frame = tables.to_frame()
    assert frame["blrt_p"].to_list()[1:] == [two.p_value, three.p_value]
    assert frame["blrt_p_stderr"].to_list()[1:] == [two.stderr, three.stderr]
    assert frame["blrt_draws"].to_list() == [None, 29, len(three.replicates)]
    (grid, *_) = tables.grids()
    column = [row[grid.header.index("BLRT p")] for row in grid.rows]
    assert column[:2] == ["–", "0.033"]  # the smallest that 29 draws can show
    assert column[2].startswith(f"{three.p_value:.2f} ± ")
    (note,) = (note for note in grid.notes if note.startswith("BLRT p"))
    assert "29 data sets" in note
    assert "no p can be below 0.033" in note


@pytest.mark.parametrize("ending", ["csv", "md", "tex", "html", "docx"])
def test_p_is_in_every_format(tables, ending, tmp_path):
    path = lacunet.write_tables(tables, tmp_path / f"paper.{ending}")
    if ending == "docx":
        docx = pytest.importorskip("docx")
        words = docx.Document(str(path)).tables[0]
        column = words.columns[[c.text for c in words.rows[0].cells].index("BLRT p")]
        assert [cell.text for cell in column.cells][2] == "0.033"
        return
    text = path.read_text(encoding="utf-8")
    assert "BLRT p" in text
    if ending == "csv":
        first = pl.read_csv(io.StringIO(text.split("\n\n")[0].partition("\n")[2]))
        assert first["BLRT p"].to_list()[1] == 1 / 30
    else:
        assert "0.033" in text


def test_it_is_printed_saved_and_on_the_page(selection, tmp_path):
    text = str(selection)
    assert "3 against 2" in text
    assert "A small p is evidence against the smaller number of classes." in text
    two, three = selection.to_dict()["bootstrap_tests"]
    assert (two["states"], two["against"], two["draws"], two["exceeding"]) == (2, 1, 29, 0)
    assert three["stopped_early"]
    page = write_report(selection, tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Bootstrap likelihood-ratio tests" in page
    assert "blrt=29" in page


def test_ml_fits_have_the_tests_of_others_beside_it(values):
    selection = lacunet.select(values, [1, 2], blrt=19, estimate="ml", **OPTIONS)
    (grid, *_) = lacunet.paper_tables(selection).grids()
    assert [h for h in grid.header if h.endswith(" p")] == ["BLRT p", "VLMR p", "LMR p"]
    assert any("use the bootstrap test (BLRT)" in note for note in grid.notes)


@pytest.mark.slow
def test_a_network_and_its_hidden_variable(values):
    graph = "H -> A B C D; A -> B"
    selection = lacunet.select(values, [2], network=graph, hidden=["H"], blrt=19, **OPTIONS)
    alone = lacunet.likelihood_ratio_test(
        values, 1, network=graph, hidden=["H"], replicates=19, stop_after=20, starts=4, threads=1
    )
    np.testing.assert_array_equal(selection.ratio_tests[2].replicates, alone.replicates)


def rows(**columns):
    rng = np.random.default_rng(0)
    answers = {name: rng.choice(["u", "v"], 40) for name in "ab"}
    return pl.DataFrame({**answers, **columns})


@pytest.mark.parametrize(
    ("data", "options", "text"),
    [
        (rows(), {"blrt": 5}, "of fewer than 19 draws no p can be 0.05 or less"),
        (rows(), {"blrt": -1}, "of fewer than 19 draws"),
        (rows(x=np.linspace(0, 1, 40)), {"kinds": "x=gaussian"}, "'x' is continuous"),
        (rows(w=[0.5, 1.5] * 20), {"weights": "w"}, "and the bootstrap draws whole rows"),
        (rows(c=["p", "q"] * 20), {"clusters": "c"}, "these were drawn in strata or clusters"),
        (rows(), {"memory": "1GB"}, "Leave out memory= or blrt="),
        (
            rows(),
            {"network": "H -> a b; G -> a b", "hidden": ["H", "G"]},
            "several hidden variables vary here",
        ),
    ],
)
def test_what_cannot_be_drawn_is_refused_before_the_work(data, options, text):
    listened = []
    with pytest.raises(OptionError, match=text):
        lacunet.select(data, [1, 2], **{"blrt": 19, **options}, listener=listened.append)
    assert listened == []
