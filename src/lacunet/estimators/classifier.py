"""A class told from columns with holes, for scikit-learn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from lacunet.api.stacking import ModelChoice, class_probabilities, learn_class, with_prior
from lacunet.data import Column, Table
from lacunet.data.frames import column_of, values_of, without_column
from lacunet.data.kinds import AUTO as AUTO_KINDS
from lacunet.data.kinds import KindsLike
from lacunet.data.write import column_names
from lacunet.errors import DataError, OptionError
from lacunet.estimators.inputs import Categories, check_input, code_fit, is_frame
from lacunet.estimators.parameters import worded_estimator
from lacunet.estimators.pooled import PooledEstimator
from lacunet.runtime.arrays import FloatArray, IntArray

CLASS = "\x00class"  # the column of y in the table that is learned from: no name of a person's
BALANCED = "balanced"
SMALLEST = np.finfo(np.float64).tiny  # probability whose logarithm is still a number


@worded_estimator
@dataclass(eq=False, repr=False)
class Classifier(ClassifierMixin, PooledEstimator):
    """Tell a class from columns with holes, by joint models of all of them.

    Naive Bayes and its augmented form, learned networks and latent class models are learned with
    rows held out; their weights are those that make the labels of these rows most probable. Any
    feature may be missing in any row, and rows without a label teach too.

    Parameters
    ----------
    target : str or None
        The column of X that is the class, for `fit(X)`; None: it is `y`.
    model : {'auto', 'classes', 'network', 'tree'}
        Models of all kinds together (but latent trees), or of one kind alone.
    class_prior : array of shape (n_classes,), mapping of classes to numbers, or None
        How frequent classes are where the classifier will be used; None: as among the rows that it
        learned from. What rows of a class look like is taken to be the same.
    class_weight : 'balanced', mapping of classes to numbers, or None
        The same by factors on the frequencies; 'balanced': all classes as frequent.
    kinds, categories, unseen, random_state, n_jobs
        As for `LatentClassModel`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, in the order of `predict_proba`.
    class_prior_ : ndarray of shape (n_classes,)
        How frequent each was among labelled rows.
    chosen_, weights_, scores_, pool_
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

        `y` has their classes; None and NaN are rows without a label. Without it, they are a column
        of X: the one that `target` names. `sample_weight` is as for the other estimators.
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
        table = self._read(checked, labels, sample_weight).in_work_order
        self._place = [column.name for column in table.columns].index(CLASS)
        self._keep_columns(checked, [c for c in table.columns if c.name != CLASS])
        self._keep_pool(learn_class(table, CLASS, self.model, self._settings()))
        self._shift()  # a prior that does not fit is refused now
        return self

    def predict(self, X: Any) -> Any:
        """Give each row its most probable class."""
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]

    def predict_proba(self, X: Any) -> FloatArray:
        """Give the probability of each class, given what a row shows, (n_samples, n_classes)."""
        check_is_fitted(self)
        checked = check_input(self, self._features(X), reset=False)
        own = class_probabilities(self.pool_, self._read_rows(checked), self._place)
        return with_prior(own, self.class_prior_, self._shift())

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Give the logarithms of `predict_proba`."""
        return np.asarray(np.log(np.maximum(self.predict_proba(X), SMALLEST)))

    def decision_function(self, X: Any) -> FloatArray:
        """Give log odds of the second of two classes, or log probabilities of several."""
        found = self.predict_log_proba(X)
        return found[:, 1] - found[:, 0] if len(self.classes_) == 2 else found

    def _features(self, X: Any) -> Any:
        if self.target is None:
            return X
        if is_frame(X):
            column_names(X)  # refuses names that are no names, before others do in their words
        return without_column(X, self.target)

    def _read(self, X: Any, labels: IntArray, sample_weight: Any) -> Table:
        """Make the table to learn from: the features, and a column of classes."""
        found = code_fit(X, sample_weight, self._reading(X, sample_weight))
        own, columns = labels[found.kept], found.rows.columns
        cases = np.bincount(own[own >= 0], found.cases[own >= 0], len(self.classes_))
        if not cases.any():
            raise DataError("no row has a label. Give at least one.")
        self.class_prior_ = cases / cases.sum()
        classes = Column(CLASS, tuple(range(len(self.classes_))))
        codes = np.column_stack([found.rows.codes, own]).astype(np.int32)
        return Table.from_codes(codes, (*columns, classes), found.cases, source="X")

    def _shift(self) -> FloatArray:
        """How frequent the classes are taken to be."""
        if self.class_prior is not None and self.class_weight is not None:
            raise OptionError("class_prior and class_weight say the same. Give one of the two.")
        if self.class_weight == BALANCED:
            return np.full(len(self.classes_), 1 / len(self.classes_))
        if self.class_weight is not None:
            factors = self._by_class("class_weight", self.class_weight, 1.0)
            return np.asarray(factors * self.class_prior_)
        if self.class_prior is not None:
            return self._by_class("class_prior", self.class_prior, 0.0)
        return np.asarray(self.class_prior_)

    def _by_class(self, what: str, given: Any, other: float) -> FloatArray:
        """Give a number for each class; of classes that are not named, the usual one."""
        if isinstance(given, str):
            raise OptionError(
                f"{what} {given!r} is not known. Give numbers by class, or 'balanced'."
            )
        if isinstance(given, Mapping):
            given = [given.get(c, other) for c in self.classes_.tolist()]
        found = np.asarray(given, dtype=np.float64)
        if found.shape != self.classes_.shape or not (found >= 0).all() or not found.any():
            raise OptionError(
                f"{what} must be {len(self.classes_)} numbers, one for each of the classes "
                f"{self.classes_.tolist()}: 0 or more, and not all 0."
            )
        return found


def _labels(y: Any) -> tuple[Any, IntArray]:
    """Give the classes, and the number of each row's, −1 where it has none."""
    values, missing = values_of(y)
    own = column_or_1d(values, warn=True)
    missing = missing.reshape(own.shape)
    known = own[~missing]
    if known.dtype == object and len(known):
        known = np.array(known.tolist())
    assert_all_finite(known, input_name="y")
    if not len(known):
        raise DataError("no row has a label. Give at least one.")
    check_classification_targets(known)
    classes, which = np.unique(known, return_inverse=True)
    labels = np.full(len(own), -1)
    labels[~missing] = which
    return classes, labels
