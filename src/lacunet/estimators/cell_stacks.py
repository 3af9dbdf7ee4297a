"""Estimators of an ensemble of models: `Imputer` and `Classifier`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from lacunet.api.imputing import (
    MissingCells,
    cells_of,
    check_imputations,
    drawn_tables,
    filled,
    learn_filling,
    tidy_cells,
)
from lacunet.api.stacking import ModelChoice, class_probabilities, learn_class, with_prior
from lacunet.data import Column, Table
from lacunet.data.frames import column_of, values_of, without_column
from lacunet.data.kinds import AUTO as AUTO_KINDS
from lacunet.data.kinds import KindsLike
from lacunet.data.reading import Rows
from lacunet.data.write import column_names
from lacunet.deprecation import warn_renamed
from lacunet.errors import DataError, OptionError, unknown_value
from lacunet.estimators.inputs import (
    Categories,
    FitInput,
    MissingAllowed,
    check_input,
    code_fit,
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
from lacunet.runtime.arrays import FloatArray, IntArray
from lacunet.runtime.states import State
from lacunet.selection.ensembles import CellStack
from lacunet.settings import Settings
from lacunet.tabular import frame_of, library_of, plain


class PooledEstimator(MissingAllowed, BaseEstimator):
    """Base class of ensemble estimators; empty columns are left out."""

    model: str
    kinds: KindsLike
    categories: Categories
    unseen: str
    random_state: Any
    n_jobs: int | None
    _known: Mapping[str, Sequence[State]]  # states of the training columns, in canonical order
    _places: Sequence[int]  # positions of these columns in X

    def _settings(self) -> Settings:
        return Settings(seed=seed_of(self.random_state), threads=threads_of(self.n_jobs))

    def _reading(self, X: Any, sample_weight: Any) -> FitInput:
        """Specify how X is read for training, without its empty columns."""
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

    def __getattr__(self, name: str) -> Any:
        """Give the stack by its old name, too."""
        if name != "pool_":
            raise AttributeError(f"'{type(self).__name__}' object has no attribute {name!r}")
        warn_renamed("`pool_`", "`cell_stack_`")
        return self.cell_stack_

    def _keep_stack(self, cell_stack: CellStack) -> None:
        self.cell_stack_, self.chosen_ = cell_stack, cell_stack.chosen.value
        self.weights_ = plain(cell_stack.weights)
        self.scores_ = {**plain(cell_stack.scores), "together": cell_stack.together}

    def _read_rows(self, X: Any) -> Rows:
        """Code checked new rows."""
        return read_codes(
            X,
            known=self._known,
            columns=self._places,
            unseen=self.unseen,
            kinds=kinds_of(self.cell_stack_.ensemble.network),
        )


STRATEGIES = MOST_PROBABLE, DRAW = "most_probable", "draw"


@worded_estimator
@dataclass(eq=False, repr=False)
class Imputer(OneToOneFeatureMixin, TransformerMixin, PooledEstimator):
    """Impute missing cells by an ensemble of joint models of all columns.

    Latent class models, networks and latent trees are weighted by the likelihood of held-out cells.
    Columns may be categories, numbers, dates or any repeated values. The completed table keeps its
    type and its column types. A fitted imputer holds the distinct rows of its table.

    Parameters
    ----------
    model : {'auto', 'classes', 'network', 'tree'}
        Models of all kinds together, or of one kind alone.
    strategy : {'most_probable', 'draw'}
        Imputed value: the most probable state (for numbers the mean, rounded to the decimals of the
        column), or a joint draw for each row (for numbers the nearest training value). Numbers stay
        within the training range.
    kinds, categories, random_state, n_jobs
        As for `LatentClassModel`.
    unseen : {'warn', 'error', 'missing'}
        Treatment of new values that are not states of their column. They are ignored in inference
        and stay unchanged, with a warning or silently; or they are an error.

    Attributes
    ----------
    chosen_ : str
        The kind of models with the largest weight.
    weights_ : dict of str to float
        Weight of each kind; they sum to 1.
    scores_ : dict of str to float
        Mean log p of a held-out cell for each kind alone, and for all 'together', in nats; higher
        is better.
    cell_stack_ : lacunet.CellStack
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

    # Pipelines pass `y`.
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:  # noqa: ARG002
        """Learn the models from rows with missing cells; `sample_weight` as elsewhere."""
        if self.strategy not in STRATEGIES:
            raise unknown_value("strategy", self.strategy, STRATEGIES)
        checked = check_input(self, X, reset=True)
        reading = self._reading(checked, sample_weight)
        self._table = read_fit(checked, sample_weight, reading).in_canonical_order
        self._keep_columns(checked, self._table.columns)
        self.categories_ = dict(self._known)
        settings = self._settings()
        self._seed = settings.seed
        self._keep_stack(learn_filling(self._table, self.model, settings))
        return self

    def transform(self, X: Any) -> Any:
        """Fill the missing cells of rows.

        The result is an array, or a dataframe like X with the same column types.
        """
        missing, table = self._missing_cells(X)
        if self.strategy == DRAW:
            return drawn_tables(table, missing, self.cell_stack_, self._table, 1, self._seed)[0]
        return filled(table, missing.most_probable())

    def draw(self, X: Any, n_imputations: int = 20) -> list[Any]:
        """Draw several completed tables, for multiple imputation.

        Each has its own parameters, drawn from their posterior given the training rows, so that the
        tables reflect parameter uncertainty.
        """
        check_imputations(n_imputations)
        missing, table = self._missing_cells(X)
        return list(
            drawn_tables(table, missing, self.cell_stack_, self._table, n_imputations, self._seed)
        )

    def predict_cells(self, X: Any) -> Any:
        """Compute the posterior of every missing cell, as a dataframe.

        It has a row for each state of each cell: row (from 0), column, state and probability. A
        number has one row, without state: mean and sd (lognormal: geometric mean and factor).
        """
        missing, table = self._missing_cells(X)
        return frame_of(tidy_cells(cells_of(missing), self.cell_stack_.ensemble), library_of(table))

    def _missing_cells(self, X: Any) -> tuple[MissingCells, Any]:
        """Check and code rows; give the missing cells, and the table to fill in."""
        check_is_fitted(self)
        checked = check_input(self, X, reset=False)
        predictive_model = self.cell_stack_.ensemble
        missing = MissingCells(
            self._read_rows(checked), predictive_model, self._places, predictive_model.network
        )
        return missing, X if is_frame(X) else checked


