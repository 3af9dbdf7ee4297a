"""What a person sees of a table: its columns, its missing cells, and remarks on columns.

A remark that is the same for many columns is written once.
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
WARNING = "warning: "
NAMED = 4  # columns that a remark names; the others are counted


def audit_grid(table: Table) -> Grid:
    """One row per column: its states, and how much of it is missing."""
    header: tuple[str, ...] = ("column", "states", "", "missing")
    left = {0, 2}
    columns = [table.columns[j] for j in table.shown]
    rows = [
        (
            shorten(c.name, NAME_WIDTH),
            str(len(c.states)),
            shorten(_values(c), WIDTH),
            f"{table.missing[j]:.1%}" if table.missing[j] else "–",
        )
        for c, j in zip(columns, table.shown, strict=True)
    ]
    more: list[tuple[str, ...]] = [()] * len(columns)
    if any(c.title for c in columns):
        header, left = (*header, "about"), {*left, 4}
        more = [(shorten(c.title, WIDTH),) for c in columns]
    elif any(c.why for c in columns):
        header, left = (*header, "read as", "because"), {*left, 4, 5}
        more = [(c.kind.value, c.why) for c in columns]
    cells = tuple((*row, *rest) for row, rest in zip(rows, more, strict=True))
    return Grid(f"{table.source}: {sizes(table)}", header, cells, frozenset(left), table.notes)


def kinds_grid(table: Table) -> Grid:
    """What each column is read as, and why."""
    columns = [table.columns[j] for j in table.shown]
    rows = tuple((shorten(c.name, NAME_WIDTH), c.kind.value, c.why) for c in columns)
    return Grid("", ("column", "read as", "because"), rows, frozenset({0, 1, 2}))


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
    columns = _counted(len(table.columns), "column")
    if table.complete:
        return f"{columns}, no cell missing"
    share = float(table.missing.mean())
    text = f"{share:.1%}" if share >= SMALL else f"<{SMALL:.1%}"
    return f"{columns}, {text} of the cells missing"


@dataclass(frozen=True)
class Remark:
    """Something to know of a column, with what it is about and in how many cells that is."""

    column: str
    sentence: str  # behind the cells, or alone
    cells: tuple[tuple[str, int], ...] = ()  # what, and how many
    summed: bool = False  # whether the sentence is about all cells, each listed behind it
    warning: bool = False


def written_once(remarks: Iterable[str | Remark]) -> list[str]:
    """Write remarks, those that say the same of several columns as one, where the first stands.

    >>> odd = [Remark(name, "looks odd.", (("99", n),)) for name, n in [("a", 1), ("b", 2)]]
    >>> written_once(odd[:1]), written_once(odd)
    (["column 'a': 99 (1 row) looks odd."], ["2 columns ('a', 'b'): 99 (3 cells) looks odd."])
    """
    groups: dict[object, list[Remark] | str] = {}
    for remark in remarks:
        if isinstance(remark, str):
            groups[remark] = remark
            continue
        what = tuple(name for name, _ in remark.cells)
        same = remark.sentence, what, remark.summed, remark.warning
        groups.setdefault(same, []).append(remark)  # type: ignore[union-attr]
    return [group if isinstance(group, str) else _written(group) for group in groups.values()]


def _written(group: Sequence[Remark]) -> str:
    first, cells = group[0], Counter[str]()
    for remark in group:
        cells.update(dict(remark.cells))
    columns = list(dict.fromkeys(remark.column for remark in group))
    named = columns if len(columns) <= NAMED + 1 else columns[:NAMED]
    more = f" and {len(columns) - len(named)} more" if len(named) < len(columns) else ""
    where = f"column {columns[0]!r}"
    if len(columns) > 1:
        where = f"{len(columns)} columns ({', '.join(map(repr, named))}{more})"
    return f"{WARNING if first.warning else ''}{where}: {_body(first, cells, len(columns))}"


def _body(first: Remark, cells: Counter[str], columns: int) -> str:
    if first.summed:
        each = ", ".join(f"{what}: {n:,}" for what, n in cells.items())
        are = "is" if cells.total() == 1 else "are"
        return f"{_counted(cells.total(), 'cell')} {are} {first.sentence} ({each})."
    unit = "row" if columns == 1 else "cell"
    each = ", ".join(f"{what} ({_counted(n, unit)})" for what, n in cells.items())
    return f"{each} {first.sentence}" if each else first.sentence


def _counted(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"
