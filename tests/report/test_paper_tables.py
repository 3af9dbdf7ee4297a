"""Tables for papers: their numbers are those of others, and every format is read back."""

import csv
import io
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import lacunet
from lacunet import LatentClassModel, ModelError, OptionError, OutputError
from lacunet.models.latent_class import latent_class, with_edges
from lacunet.summaries.profiles import profiles

docx = pytest.importorskip("docx")

QUICK = {"starts": 4, "threads": 1}
ODD = "a_1 & 50%"


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(3)
    one = random.random(240) < 0.6
    answers = {
        ODD: np.where(random.random(240) < np.where(one, 0.9, 0.2), "yes", "no"),
        "<b>": np.where(random.random(240) < np.where(one, 0.8, 0.1), "u|v", "$w"),
        "many": np.where(one, random.choice(list("pq"), 240), random.choice(list("rs"), 240)),
        "four": np.where(random.random(240) < np.where(one, 0.7, 0.1), "no", "yes"),
    }
    frame = pd.DataFrame(answers).astype(object)
    frame.loc[::9, "four"] = None
    return frame


@pytest.fixture(scope="module")
def selection(rows):
    return lacunet.select(rows, [1, 2, 3], scores="cs,bic", quick=True, **QUICK)


@pytest.fixture(scope="module")
def tables(selection):
    return lacunet.paper_tables(selection)


