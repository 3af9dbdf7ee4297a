"""Add one edge after the other, as long as the evidence grows by more than chance would let it.

Of many edges that are tried, some look good by chance. So none is as probable as another one before
the data: each edge more is half as probable, and all sets of as many edges are alike. What an edge
must gain, in nats, is its price.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TypeAlias

from lacunet.describe.information_criteria import criteria
from lacunet.describe.likelihood_ratio import LikelihoodRatio
from lacunet.model.latent_class import with_edges
from lacunet.search.effects.fitted import Fitted, Workshop

Edge: TypeAlias = tuple[str, str]  # names of parent and child
MOST_STEPS = 30  # edges that are added at most


@dataclass(frozen=True, eq=False)
class Trial:
    """One edge more than a network has, and what it is worth."""

    edge: Edge
    step: int  # how many edges had been added before
    before: Fitted
    after: Fitted
    price: float  # what the gain must be above
    kept: bool = False

    @cached_property
    def gain(self) -> float:
        """Log Bayes factor of the edge, approximated; NaN where that is not known."""
        return self.after.log_evidence - self.before.log_evidence

    @cached_property
    def ratio(self) -> LikelihoodRatio | None:
        """The likelihood-ratio test; None where likelihoods have no maximum."""
        return self.after.ratio_to(self.before)

    @property
    def change_of_bic(self) -> float:
        """BIC with it less BIC without it: below 0, it is better."""
        one, other = (
            criteria(f.log_lik, f.network.dimension, f.fit.problem.cases)["BIC"]
            for f in (self.after, self.before)
        )
        return one - other


def trials_of(
    workshop: Workshop, now: Fitted, edges: Sequence[Edge], possible: int, step: int = 0
) -> list[Trial]:
    """Try edges, each by itself; so many there are to choose from."""
    cost = price(step, possible)
    return workshop.executor.map(partial(_tried, workshop, now, step, cost), edges)


def _tried(workshop: Workshop, now: Fitted, step: int, cost: float, edge: Edge) -> Trial:
    trial = Trial(edge, step, now, workshop.tried(with_edges(now.network, [edge]), now), cost)
    _ = trial.gain  # worked out here, where others are worked out beside it
    return trial


def price(there: int, possible: int) -> float:
    """Nats that one edge more must gain: how much less probable it is before the data.

    >>> [round(price(there, possible=28), 2) for there in (0, 1, 27)]
    [4.03, 3.3, 0.0]
    """
    return max(0.0, math.log(2 * (possible - there) / (there + 1)))


def add_while_it_pays(
    workshop: Workshop,
    base: Fitted,
    candidates: Callable[[Fitted], Sequence[Edge]],
    possible: int,
) -> tuple[Fitted, list[Trial]]:
    """Add the edge that the evidence gains most by, and go on until none is worth its price."""
    now, every = base, list[Trial]()
    for step in range(min(MOST_STEPS, possible)):
        trials = trials_of(workshop, now, candidates(now), possible, step)
        gains = [t.gain if math.isfinite(t.gain) else -math.inf for t in trials]
        best = max(range(len(gains)), key=gains.__getitem__, default=None)
        if best is None or gains[best] <= trials[best].price:
            return now, [*every, *trials]
        trials[best] = replace(trials[best], kept=True)
        every += trials
        now = trials[best].after
    return now, every
