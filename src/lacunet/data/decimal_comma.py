"""Numbers with a decimal comma, as spreadsheets of many countries write them: 1,5 is 1.5.

A comma can be one only where it does not stand between cells. A column is taken to have them if all
of its first cells are numbers that way, and one of them at least has a comma; `1,2` among texts
stays what it is.
"""

from collections.abc import Collection

import polars as pl

from lacunet.data.by_name import by_name, cells_of
from lacunet.data.discover import MARKERS

WITH_COMMA = r"^\s*[+-]?(?:[0-9]{1,18},[0-9]+|,[0-9]+)(?:[eE][+-]?[0-9]{1,3})?\s*$"
WITHOUT = r"^\s*[+-]?[0-9]{1,18}\s*$"


def comma_columns(frame: pl.DataFrame) -> frozenset[str]:
    """Find the columns of a batch of texts whose numbers have a decimal comma.

    >>> frame = pl.DataFrame({"a": ["1,5", "2", ""], "b": ["1,2", "x", None], "c": ["1", "2", "3"]})
    >>> sorted(comma_columns(frame))
    ['a']
    """
    found = set()
    for name in frame.columns:
        told = cells_of(frame, name).drop_nulls().unique()
        told = told.filter(~told.str.strip_chars().is_in(list(MARKERS)))
        commas = told.str.contains(WITH_COMMA)
        if commas.any() and (commas | told.str.contains(WITHOUT)).all():
            found.add(name)
    return frozenset(found)


def with_points(frame: pl.DataFrame, columns: Collection[str]) -> pl.DataFrame:
    """Write the numbers of some columns with a decimal point; whatever is none stays as it is."""
    mine = [name for name in frame.columns if name in columns]
    if not mine:
        return frame
    return frame.with_columns(map(_with_point, by_name(mine)))


def _with_point(cells: pl.Expr) -> pl.Expr:
    point = cells.str.replace(",", ".", literal=True)
    return pl.when(cells.str.contains(WITH_COMMA)).then(point).otherwise(cells)
