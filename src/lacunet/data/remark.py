"""What to know of a column; where it is the same of many, it is said once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

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
