"""Tables as a Word document: the only place that knows python-docx."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lacunet.optional import require
from lacunet.runtime.files import harmless
from lacunet.tabular import Grid, Shown

UPRIGHT = 6  # columns that a page holds upright; more of them are read across
TEXT, NOTE = 9, 8  # points
THICK, THIN = "8", "4"  # eighths of a point: rules above and below, and under the head


def door() -> Any:
    """Give python-docx, or say what installs it."""
    return require("docx", extra="word", what="a Word document")


def write_word(grids: Sequence[Grid], path: Path) -> None:
    """Write tables with captions that Word numbers, three rules each, and their notes below."""
    document = door().Document()
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
    """Write the title; that of a table begins with a number that Word keeps in order."""
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
    # Word wants the properties of a table in an order of its own: rules come after the width.
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
    # A table of several pages has its head on each.
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
