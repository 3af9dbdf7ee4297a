"""Ways to fill in holes of codes: (rows, columns) with NaN, the same without."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401 - makes the next import work
from sklearn.impute import IterativeImputer, KNNImputer, SimpleImputer

from lacunet import Imputer

Codes = NDArray[np.float64]
Way = Callable[[Codes], Codes]
TREES = 100
ROUNDS = 5  # of chained equations


def ours(X: Codes) -> Codes:
    words = pd.DataFrame(X).map(lambda x: None if np.isnan(x) else f"s{x:g}")
    filled = Imputer(random_state=0, n_jobs=1).fit_transform(words)
    return np.asarray(filled.map(lambda word: float(word[1:])), dtype=np.float64)


def usual(X: Codes) -> Codes:
    return np.asarray(SimpleImputer(strategy="most_frequent").fit_transform(X))


def neighbours(X: Codes) -> Codes:
    return _nearest(X, KNNImputer(n_neighbors=5).fit_transform(X))


def chained(X: Codes) -> Codes:
    """Regressions on the codes, one column after the other."""
    return _nearest(X, _quiet(IterativeImputer(random_state=0), X))


def forest(X: Codes) -> Codes:
    """Like missForest: a random forest that classifies, one column after the other."""
    trees = RandomForestClassifier(TREES, random_state=0)
    how = {"initial_strategy": "most_frequent", "max_iter": ROUNDS, "random_state": 0}
    return _quiet(IterativeImputer(trees, **how), X)


def _quiet(imputer: IterativeImputer, X: Codes) -> Codes:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return np.asarray(imputer.fit_transform(X))


def _nearest(X: Codes, filled: Codes) -> Codes:
    """Round to the nearest code that the column shows."""
    found = filled.copy()
    for j in range(X.shape[1]):
        known = np.unique(X[~np.isnan(X[:, j]), j])
        found[:, j] = known[np.abs(filled[:, j, None] - known).argmin(axis=1)]
    return found


THEIRS: Mapping[str, Way] = {
    "most frequent": usual,
    "KNNImputer": neighbours,
    "IterativeImputer": chained,
    "random forests": forest,
}
