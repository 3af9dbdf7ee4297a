"""Infer the states of a column from its values.

Values are text (CSV cells, text columns) or typed. Text is typed per column: integers, other
numbers, true/false, or plain text. So the same data have the same states in every format.
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lacunet.data.kinds import ColumnKind
from lacunet.runtime.arrays import CodeArray, FloatArray, IntArray
from lacunet.runtime.states import EXACT, Bins, Numbers, State, label, natural_key

# Texts that mean missing in a text file.
MARKERS = frozenset({"", "NA", "NaN", "nan", "null", "NULL", "?"})

# At most 18 digits, so that an integer fits 64 bits; longer ones are names, not numbers. A leading
# zero ("01") marks a code, so it stays text.
_INTEGER = re.compile(r"([+-]?(?:0|[1-9][0-9]{0,17}))(?:\.0+)?")
_NUMBER = re.compile(
    r"[+-]?(?:(?:0|[1-9][0-9]{0,17})(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?"
)
NUMBER = f"^(?:{_NUMBER.pattern})$"  # for expressions over many texts at once
# Texts of numbers that no float holds.
INFINITE = re.compile(r"[+-]?(?i:inf|infinity|[0-9]+[.]?[0-9]*e[+]?[0-9]{3,})")
_TRUTH = {"false": False, "true": True}
_SHOWN = 8  # states that a message lists
UNKNOWN = -2  # the code of a value that is none of the declared states


@dataclass(frozen=True)
class RawValues:
    """The distinct raw values of a column."""

    name: str  # of the column
    where: Callable[[int], str]  # describes a row of the source
    values: Sequence[State]  # in order of their first appearance
    rows: IntArray  # row of the first appearance of each, from 1
    counts: IntArray  # how many rows hold each

    def only(self, which: IntArray) -> "RawValues":
        """Select some of the values."""
        some: Sequence[State]
        if isinstance(self.values, Numbers):
            some = Numbers(self.values.array[which])
        else:
            some = [self.values[i] for i in which.tolist()]
        return replace(self, values=some, rows=self.rows[which], counts=self.counts[which])

    def cell(self, i: int) -> str:
        """Describe the cell where value i first appears, for a message."""
        return f"column {self.name!r}, {self.where(int(self.rows[i]))}"


@dataclass(frozen=True)
class Coding:
    """States of a column, and the codes of its raw values."""

    states: Sequence[State]
    codes: IntArray  # per raw value: its code, -1 = missing, UNKNOWN = not a state
    kind: ColumnKind = ColumnKind.CATEGORICAL
    why: str = ""  # reason of the kind, if it was inferred
    bins: Bins | None = None  # of numbers that the states represent, if any


def markers(extra: Iterable[State]) -> frozenset[str]:
    """Give texts that are declared missing, as written and in canonical form.

    >>> sorted(markers(["-9", "99.0"]))
    ['-9', '99', '99.0']
    """
    texts = [label(one).strip() for one in extra]
    return frozenset(texts) | frozenset(map(canonical, texts))


def canonical(text: str) -> str:
    """Bring a text into canonical form: "+1.0" is "1", "TRUE" is "true", "01" is itself."""
    number = number_of(text) if text == text.strip() else None
    if number is not None:
        return label(_integer(text) if _INTEGER.fullmatch(text) else number)
    return text.lower() if text.lower() in _TRUTH else text


def infer(values: Sequence[State], missing: frozenset[str]) -> Coding:
    """Infer the states of a column from its values, in natural order."""
    seen = [i for i, value in enumerate(values) if not is_missing(value, missing)]
    typed = _typed([values[i] for i in seen])
    order = sorted(
        set(typed), key=lambda s: (natural_key(s.casefold()), s) if isinstance(s, str) else s
    )
    code = {state: k for k, state in enumerate(order)}
    codes = np.full(len(values), -1, np.int64)
    codes[seen] = [code[state] for state in typed]
    return Coding(tuple(order), codes)


def one_spelling(raw: RawValues) -> list[State]:
    """Give texts that differ in case alone the spelling that occurs most often among them.

    >>> counts = np.array([5, 2, 3])
    >>> one_spelling(RawValues("x", str, ["Good", "good ", "bad"], np.arange(3), counts))
    ['Good', 'Good', 'bad']
    """
    often: dict[str, tuple[int, str]] = {}
    for value, count in zip(raw.values, raw.counts.tolist(), strict=True):
        if isinstance(value, str):
            text = value.strip()
            often[text.casefold()] = max(often.get(text.casefold(), (-1, "")), (count, text))
    return [often[v.strip().casefold()][1] if isinstance(v, str) else v for v in raw.values]


def match(
    values: Sequence[State],
    states: Sequence[State],
    missing: frozenset[str],
    usual: frozenset[str] = frozenset(),
) -> Coding:
    """Match the values of a column with declared states, by canonical labels.

    A usual marker such as "?" is a state if it is declared so; one in `missing` is missing.
    """
    exact = {label(state): k for k, state in enumerate(states)}
    loose = {canonical(text): k for text, k in exact.items()}
    absent = (usual - exact.keys()) | missing

    def code(value: State) -> int:
        if is_missing(value, absent):
            return -1
        text = label(value).strip()
        return exact.get(text, loose.get(canonical(text), UNKNOWN))

    return Coding(tuple(states), np.array([code(value) for value in values], np.int64))


def is_missing(value: State, missing: frozenset[str]) -> bool:
    """Whether a value means missing."""
    text = label(value).strip()
    return text in missing or canonical(text) in missing


def shorten(text: str, width: int) -> str:
    """Cut a text to `width` characters, with an ellipsis.

    >>> shorten("a long sentence", 8)
    'a long …'
    """
    return text if len(text) <= width else text[: width - 1] + "…"


def shown(states: Sequence[State]) -> str:
    """List states for a message: text in quotes, numbers plain, a long list cut.

    >>> shown(["no", "yes"]), shown(range(12))
    ("'no', 'yes'", '0, 1, 2, 3, 4, 5, 6, 7, … (12 in all)')
    """
    texts = [repr(shorten(s, 40)) if isinstance(s, str) else label(s) for s in states[:_SHOWN]]
    return ", ".join(texts) + (f", … ({len(states):,} in all)" if len(states) > _SHOWN else "")


def _typed(values: Sequence[State]) -> list[State]:
    """Give the values of one column one common type."""
    if all(isinstance(v, bool) for v in values):
        return list(values)
    if not any(isinstance(v, str | bool) for v in values):
        # Beyond 2⁵³ every float is whole, which is not evidence of integers.
        whole = all(
            isinstance(v, int) or (float(v).is_integer() and abs(float(v)) <= EXACT) for v in values
        )
        return [int(v) if whole else float(v) for v in values]
    texts = [label(v).strip() for v in values]
    if all(map(_INTEGER.fullmatch, texts)):
        return [_integer(text) for text in texts]
    numbers = [x for x in map(number_of, texts) if x is not None]
    if len(numbers) == len(texts):
        return list(numbers)
    if all(text.lower() in _TRUTH for text in texts):
        return [_TRUTH[text.lower()] for text in texts]
    return list(texts)


def weighed(codes: IntArray | CodeArray, weight: FloatArray | IntArray, size: int) -> FloatArray:
    """Sum the weights of each code, (size,); missing cells (−1) are left out."""
    seen = codes >= 0
    return np.bincount(codes[seen], weight[seen], size).astype(np.float64)


def mean_of(coding: Coding, cases: FloatArray) -> float:
    """Mean of the values of a column, if they are numbers; `cases` (values,) weigh them."""
    if not coding.states or isinstance(coding.states[0], str):
        return math.nan
    seen = coding.codes >= 0
    values = np.asarray(coding.states, dtype=np.float64)[coding.codes[seen]]
    return float(values @ cases[seen] / cases[seen].sum())


def number_of(value: State) -> float | None:
    """Convert a value to a number, or None; texts of infinite numbers give None."""
    if not isinstance(value, str):
        return None if isinstance(value, bool) else float(value)
    text = value.strip()
    if _INTEGER.fullmatch(text):
        return float(_integer(text))
    number = float(text) if _NUMBER.fullmatch(text) else math.inf
    return number if math.isfinite(number) else None


def _integer(text: str) -> int:
    return int(text.partition(".")[0])
