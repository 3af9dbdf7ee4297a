"""What estimators have whose hidden variable is one of classes: clusterers, for scikit-learn."""

from typing import Any

from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted

from lacunet.estimators.base import HiddenStateEstimator
from lacunet.estimators.parameters import described
from lacunet.models.summary import profile_columns
from lacunet.runtime.arrays import IntArray
from lacunet.tabular import frame_of, library_of


@described
class ClassEstimator(ClusterMixin, HiddenStateEstimator):
    """Base class: every row belongs to one class, which nobody sees."""

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> IntArray:
        """Do `fit`, and give `labels_`.

        Parameters
        ----------
        **X; y
        sample_weight : array of shape (n_samples,), optional
            Weight of each row.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            As `predict` gives them.
        """
        labels: IntArray = self.fit(X, y, sample_weight).labels_
        return labels

    def profiles_frame(self, library: str | None = None) -> Any:
        """Give `profiles_` and `numbers_` as a tidy dataframe.

        Parameters
        ----------
        library : {'polars', 'pandas', 'pyarrow'}, optional
            Without it: that of the dataframe that `fit` had, or Polars after an array.

        Returns
        -------
        profiles : dataframe
            A row for each column, class and state: p(state | class). Of a number, a row for each
            class: its mean and sd, or what else is told of it. Classes are numbered from 1, as in
            everything that people read; `labels_` and `predict` count from 0.
        """
        check_is_fitted(self)
        return frame_of(profile_columns(self.model_), library or self._library)

    def _look_back(self, X: Any) -> None:
        self._library = library_of(X)
        # Of states `fit` has said what there is to say; rows of weight 0 may show others.
        self.labels_ = self._labels(X, unseen="missing")