CLASS = "\x00class"  # column of y in the training table; no user column has this name
BALANCED = "balanced"
SMALLEST = np.finfo(np.float64).tiny  # smallest probability with a finite logarithm


@worded_estimator
@dataclass(eq=False, repr=False)
class Classifier(ClassifierMixin, PooledEstimator):
    """Classify rows with missing cells by an ensemble of joint models.

    Naive Bayes and its augmented form, networks and latent class models are weighted by the
    likelihood of held-out labels. Any feature may be missing in any row, and unlabelled rows are
    used too (semi-supervised).

    Parameters
    ----------
    target : str or None
        The class column of X, for `fit(X)`; None: the class is `y`.
    model : {'auto', 'classes', 'network', 'tree'}
        Models of all kinds except latent trees, or of one kind alone.
    class_prior : array of shape (n_classes,), mapping of classes to numbers, or None
        Class frequencies at prediction time (prior shift); None: as in the training rows. The
        distribution of rows within each class is assumed unchanged.
    class_weight : 'balanced', mapping of classes to numbers, or None
        Prior shift as factors on the frequencies; 'balanced': equal frequencies.
    kinds, categories, unseen, random_state, n_jobs
        As for `LatentClassModel`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, in the order of `predict_proba`.
    class_prior_ : ndarray of shape (n_classes,)
        Class frequencies among labelled rows.
    chosen_, weights_, scores_, cell_stack_
        As for `Imputer`; scores are mean log p(class | row) of held-out labels.

    Examples
    --------
    >>> import pandas as pd
    >>> from lacunet import Classifier
    >>> X = pd.DataFrame({"a": ["u", "v"] * 20, "b": ["x", None, "y", "y"] * 10})
    >>> y = ["yes", "no"] * 20
    >>> new = pd.DataFrame({"a": ["u", None], "b": [None, "x"]})
    >>> Classifier(random_state=0).fit(X, y).predict(new)
    array(['yes', 'yes'], dtype='<U3')
    """

    target: str | None = None
    model: str = ModelChoice.AUTO.value
    class_prior: Sequence[float] | Mapping[Any, float] | None = None
    class_weight: str | Mapping[Any, float] | None = None
    kinds: KindsLike = AUTO_KINDS
    categories: Categories = "auto"
    unseen: str = "warn"
    random_state: Any = None
    n_jobs: int | None = None

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from rows with missing cells.

        `y` has the classes; None and NaN are unlabelled rows. Without `y`, the classes are the
        column `target` of X. `sample_weight` is as for the other estimators.
        """
        features = self._features(X)
        if y is None:
            if self.target is None:
                raise ValueError(
                    "This Classifier estimator requires y to be passed, but the target y is None. "
                    "Give y, or the name of its column with target=."
                )
            y = column_of(X, self.target)
        checked = check_input(self, features, reset=True)
        self.classes_, labels = _labels(y)
        check_consistent_length(checked, labels)
        table = self._read(checked, labels, sample_weight).in_canonical_order
        self._place = [column.name for column in table.columns].index(CLASS)
        self._keep_columns(checked, [c for c in table.columns if c.name != CLASS])
        self._keep_stack(learn_class(table, CLASS, self.model, self._settings()))
        self._shift()  # checks the class prior
        return self

    def predict(self, X: Any) -> Any:
        """Predict the most probable class of each row."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def predict_proba(self, X: Any) -> FloatArray:
        """Compute p(class | observed cells) of each row, (n_samples, n_classes)."""
        check_is_fitted(self)
        checked = check_input(self, self._features(X), reset=False)
        p = class_probabilities(self.cell_stack_, self._read_rows(checked), self._place)
        return with_prior(p, self.class_prior_, self._shift())

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Compute the logarithms of `predict_proba`."""
        return np.asarray(np.log(np.maximum(self.predict_proba(X), SMALLEST)))

    def decision_function(self, X: Any) -> FloatArray:
        """Compute log odds of the second of two classes, or log probabilities of several."""
        log_p = self.predict_log_proba(X)
        return log_p[:, 1] - log_p[:, 0] if len(self.classes_) == 2 else log_p

    def _features(self, X: Any) -> Any:
        if self.target is None:
            return X
        if is_frame(X):
            column_names(X)  # refuses invalid names
        return without_column(X, self.target)

    def _read(self, X: Any, labels: IntArray, sample_weight: Any) -> Table:
        """Make the training table: the features, and a column of classes."""
        coded = code_fit(X, sample_weight, self._reading(X, sample_weight))
        classified, columns = labels[coded.selected], coded.rows.columns
        cases = np.bincount(
            classified[classified >= 0], coded.cases[classified >= 0], len(self.classes_)
        )
        if not cases.any():
            raise DataError("no row has a label. Give at least one.")
        self.class_prior_ = cases / cases.sum()
        classes = Column(CLASS, tuple(range(len(self.classes_))))
        codes = np.column_stack([coded.rows.codes, classified]).astype(np.int32)
        return Table.from_codes(codes, (*columns, classes), coded.cases, source="X")

    def _shift(self) -> FloatArray:
        """Assumed class frequencies at prediction time."""
        if self.class_prior is not None and self.class_weight is not None:
            raise OptionError(
                "class_prior and class_weight have the same meaning. Give one of the two."
            )
        if self.class_weight == BALANCED:
            return np.full(len(self.classes_), 1 / len(self.classes_))
        if self.class_weight is not None:
            factors = self._by_class("class_weight", self.class_weight, 1.0)
            return np.asarray(factors * self.class_prior_)
        if self.class_prior is not None:
            return self._by_class("class_prior", self.class_prior, 0.0)
        return np.asarray(self.class_prior_)

    def _by_class(self, what: str, given: Any, other: float) -> FloatArray:
        """Give a number for each class; absent classes get `other`."""
        if isinstance(given, str):
            raise OptionError(
                f"{what} {given!r} is not known. Give numbers by class, or 'balanced'."
            )
        if isinstance(given, Mapping):
            given = [given.get(c, other) for c in self.classes_.tolist()]
        numbers = np.asarray(given, dtype=np.float64)
        if numbers.shape != self.classes_.shape or not (numbers >= 0).all() or not numbers.any():
            raise OptionError(
                f"{what} must be {len(self.classes_)} numbers, one for each of the classes "
                f"{self.classes_.tolist()}: 0 or more, and not all 0."
            )
        return numbers


def _labels(y: Any) -> tuple[Any, IntArray]:
    """Give the classes, and the index of the class of each row, −1 if unlabelled."""
    values, missing = values_of(y)
    labelled = column_or_1d(values, warn=True)
    missing = missing.reshape(labelled.shape)
    known = labelled[~missing]
    if known.dtype == object and len(known):
        known = np.array(known.tolist())
    assert_all_finite(known, input_name="y")
    if not len(known):
        raise DataError("no row has a label. Give at least one.")
    check_classification_targets(known)
    classes, which = np.unique(known, return_inverse=True)
    labels = np.full(len(labelled), -1)
    labels[~missing] = which
    return classes, labels
