"""The audit of a table: its columns, its missing cells, and remarks on columns.

Surveys use codes such as 99, −99, "refused" or "don't know" for nonresponse. They stay values,
because their meaning is uncertain. A warning lists them with their counts and the option that
declares them missing. Equal remarks on several columns are written once.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lacunet.data.discover import MARKERS, Coding, RawValues, number_of, shorten, shown, weighed
from lacunet.data.kinds import ColumnKind
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.states import Numbers, label
from lacunet.tabular import Grid
from lacunet.wording import missing_words

if TYPE_CHECKING:
    from lacunet.data.table import Column, Table

WIDTH = 48  # characters for the list of states
SMALL = 0.001  # a share of missing cells below this is not written as 0.0%
NAME_WIDTH = 32  # characters for a column name
# Common names of columns of counts or weights.
COUNTS = {"count", "counts", "freq", "frequency", "n", "weight", "weights", "w", "wt", "wgt"}
COUNTS |= {"pweight", "fweight", "dweight", "pspwght", "anweight", "gewicht", "poids"}
WARNING = "warning: "
NAMED = 4  # columns that a remark names; the others are counted
# 6 to 9, and their usual longer forms: 77, 96 to 99, 998, 9999.
CODE = re.compile(
    r"-?(?:[6789]|(?:66|77|88|9[6-9])|(?:666|777|888|99[6-9])|(?:7777|8888|999[6-9]))"
)
NEGATIVE = re.compile(r"-(?:[1-9]|[1-9]{2}|99[0-9]|999[0-9]|777|888|666)")
MARK = "'"  # around texts
GAP = 3  # a code of one digit exceeds the largest answer by more
APART = 2.0  # least ratio of a longer code to the largest answer
FEW_STEPS = 10_000  # float spacings that the range of measurements should exceed
NO_ANSWER = re.compile(
    r"refus(?:ed|al|es)?(?: to answer)?|(?:do(?:es)?n[’']?t|do(?:es)? not|did ?n[o’']t) know|dk|"
    r"d/k|dk/?na|dk/ref(?:used)?|no answer|no response|not answered|non[- ]?response|"
    r"prefer not to (?:say|answer)|(?:does )?not appl(?:icable|y)|inapplicable|"
    r"n/?a|n\.a\.|na|none given|missing|unknown|"
    r"not (?:available|stated|ascertained|asked)|can[’']?t (?:say|choose)|keine angabe|k\.? ?a\.?|"
    r"weiß nicht|ne sait pas|sans réponse|no sabe|no contesta|ns/nc|[.\-–—]+|\(?blank\)?",
    re.IGNORECASE,
)


def audit_grid(table: Table) -> Grid:
    """Make the grid of columns: their states, and shares of missing cells."""
    header: tuple[str, ...] = ("column", "states", "", "missing")
    left = {0, 2}
    columns, missing = [table.columns[j] for j in table.shown], table.missing[list(table.shown)]
    rows = [
        (
            shorten(c.name, NAME_WIDTH),
            str(len(c.states)),
            shorten(_values(c), WIDTH),
            f"{share:.1%}" if share else "–",
        )
        for c, share in zip(columns, missing, strict=True)
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
    """Make the grid of the kinds of columns, with reasons."""
    columns = [table.columns[j] for j in table.shown]
    rows = tuple((shorten(c.name, NAME_WIDTH), c.kind.value, c.why) for c in columns)
    return Grid("", ("column", "read as", "because"), rows, frozenset({0, 1, 2}))


def _values(column: Column) -> str:
    """List states; of numbers, the lowest and the highest."""
    labels = column.labels
    return f"{labels[0]} to {labels[-1]}" if column.kind.number else ", ".join(labels)


def sizes(table: Table) -> str:
    """Describe the number of rows and their weight."""
    text = f"{table.rows:,} rows, {table.distinct_rows:,} distinct"
    if table.survey is not None:
        text += f", worth {table.weight:,.4g} of equal weight (column {table.weights!r})"
    elif table.weights is not None:
        text += f", total weight {table.weight:,.6g} (column {table.weights!r})"
    return text


def missing_summary(table: Table) -> str:
    """Describe the number of columns and the share of missing cells."""
    columns = _counted(len(table.columns), "column")
    if table.complete:
        return f"{columns}, no cell missing"
    share = float(table.missing.mean())
    text = f"{share:.1%}" if share >= SMALL else f"<{SMALL:.1%}"
    return f"{columns}, {text} of the cells missing"


@dataclass(frozen=True)
class Remark:
    """A remark on a column, with the values concerned and their counts."""

    column: str
    sentence: str  # after the cells, or alone
    cells: tuple[tuple[str, int], ...] = ()  # values and their counts
    summed: bool = (
        False  # whether the sentence concerns all cells together, and lists them at its end
    )
    warning: bool = False


def written_once(remarks: Iterable[str | Remark]) -> list[str]:
    """Write remarks; equal remarks on several columns are joined at the first.

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


