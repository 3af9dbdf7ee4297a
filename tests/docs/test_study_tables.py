"""Tables of studies stand between their marks, and nothing else of a page changes."""

import json
import re

from page_code import ROOT, markdown_pages

from studies.page_tables import MARKED, TABLES, filled

PAGE = """# Page

<!-- study: reality -->
old
<!-- end -->

between

<!-- study: hessians -->
kept
<!-- end -->
"""


def test_a_table_is_put_between_its_marks(tmp_path):
    row = {"n": 12, "c": 3, "N": 800, "count": 5, "mean": 26.0, "sd": 33.0, "stderr": 14.8}
    rows = [{**row, "published_mean": 26.0, "published_sd": 33.0}]
    (tmp_path / "reality_check.json").write_text(json.dumps({"comparisons": rows}))
    page = filled(PAGE, tmp_path)
    assert "| 12 | 3 | 800 | 5 | 26.0 ± 33.0 (14.8) | 26 ± 33 |" in page
    assert "old" not in page
    # Of what the folder does not have, the page keeps what it shows; twice is as once.
    assert "between\n\n<!-- study: hessians -->\nkept\n<!-- end -->\n" in page
    assert filled(page, tmp_path) == page


def test_every_mark_of_the_pages_is_known():
    marked = {
        name
        for page in markdown_pages()
        for _, name, _ in MARKED.findall(page.read_text(encoding="utf-8"))
    }
    named = {
        name
        for page in (ROOT / "docs" / "explanation").glob("*.md")
        for name in re.findall(r"<!-- study: ([\w-]+) -->", page.read_text(encoding="utf-8"))
    }
    assert marked == named  # none is without an end
    assert named == set(TABLES)
