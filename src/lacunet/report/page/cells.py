"""What the tables of the page are made of."""

import math
from dataclasses import dataclass

from lacunet.report.page.words import hundredths, percent
from lacunet.tabular import chance


@dataclass(frozen=True)
class Cell:
    """A number in a table, or why there is none."""

    text: str
    tip: str = ""
    best: bool = False
    failed: bool = False
    share: str = ""  # 0 to 1, how strongly to colour it, or how long its bar is; empty: not at all


@dataclass(frozen=True)
class Line:
    """A row of a table."""

    label: str
    cells: tuple[Cell, ...]
    chosen: bool = False


def share_cell(p: float) -> Cell:
    """Show a share, in percent."""
    return Cell(percent(p), share=hundredths(p))


def chance_cell(
    p: float,
    tip: str = "",
    best: bool = False,
    *,
    exact: bool = True,
    stderr: float | None = None,
) -> Cell:
    """Show a probability, with its error if it has one; one that does not exist has no length."""
    length = hundredths(0.0 if math.isnan(p) else p)
    return Cell(chance(p, stderr, exact=exact), tip, best, share=length)
