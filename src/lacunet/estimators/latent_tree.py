"""Latent trees over the columns, for scikit-learn."""

from dataclasses import dataclass
from typing import Any

from lacunet import api
from lacunet.data.kinds import AUTO, KindsLike
from lacunet.errors import DataError
from lacunet.estimators.base import HiddenStateEstimator
from lacunet.estimators.parameters import Measuring, described
from lacunet.estimators.warning import warn
from lacunet.models.number_prior import GRAPH_NUMBERS, NumberPriorLike
from lacunet.runtime.progress import Listener


@described
@dataclass(eq=False, repr=False)
class LatentTreeModel(Measuring, HiddenStateEstimator):
    """Hidden variables that join the columns: how many, where, and their states are learned.

    Every column is a leaf of a tree whose inner variables nobody sees. Cells may be missing.

    Parameters
    ----------
    shape : {'tree', 'forest', 'naive'}
        Whether all columns hang together, may fall apart, or have one hidden variable behind them.
    alpha : float or str
        Prior: a Dirichlet exponent, 'k2', or 'bdeu:SIZE'.
    **evidence; target; budget; bin; categories; unseen; missing_as_state; plug_in
    **random_state; n_jobs; verbose
    **evidence; target; budget; kinds; bin; number_prior; categories; unseen; missing_as_state
    **plug_in; random_state; n_jobs
    estimate, n_init, scores
        As for the other estimators; only 'naive' has starts, and parameters are posterior means.

    Attributes
    ----------
    tree_ : lacunet.LatentTree
        What was learned; prints as a report.
    hidden_ : dict of str to int
        The hidden variables, and how many states each has.
    log_evidence_ : float
        Log p(D|S), as far as it is known, in nats.
    network_ : lacunet.Network
        The structure.
    tables_ : dict of str to ndarray
        p(variable | parents) of each variable: one axis for each parent, then its own states.
    categories_ : dict of str to tuple
        States of each column.
    model_ : lacunet.Model
        The fitted model, for everything else in `lacunet`.
    flags_ : tuple of lacunet.flags.Flag
        What to know of it; `str` says it in words.
    **columns

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
        _check_features(X.shape[1])
        table = self._read_all(X, sample_weight, self.kinds)
        found = api.learn_latent_tree(
            table, self.shape, settings=self._settings(), listener=listener
        )
        self._keep_model(found.model)
        self.tree_, self.hidden_ = found, found.hidden
        self.log_evidence_, self.flags_ = found.log_evidence, found.flags


def _check_features(number: int) -> None:
    """Refuse one column, which nothing can join to others; two are joined, with a word."""
    if number == 1:
        raise DataError("X has 1 feature(s), and hidden variables join several. Add columns.")
    if number == 2:
        warn(
            "X has 2 columns, and a hidden variable joins them: that they depend on each other is "
            "all that the data tell of it."
        )
