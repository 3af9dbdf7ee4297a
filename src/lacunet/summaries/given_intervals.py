"""Intervals for a picture or a table of a fit: those that are given, or its own."""

import numpy as np

from lacunet.errors import ModelError, OptionError
from lacunet.fitting.fit import Fit
from lacunet.models.network import Model
from lacunet.summaries.intervals import Intervals, hessian_intervals


def check_intervals(intervals: Intervals, model: Model) -> None:
    """Refuse those of another model."""
    if not np.array_equal(intervals.model.theta, model.theta):
        raise OptionError("these intervals are of other parameters. Give intervals(data, fit).")


def intervals_to_draw(found: Fit | Model, intervals: Intervals | bool) -> Intervals | None:
    """Give the intervals to draw; none where there are none."""
    if isinstance(intervals, Intervals):
        check_intervals(intervals, found.model if isinstance(found, Fit) else found)
        return intervals
    if not intervals or not isinstance(found, Fit):
        return None
    try:
        return hessian_intervals(found.problem, found.model, found.estimate)
    except ModelError:  # a search that ended early: lines are still worth a picture
        return None