def notes_on(raw: RawValues, coding: Coding, *, forced: bool = False) -> Iterator[str | Remark]:
    """Yield remarks on the values of a column.

    `forced`: whether it has bins because only categories are allowed.
    """
    name, states = raw.name, coding.states
    yield from _nonresponse_codes(raw, coding)
    unused = np.setdiff1d(np.arange(len(states)), coding.codes).tolist()
    if unused:
        yield f"column {name!r}: declared but never observed: {shown([states[k] for k in unused])}."
    if coding.bins is not None and forced:
        yield (
            f"column {name!r} holds numbers, but only categories are allowed here: they are put "
            "into "
            f"{len(states)} bins with similar numbers of rows. Choose bins with --bin "
            f"{shlex.quote(name)}=5."
        )
    if len(states) == 1 and not coding.kind.number:
        yield f"column {name!r} has only one state, {shown(states)}: it carries no information."
    yield from _lost_digits(name, coding)
    if isinstance(raw.values, Numbers):
        return
    for alike in _grouped((v, v.strip()) for v in raw.values if isinstance(v, str)):
        yield f"column {name!r}: {shown(alike)} differ in spaces alone, and are one state."
    texts = [state for state in states if isinstance(state, str)]
    for alike in _grouped((text, text.casefold()) for text in texts):
        rows = Counter[str]()
        for value, count in zip(raw.values, raw.counts.tolist(), strict=True):
            rows[label(value).strip()] += count
        each = ", ".join(f"{state!r} ({rows[state]:,})" for state in alike)
        yield (
            f"{WARNING}column {name!r}: {each} differ in upper and lower case "
            "alone, and are different states. If they are the same answer, give --ignore-case."
        )
    marks = [state for state in texts if state in MARKERS]
    if marks:
        yield (
            f"column {name!r}: {shown(marks)} is used as a category, because empty cells already "
            "mark missing values. If it means missing, declare it missing."
        )


def _grouped(pairs: Iterator[tuple[str, str]]) -> list[list[str]]:
    """Group texts of equal meaning, given pairs of a text and its meaning."""
    by_meaning: defaultdict[str, list[str]] = defaultdict(list)
    for text, meant in pairs:
        by_meaning[meant].append(text)
    return [alike for meant, alike in by_meaning.items() if len(alike) > 1 and meant]


def _lost_digits(name: str, coding: Coding) -> Iterator[str]:
    """Warn of measurements that differ only in the last digits of a float."""
    if coding.kind not in (ColumnKind.GAUSSIAN, ColumnKind.LOGNORMAL):
        return
    x = np.asarray(coding.states, dtype=np.float64)
    x = np.log(x) if coding.kind is ColumnKind.LOGNORMAL else x
    largest = float(np.abs(x).max(initial=0.0))
    reach = float(np.ptp(x / 2.0)) * 2.0 if len(x) else 0.0
    if 0.0 < reach < FEW_STEPS * np.spacing(largest):
        yield (
            f"{WARNING}column {name!r}: its numbers, up to {largest:.3g}, differ by {reach:.2g} at "
            "most, in the last of the 16 digits that a number has here: the others are rounded "
            "away. Subtract what they have in common before they are written."
        )


