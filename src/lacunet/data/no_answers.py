"""Values that look like answers and are none: 99, −99, "refused", "don't know".

Surveys write such codes into the cells of people who did not answer. Nobody can tell for sure, so
they stay what they are, and a warning names them, how often they occur, and what makes them holes.
"""

import re
from collections.abc import Iterator, Sequence

import numpy as np

from lacunet.data.discover import MARKERS, Coding, RawValues, number_of
from lacunet.data.remark import Remark
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.states import Numbers
from lacunet.wording import missing_words

# 7, 8, 9 and what they are repeated or counted down from: 77, 96 to 99, 998, 9999.
CODE = re.compile(
    r"-?(?:[6789]|(?:66|77|88|9[6-9])|(?:666|777|888|99[6-9])|(?:7777|8888|999[6-9]))"
)
NEGATIVE = re.compile(r"-(?:[1-9]|[1-9]{2}|99[0-9]|999[0-9]|777|888|666)")
MARK = "'"  # around texts
GAP = 3  # empty places between answers and a code of one digit
APART = 2.0  # how many times the largest answer a longer code is, at least
NO_ANSWER = re.compile(
    r"refus(?:ed|al|es)?(?: to answer)?|(?:do(?:es)?n[’']?t|do(?:es)? not|did ?n[o’']t) know|dk|"
    r"d/k|dk/?na|dk/ref(?:used)?|no answer|no response|not answered|non[- ]?response|"
    r"prefer not to (?:say|answer)|(?:does )?not appl(?:icable|y)|inapplicable|"
    r"n/?a|n\.a\.|na|none given|missing|unknown|"
    r"not (?:available|stated|ascertained|asked)|can[’']?t (?:say|choose)|keine angabe|k\.? ?a\.?|"
    r"weiß nicht|ne sait pas|sans réponse|no sabe|no contesta|ns/nc|[.\-–—]+|\(?blank\)?",
    re.IGNORECASE,
)


def notes_on_codes(name: str, raw: RawValues, coding: Coding) -> Iterator[Remark]:
    """Warn of values of a column that look as if nobody had answered."""
    found = _numbers(raw, coding) if _numeric(coding) else _texts(raw, coding)
    if not found:
        return
    settled = missing_words([state.removeprefix(MARK).removesuffix(MARK) for state in found])
    what = "looks like a code of no answer, and is a value"
    if len(found) > 1:
        what = "look like codes of no answer, and are values"
    sentence = f"{what} like any other. If nobody answered there, give {settled}."
    yield Remark(name, sentence, tuple(found.items()), warning=True)


def odd_numbers(values: FloatArray) -> list[float]:
    """Find numbers that stand apart as codes do: 99 after 1 to 5, −9 where all others are not.

    Parameters
    ----------
    values
        Different ones, in order.

    Examples
    --------
    >>> odd_numbers(np.array([1.0, 2, 3, 4, 98, 99])), odd_numbers(np.array([-9.0, 0, 1]))
    ([98.0, 99.0], [-9.0])
    >>> odd_numbers(np.arange(18.0, 100)), odd_numbers(np.array([-2.0, -1, 0, 1, 2]))
    ([], [])
    """
    below, above = values[values < 0].tolist(), values[values >= 0].tolist()
    return [*(below if _are_codes(below, above) else []), *_high(above)]


def _are_codes(below: Sequence[float], above: Sequence[float]) -> bool:
    """Whether the numbers below 0 are codes, not the lower half of a scale."""
    scale = [-x for x in reversed(below)] == list(range(1, len(below) + 1))
    half = scale and bool(above) and len(below) >= above[-1]
    return len(above) > 1 and not half and all(NEGATIVE.fullmatch(f"{x:g}") for x in below)


def _high(values: Sequence[float]) -> list[float]:
    """The codes at the upper end of numbers from 0 up, in order."""
    end = len(values)
    while end and CODE.fullmatch(f"{values[end - 1]:g}"):
        end -= 1
        codes, others = values[end:], values[:end]
        if len(others) > 1 and _far(codes[0], others[-1]):
            return list(codes)
    return []


def _far(code: float, largest: float) -> bool:
    """Whether a code stands apart from the largest answer."""
    if code < 10:
        return code - largest > GAP
    return code >= APART * largest and code - largest >= 10


def _numbers(raw: RawValues, coding: Coding) -> dict[str, int]:
    """Numbers that look like codes, and their rows; those that are holes already are none."""
    told = coding.codes >= 0
    if isinstance(raw.values, Numbers):
        values, counts = raw.values.array[told], raw.counts[told]
    else:
        pairs = [(number_of(raw.values[i]), raw.counts[i]) for i in np.flatnonzero(told).tolist()]
        values = np.array([x for x, _ in pairs if x is not None])
        counts = np.array([n for x, n in pairs if x is not None])
    different = np.unique(values)
    odd = odd_numbers(different)
    return {f"{x:g}": int(counts[values == x].sum()) for x in odd if len(odd) < len(different)}


def _texts(raw: RawValues, coding: Coding) -> dict[str, int]:
    """Texts that say that nobody answered, and their rows."""
    told = coding.codes >= 0
    rows = np.bincount(coding.codes[told], raw.counts[told], len(coding.states))
    said = [
        isinstance(s, str) and s not in MARKERS and NO_ANSWER.fullmatch(s.strip())
        for s in coding.states
    ]
    pairs = zip(coding.states, rows.tolist(), said, strict=True)
    return {f"{MARK}{s}{MARK}": int(n) for s, n, odd in pairs if odd and n and not all(said)}


def _numeric(coding: Coding) -> bool:
    """Whether a column holds numbers, perhaps in bins."""
    states = coding.states
    if coding.bins is not None or isinstance(states, Numbers):
        return True
    return len(states) > 0 and not isinstance(states[0], str | bool)
