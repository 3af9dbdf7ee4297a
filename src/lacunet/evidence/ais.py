"""Rounds of annealing from references, until the error bar is small enough.

Each term is one problem: of a latent class model one for every number of used classes that has any
mass, combined by the occupancy identity; of other networks the problem itself. A term has one or
more references (modes), each with a leg of its own; the regions around them add up. Terms do not
depend on the number of classes of the model that asks for them, so several models can share them.
"""

import time
from collections import defaultdict
from collections.abc import Sequence
from functools import partial

import numpy as np

from lacunet.arrays import FloatArray
from lacunet.evidence.annealing import Allowed, Annealing, anything
from lacunet.evidence.clock import Clock
from lacunet.evidence.estimate import RELIABLE_ERROR, LogMean, known, log_mean, log_sum
from lacunet.evidence.modes import Mode, find_modes, widened
from lacunet.evidence.path import Path, Reference
from lacunet.evidence.used_classes import AllUsed, used, without
from lacunet.executor import Executor
from lacunet.inference.classes import exchangeable, with_classes
from lacunet.inference.problem import Problem
from lacunet.inference.regions import Regions
from lacunet.inference.symmetry import symmetries_of
from lacunet.model.latent_class import classes_of
from lacunet.scoring.occupancy import log_factors

STEPS, GROUPS = 128, 4  # of the first round
WIDE = 1.0  # nats: where chains differ by more, longer ones help better than more of them
SAMPLES = 12  # of each number of used classes, from which modes are sought
UNSURE = 0.02  # share of the evidence that parts without a believable error may have
STREAM = 3  # of random numbers


class Leg:
    """One reference's annealing, and the chains that were run."""

    def __init__(self, annealing: Annealing, log_labellings: float, seed: Sequence[int]) -> None:
        self.annealing, self.log_labellings, self.seed = annealing, log_labellings, seed
        self.steps, self.groups, self.seconds = STEPS, 0, 0.0
        self.log_weights: FloatArray = np.empty(0)

    @property
    def estimate(self) -> LogMean:
        """Mass of the region in all labellings."""
        return log_mean(self.log_weights).plus(self.log_labellings)

    @property
    def wide(self) -> bool:
        """Whether chains are too far apart for an average to mean much."""
        home = self.log_weights[self.log_weights > -np.inf]
        return len(home) > 1 and float(home.std(ddof=1)) > WIDE

    @property
    def work(self) -> float:
        """Hidden components drawn, with parameters and densities that cost about as much."""
        components = sum(map(len, self.annealing.path.problem.components.counts))
        return 2.0 * components * self.steps * len(self.log_weights)

    def cost(self) -> float:
        """Seconds that improving it will take, about."""
        return self.seconds * (2.0 if self.wide else 1.0)

    def improve(self, executor: Executor) -> None:
        """Double the steps, or the chains."""
        if self.wide:
            self.steps, self.groups = 2 * self.steps, 0
            self.log_weights, self.seconds = np.empty(0), 0.0
        began = time.perf_counter()
        more = range(self.groups, max(GROUPS, 2 * self.groups))
        new = self.annealing.forwards(self.steps, more, self.seed, executor)
        self.log_weights = np.concatenate([self.log_weights, new])
        self.groups = more.stop
        self.seconds += time.perf_counter() - began


def legs_of(
    problem: Problem,
    samples: Sequence[FloatArray],
    allowed: Allowed,
    seed: tuple[int, ...],
    executor: Executor,
) -> list[Leg]:
    """Find the modes that samples (hidden counts) belong to, and a reference for each."""
    symmetries = symmetries_of(problem)
    modes = find_modes(problem, samples, executor)
    modes = modes if symmetries.blocks else modes[:1]
    widen = partial(_reference, problem, modes, allowed, seed)
    references = executor.map(widen, range(len(modes)))
    regions = Regions(symmetries, [r.exponents for r in references])
    return [
        Leg(Annealing(Path(problem, r), regions, own, allowed), symmetries.log_count, (*seed, own))
        for own, r in enumerate(references)
    ]


def _reference(
    problem: Problem, modes: Sequence[Mode], allowed: Allowed, seed: Sequence[int], n: int
) -> Reference:
    return widened(problem, modes[n], allowed, (*seed, n))