@pytest.fixture(scope="module")
def written(tables, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    endings = ("csv", "md", "tex", "html", "docx")
    return {e: lacunet.write_tables(tables, folder / f"paper.{e}") for e in endings}


def minus(cell: str) -> str:
    """A number as it is printed; log-likelihoods are below 0."""
    return re.sub(r"^-(?=\d)", "−", cell)


def blocks(path: Path) -> list[pl.DataFrame]:
    """The two tables of a file, each below its title."""
    texts = path.read_text(encoding="utf-8").split("\n\n")
    return [pl.read_csv(io.StringIO(text.partition("\n")[2])) for text in texts]


def test_fits_have_the_numbers_of_criteria_profiles_and_the_answer(selection, tables):
    frame = tables.to_frame()
    others = lacunet.information_criteria(selection)
    assert frame["states"].to_list() == [1, 2, 3]
    for row, one in zip(frame.iter_rows(named=True), others.candidates, strict=True):
        label, fit = one.candidate.label, one.candidate.fit
        assert row["log_likelihood"] == fit.log_lik
        assert row["dimension"] == fit.model.network.dimension
        assert [row[n] for n in ("AIC", "BIC", "SABIC")] == [
            one.criteria[n] for n in ("AIC", "BIC", "SABIC")
        ]
        np.testing.assert_equal(row["entropy_r2"], one.classification[0].entropy_r2)
        assert row["smallest_class"] == profiles(fit.model)[0].sizes.min()
        assert row["log_evidence"] == selection.certainty.values[label]
        assert row["probability"] == selection.posterior()[label]


def test_items_have_the_numbers_of_intervals(rows, selection, tables):
    precise = lacunet.intervals(lacunet.read_table(rows), selection)
    frame = tables.items.to_frame()
    assert frame.columns[:4] == ["item", "answer", "class 1", "class 1 s.e."]
    assert frame["item"].to_list() == ["class size", ODD, "<b>", *["many"] * 4, "four"]
    assert frame["answer"].to_list() == ["", "yes", "u|v", *"pqrs", "yes"]
    model = selection.model
    for item, answer, *numbers in frame.rows():
        name = "class" if item == "class size" else item
        variable = model.network.variables[model.network.index(name)]
        table = precise.table(name)
        at = ... if not answer else (slice(None), variable.labels.index(answer))
        np.testing.assert_array_equal(numbers[::2], table.estimate[at])
        np.testing.assert_array_equal(numbers[1::2], table.stderr[at])
    assert np.isnan(frame["class 1 s.e."].to_list()).any()  # the test of dashes needs one


def test_errors_stand_in_parentheses_and_a_dash_where_there_is_none(tables):
    (grid,) = tables.items.grids()
    for row, line in zip(grid.rows, tables.items.lines, strict=True):
        for cell, stderr in zip(row[2:], line.stderr, strict=True):
            assert re.fullmatch(r"(\d\.\d{3}|[01]|<0\.001|>0\.999) \((\d\.\d{3}|<0\.001|–)\)", cell)
            assert cell.endswith("(–)") == np.isnan(stderr)
    assert any(note.startswith("–: no standard error") for note in grid.notes)


def test_numbers_have_means_and_deviations():
    random = np.random.default_rng(1)
    x = np.concatenate([random.normal(0, 1, 60), random.normal(9, 2, 90)]).round(3)
    data = {"x": x, "y": np.where(x + random.normal(0, 3, 150) > 4, "u", "v")}
    table = lacunet.read_table(pd.DataFrame(data), kinds={"x": "gaussian"})
    fit = lacunet.fit(table, 2, **QUICK)
    lines = lacunet.paper_tables(fit).items.lines
    intervals = lacunet.intervals(table, fit).summaries("x")
    assert [line.answer for line in lines if line.item == "x"] == list(intervals)
    for line in (line for line in lines if line.item == "x"):
        np.testing.assert_allclose(line.estimate, intervals[line.answer].estimate, rtol=1e-12)
        np.testing.assert_allclose(line.stderr, intervals[line.answer].stderr, rtol=1e-9)


def test_csv_has_all_digits(written, tables):
    fits, items = blocks(written["csv"])
    assert fits["AIC"].to_list() == list(tables.fits.tidy()["AIC"])
    assert fits["p(k)"].to_list() == list(tables.fits.tidy()["probability"])
    for name, column in tables.items.tidy().items():
        if name.startswith("class"):
            want = [None if np.isnan(x) else x for x in column]
            assert items[name].to_list() == want


def test_latex_is_balanced_and_escaped(written):
    text = written["tex"].read_text(encoding="utf-8")
    assert r"a\_1 \& 50\%" in text
    begun, ended = (re.findall(rf"\\{word}{{(\w+)}}", text) for word in ("begin", "end"))
    assert begun == ["table", "tabular"] * 2
    assert ended == ["tabular", "table"] * 2
    bare = re.sub(r"\\[{}$&_%#\\]", "", text)
    assert bare.count("{") == bare.count("}")
    assert bare.count("$") % 2 == 0
    assert "%" not in bare
    for columns, body in re.findall(r"\\begin{tabular}{(\w+)}(.*?)\\end{tabular}", text, re.DOTALL):
        lines = [line for line in body.splitlines() if line.endswith(r"\\")]
        assert {len(re.findall(r"(?<!\\)&", line)) for line in lines} == {len(columns) - 1}


def test_markdown_and_html_have_every_cell(written, tables):
    markdown = written["md"].read_text(encoding="utf-8")
    page = written["html"].read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "<b>" not in page
    shown = [row for grid in tables.grids() for row in grid.rows]
    assert markdown.count("\n| ") == len(shown) + 4  # heads and rules
    assert page.count("<tr>") == len(shown) + 2
    (cell,) = {tables.items.grids()[0].rows[0][2]}
    assert f"| {cell} |" in markdown
    assert f">{cell}</td>" in page


def test_word_has_tables_captions_and_notes(written, tables):
    document = docx.Document(str(written["docx"]))
    for table, grid in zip(document.tables, tables.grids(), strict=True):
        cells = [tuple(cell.text for cell in row.cells) for row in table.rows]
        assert cells == [grid.header, *(tuple(map(minus, row)) for row in grid.rows)]
        right = docx.enum.text.WD_ALIGN_PARAGRAPH.RIGHT
        for row in table.rows:
            sides = [cell.paragraphs[0].alignment == right for cell in row.cells]
            assert sides == [c not in grid.left for c in range(len(grid.header))]
        assert "w:tblHeader" in table.rows[0]._tr.xml
    captions = [p for p in document.paragraphs if p.style.name == "Caption"]
    texts = ["".join(t.text for t in p._p.iter() if t.tag.endswith("}t")) for p in captions]
    assert texts == ["Table 1. Fit by number of classes", "Table 2. Items by class"]
    message = [p.text for p in document.paragraphs]
    assert all(note.removeprefix("- ") in message for grid in tables.grids() for note in grid.notes)
    page = document.sections[0]
    assert page.page_width > page.page_height


def test_any_result_may_be_written(selection, tmp_path):
    assert lacunet.write_tables(selection, tmp_path / "all.docx").stat().st_size > 0
    with pytest.raises(OptionError, match=r"str is not a result with tables\. Give paper_tables"):
        lacunet.write_tables("found", tmp_path / "x.csv")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["paper.xlsx", "paper", "paper.doc", ".csv"])
