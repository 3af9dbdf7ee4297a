"""The directive `picture`: an SVG file that the code on the page writes, shown where it stands.

The page is run when it is built, so a picture is always what its code draws.
"""

from __future__ import annotations

import html
import tempfile
from pathlib import Path
from typing import Any, ClassVar

from docutils import nodes
from page_code import Session
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

drawn: dict[Path, tempfile.TemporaryDirectory[str]] = {}  # folders in which pages were run


class Picture(SphinxDirective):
    """Its argument is the name of the file, its content what the picture shows, in words."""

    required_arguments = 1
    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {}

    def run(self) -> list[nodes.Node]:
        """Put the file into the page."""
        page = Path(self.env.doc2path(self.env.docname))
        if page not in drawn:
            drawn[page] = tempfile.TemporaryDirectory()
            Session(page, Path(drawn[page].name)).run()
        text = (Path(drawn[page].name) / self.arguments[0]).read_text(encoding="utf-8")
        words = html.escape(" ".join(self.content))
        svg = text[text.index("<svg") :].replace("<svg", f'<svg role="img" aria-label="{words}"', 1)
        return [nodes.raw("", f'<div class="picture">{svg}</div>\n', format="html")]


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the directive. Running a page changes the folder of the process, so one at a time."""
    app.add_directive("picture", Picture)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
