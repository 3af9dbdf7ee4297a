"""What estimators have in common that ask a pool of models: `Imputer` and `Classifier`.

Holes filled in by whatever model fits, for scikit-learn.
How estimators read rows: columns that are variables, and those that tell of rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from lacunet import api
from lacunet.api.imputing import (
    Holes,
    cells_of,
    check_imputations,
    drawn_tables,
    filled,
    learn_filling,
    tidy_cells,
)
from lacunet.api.stacking import Asked
from lacunet.data import Column, Table
from lacunet.data.design import NO_DESIGN, DesignColumns
from lacunet.data.kinds import AUTO as AUTO_KINDS
from lacunet.data.kinds import KindsLike
from lacunet.data.reading import Rows, declared_columns
from lacunet.errors import OptionError
from lacunet.estimators.inputs import (
    Categories,
    HolesAllowed,
    Reading,
    check_drawn,
    check_input,
    column_kinds,
    declared_states,
    is_frame,
    names_of,
    read_codes,
    read_covariates,
    read_fit,
    seed_of,
    shown_places,
    threads_of,
)
from lacunet.estimators.parameters import Parameters, described
from lacunet.inference.leaves import all_with_values, kinds_of
from lacunet.models.ensemble import Speaker
from lacunet.models.predictors import Covariates
from lacunet.runtime.arrays import CodeArray
from lacunet.runtime.states import State
from lacunet.selection.ensembles import Pool
from lacunet.settings import Settings
from lacunet.tabular import frame_of, library_of


class PooledEstimator(HolesAllowed, BaseEstimator):
    """Base class: columns that show anything are learned from, and a pool is kept."""

    model: str
    kinds: KindsLike
    categories: Categories
    unseen: str
    random_state: Any
    n_jobs: int | None
    _known: Mapping[str, Sequence[State]]  # of columns that are learned from, in the order of work
    _places: Sequence[int]  # where these stand in X

    def _settings(self) -> Settings:
        return Settings(seed=seed_of(self.random_state), threads=threads_of(self.n_jobs))

    def _reading(self, X: Any, sample_weight: Any) -> Reading:
        """How X is read to learn from; columns that show nothing are left alone."""
        names = names_of(X)
        places = shown_places(X, sample_weight, range(len(names)))
        states = declared_states(self.categories, names)
        return Reading(
            names=[names[j] for j in places],
            states=[states[j] for j in places],
            unseen=self.unseen,
            kinds=column_kinds(self.kinds, names, states),
            columns=places,
        )

    def _keep_columns(self, X: Any, columns: Sequence[Column]) -> None:
        self._known = {c.name: () if c.kind.number else c.states for c in columns}
        self._places = [names_of(X).index(name) for name in self._known]

    def _keep_pool(self, pool: Pool) -> None:
        self.pool_, self.chosen_ = pool, pool.chosen.value
        self.weights_ = {kind.value: weight for kind, weight in pool.weights.items()}
        self.scores_ = {kind.value: score for kind, score in pool.scores.items()}
        self.scores_["together"] = pool.together

    def _read_rows(self, X: Any) -> Rows:
        """Code new rows, checked before."""
        return read_codes(
            X,
            known=self._known,
            columns=self._places,
            unseen=self.unseen,
            kinds=kinds_of(self.pool_.ensemble.network),
        )


MOST_PROBABLE, DRAW = "most_probable", "draw"
STRATEGIES = (MOST_PROBABLE, DRAW)
TWENTY = 20  # completed tables: usual for multiple imputation


@described
@dataclass(eq=False, repr=False)
class Imputer(OneToOneFeatureMixin, TransformerMixin, PooledEstimator):
    """Fill holes with what a joint model of all columns says of them.

    Latent classes, learned networks and latent trees are learned with some cells hidden from them,
    and weighed by how well they know these: what fills holes well fills holes. Columns may be
    categories, numbers, dates or anything that repeats; the table keeps its kind and its types.

    Parameters
    ----------
    model : {'auto', 'classes', 'network', 'tree'}
        Models of all kinds together, or of one kind alone.
    strategy : {'most_probable', 'draw'}
        What `transform` puts into a hole: the most probable value (of numbers, their mean, rounded
        to the decimals of the column), or a draw from what is possible, all of a row together (of
        numbers, the value that `fit` saw next to it). Numbers stay in the range that `fit` saw.
    **kinds; categories
    unseen : {'warn', 'error', 'missing'}
        What to do about a value of new rows that is none of its column's states. It tells nothing
        of the rest of its row, and stays where it is, with a warning or without; or it is refused.
    **random_state; n_jobs

    Attributes
    ----------
    chosen_ : str
        The kind of models with most say.
    weights_ : dict of str to float
        How much say each kind has; they sum to 1.
    scores_ : dict of str to float
        Mean log p of a hidden cell by the models of each kind alone, and by all 'together', in
        nats; higher is better.
    pool_ : lacunet.Pool
        The models; prints as a report.
    categories_ : dict of str to tuple
        States of each column; none, (), of a column of numbers.
    **columns

    Notes
    -----
    A fitted imputer holds the distinct rows of its table: mind that before you share a pickle.

    Examples
    --------
    >>> import pandas as pd
    >>> from lacunet import Imputer
    >>> X = pd.DataFrame({"a": [1, 1, 2, 2] * 9, "b": ["x", "x", "y", None] * 9})
    >>> Imputer(random_state=0).fit_transform(X)["b"][:4].tolist()
    ['x', 'x', 'y', 'y']
    """

    model: str = Asked.AUTO.value
    strategy: str = MOST_PROBABLE
    kinds: KindsLike = AUTO_KINDS
    categories: Categories = "auto"
    unseen: str = "warn"
    random_state: Any = None
    n_jobs: int | None = None

    _function = "impute"

    # `y` is there because pipelines hand it to everything.
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Learn from rows with holes who fills them in best.

        Parameters
        ----------
        **X; y
        sample_weight : array of shape (n_samples,), optional
            Weight of each row, as for the other estimators.

        Returns
        -------
        self
        """
        if self.strategy not in STRATEGIES:
            raise OptionError(
                f"strategy {self.strategy!r} is not known. Choose from {', '.join(STRATEGIES)}."
            )
        checked = check_input(self, X, reset=True)
        reading = self._reading(checked, sample_weight)
        self._table = read_fit(checked, sample_weight, reading).in_work_order
        self._keep_columns(checked, self._table.columns)
        self.categories_ = dict(self._known)
        settings = self._settings()
        self._seed = settings.seed
        self._keep_pool(learn_filling(self._table, self.model, settings))
        return self

    def transform(self, X: Any) -> Any:
        """Fill the holes of rows.

        **rows

        Returns
        -------
        filled : array or dataframe of shape (n_samples, n_features)
            X, its holes filled: an array, or the same kind of dataframe with the types that its
            columns had.
        """
        holes, own = self._holes(X)
        if self.strategy == DRAW:
            return drawn_tables(own, holes, self.pool_, self._table, 1, self._seed)[0]
        return filled(own, holes.most_probable())

    def draw(self, X: Any, n_imputations: int = TWENTY) -> list[Any]:
        """Draw several completed tables, for multiple imputation.

        Each has its own parameters, drawn from their posterior given the rows that were learned, so
        that tables differ as much as what is known leaves open.

        Parameters
        ----------
        **X
        n_imputations : int
            How many tables.

        Returns
        -------
        tables : list of arrays or dataframes of shape (n_samples, n_features)
        """
        check_imputations(n_imputations)
        holes, own = self._holes(X)
        return list(drawn_tables(own, holes, self.pool_, self._table, n_imputations, self._seed))

    def predict_cells(self, X: Any) -> Any:
        """Tell what is thought of every hole.

        **rows

        Returns
        -------
        cells : dataframe
            A row for each state of each hole: row (its place, from 0), column, state and
            probability. A hole of a number has one row, without state: mean and sd (of a lognormal,
            geometric mean and factor).
        """
        holes, own = self._holes(X)
        return frame_of(tidy_cells(cells_of(holes), self.pool_.ensemble), library_of(own))

    def _holes(self, X: Any) -> tuple[Holes, Any]:
        """Check and code rows; give them with the table that their holes are filled in."""
        check_is_fitted(self)
        checked = check_input(self, X, reset=False)
        speaker = self.pool_.ensemble
        holes = Holes(self._read_rows(checked), speaker, self._places, speaker.network)
        return holes, X if is_frame(X) else checked


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