def _nonresponse_codes(raw: RawValues, coding: Coding) -> Iterator[Remark]:
    """Warn of values that look like nonresponse codes."""
    states = coding.states
    numeric = (
        coding.bins is not None
        or isinstance(states, Numbers)
        or (len(states) > 0 and not isinstance(states[0], str | bool))
    )
    codes = _numbers(raw, coding) if numeric else _texts(raw, coding)
    if codes:
        declared = missing_words([text.removeprefix(MARK).removesuffix(MARK) for text in codes])
        what = "looks like a code of no answer, and is a value"
        if len(codes) > 1:
            what = "look like codes of no answer, and are values"
        sentence = f"{what} like any other. If it marks missing answers, give {declared}."
        yield Remark(raw.name, sentence, tuple(codes.items()), warning=True)


def _numbers(raw: RawValues, coding: Coding) -> dict[str, int]:
    """Count the rows of numbers that look like nonresponse codes."""
    if isinstance(raw.values, Numbers):
        values = raw.values.array.copy()
    else:
        values = np.array([number_of(v) for v in raw.values], dtype=np.float64)  # None is NaN
    values[coding.codes < 0] = np.nan
    different = np.unique(values[~np.isnan(values)])
    odd = odd_numbers(different)
    if len(odd) == len(different):
        return {}
    return {f"{x:g}": int(raw.counts[values == x].sum()) for x in odd}


def _texts(raw: RawValues, coding: Coding) -> dict[str, int]:
    """Count the rows of texts that look like nonresponse."""
    rows = weighed(coding.codes, raw.counts, len(coding.states)).tolist()
    odd = [
        isinstance(s, str) and s not in MARKERS and NO_ANSWER.fullmatch(s.strip()) is not None
        for s in coding.states
    ]
    if all(odd):
        return {}
    triples = zip(coding.states, rows, odd, strict=True)
    return {f"{MARK}{s}{MARK}": int(n) for s, n, is_odd in triples if is_odd and n}


def odd_numbers(values: FloatArray) -> list[float]:
    """Find nonresponse codes among sorted distinct numbers: 99 after 1 to 5, or −9.

    >>> odd_numbers(np.array([1.0, 2, 3, 4, 98, 99])), odd_numbers(np.array([-9.0, 0, 1]))
    ([98.0, 99.0], [-9.0])
    >>> odd_numbers(np.arange(18.0, 100)), odd_numbers(np.array([-2.0, -1, 0, 1, 2]))
    ([], [])
    """
    below, above = values[values < 0].tolist(), values[values >= 0].tolist()
    return [*(below if _are_codes(below, above) else []), *_high_codes(above)]


def _are_codes(below: Sequence[float], above: Sequence[float]) -> bool:
    """Whether the numbers below 0 are codes, not the lower half of a scale."""
    scale = [-x for x in reversed(below)] == list(range(1, len(below) + 1))
    half = scale and bool(above) and len(below) >= above[-1]
    return len(above) > 1 and not half and all(NEGATIVE.fullmatch(f"{x:g}") for x in below)


def _high_codes(values: Sequence[float]) -> list[float]:
    """Find the codes at the upper end of sorted numbers from 0 up."""
    for end in range(len(values) - 1, 1, -1):
        code, largest = values[end], values[end - 1]
        if not CODE.fullmatch(f"{code:g}"):
            break
        apart = code - largest
        if (apart > GAP) if code < 10 else (code >= APART * largest and apart >= 10):
            return list(values[end:])
    return []
