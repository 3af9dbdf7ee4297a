"""Small tables of results: text for a terminal, HTML for a notebook, and files for a paper."""

from lacunet.tabular.grid import Grid, Printable, Together
from lacunet.tabular.numbers import Shown, chance, measured, number, probability, share

__all__ = [
    "Grid",
    "Printable",
    "Shown",
    "Together",
    "chance",
    "measured",
    "number",
    "probability",
    "share",
]
