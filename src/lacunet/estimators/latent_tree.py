"""Estimators of latent trees, and of stacks of graphs and latent class models."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from lacunet import api
from lacunet.data.kinds import AUTO, KindsLike
from lacunet.errors import DataError
from lacunet.estimators.base import HiddenStateEstimator
from lacunet.estimators.inputs import read_codes, warn
from lacunet.estimators.parameters import Measured, worded_estimator
from lacunet.models.ensemble import Ensemble, sample_rows
from lacunet.models.number_prior import GRAPH_NUMBERS, NumberPriorLike
from lacunet.models.surgery import Drawn
from lacunet.runtime.arrays import IntArray
from lacunet.runtime.progress import Listener


@worded_estimator
@dataclass(eq=False, repr=False)
class LatentTreeModel(Measured, HiddenStateEstimator):
    """Latent tree over the columns, with learned hidden variables and numbers of states.

    Every column is a leaf of a tree whose inner variables are hidden. Cells may be missing. Other
    parameters are those of `LatentClassModel`.

    Parameters
    ----------
    shape : {'tree', 'forest', 'naive'}
        A tree over all columns, a forest, or one hidden parent of all columns.
    alpha : float or str
        Prior: a Dirichlet exponent, 'k2', or 'bdeu:SIZE'.
    estimate, n_init, scores
        Only 'naive' has starts, and parameters are posterior means.

    Attributes
    ----------
    tree_ : lacunet.LatentTree
        The learned tree; prints as a report.
    hidden_ : dict of str to int
        The hidden variables with their numbers of states.
    log_evidence_ : float
        Best available estimate of log p(D|S), in nats.
    network_ : lacunet.Network
        The structure.
    tables_ : dict of str to ndarray
        p(variable | parents) of each variable: one axis for each parent, then its own states.
    categories_ : dict of str to tuple
        States of each column.
    model_ : lacunet.Model
        The fitted model, for everything else in `lacunet`.
    flags_ : tuple of lacunet.flags.Flag
        Warnings; `str` gives their text.

    Examples
    --------
    >>> import pandas as pd
    >>> from lacunet import LatentTreeModel, dataset_path
    >>> data = pd.read_csv(dataset_path("carcinoma"))
    >>> X, counts = data.drop(columns="count"), data["count"]
    >>> model = LatentTreeModel(random_state=0).fit(X, sample_weight=counts)
    >>> model.predict_proba(X).shape[1] == sum(model.hidden_.values())
    True
    """

    shape: str = "tree"
    kinds: KindsLike = AUTO
    number_prior: NumberPriorLike = GRAPH_NUMBERS

    _function = "learn_latent_tree"

    def _learn(self, X: Any, sample_weight: Any, listener: Listener) -> None:
        if X.shape[1] == 1:
            raise DataError("X has 1 feature(s), and hidden variables join several. Add columns.")
        if X.shape[1] == 2:
            warn(
                "X has 2 columns, joined by a hidden variable: the data determine only their "
                "dependence."
            )
        table = self._read_all(X, sample_weight, self.kinds)
        tree = api.learn_latent_tree(
            table, self.shape, settings=self._settings(), listener=listener
        )
        self._keep_model(tree.model)
        self.tree_, self.hidden_ = tree, tree.hidden
        self.log_evidence_, self.flags_ = tree.log_evidence, tree.flags


@worded_estimator
@dataclass(eq=False, repr=False)
class StackedModel(HiddenStateEstimator):
    """Stack of models of several kinds, weighted by held-out log-likelihood.

    Use it to predict the likelihood of rows and their missing cells. Graphs under several priors,
    and latent class models, are learned with blocks of rows held out. Other parameters are those of
    `LatentClassModel`.

    Parameters
    ----------
    folds : int
        Number of blocks to hold out: consecutive rows, as in scikit-learn's `KFold`; with weights,
        random cases.
    estimate, alpha, n_init, scores, plug_in
        Without effect, because every model has its own.

    Attributes
    ----------
    stack_ : lacunet.Stack
        The learned stack; prints as a report.
    ensemble_ : lacunet.Ensemble
        The models and their weights, for everything else in `lacunet`.
    held_out_scores_ : ndarray of shape (n_samples,)
        Log p of each training row, by models learned without it. `score_samples` of these rows is
        too high, because a stack overfits them. For tail probabilities see
        `stack_.held_out_rows.tail_probabilities()`.
    categories_ : dict of str to tuple
        States of each column; none, (), of a column of numbers.
    flags_ : tuple of lacunet.flags.Flag
        Warnings; `str` gives their text.

    Examples
    --------
    >>> import pandas as pd
    >>> from lacunet import StackedModel, dataset_path
    >>> data = pd.read_csv(dataset_path("carcinoma"))
    >>> X, counts = data.drop(columns="count"), data["count"]
    >>> model = StackedModel(folds=2, random_state=0, n_jobs=1).fit(X, sample_weight=counts)
    >>> model.impute(pd.DataFrame([[1, 1, 1, float("nan"), 1, 1, 1]], columns=X.columns))
       A  B  C    D  E  F  G
    0  1  1  1  1.0  1  1  1
    """

    folds: int = 5
    _: KW_ONLY
    kinds: KindsLike = AUTO

    _function = "stack"

    def _learn(self, X: Any, sample_weight: Any, listener: Listener) -> None:
        if len(X) == 1:
            raise DataError("X has 1 sample, and none is left to learn from while it is held out.")
        table = self._read_all(X, sample_weight, self.kinds)
        known = {column.name: column.states for column in table.columns}
        codes = read_codes(
            X,
            known=known,
            columns=[self._names.index(name) for name in known],
            unseen="missing",
            kinds=table.kinds,
            as_state=self.missing_as_state,
        ).codes
        stack = api.stack(
            table,
            folds=self.folds,
            rows=codes if sample_weight is None else None,
            scored_rows=codes,
            settings=self._settings(),
            listener=listener,
        )
        self.stack_, self.ensemble_, self.flags_ = stack, stack.ensemble, stack.flags
        self.held_out_scores_ = stack.held_out_rows.log_likelihoods
        self.categories_ = {c.name: () if c.kind.number else c.states for c in table.columns}

    def _draw(self, rows: int, rng: np.random.Generator) -> tuple[Drawn, IntArray]:
        return sample_rows(self._predictor, rows, rng), np.zeros((rows, 0), np.int64)

    @property
    def _may_hide(self) -> bool:
        return False

    @property
    def _is_one_model(self) -> bool:
        return False

    @property
    def _hides(self) -> bool:
        check_is_fitted(self)
        return False

    @property
    def _predictor(self) -> Ensemble:
        """The ensemble that predicts."""
        check_is_fitted(self)
        return self.ensemble_
