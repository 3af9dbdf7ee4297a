"""What a person sees of a table: where it came from, its columns, its holes."""

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


def audit_grid(table: "Table") -> Grid:
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


def kinds_grid(table: "Table") -> Grid:
    """What each column is read as, and why."""
    rows = [
        (shorten(c.name, NAME_WIDTH), c.kind.value, c.why)
        for c in (table.columns[j] for j in table.shown)
    ]
    return Grid("", ("column", "read as", "because"), tuple(rows), frozenset({0, 1, 2}))


def _values(column: "Column") -> str:
    """List states; of numbers, the lowest and the highest."""
    labels = column.labels
    return f"{labels[0]} to {labels[-1]}" if column.kind.number else ", ".join(labels)


def shorten(text: str, width: int) -> str:
    """Cut a text to `width` characters, with a mark where something is left out.

    >>> shorten("a long sentence", 8)
    'a long …'
    """
    return text if len(text) <= width else text[: width - 1] + "…"


def sizes(table: "Table") -> str:
    """Say how many rows there are, and what they weigh."""
    text = f"{table.rows:,} rows, {table.distinct_rows:,} distinct"
    if table.survey is not None:
        text += f", worth {table.weight:,.4g} of equal weight (column {table.weights!r})"
    elif table.weights is not None:
        text += f", total weight {table.weight:,.6g} (column {table.weights!r})"
    return text


def holes(table: "Table") -> str:
    """Say how many columns there are, and how much of them is missing."""
    columns = f"{len(table.columns)} column{'s' * (len(table.columns) > 1)}"
    if table.complete:
        return f"{columns}, no cell missing"
    share = float(table.missing.mean())
    text = f"{share:.1%}" if share >= SMALL else f"<{SMALL:.1%}"
    return f"{columns}, {text} of the cells missing"
