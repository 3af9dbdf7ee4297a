"""Formulas as MathML, which every current browser draws by itself: no script, no network."""

import html
import re
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)

# Browsers put nothing between log and x, where a book has a thin space; before brackets neither.
APPLIED = re.compile(r"<mo>&ApplyFunction;</mo>(?!\s*<m[or][^>]*>\s*[(\[])")
THIN_SPACE = '<mspace width="0.17em"></mspace>'


def mathml(node: nodes.Element, *, block: bool) -> str:
    """Translate a formula; one that cannot be read is a warning, which names its place."""
    tex = node.astext()
    try:
        return APPLIED.sub(THIN_SPACE, tex2mathml(tex, as_block=block))
    except MathError as error:
        logger.warning("formula: %s", error, location=node)
        return html.escape(tex)


def inline(writer: Any, node: nodes.math) -> None:
    """Write a formula in a line."""
    writer.body.append(mathml(node, block=False))
    raise nodes.SkipNode


def block(writer: Any, node: nodes.math_block) -> None:
    """Write a formula that stands alone."""
    writer.body.append(f'<div class="formula">{mathml(node, block=True)}</div>\n')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Make it the renderer of formulas."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    app.config.html_math_renderer = "mathml"
    return {"parallel_read_safe": True, "parallel_write_safe": True}
