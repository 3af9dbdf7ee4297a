"""How estimators read rows: columns that are variables, and those that tell of rows."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lacunet import api
from lacunet.data import Table
from lacunet.data.coded_rows import declared_columns
from lacunet.data.design_columns import NO_DESIGN, DesignColumns
from lacunet.data.kinds import KindsLike
from lacunet.data.rows import Rows
from lacunet.errors import OptionError
from lacunet.estimators.inputs import (
    Reading,
    check_drawn,
    check_input,
    column_kinds,
    declared_states,
    names_of,
    read_codes,
    read_covariates,
    read_fit,
    shown_places,
)
from lacunet.estimators.parameters import Parameters
from lacunet.inference.leaves import all_with_values, kinds_of
from lacunet.models.holders import Speaker
from lacunet.models.predictors import Covariates
from lacunet.runtime.arrays import CodeArray


class RowReading(Parameters):
    """Reads rows to learn from, and rows to be asked about."""

    _asked: Any  # the model, or the ensemble, that rows are asked of
    _names: list[str]  # of the columns of X
    categories_: dict[str, Any]

    @property
    def _places(self) -> Sequence[int]:
        """Where the columns of the model stand in X."""
        names: list[str] = self._names
        return [names.index(c.name) for c in api.observed_columns(self._asked.network)]

    def _read_all(self, X: Any, sample_weight: Any, kinds: KindsLike = None) -> Table:
        """Make the table to learn from, where every column is a variable."""
        table = self._read_columns(X, sample_weight, kinds, self._shown(X, sample_weight))
        return api.missing_as_state(table) if self.missing_as_state else table

    def _variables(self, X: Any) -> list[str]:
        """Names of the columns that are variables: all that do not say how rows were drawn."""
        self._names = names_of(X)
        check_drawn(self._drawn_by, self._names)
        return [name for name in self._names if name not in self._drawn_by.names]

    def _shown(self, X: Any, sample_weight: Any) -> list[str]:
        """Names of the variables that show any value, or have declared states."""
        names = self._variables(X)
        stated = declared_states(self.categories, self._names)
        declared = {*declared_columns(X), *(j for j, s in enumerate(stated) if s is not None)}
        places = [self._names.index(name) for name in names]
        found = shown_places(X, sample_weight, places, declared) if places else []
        return [self._names[j] for j in found]

    def _read_columns(
        self, X: Any, sample_weight: Any, kinds: KindsLike, used: Sequence[str]
    ) -> Table:
        """Make a table of some columns of X."""
        every = self._names
        if not used:
            raise OptionError("no column of X is left to learn from: all say how rows were drawn.")
        declared = dict(zip(every, declared_states(self.categories, every), strict=True))
        states, places = [declared[name] for name in used], [every.index(name) for name in used]
        how = column_kinds(kinds, used, states, self.bin)
        reading = Reading(used, states, self.unseen, how, places, self._drawn_by)
        return read_fit(X, sample_weight, reading)

    @property
    def _drawn_by(self) -> DesignColumns:
        """Columns of X that say how rows were drawn."""
        return NO_DESIGN

    def _read(self, X: Any, unseen: str | None = None) -> Rows:
        """Check rows and code them."""
        return self._read_both(X, unseen)[1]

    def _read_both(self, X: Any, unseen: str | None = None) -> tuple[Any, Rows]:
        """Give X as it is after the checks, and its codes."""
        check_is_fitted(self)
        checked = check_input(self, X, reset=False)
        network = self._asked.network
        rows = read_codes(
            checked,
            known={name: self.categories_[name] for name in api.observed_states(network)},
            columns=self._places,
            unseen=unseen or self.unseen,
            kinds=kinds_of(network),
            as_state=self.missing_as_state,
        )
        if known := api.covariates_of(self._asked).covariates:
            beside = read_covariates(checked, Covariates(known), self._names)
            rows = replace(rows, beside=beside)
        return checked, rows

    def _told(self, rows: Rows) -> tuple[Any, Rows]:
        """Give who is asked about rows, and the rows with all that it is told of them."""
        asked, codes = self._given(self._asked, rows)
        if rows.beside is None:
            return asked, rows
        columns, unknown = tuple(api.observed_columns(asked.network)), rows.unknown
        if unknown is not None:
            unknown = np.column_stack([unknown, np.zeros(len(codes), dtype=bool)])
        return asked, replace(rows, columns=columns, codes=codes, unknown=unknown)

    def _given(self, speaker: Speaker, rows: Rows) -> tuple[Speaker, CodeArray]:
        """Give who knows the numbers and the covariates of rows, and their codes for it."""
        asked = all_with_values(speaker, rows.columns)
        if rows.beside is None:
            return asked, rows.codes
        return api.given_covariates(asked, rows.codes, rows.beside.columns, rows.beside.codes)
