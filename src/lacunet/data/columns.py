"""What a column is: its states, or its numbers. Decided here, whatever door it came in by.

Files, dataframes and arrays, functions, estimators and commands all end here, so the same column
is the same everywhere, is refused for the same reason, and in the same words.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lacunet.data import column_checks as checks
from lacunet.data.discover import (
    UNKNOWN,
    Coding,
    RawValues,
    infer,
    is_missing,
    match,
    mean_of,
    one_spelling,
    weighed,
)
from lacunet.data.kinds import BY_RULE, Decision, Kinds
from lacunet.data.notes import notes_on
from lacunet.data.number_checks import check_ends, check_numbers, check_some_numbers
from lacunet.data.number_columns import code_numbers
from lacunet.data.remark import Remark
from lacunet.data.source import Source
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.states import Bins, Numbers, State, bin_labels, cut_into_bins, label


@dataclass(frozen=True)
class Judge:
    """Says what columns of a source are."""

    source: Source
    kinds: Kinds = BY_RULE  # what is said of columns
    missing: frozenset[str] = frozenset()  # texts that stand for a hole because a person says so
    weighted: bool = False  # whether a row may stand for many
    ignore_case: bool = False  # whether texts that differ in case alone are one state
    asked: bool = False  # whether rows are asked about, so that nothing need be learned from them

    @property
    def holes(self) -> frozenset[str]:
        """All texts that stand for a hole."""
        return self.missing | self.source.markers

    def inferred(self, name: str, raw: RawValues, cases: FloatArray) -> Coding:
        """Find what a column is that declares nothing; `cases` (values,) weigh the values."""
        numbers = isinstance(raw.values, Numbers)
        told = one_spelling(raw) if self.ignore_case and not numbers else raw.values
        coding = code_numbers(raw) if numbers else infer(told, self.holes)
        texts = bool(coding.states) and isinstance(coding.states[0], str)
        if texts and self.kinds.may_be_number(name) and not self.kinds.declares_number(name):
            checks.check_no_infinite_text(name, raw, self.holes, self.source)
        rows = None if self.weighted else weighed(coding.codes, raw.counts, len(coding.states))
        decided = self.kinds.decide(name, coding.states, mean_of(coding, cases), rows)
        coding = replace(coding, kind=decided.kind, why=decided.why)
        if decided.cut is not None:
            return self._in_bins(name, raw, cases, coding, decided)
        if decided.kind.number:
            self._check_numbers(name, raw, coding)
            return replace(coding, states=_as_numbers(coding.states))
        if name in self.kinds.declared or self.kinds.other is not None:
            if not self.asked:  # rows that are asked about may show nothing
                checks.check_categories(name, coding.states, coding)
        else:
            checks.check_inferred(name, raw, coding, self.source, weighted=self.weighted)
        return replace(coding, states=tuple(coding.states))

    def declared(self, name: str, raw: RawValues, states: Sequence[State]) -> Coding:
        """Match a column with the categories that it declares, some of which may be holes."""
        states = [s for s in states if not is_missing(s, self.missing)]
        coding = self.known(raw, states)
        checks.check_known(name, raw, coding, self.source)
        checks.check_categories(name, states, coding)
        return replace(coding, why="its states were declared")

    def known(self, raw: RawValues, states: Sequence[State]) -> Coding:
        """Match a column with states; what is none of them is `UNKNOWN`."""
        return match(raw.values, states, self.missing, self.source.markers)

    def by_bins(self, name: str, raw: RawValues, states: Sequence[State], bins: Bins) -> Coding:
        """Put numbers into the bins of a model; the name of a bin is understood too."""
        if isinstance(raw.values, Numbers):
            x = raw.values.array
            checks.check_finite(
                name, raw, (float(x.min(initial=0)), float(x.max(initial=0))), self.source
            )
            return Coding(tuple(states), bins.codes(x), bins=bins)
        coding, codes = self.known(raw, states), []
        for value, code in zip(raw.values, coding.codes.tolist(), strict=True):
            found = bins.find(label(value).strip()) if code == UNKNOWN else code
            codes.append(found if found >= 0 else code)
        return replace(coding, codes=np.array(codes, dtype=np.int64), bins=bins)

    def notes(self, name: str, raw: RawValues, coding: Coding) -> Iterator[str | Remark]:
        """Say what a person may not expect of what was found in a column."""
        forced = self.kinds.forced and name not in self.kinds.bins
        return notes_on(name, raw, coding, forced=forced)

    def _in_bins(
        self, name: str, raw: RawValues, cases: FloatArray, coding: Coding, decided: Decision
    ) -> Coding:
        """Cut the numbers of a column into bins."""
        if isinstance(decided.cut, Bins):
            states = bin_labels(decided.cut.edges, exact=False)
            return self.by_bins(name, raw, states, decided.cut)
        self._check_numbers(name, raw, coding)
        seen = coding.codes >= 0
        weight = weighed(coding.codes, cases, len(coding.states))
        assert decided.cut is not None
        bins = cut_into_bins(np.array(coding.states, dtype=np.float64), weight, decided.cut)
        if bins is None:
            raise checks.unusable(name, f"has only one value, {label(coding.states[0])}, to cut")
        places = bins.codes(np.array(coding.states, dtype=np.float64))
        codes = np.where(seen, places[coding.codes], coding.codes)
        states = bin_labels(bins.edges, exact=isinstance(decided.cut, tuple))
        return replace(coding, states=states, codes=codes, bins=bins)

    def _check_numbers(self, name: str, raw: RawValues, coding: Coding) -> None:
        """Refuse a column that cannot be numbers of its kind, or is no measurement."""
        if not self.asked:
            check_some_numbers(name, coding.states)
        own = name not in self.kinds.ends
        check_numbers(name, coding.kind, raw, coding, self.source, own=own)
        check_ends(name, self.kinds.ends.get(name), raw, coding, self.source)
        known = self.kinds.declares_number(name) or name in self.kinds.wanted
        if not known and isinstance(coding.states[0], int):
            checks.check_not_identifier(name, raw, coding, weighted=self.weighted)


def _as_numbers(states: Sequence[State]) -> Sequence[State]:
    """Keep numbers as an array."""
    return states if isinstance(states, Numbers) else Numbers(np.array(states, dtype=np.float64))
