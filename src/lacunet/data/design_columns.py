"""Columns that say how rows were drawn: read beside the items, and never items themselves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self, TypeAlias

import numpy as np
import polars as pl

from lacunet.data.checks import check_names
from lacunet.data.design import SamplingDesign, SurveyWeights, sampling_design
from lacunet.data.discover import canonical, is_missing
from lacunet.data.encode import MOST_DIFFERENT, ColumnEncoder
from lacunet.data.source import Source
from lacunet.data.text import cells_of
from lacunet.errors import DataError, OptionError
from lacunet.runtime.arrays import CodeArray, FloatArray, IntArray
from lacunet.runtime.states import label
from lacunet.wording import clusters_words

Clusters: TypeAlias = str | Sequence[str] | None


@dataclass(frozen=True)
class DesignColumns:
    """Which columns they are."""

    strata: str | None = None
    clusters: tuple[str, ...] = ()  # several tell units together

    @classmethod
    def told(cls, strata: str | None, clusters: Clusters) -> Self:
        """Take them as a person names them: one cluster column may stand without a list."""
        return cls(strata, (clusters,) if isinstance(clusters, str) else tuple(clusters or ()))

    @property
    def names(self) -> list[str]:
        """Each column once."""
        strata = () if self.strata is None else (self.strata,)
        return list(dict.fromkeys([*strata, *self.clusters]))


NO_DESIGN = DesignColumns()


def design_columns(strata: str | None, clusters: Clusters, source: Source) -> DesignColumns:
    """Understand what a person says; refuse columns that are not there."""
    told = DesignColumns.told(strata, clusters)
    check_names(() if strata is None else (strata,), "--strata", source)
    check_names(told.clusters, "--clusters", source)
    return told


class DesignReader:
    """Reads these columns batch by batch."""

    def __init__(self, columns: DesignColumns, source: Source, holes: frozenset[str]) -> None:
        self.columns, self.source = columns, source
        self.holes = holes | source.markers
        self.encoders = [ColumnEncoder(name, MOST_DIFFERENT) for name in columns.names]

    def encode(self, frame: pl.DataFrame, row: int) -> list[CodeArray]:
        """Give the provisional codes of each column of a batch that begins after `row` rows."""
        found = []
        for encoder in self.encoders:
            codes = encoder.encode(cells_of(frame, encoder.name), row, self.source)
            if (codes < 0).any():
                raise self._refuse(encoder.name, row + int(np.argmax(codes < 0)) + 1)
            found.append(codes)
        return found

    def design(
        self,
        drawn: CodeArray,
        row: IntArray,
        weight: FloatArray,
        copies: IntArray,
        survey: SurveyWeights | None,
    ) -> SamplingDesign:
        """Make the design of rows whose provisional codes are `drawn`, (rows, columns).

        Each stands at a place of the table, `row`, and weighs as much as it was given.
        """
        cases, people = weight, float(weight @ copies)
        if survey is not None:
            cases, people = weight * survey.scale, float(survey.rows)
        read = {e.name: self._texts(e) for e in self.encoders}
        codes = {e.name: read[e.name][0][drawn[:, j]] for j, e in enumerate(self.encoders)}
        texts = {name: own for name, (_, own) in read.items()}
        return design_of_codes(self.columns, codes, texts, row, cases, copies, people)

    def _texts(self, encoder: ColumnEncoder) -> tuple[IntArray, list[str]]:
        """Give each value a number by the order of its text, and the texts in their order."""
        raw = encoder.raw
        for value, row in zip(raw.values, raw.rows, strict=True):
            if is_missing(value, self.holes):
                raise self._refuse(encoder.name, int(row))
        meant = [canonical(label(value).strip()) for value in raw.values]
        texts = sorted(set(meant))
        place = {text: k for k, text in enumerate(texts)}
        return np.array([place[text] for text in meant], dtype=np.int64), texts

    def _refuse(self, name: str, row: int) -> DataError:
        return DataError(missing_words(name, self.source.where(row)))


def design_of_codes(
    columns: DesignColumns,
    codes: Mapping[str, IntArray],
    texts: Mapping[str, Sequence[str]],
    row: IntArray,
    cases: FloatArray,
    copies: IntArray,
    people: float,
) -> SamplingDesign:
    """Make the design of rows by the codes, (rows,), of each of these columns, in `texts`.

    Each row stands at a place of the table, and counts for so many cases, as often as it is there.
    """
    stratum = None if columns.strata is None else codes[columns.strata]
    cluster = None
    if columns.clusters:
        each = np.stack([codes[name] for name in columns.clusters], axis=1)
        units, cluster = np.unique(each, axis=0, return_inverse=True)
        cluster = cluster.reshape(-1)
        if stratum is not None:
            _check_nested(columns, units, cluster, stratum, texts)
    return sampling_design(
        row,
        cases,
        copies,
        stratum,
        cluster,
        people=people,
        strata=columns.strata,
        clusters=columns.clusters,
    )


def _check_nested(
    columns: DesignColumns,
    units: IntArray,
    cluster: IntArray,
    stratum: IntArray,
    texts: Mapping[str, Sequence[str]],
) -> None:
    """Refuse a unit that lies in two strata."""
    lowest = np.full(len(units), np.iinfo(np.int64).max)
    highest = np.full(len(units), -1)
    np.minimum.at(lowest, cluster, stratum)
    np.maximum.at(highest, cluster, stratum)
    twice = np.flatnonzero(lowest != highest)
    if not len(twice):
        return
    u, (strata, clusters) = int(twice[0]), (columns.strata or "", columns.clusters)
    unit = ", ".join(f"{n} {texts[n][k]!r}" for n, k in zip(clusters, units[u], strict=True))
    both = " and ".join(repr(texts[strata][k]) for k in (lowest[u], highest[u]))
    raise DataError(
        f"{unit} is in more than one stratum of {strata!r}: {both} ({len(twice):,} "
        "units are). A unit is drawn from one stratum. If numbers of units begin anew in each "
        f"stratum, both columns tell a unit: {clusters_words((strata, *clusters))}."
    )


def missing_words(name: str, where: str) -> str:
    """Say that a cell which tells how a row was drawn is missing."""
    return (
        f"column {name!r}, {where}: the cell is missing. Every row was drawn from some stratum and "
        "unit: fill it in, or leave --strata and --clusters out."
    )


def check_no_items(columns: DesignColumns, names: Sequence[str], weights: str | None) -> None:
    """Refuse a column that is both an item, or the weight, and part of the design."""
    for name in columns.names:
        if name == weights or name in names:
            what = "the weight" if name == weights else "a variable"
            raise OptionError(
                f"column {name!r} cannot be both {what} and part of the design (--strata, "
                "--clusters). Name it once."
            )
