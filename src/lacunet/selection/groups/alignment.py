"""Which class of one group is which of another: those whose answers resemble each other most."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from lacunet.fitting.fit import Fit
from lacunet.flags import Flag, Kind
from lacunet.models.grouped import Grouped
from lacunet.models.network import Model
from lacunet.models.relabelling import Relabelling
from lacunet.runtime.arrays import FloatArray
from lacunet.summaries.matching import cheapest_order, profile_distances, relabelled_fit

CLEAR = 0.5  # of the distance to the next class: a match that is no nearer than that is in doubt


@dataclass(frozen=True, eq=False)
class Alignment:
    """How much classes of each group resemble those of the reference, now that they are in order.

    Distances are 0 where answers are the same, and 1 where none is given in both classes.
    """

    group: str  # name of the column
    groups: tuple[str, ...]
    reference: int  # the group that the others are held against
    distances: FloatArray  # (groups, K, K) of a class of the reference (rows) and one of the group

    @property
    def matched(self) -> FloatArray:
        """(groups, K) distance of each class from that of the same number in the reference."""
        return self.distances.diagonal(axis1=1, axis2=2)

    @property
    def convincing(self) -> bool:
        """Whether every class has a clear match in every group."""
        return not any(self._unclear())

    def flags(self) -> Iterator[Flag]:
        """Name the classes that might as well be others."""
        for g, k, other in self._unclear():
            yield Flag(
                Kind.NO_CLEAR_MATCH,
                detail={
                    "group": self.groups[g],
                    "reference": self.groups[self.reference],
                    "number": k + 1,
                    "other": other + 1,
                    "near": float(self.matched[g, k]),
                    "next": float(self.distances[g, other, k]),
                },
            )

    def _unclear(self) -> Iterator[tuple[int, int, int]]:
        """Group, its class, and the class of the reference that is as near, or nearly so."""
        K = self.distances.shape[1]
        for g in range(len(self.groups)):
            for k in range(K if g != self.reference and K > 1 else 0):
                others = np.where(np.arange(K) == k, np.inf, self.distances[g, :, k])
                if self.matched[g, k] > CLEAR * others.min():
                    yield g, k, int(np.argmin(others))


def aligned(fit: Fit, grouped: Grouped, like: Model) -> tuple[Fit, Alignment]:
    """Number classes in every group by what they resemble in the largest, and that like a model.

    `fit` is free, so that each group can be renumbered by itself; `like` has the same network.
    """
    layout, network = fit.problem.layout, grouped.alone
    groups = grouped.variable.labels
    reference = int(np.argmax(layout.table(fit.point.N, grouped.group)))
    there = _alone(grouped, like, reference)
    for g in (reference, *(g for g in range(len(groups)) if g != reference)):
        cost = profile_distances(_alone(grouped, fit.model, g), there, network.hidden[0])
        orders = {grouped.root: cheapest_order(cost)}
        fit = relabelled_fit(fit, Relabelling(layout, orders=orders, within={grouped.group: g}))
        there = _alone(grouped, fit.model, reference)
    each = [
        profile_distances(there, _alone(grouped, fit.model, g), network.hidden[0])
        for g in range(len(groups))
    ]
    name = grouped.variable.name
    return fit, Alignment(name, groups, reference, np.array(each))


def _alone(grouped: Grouped, model: Model, g: int) -> Model:
    """The latent class model of one group."""
    return Model(grouped.alone, grouped.of_group(model.theta, g), grouped.of_group(model.alpha, g))
