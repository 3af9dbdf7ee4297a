"""Holes filled in by whatever model fits, for scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from lacunet.api.filling import Holes, filled
from lacunet.api.imputed import tidy_cells
from lacunet.api.imputing import cells_of, check_imputations, drawn_tables, learn_filling
from lacunet.api.pooled import Asked
from lacunet.data.kinds import AUTO as AUTO_KINDS
from lacunet.data.kinds import KindsLike
from lacunet.errors import OptionError
from lacunet.estimators.inputs import Categories, check_input, is_frame, read_fit
from lacunet.estimators.parameters import described
from lacunet.estimators.pooled import PooledEstimator
from lacunet.tabular import frame_of, library_of

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
