"""Add one edge after the other, as long as the evidence grows by more than chance would let it.

Of many edges that are tried, some look good by chance. So before the data each edge more is half as
probable, and all sets of as many edges are alike: what an edge must gain for that, in nats, is its
price. What was added first may be needed no more once others are there, so that at the end every
edge is left out again for a try.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TypeAlias

from lacunet.models.latent_class import with_edges
from lacunet.selection.effects.fitted import Fitted, Workshop
from lacunet.summaries.information_criteria import criteria
from lacunet.summaries.likelihood_ratio import LikelihoodRatio

Edge: TypeAlias = tuple[str, str]  # names of parent and child
MOST_STEPS = 30  # edges that are added at most
SLOWER = 0.7  # of what progress has left, a step leaves so much: nobody knows how many there are


@dataclass(frozen=True, eq=False)
class Trial:
    """One edge more than a network has, or one less, and what that is worth."""

    edge: Edge
    step: int  # steps before; the first is 0
    before: Fitted
    after: Fitted
    price: float  # what the gain must be above
    kept: bool = False  # whether the network of the next step has this change
    adds: bool = True  # whether the edge is one more; if not, it is left out again

    @cached_property
    def gain(self) -> float:
        """Log Bayes factor of the change, approximated; NaN where that is not known."""
        return self.after.log_evidence - self.before.log_evidence

    @cached_property
    def ratio(self) -> LikelihoodRatio | None:
        """The likelihood-ratio test of the edge; None where likelihoods have no maximum."""
        narrow, wide = (self.before, self.after) if self.adds else (self.after, self.before)
        return wide.ratio_to(narrow)

    @property
    def change_of_bic(self) -> float:
        """BIC after the change less BIC before: below 0, it is better."""
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


def log_weight(there: int, possible: int) -> float:
    """Log probability of one set of so many edges before the data, against that of no edge.

    >>> round(log_weight(1, possible=28), 2), log_weight(0, possible=28)
    (-4.03, 0.0)
    """
    return -there * math.log(2.0) - math.log(math.comb(possible, there))


def kept_edges(trials: Sequence[Trial]) -> list[Edge]:
    """The edges that are there in the end, in the order in which they were added."""
    found: list[Edge] = []
    for trial in trials:
        if trial.kept and trial.adds:
            found.append(trial.edge)
        elif trial.kept:
            found.remove(trial.edge)
    return found


def add_while_it_pays(
    workshop: Workshop,
    base: Fitted,
    candidates: Callable[[Fitted], Sequence[Edge]],
    possible: int,
) -> tuple[Fitted, list[Trial]]:
    """Add the edge that the evidence gains most by, and go on until none is worth its price.

    Then leave out again, in the same way, what is not worth it any more.
    """
    now, every = base, list[Trial]()
    for step in range(min(MOST_STEPS, possible)):
        workshop.executor.say(f"step {step + 1}", 1.0 - SLOWER**step)
        taken, trials = _chosen(trials_of(workshop, now, candidates(now), possible, step))
        every += trials
        if taken is None:
            break
        now = taken.after
    while len(kept := kept_edges(every)) > 1:  # one alone was worth it when it was added
        leave = partial(_left_out, workshop, base, now, kept, every[-1].step + 1, possible)
        taken, trials = _chosen(workshop.executor.map(leave, kept))
        every += trials
        if taken is None:
            break
        now = taken.after
    return now, every


def _chosen(trials: Sequence[Trial]) -> tuple[Trial | None, list[Trial]]:
    """Find the trial that gains most, if it is worth its price, and mark it."""
    gains = [t.gain - t.price if math.isfinite(t.gain) else -math.inf for t in trials]
    best = max(range(len(gains)), key=gains.__getitem__, default=None)
    if best is None or gains[best] <= 0.0:
        return None, list(trials)
    taken = replace(trials[best], kept=True)
    return taken, [taken if i == best else trial for i, trial in enumerate(trials)]


def _left_out(
    workshop: Workshop,
    base: Fitted,
    now: Fitted,
    kept: Sequence[Edge],
    step: int,
    possible: int,
    edge: Edge,
) -> Trial:
    """Try the network without one of the edges that were added; it may lose what that costs."""
    rest = with_edges(base.network, [other for other in kept if other != edge])
    cost = -price(len(kept) - 1, possible)
    trial = Trial(edge, step, now, workshop.tried(rest, base), cost, adds=False)
    _ = trial.gain
    return trial
