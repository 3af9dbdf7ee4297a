"""Columns by their names, whatever these are: Polars takes `*` and `^…$` for patterns."""

from collections.abc import Iterable

import polars as pl
import polars.selectors as cs


def by_name(names: Iterable[str]) -> list[pl.Expr]:
    """Name columns, in this order.

    >>> pl.DataFrame({"*": [1], "a": [2]}).select(by_name(["*"])).columns
    ['*']
    """
    return [cs.by_name(name).as_expr() for name in names]


def cells_of(frame: pl.DataFrame, name: str) -> pl.Series:
    """Give a column without its name, by which Polars would look for it in many a method."""
    return frame.get_column(name).alias("cells")