def test_unknown_endings_are_refused(tables, tmp_path, name):
    with pytest.raises(OptionError, match=r"written to \.csv, \.md, \.tex, \.html or \.docx files"):
        lacunet.write_tables(tables, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_word_file_names_the_extra_that_writes_it(tables, tmp_path, monkeypatch):
    monkeypatch.setattr("lacunet.optional.find", lambda module: None)
    text = r"a Word document needs docx.* pip install 'lacunet\[word\]'"
    with pytest.raises(OptionError, match=text):
        lacunet.write_tables(tables, tmp_path / "paper.docx")


def test_standard_errors_of_the_bootstrap_are_taken(rows, selection):
    fit = selection.best.fit
    drawn = lacunet.intervals(rows, fit, bootstrap=3, threads=1)
    items = lacunet.paper_tables(fit, drawn).items
    np.testing.assert_array_equal(items.lines[0].stderr, drawn.table("class").stderr)
    with pytest.raises(OptionError, match="these intervals are of other parameters"):
        lacunet.paper_tables(selection.candidates[0].fit, drawn)


def test_estimators_have_them_and_models_do_not(rows, selection):
    estimator = LatentClassModel(2, n_init=2, n_jobs=1, random_state=0).fit(rows)
    assert lacunet.paper_tables(estimator).fits is None
    with pytest.raises(OptionError, match=r"Give what select\(\), compare\(\) or fit\(\) returned"):
        lacunet.paper_tables(selection.model)


def test_answers_that_listen_to_each_other_have_no_table_of_items(rows):
    edges = [(ODD, "many")]
    chosen = lacunet.select(rows, [1, 2], edges=edges, scores="cs", quick=True, **QUICK)
    tables = lacunet.paper_tables(chosen)
    assert tables.items is None
    assert "Items by class: left out" in str(tables)
    with pytest.raises(ModelError, match="only latent class models whose items depend on the"):
        lacunet.paper_tables(chosen.best.fit)


def test_networks_by_name_have_a_fit_table(rows):
    columns = [(name, sorted(rows[name].dropna().unique())) for name in rows]
    plain = latent_class(columns, 2)
    named = {"plain": plain, "edge": with_edges(plain, [(ODD, "many")])}
    chosen = lacunet.compare(rows, named, scores="cs", quick=True, **QUICK)
    grid = lacunet.paper_tables(chosen).grids()[0]
    assert grid.title == "Fit of the networks"
    assert [row[0] for row in grid.rows] == ["plain", "edge"]
    assert grid.header[-2:] == ("log p(D|S)", "p(S)")


def test_what_is_no_maximum_has_estimates_without_errors(selection):
    fit = selection.candidates[1].fit
    between = (fit.model.theta + fit.model.permuted(0, [1, 0]).theta) / 2
    fit = replace(fit, model=replace(fit.model, theta=between))
    (grid,) = lacunet.paper_tables(fit).grids()
    assert grid.notes[1].startswith("No standard errors: these parameters are not at the MAP")
    assert all(cell.endswith("(–)") for row in grid.rows for cell in row[2:])


def test_a_protected_folder_is_reported(tables, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="is a file, not a folder"):
        lacunet.write_tables(tables, tmp_path / "file" / "paper.csv")


def test_csv_of_one_table_is_plain(selection):
    text = lacunet.paper_tables(selection.best.fit).to_csv()
    assert next(csv.reader(io.StringIO(text)))[:2] == ["item", "answer"]
