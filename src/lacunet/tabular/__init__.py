"""Small tables of results: text for a terminal, HTML for a notebook, and files for a paper."""

from lacunet.tabular.frame import (
    Columns,
    Framed,
    Shown,
    chance,
    frame_of,
    library_of,
    measured,
    number,
    probability,
    share,
    transposed,
)
from lacunet.tabular.grid import Grid, Printable, Together

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
