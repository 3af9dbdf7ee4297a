"""Small tables of results: text for a terminal, HTML for a notebook, and files for a paper."""

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
    "Framed",
    "Grid",
    "Printable",
    "Shown",
    "Together",
    "chance",
    "frame_of",
    "library_of",
    "measured",
    "number",
    "probability",
    "share",
    "transposed",
]
