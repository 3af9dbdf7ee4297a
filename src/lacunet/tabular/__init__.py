"""Results as tables, dictionaries and text.

Start with `frame`: `Framed` and `Printable` are base classes of results, and a `Grid` is a printed
table. `documents` makes the JSON documents, and `export` writes CSV, Markdown, HTML and LaTeX.
"""

from lacunet.tabular.documents import Documented, described, plain, to_json
from lacunet.tabular.export import Grid, Shown, chance, measured, number, probability, share
from lacunet.tabular.frame import (
    Columns,
    Framed,
    Printable,
    Together,
    frame_of,
    library_of,
    transposed,
)

__all__ = [
    "Columns",
    "Documented",
    "Framed",
    "Grid",
    "Printable",
    "Shown",
    "Together",
    "chance",
    "described",
    "frame_of",
    "library_of",
    "measured",
    "number",
    "plain",
    "probability",
    "share",
    "to_json",
    "transposed",
]
