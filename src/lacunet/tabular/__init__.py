"""Small tables of results: text for a terminal, HTML for a notebook, and files for a paper."""

from lacunet.tabular.documents import Documented, described, to_json
from lacunet.tabular.export import Shown, chance, measured, number, probability, share
from lacunet.tabular.frame import (
    Columns,
    Framed,
    Grid,
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
    "probability",
    "share",
    "to_json",
    "transposed",
]
