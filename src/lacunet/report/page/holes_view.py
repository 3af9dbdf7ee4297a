"""Missing data: how much, where, and in which patterns."""

from dataclasses import dataclass

import numpy as np

from lacunet.data import Table
from lacunet.inference.plans.decompose import hole_patterns
from lacunet.report.page.cells import Cell, share_cell
from lacunet.report.page.words import count, listed, percent

PATTERNS = 15  # patterns that are shown, the most frequent ones
DOTS = 14  # columns with holes up to which a pattern is drawn as dots
COLUMNS = 400  # columns that are listed


@dataclass(frozen=True)
class Pattern:
    """Rows that miss the same columns."""

    missing: tuple[bool, ...]  # for each column with holes
    names: str  # of what is missing, in words
    cases: str
    share: Cell


@dataclass(frozen=True)
class Holes:
    """The audit."""

    words: str
    columns: tuple[tuple[str, Cell], ...]  # those with holes, most first
    complete: str  # the others, in words
    patterns: tuple[Pattern, ...]
    dots: bool  # whether patterns are drawn
    rest: str  # what is not shown


def audit(table: Table) -> Holes:
    """Look for holes."""
    share = table.missing
    holed = sorted((j for j in table.shown if share[j] > 0), key=lambda j: -share[j])
    full = [table.columns[j].name for j in table.shown if j not in set(holed)]
    if not holed:
        return Holes("No cell is missing.", (), "", (), False, "")
    which, index = hole_patterns(table.codes)
    cases = np.bincount(index, weights=table.counts, minlength=len(which))
    order = np.argsort(-cases, kind="stable")
    shown = [p for p in order[:PATTERNS].tolist() if cases[p] > 0]
    complete = float(cases[~which.any(axis=1)].sum())
    words = (
        f"{percent(float(share.mean()))} of all cells are missing, in {len(holed)} of "
        f"{count(len(table.columns), 'column')}. {percent(complete / table.weight)} of the rows "
        f"are complete. There are {count(len(which), 'pattern')} of holes."
    )
    left = len(which) - len(shown)
    rest = percent(float(cases[order[PATTERNS:]].sum()) / table.weight)
    return Holes(
        words,
        tuple((table.columns[j].name, share_cell(float(share[j]))) for j in holed[:COLUMNS]),
        f"No cell is missing in {listed(full, 12)}." if full else "",
        tuple(_pattern(table, which[p], float(cases[p]), holed) for p in shown),
        len(holed) <= DOTS,
        f"{count(left, 'other pattern')} together: {rest} of the rows." if left else "",
    )


def _pattern(table: Table, holes: np.ndarray, cases: float, holed: list[int]) -> Pattern:
    names = [table.columns[j].name for j in holed if holes[j]]
    return Pattern(
        tuple(bool(holes[j]) for j in holed),
        listed(names, 6) if names else "nothing",
        f"{cases:,.6g}",
        share_cell(cases / table.weight),
    )
