"""How unusual rows are, for scikit-learn."""

from typing import Any

import numpy as np

from lacunet.data.rows import Rows
from lacunet.estimators.inputs import seed_of
from lacunet.estimators.parameters import described
from lacunet.inference.queries.answers import DRAWS, tail_probabilities
from lacunet.runtime.arrays import FloatArray


@described
class Tails:
    """Scores that rows with different holes have in common."""

    random_state: Any

    def tail_probabilities(self, X: Any, n_draws: int = DRAWS) -> FloatArray:
        """Tell how unusual rows are among rows with the same holes: small is unusual.

        `score_samples` falls with every cell that a row shows; this does not. It is the probability
        that a row of the model, with the same cells missing, is at most as probable.

        Parameters
        ----------
        **X
        n_draws : int
            Rows to draw from the model and compare with, where what is shown has more
            configurations than that; if it has fewer, the answer is exact.

        Returns
        -------
        probabilities : ndarray of shape (n_samples,)
            Of rows that the model could have drawn, uniform from 0 to 1, whatever their holes.
        """
        asked, rows = self._told(self._read(X))
        rng = np.random.default_rng(seed_of(self.random_state))
        return tail_probabilities(asked, rows.codes, n_draws, rng)

    def _read(self, X: Any) -> Rows:
        """Check rows and code them."""
        raise NotImplementedError

    def _told(self, rows: Rows) -> tuple[Any, Rows]:
        """Give who is asked about rows, and the rows with all that it is told of them."""
        raise NotImplementedError
