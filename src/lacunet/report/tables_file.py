"""Files of results: tables as text or Word documents, selections as folders."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from lacunet.errors import OptionError
from lacunet.models.formats import write_model
from lacunet.optional import require
from lacunet.runtime.files import (
    StrPath,
    atomic_folder,
    atomic_path,
    check_file,
    check_folder,
    check_not_read,
    harmless,
    write_text,
)
from lacunet.selection.result import Selection
from lacunet.tabular import Grid, Printable, Shown, to_json
from lacunet.tabular.export import csv_table

UPRIGHT = 6  # most columns of a table in portrait orientation
TEXT, NOTE = 9, 8  # points
THICK, THIN = "8", "4"  # eighths of a point: outer rules, and the rule under the head


def load_docx() -> Any:
    """Return the module docx, or raise an error that names the package to install."""
    return require("docx", extra="word", what="a Word document")


def write_word(grids: Sequence[Grid], path: Path) -> None:
    """Write a Word document of tables with numbered captions, three rules and notes."""
    document = load_docx().Document()
    document.styles["Caption"].font.color.rgb = require("docx.shared").RGBColor(0, 0, 0)
    document.core_properties.title = harmless(grids[0].title)
    document.core_properties.author = document.core_properties.comments = ""
    if any(len(grid.header) > UPRIGHT for grid in grids):
        page = document.sections[0]
        page.orientation = require("docx.enum.section").WD_ORIENT.LANDSCAPE
        page.page_width, page.page_height = page.page_height, page.page_width
    for grid in grids:
        if grid.title:
            _caption(document, grid)
        if grid.header:
            _table(document, grid)
        for note in grid.notes:
            listed = note.startswith("- ")
            text = note[2:] if listed else note
            paragraph = document.add_paragraph(style="List Bullet" if listed else None)
            paragraph.paragraph_format.space_after = 0
            _write(paragraph, text, NOTE)
        document.add_paragraph()
    document.save(str(path))


def _caption(document: Any, grid: Grid) -> None:
    """Write the caption of a table, with a number field that Word updates."""
    paragraph = document.add_paragraph(style="Caption")
    paragraph.paragraph_format.keep_with_next = True
    if grid.header:
        paragraph.add_run("Table ")
        field = _element("w:fldSimple", instr=r" SEQ Table \* ARABIC ")
        number = paragraph.add_run(str(len(document.tables) + 1))
        field.append(number._r)  # noqa: SLF001
        paragraph._p.append(field)  # noqa: SLF001
        paragraph.add_run(". ")
    paragraph.add_run(harmless(grid.title))


def _table(document: Any, grid: Grid) -> None:
    alignment = require("docx.enum.text").WD_ALIGN_PARAGRAPH
    table = document.add_table(rows=0, cols=len(grid.header))
    rules = _element("w:tblBorders")
    rules.append(_rule("top", THICK))
    rules.append(_rule("bottom", THICK))
    # The schema of Word fixes the order of table properties: borders follow the width.
    width = table._tbl.tblPr.find(require("docx.oxml.ns").qn("w:tblW"))  # noqa: SLF001
    width.addnext(rules)
    for r, line in enumerate((grid.header, *grid.rows)):
        row = table.add_row()
        for c, (cell, text) in enumerate(zip(row.cells, line, strict=True)):
            (paragraph,) = cell.paragraphs
            paragraph.alignment = alignment.LEFT if c in grid.left else alignment.RIGHT
            paragraph.paragraph_format.space_after = 0
            _write(paragraph, text, TEXT)
            if not r:
                under = _element("w:tcBorders")
                under.append(_rule("bottom", THIN))
                cell._tc.get_or_add_tcPr().append(under)  # noqa: SLF001
    # Repeat the head on each page.
    table.rows[0]._tr.get_or_add_trPr().append(_element("w:tblHeader"))  # noqa: SLF001


def _write(paragraph: Any, text: str, points: int) -> None:
    plain = " ".join(harmless(text).split())
    if isinstance(text, Shown):
        plain = plain.replace("-", "−")
    paragraph.add_run(plain).font.size = require("docx.shared").Pt(points)


def _rule(side: str, size: str) -> Any:
    return _element(f"w:{side}", val="single", sz=size, space="0", color="auto")


def _element(tag: str, **attributes: str) -> Any:
    element, named = require("docx.oxml").OxmlElement(tag), require("docx.oxml.ns").qn
    for name, value in attributes.items():
        element.set(named(f"w:{name}"), value)
    return element


WORD = ".docx"
TEXTS: dict[str, Callable[[Printable], str]] = {
    ".csv": lambda result: result.to_csv(),
    ".md": lambda result: harmless(result.to_markdown()),
    ".tex": lambda result: harmless(result.to_latex()),
    ".html": lambda result: harmless(result.to_html()),
}


def check_tables(target: StrPath) -> None:
    """Raise an error before the computation if tables cannot be written."""
    if _ending(target) == WORD:
        load_docx()
    check_file(target)


def write_tables(result: Printable, path: StrPath) -> Path:
    """Write the tables of a result to a file.

    Parameters
    ----------
    result
        The result of `paper_tables`, or any other result that prints.
    path
        Path with extension `.csv` (full precision), `.md` (Markdown), `.tex` (LaTeX, package
        booktabs), `.html`, or `.docx` (Word; needs `pip install 'lacunet[word]'`).
    """
    if not isinstance(result, Printable):
        raise OptionError(
            f"{type(result).__name__} is not a result with tables. Give paper_tables(result), or "
            "any other result."
        )
    check_tables(path)
    ending = _ending(path)
    if ending == WORD:
        with atomic_path(path) as temporary:
            write_word(result.grids(), temporary)
    else:
        write_text(path, TEXTS[ending](result))
    return Path(path)


def _ending(target: StrPath) -> str:
    ending = Path(target).suffix.lower()
    if ending not in (*TEXTS, WORD):
        known = f"{', '.join(TEXTS)} or {WORD}"
        raise OptionError(f"'{target}': tables are written to {known} files. Choose one of these.")
    return ending


FIT = ("dimension", "log_likelihood", "log_prior", "log_posterior", "iterations", "reached_best")


# Patterns of the files of a saved selection.
WRITTEN = ("candidates.csv", "selection.txt", "selection.json", "model-*.json")


def check_selection_folder(folder: StrPath) -> None:
    """Raise an error before the computation if a selection cannot be saved to the folder."""
    check_folder(folder)
    for path in _existing_files(folder):
        check_file(path)


def save_selection(selection: Selection, folder: StrPath) -> Path:
    """Write selection.json, candidates.csv, selection.txt and model-K.json for each K."""
    for path in _existing_files(folder):
        check_not_read(path, selection.table.source)
    document = selection.to_dict()
    with atomic_folder(folder) as path:
        for c in selection.candidates:
            name = re.sub(r"[^\w.=-]+", "_", str(c.label))
            write_model(c.fit.model, path / f"model-{name}.json")
        write_text(path / "candidates.csv", _candidates(document))
        write_text(path / "selection.txt", f"{selection}\n")
        write_text(path / "selection.json", to_json(document) + "\n")
    return Path(folder)


def _existing_files(folder: StrPath) -> list[Path]:
    """Return the existing files that saving would overwrite."""
    return [path for pattern in WRITTEN for path in Path(folder).glob(pattern)]


def _candidates(document: dict[str, Any]) -> str:
    """Write CSV with a row for each candidate; missing values are empty cells."""
    names = list(dict.fromkeys(name for c in document["candidates"] for name in c["scores"]))
    by = document["headline"]
    first = "states" if isinstance(document["candidates"][0]["label"], int) else "network"
    rows = []
    for c in document["candidates"]:
        k = c["label"]
        values = [c["scores"][name]["value"] if name in c["scores"] else None for name in names]
        chances = [document[p][by][k] for p in ("posterior", "posterior_with_log_k_factorial")]
        error = document["certainty"]["stderr"][k]
        rows.append([k, *(c[x] for x in FIT), *values, *chances, error, sum(c["seconds"].values())])
    chance = (f"p_{by}", f"p_{by}_with_log_k_factorial", f"p_{by}_stderr")
    return csv_table([first, *FIT, *names, *chance, "seconds"], rows)
