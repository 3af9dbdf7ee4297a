"""Decide what columns hold, states or numbers, for any source."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from lacunet.data import checks
from lacunet.data.audit import Remark
from lacunet.data.discover import (
    UNKNOWN,
    Coding,
    RawValues,
    infer,
    match,
    mean_of,
    number_of,
    one_spelling,
    weighed,
)
from lacunet.data.kinds import BY_RULE, ColumnKind, Kinds
from lacunet.data.source import Source
from lacunet.data.table import Column
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.states import Bins, BinSpec, Numbers, State, bin_labels, bin_numbers, label

MOST = 12  # labels that a remark lists with their numbers


@dataclass(frozen=True)
class ColumnTyper:
    """Decides the kinds and codes of the columns of a source."""

    source: Source
    kinds: Kinds = BY_RULE  # declared by the user or a model
    missing: frozenset[str] = frozenset()  # texts that are declared missing
    weighted: bool = False  # whether rows have counts
    ignore_case: bool = False  # whether texts that differ only in case are one state
    queried: bool = False  # whether rows are only queried, not learned from

    def coding(self, raw: RawValues, cases: FloatArray, states: Sequence[State] | None) -> Coding:
        """Code a column by given states or bins of a model, else by its values.

        `cases` (values,) are weights; a value that is not a state is `UNKNOWN`.
        """
        bins = self.kinds.bins.get(raw.name)
        if states is not None and isinstance(bins, Bins):
            return self._by_bins(raw, states, bins)
        if states is None or self.kinds.declares_number(raw.name):
            return self._inferred(raw, cases)
        return match(raw.values, states, self.missing, self.source.markers)

    def _inferred(self, raw: RawValues, cases: FloatArray) -> Coding:
        name, kinds, missing = raw.name, self.kinds, self.missing | self.source.markers
        if isinstance(raw.values, Numbers):
            values, codes = np.unique(raw.values.array, return_inverse=True)
            coding = Coding(Numbers(values), codes)
        else:
            coding = infer(one_spelling(raw) if self.ignore_case else raw.values, missing)
        texts = bool(coding.states) and isinstance(coding.states[0], str)
        if texts and kinds.may_be_number(name) and not kinds.declares_number(name):
            checks.check_no_infinite_text(raw, missing)
        rows = None if self.weighted else weighed(coding.codes, raw.counts, len(coding.states))
        decided = kinds.decide(name, coding.states, mean_of(coding, cases), rows)
        coding = replace(coding, kind=decided.kind, why=decided.why)
        if decided.bin_spec is not None:
            return self._in_bins(raw, cases, coding, decided.bin_spec)
        if decided.kind.number:
            self._check_numbers(raw, coding)
            if isinstance(coding.states, Numbers):
                return coding
            return replace(coding, states=Numbers(np.array(coding.states, dtype=np.float64)))
        if name not in kinds.declared and kinds.other is None:
            checks.check_inferred(raw, coding, weighted=self.weighted)
        elif not self.queried:  # queried rows may lack values
            checks.check_categories(name, coding.states, coding)
        return replace(coding, states=tuple(coding.states))

    def _by_bins(self, raw: RawValues, states: Sequence[State], bins: Bins) -> Coding:
        """Put numbers into the bins of a model; names of bins are allowed too."""
        if isinstance(raw.values, Numbers):
            x = raw.values.array
            checks.check_finite(raw, (float(x.min(initial=0)), float(x.max(initial=0))))
            return Coding(tuple(states), bins.codes(x), bins=bins)
        coding = match(raw.values, states, self.missing, self.source.markers)
        for i in np.flatnonzero(coding.codes == UNKNOWN).tolist():
            code = bins.find(label(raw.values[i]).strip())
            coding.codes[i] = UNKNOWN if code < 0 else code
        return replace(coding, bins=bins)

    def _in_bins(
        self, raw: RawValues, cases: FloatArray, coding: Coding, bin_spec: BinSpec
    ) -> Coding:
        """Cut the numbers of a column into bins."""
        if isinstance(bin_spec, Bins):
            return self._by_bins(raw, bin_labels(bin_spec.edges, exact=False), bin_spec)
        self._check_numbers(raw, coding)
        numbers = np.array(coding.states, dtype=np.float64)
        weight = weighed(coding.codes, cases, len(coding.states))
        bins = bin_numbers(numbers, weight, bin_spec)
        if bins is None:
            why = f"has only one value, {label(coding.states[0])}, to cut"
            raise checks.unusable(raw.name, why)
        codes = np.where(coding.codes >= 0, bins.codes(numbers)[coding.codes], coding.codes)
        states = bin_labels(bins.edges, exact=isinstance(bin_spec, tuple))
        return replace(coding, states=states, codes=codes, bins=bins)

    def _check_numbers(self, raw: RawValues, coding: Coding) -> None:
        """Refuse values that do not fit the numeric kind, or are not measurements."""
        name, kinds = raw.name, self.kinds
        if not self.queried:
            checks.check_some_numbers(name, coding.states)
        checks.check_numbers(raw, coding, declarable=name not in kinds.ends)
        checks.check_ends(kinds.ends.get(name), raw, coding)
        known = kinds.declares_number(name) or name in kinds.wanted
        if not known and isinstance(coding.states[0], int):
            checks.check_not_identifier(raw, coding, weighted=self.weighted)


def described(names: Sequence[str], codings: Sequence[Coding], kinds: Kinds) -> tuple[Column, ...]:
    """Make the columns, with reasons unless all are categorical by default."""
    explained = kinds.said or any(c.kind.number or c.bins is not None for c in codings)
    return tuple(
        Column(name, c.states, c.kind, c.why if explained else "", c.bins)
        for name, c in zip(names, codings, strict=True)
    )


def ranked(source: Source, kinds: Kinds, missing: frozenset[str]) -> Source:
    """Replace labels by numbers in columns that are declared numeric.

    The numbers are the codes in files of SPSS and Stata, or the ranks of declared categories.
    """
    numbers: dict[str, dict[str, float]] = {}  # by column and label
    for name, states in source.categories.items():
        kind = kinds.declared.get(name, kinds.other)
        if kind is None or not kind.number or all(number_of(s) is not None for s in states):
            continue
        if name in source.scales:
            known = source.scales[name].items()
            numbers[name] = {text: x for text, x in known if text not in missing}
        elif kind is ColumnKind.ORDINAL:
            labels = [text for text in map(label, states) if text not in missing]
            numbers[name] = {text: float(k) for k, text in enumerate(labels, start=1)}
    if not numbers:
        return source
    remarks = dict(source.remarks)
    for name, scale in numbers.items():
        each = [f"{x:g} = {text}" for text, x in sorted(scale.items(), key=lambda pair: pair[1])]
        more = [f"{len(each) - MOST} more"] if len(each) > MOST else []
        remark = Remark(name, f"{', '.join([*each[:MOST], *more])}.")
        remarks[name] = (*remarks.get(name, ()), remark)

    def batches(wanted: Sequence[str]) -> Iterator[pl.DataFrame]:
        for frame in source.batches(wanted):
            yield frame.with_columns(
                pl.Series(
                    n, [None if v is None else scale.get(label(v)) for v in frame[n]], pl.Float64
                )
                for n, scale in numbers.items()
                if n in frame.columns
            )

    return replace(
        source,
        batches=batches,
        categories={n: c for n, c in source.categories.items() if n not in numbers},
        scales={n: c for n, c in source.scales.items() if n not in numbers},
        types={n: kind for n, kind in source.types.items() if n not in numbers},
        remarks=remarks,
    )
