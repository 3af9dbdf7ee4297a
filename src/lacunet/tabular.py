"""Small tables of results: aligned text for a terminal, escaped HTML for a notebook."""

from __future__ import annotations

import html
import math
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Grid:
    """A title, a header, rows of texts, and lines to say below them."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    left: frozenset[int] = frozenset({0})  # columns that are words, not numbers
    notes: tuple[str, ...] = field(default=())

    def text(self) -> str:
        """Give aligned plain text.

        >>> print(Grid("Sizes", ("class", "share"), (("1", "0.75"), ("2", "0.25"))).text())
        Sizes
        class  share
        1       0.75
        2       0.25
        """
        lines = [self.header, *self.rows] if self.header else []
        widths = [max(_width(line[c]) for line in lines) for c in range(len(self.header))]
        body = [
            "  ".join(_pad(cell, widths[c], c in self.left) for c, cell in enumerate(line)).rstrip()
            for line in lines
        ]
        return "\n".join([*([self.title] if self.title else []), *body, *self.notes])

    def html(self) -> str:
        """Give an HTML table; everything that may come from data is escaped."""

        def row(cells: Sequence[str], tag: str) -> str:
            texts = (
                f'<{tag} style="text-align:{"left" if c in self.left else "right"}">'
                f"{html.escape(cell)}</{tag}>"
                for c, cell in enumerate(cells)
            )
            return f"<tr>{''.join(texts)}</tr>"

        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self.notes)
        if not self.header:
            return f"<p><strong>{html.escape(self.title)}</strong></p>{notes}"
        return (
            f"<table><caption>{html.escape(self.title)}</caption>"
            f"<thead>{row(self.header, 'th')}</thead>"
            f"<tbody>{''.join(row(r, 'td') for r in self.rows)}</tbody></table>{notes}"
        )


class Printable:
    """Results print as their grids, in a terminal and in a notebook."""

    def grids(self) -> Sequence[Grid]:
        """Give what to show."""
        raise NotImplementedError

    def __str__(self) -> str:
        return "\n\n".join(grid.text() for grid in self.grids())

    def _repr_html_(self) -> str:
        return "".join(grid.html() for grid in self.grids())


def number(x: float, digits: int = 2) -> str:
    """Write a number for a table; a value that does not exist is a dash.

    >>> number(-1234.5678), number(math.nan), number(-math.inf)
    ('-1234.57', '–', '-inf')
    """
    return "–" if math.isnan(x) else f"{x:.{digits}f}"


def probability(p: float) -> str:
    """Write a probability; one that is not quite 0 or 1 never looks as if it were.

    >>> probability(1.0), probability(0.99999), probability(0.25), probability(1e-9)
    ('1', '>0.999', '0.250', '<0.001')
    """
    if math.isnan(p):
        return "–"
    if p in (0.0, 1.0):
        return f"{p:.0f}"
    return "<0.001" if p < 0.001 else ">0.999" if p > 0.999 else f"{p:.3f}"


def _width(text: str) -> int:
    return sum(
        2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.combining(c) else 1
        for c in text
    )


def _pad(text: str, width: int, left: bool) -> str:
    space = " " * (width - _width(text))
    return text + space if left else space + text
