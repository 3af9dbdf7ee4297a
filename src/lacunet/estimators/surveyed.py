"""What estimators have that know how rows were drawn: standard errors."""

from dataclasses import dataclass, replace
from typing import Any

from sklearn.utils.validation import check_is_fitted

from lacunet import api
from lacunet.data.design_columns import Clusters, DesignColumns
from lacunet.estimators.parameters import Parameters, described
from lacunet.summaries.intervals import LEVEL, Intervals


@described
class Precise(Parameters):
    """Says how precise parameters are."""

    fit_: Any  # how they were found

    def intervals(self, level: float = LEVEL, bootstrap: int = 0) -> Intervals:
        """Give every parameter its standard error and its confidence interval.

        They are those of `lacunet.intervals`: of survey weights, strata and clusters linearised
        (sandwich); else from the observed information.

        Parameters
        ----------
        level : float
            Of confidence.
        bootstrap : int
            Replicates: intervals are then percentiles of so many refits, to rows drawn from the
            model, or of a survey to units drawn anew. 0: none.

        Returns
        -------
        intervals : lacunet.Intervals
            Prints as a table; `table(NAME)` has the numbers.
        """
        check_is_fitted(self)
        settings = replace(self._settings(), level=level, bootstrap=bootstrap)
        return api.intervals_of(self.fit_, settings)


@dataclass(kw_only=True, eq=False, repr=False)
class Surveyed(Precise):
    """Parameters of estimators that know how rows were drawn."""

    strata: str | None = None
    clusters: Clusters = None

    @property
    def _drawn_by(self) -> DesignColumns:
        """Columns of X that say how rows were drawn."""
        return DesignColumns.told(self.strata, self.clusters)
