"""Estimators that learn an ensemble of models: what they have in common, and `Imputer`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from lacunet.api.imputing import (
    MissingCells,
    cells_of,
    check_imputations,
    drawn_tables,
    filled,
    learn_filling,
    tidy_cells,
)
from lacunet.api.stacking import ModelChoice
from lacunet.data import Column
from lacunet.data.kinds import AUTO as AUTO_KINDS
from lacunet.data.kinds import KindsLike
from lacunet.data.reading import Rows
from lacunet.errors import OptionError
from lacunet.estimators.inputs import (
    Categories,
    FitInput,
    HolesAllowed,
    check_input,
    column_kinds,
    declared_states,
    is_frame,
    names_of,
    read_codes,
    read_fit,
    seed_of,
    shown_places,
    threads_of,
)
from lacunet.estimators.parameters import worded_estimator
from lacunet.inference.leaves import kinds_of
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

    def _reading(self, X: Any, sample_weight: Any) -> FitInput:
        """How X is read to learn from; columns that show nothing are left alone."""
        names = names_of(X)
        places = shown_places(X, sample_weight, range(len(names)))
        states = declared_states(self.categories, names)
        return FitInput(
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


STRATEGIES = MOST_PROBABLE, DRAW = "most_probable", "draw"


@worded_estimator
@dataclass(eq=False, repr=False)
class Imputer(OneToOneFeatureMixin, TransformerMixin, PooledEstimator):
    """Impute missing cells by an ensemble of joint models of all columns.

    Latent classes, learned networks and latent trees are learned with some cells hidden from them,
    and weighed by how well they predict these. Columns may be categories, numbers, dates or
    anything that repeats; the table keeps its kind and its types. A fitted imputer holds the
    distinct rows of its table.

    Parameters
    ----------
    model : {'auto', 'classes', 'network', 'tree'}
        Models of all kinds together, or of one kind alone.
    strategy : {'most_probable', 'draw'}
        What `transform` puts into a hole: the most probable value (of numbers, their mean, rounded
        to the decimals of the column), or a draw from what is possible, all of a row together (of
        numbers, the value that `fit` saw next to it). Numbers stay in the range that `fit` saw.
    kinds, categories, random_state, n_jobs
        As for `LatentClassModel`.
    unseen : {'warn', 'error', 'missing'}
        What to do about a value of new rows that is none of its column's states. It tells nothing
        of the rest of its row, and stays where it is, with a warning or without; or it is refused.

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

    Examples
    --------
    >>> import pandas as pd
    >>> from lacunet import Imputer
    >>> X = pd.DataFrame({"a": [1, 1, 2, 2] * 9, "b": ["x", "x", "y", None] * 9})
    >>> Imputer(random_state=0).fit_transform(X)["b"][:4].tolist()
    ['x', 'x', 'y', 'y']
    """

    model: str = ModelChoice.AUTO.value
    strategy: str = MOST_PROBABLE
    kinds: KindsLike = AUTO_KINDS
    categories: Categories = "auto"
    unseen: str = "warn"
    random_state: Any = None
    n_jobs: int | None = None

    _function = "impute"

    # `y` is there because pipelines hand it to everything.
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Learn the models from rows with missing cells; `sample_weight` as elsewhere."""
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
        """Fill the missing cells of rows.

        The result is an array, or the same kind of dataframe with the types that its columns had.
        """
        holes, own = self._holes(X)
        if self.strategy == DRAW:
            return drawn_tables(own, holes, self.pool_, self._table, 1, self._seed)[0]
        return filled(own, holes.most_probable())

    def draw(self, X: Any, n_imputations: int = 20) -> list[Any]:
        """Draw several completed tables, for multiple imputation.

        Each has its own parameters, drawn from their posterior given the rows that were learned, so
        that tables differ as much as what is known leaves open.
        """
        check_imputations(n_imputations)
        holes, own = self._holes(X)
        return list(drawn_tables(own, holes, self.pool_, self._table, n_imputations, self._seed))

    def predict_cells(self, X: Any) -> Any:
        """Give the posterior of every missing cell, as a dataframe.

        A row for each state of each cell: row (its place, from 0), column, state and probability. A
        number has one row, without state: mean and sd (of a lognormal, geometric mean and factor).
        """
        holes, own = self._holes(X)
        return frame_of(tidy_cells(cells_of(holes), self.pool_.ensemble), library_of(own))

    def _holes(self, X: Any) -> tuple[MissingCells, Any]:
        """Check and code rows; give them with the table that their holes are filled in."""
        check_is_fitted(self)
        checked = check_input(self, X, reset=False)
        speaker = self.pool_.ensemble
        holes = MissingCells(self._read_rows(checked), speaker, self._places, speaker.network)
        return holes, X if is_frame(X) else checked
