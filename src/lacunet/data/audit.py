"""What a person sees of a table: where it came from, its columns, its holes.

What to know of a column; where it is the same of many, it is said once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lacunet.tabular import Grid

if TYPE_CHECKING:
    from lacunet.data.table import Column, Table

WIDTH = 48  # characters for the list of states
SMALL = 0.001  # a share of missing cells below this is not written as 0.0%
NAME_WIDTH = 32  # characters for a column name
# Names that people give to a column that says how often a row occurs, or what it weighs.
COUNTS = {"count", "counts", "freq", "frequency", "n", "weight", "weights", "w", "wt", "wgt"}
COUNTS |= {"pweight", "fweight", "dweight", "pspwght", "anweight", "gewicht", "poids"}


def audit_grid(table: Table) -> Grid:
    """One row per column: its states, and how much of it is missing."""
    columns = [table.columns[j] for j in table.shown]
    rows = [
        (
            shorten(column.name, NAME_WIDTH),
            str(len(column.states)),
            shorten(_values(column), WIDTH),
            f"{share:.1%}" if share else "–",
        )
        for column, share in ((table.columns[j], table.missing[j]) for j in table.shown)
    ]
    title, header = f"{table.source}: {sizes(table)}", ("column", "states", "", "missing")
    if any(c.title for c in columns):
        about = [(*row, shorten(c.title, WIDTH)) for row, c in zip(rows, columns, strict=True)]
        return Grid(title, (*header, "about"), tuple(about), frozenset({0, 2, 4}), table.notes)
    if not any(c.why for c in table.columns):
        return Grid(title, header, tuple(rows), frozenset({0, 2}), table.notes)
    kinds = tuple((*row, c.kind.value, c.why) for row, c in zip(rows, columns, strict=True))
    more = (*header, "read as", "because")
    return Grid(title, more, kinds, frozenset({0, 2, 4, 5}), table.notes)


def kinds_grid(table: Table) -> Grid:
    """What each column is read as, and why."""
    rows = [
        (shorten(c.name, NAME_WIDTH), c.kind.value, c.why)
        for c in (table.columns[j] for j in table.shown)
    ]
    return Grid("", ("column", "read as", "because"), tuple(rows), frozenset({0, 1, 2}))


def _values(column: Column) -> str:
    """List states; of numbers, the lowest and the highest."""
    labels = column.labels
    return f"{labels[0]} to {labels[-1]}" if column.kind.number else ", ".join(labels)


def shorten(text: str, width: int) -> str:
    """Cut a text to `width` characters, with a mark where something is left out.

    >>> shorten("a long sentence", 8)
    'a long …'
    """
    return text if len(text) <= width else text[: width - 1] + "…"


def sizes(table: Table) -> str:
    """Say how many rows there are, and what they weigh."""
    text = f"{table.rows:,} rows, {table.distinct_rows:,} distinct"
    if table.survey is not None:
        text += f", worth {table.weight:,.4g} of equal weight (column {table.weights!r})"
    elif table.weights is not None:
        text += f", total weight {table.weight:,.6g} (column {table.weights!r})"
    return text


def holes(table: Table) -> str:
    """Say how many columns there are, and how much of them is missing."""
    columns = f"{len(table.columns)} column{'s' * (len(table.columns) > 1)}"
    if table.complete:
        return f"{columns}, no cell missing"
    share = float(table.missing.mean())
    text = f"{share:.1%}" if share >= SMALL else f"<{SMALL:.1%}"
    return f"{columns}, {text} of the cells missing"


WARNING = "warning: "
NAMED = 4  # columns that are named; the others are counted


@dataclass(frozen=True)
class Remark:
    """Something to know of a column, with what it is about and in how many cells that is."""

    column: str
    sentence: str  # behind the cells, or alone
    cells: tuple[tuple[str, int], ...] = ()  # what, and how many
    summed: bool = False  # whether the sentence is about all cells, and each is told behind it
    warning: bool = False


def told_once(remarks: Iterable[str | Remark]) -> list[str]:
    """Write remarks, those that say the same of several columns as one, where the first stands.

    >>> odd = [Remark(name, "looks odd.", (("99", n),)) for name, n in [("a", 1), ("b", 2)]]
    >>> told_once(odd[:1]), told_once(odd)
    (["column 'a': 99 (1 row) looks odd."], ["2 columns ('a', 'b'): 99 (3 cells) looks odd."])
    """
    groups: dict[object, list[Remark | str]] = {}
    for remark in remarks:
        same: object = remark
        if isinstance(remark, Remark):
            what = tuple(name for name, _ in remark.cells)
            same = remark.sentence, what, remark.summed, remark.warning
        groups.setdefault(same, []).append(remark)
    return [_written(group) for group in groups.values()]


def _written(group: Sequence[Remark | str]) -> str:
    first, some = group[0], [remark for remark in group if isinstance(remark, Remark)]
    if not isinstance(first, Remark):
        return first
    cells = Counter[str]()
    for remark in some:
        cells.update(dict(remark.cells))
    columns = list(dict.fromkeys(remark.column for remark in some))
    return f"{WARNING if first.warning else ''}{_where(columns)}: {_body(first, cells, columns)}"


def _where(columns: Sequence[str]) -> str:
    if len(columns) == 1:
        return f"column {columns[0]!r}"
    named = columns if len(columns) <= NAMED + 1 else columns[:NAMED]
    left = len(columns) - len(named)
    more = f" and {left} more" if left else ""
    return f"{len(columns)} columns ({', '.join(map(repr, named))}{more})"


def _body(first: Remark, cells: Counter[str], columns: Sequence[str]) -> str:
    if first.summed:
        each = ", ".join(f"{what}: {n:,}" for what, n in cells.items())
        total = cells.total()
        return (
            f"{_counted(total, 'cell')} {'is' if total == 1 else 'are'} {first.sentence} ({each})."
        )
    unit = "row" if len(columns) == 1 else "cell"
    each = ", ".join(f"{what} ({_counted(n, unit)})" for what, n in cells.items())
    return f"{each} {first.sentence}" if each else first.sentence


def _counted(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
