"""Small tables of results: text for a terminal, HTML for a notebook, and files for a paper."""

from lacunet.tabular.figures import Figure, number, probability
from lacunet.tabular.grid import Grid, Printable, Together

__all__ = ["Figure", "Grid", "Printable", "Together", "number", "probability"]