class UsedClasses:
    """E_m: parts of the evidence in which m classes are all used, made when first asked for."""

    def __init__(self) -> None:
        self.legs: dict[int, list[Leg]] = {}

    def term(
        self, fewer: Problem, samples: Sequence[FloatArray], seed: int, executor: Executor
    ) -> list[Leg]:
        """Give the legs of a problem in which all classes are to be used."""
        m = classes_of(fewer.network).number
        if m not in self.legs:
            starts, allowed = samples[:SAMPLES], AllUsed.of(fewer)
            self.legs[m] = legs_of(fewer, starts, allowed, (seed, STREAM, m), executor)
        return self.legs[m]


class AnnealingRounds:
    """All legs of all terms; a round improves the leg to which most of the error is due."""

    def __init__(
        self,
        problem: Problem,
        samples: Sequence[FloatArray],
        seed: int,
        executor: Executor,
        clock: Clock,
        shared: UsedClasses | None = None,
    ) -> None:
        """Start from samples of hidden counts, best first."""
        self.executor, self.clock = executor, clock
        self.one_class = known(-np.inf)
        self.factors: dict[int, float] = {0: 0.0}  # log factor of each term
        self.legs: list[tuple[int, Leg]] = []  # each with the number of used classes; 0: any
        if exchangeable(problem):
            self._occupancy(problem, samples, seed, shared or UsedClasses())
        else:
            legs = legs_of(problem, samples[:SAMPLES], anything, (seed, STREAM), executor)
            self.legs = [(0, leg) for leg in legs]
        for n, (_, leg) in enumerate(self.legs):
            if not leg.groups and (n == 0 or clock.allows()):
                leg.improve(executor)

    def _occupancy(
        self, problem: Problem, samples: Sequence[FloatArray], seed: int, shared: UsedClasses
    ) -> None:
        by_used = defaultdict(list)
        for N in samples:
            keep = used(problem, N)
            by_used[int(keep.sum())].append((N, keep))
        factors = log_factors(problem)
        # What most samples have comes first, should the time run out.
        for m, alike in sorted(by_used.items(), key=lambda item: -len(item[1])):
            fewer = with_classes(problem, m)
            self.factors[m] = float(factors[m - 1])
            if m == 1:
                self.one_class = known(fewer.log_seen + self.factors[m])
                continue
            starts = [without(problem, fewer, N, keep) for N, keep in alike]
            self.legs += [(m, leg) for leg in shared.term(fewer, starts, seed, self.executor)]

    def _parts(self) -> list[tuple[int, Leg, LogMean]]:
        return [(m, leg, leg.estimate.plus(self.factors[m])) for m, leg in self.legs]

    @property
    def estimate(self) -> LogMean:
        """The sum of all regions of all terms."""
        return log_sum([self.one_class, *(part for _, _, part in self._parts())])

    @property
    def unsure(self) -> float:
        """Share of the evidence in legs that rest on a few chains: they may hide more.

        A leg that the time did not suffice for may hide anything.
        """
        if self.unfinished:
            return 1.0
        whole = self.estimate.value
        weak = [part for _, _, part in self._parts() if part.stderr > RELIABLE_ERROR]
        return float(sum(np.exp(part.value - whole) for part in weak))

    @property
    def unfinished(self) -> bool:
        """Whether the time did not suffice for every leg."""
        return not all(leg.groups for _, leg in self.legs)

    @property
    def shares(self) -> dict[int, float]:
        """Posterior of the number of used classes; empty where that has no meaning."""
        parts = defaultdict(list, {1: [self.one_class]})
        for m, _, part in self._parts():
            parts[m].append(part)
        whole = self.estimate.value
        shares = {m: float(np.exp(log_sum(p).value - whole)) for m, p in sorted(parts.items())}
        return {} if 0 in shares else {m: share for m, share in shares.items() if share > 0}

    def price(self) -> float:
        """Work to the target, about: errors shrink with its square root."""
        work = sum(leg.work for _, leg in self.legs)
        return work * (self.estimate.stderr / self.clock.goal.target) ** 2

    def until_done(self) -> LogMean:
        """Improve until the goal is reached or the time is up."""
        while self.estimate.stderr > self.clock.goal.target or self.unsure > UNSURE:
            _, leg, _ = max(self._parts(), key=lambda part: _error(part[2]))
            if not (leg.groups and self.clock.allows(leg.cost())):
                break
            leg.improve(self.executor)
        return self.estimate

    @property
    def chains(self) -> int:
        """Chains that the estimate rests on."""
        return sum(len(leg.log_weights) for _, leg in self.legs)

    @property
    def steps(self) -> int:
        """Steps of the longest chains."""
        return max((leg.steps for _, leg in self.legs), default=0)


def _error(part: LogMean) -> float:
    """Log of the error that a part adds."""
    return part.value + float(np.log(part.stderr)) if part.value > -np.inf else -np.inf
