"""What a person sees of a table: where it came from, its columns, its holes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lacunet.tabular import Grid

if TYPE_CHECKING:
    from lacunet.data.table import Table

WIDTH = 48  # characters for the list of states
NAME_WIDTH = 32  # characters for a column name


def audit_grid(table: Table) -> Grid:
    """One row per column: its states, and how much of it is missing."""
    return Grid(
        f"{table.source}: {_sizes(table)}",
        ("column", "states", "", "missing"),
        tuple(_lines(table)),
        frozenset({0, 2}),
        table.notes,
    )


def shorten(text: str, width: int) -> str:
    """Cut a text to `width` characters, with a mark where something is left out.

    >>> shorten("a long sentence", 8)
    'a long …'
    """
    return text if len(text) <= width else text[: width - 1] + "…"


def _sizes(table: Table) -> str:
    sizes = f"{table.rows:,} rows, {table.distinct_rows:,} distinct"
    if table.weights is not None:
        sizes += f", total weight {table.weight:,.6g} (column {table.weights!r})"
    return sizes


def _lines(table: Table) -> list[tuple[str, str, str, str]]:
    return [
        (
            shorten(column.name, NAME_WIDTH),
            str(len(column.states)),
            shorten(", ".join(column.labels), WIDTH),
            f"{share:.1%}" if share else "–",
        )
        for column, share in zip(table.columns, table.missing, strict=True)
    ]
