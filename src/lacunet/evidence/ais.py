"""The evidence as a sum of per-mode annealed importance sampling estimates.

A mode's reference *explains* a sample if backward chains from the sample lose no more weight than
forward chains do. Forward chains then reach the sample too. A sample that no reference explains
gets its own. References partition the space into regions, whose masses add up. The number of
searches that ended in each region bounds the missed mass (Good & Turing).

A latent class model has a mass for every number of used classes, combined by the occupancy
identity; another network has one. Models with different numbers of classes can share these masses.
"""

import math
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lacunet.evidence.annealing import (
    ANYTHING,
    Allowed,
    AnnealingPath,
    OutOfTimeError,
    RunContext,
    expected_cases,
)
from lacunet.evidence.estimate import RELIABLE_ERROR, LogMean, known, log_mean, log_sum
from lacunet.evidence.modes import (
    HiddenSample,
    all_used,
    distinct_symmetries,
    ranked,
    reference_near,
    used,
    without_empty,
)
from lacunet.inference.classes import exchangeable, with_classes
from lacunet.inference.problem import Problem
from lacunet.inference.regions import Regions
from lacunet.inference.sampling.particles import Draws
from lacunet.inference.symmetry import Symmetries, symmetries_of
from lacunet.runtime.arrays import BoolArray, FloatArray
from lacunet.scores.occupancy import log_factors

STEPS, GROUPS = 128, 4  # of the first round
WIDE = 0.8  # nats: if chains differ by more, longer chains help more than additional ones
NEAR = 6.0  # nats: samples whose bound is this much below the best need no reference
ERRORS = 3.0  # standard deviations that a backward chain may be off
LEAST_SPREAD = 0.5  # nats: the least spread assumed for chains
MOST_SAMPLES = 24  # samples of one problem, from several searches, that are considered
HALF = 0.5  # share of a mode's chains that must end nearest to its reference
BACK, STREAM = 4, 3  # streams of random numbers: of backward chains, and of all others
UNSURE = 0.02  # share of the evidence that parts without a reliable error may have


class ModeEstimate:
    """Annealing from the reference of one mode, with the chains run so far."""

    def __init__(self, path: AnnealingPath, symmetries: Symmetries, seed: Sequence[int]) -> None:
        self.path, self.symmetries, self.seed = path, symmetries, seed
        self.alone = Regions(symmetries, [path.reference.exponents])
        self.explained = set[int]()  # searches whose samples this mode explains
        self._restart(STEPS)

    def _restart(self, steps: int) -> None:
        self.steps, self.groups, self.seconds = steps, 0, 0.0
        self.log_weights: FloatArray = np.empty(0)
        self.ends: FloatArray = np.empty((0, self.path.problem.layout.size))
        self.inside: BoolArray = np.empty(0, dtype=np.bool_)  # labelled as the reference

    @property
    def wide(self) -> bool:
        """Whether the log weights vary too much for a reliable average."""
        return self._spread > WIDE

    @property
    def _spread(self) -> float:
        inside = self.log_weights[self.inside & (self.log_weights > -np.inf)]
        return float(inside.std(ddof=1)) if len(inside) > 1 else 0.0

    @property
    def work(self) -> float:
        """Number of hidden components drawn, doubled for the cost of parameters and densities."""
        components = sum(map(len, self.path.problem.components.counts))
        return 2.0 * components * self.steps * len(self.log_weights)

    def cost(self) -> float:
        """Estimated seconds of the next improvement."""
        return self.seconds * (2.0 if self.wide else 1.0)

    def improve(self, context: RunContext) -> None:
        """Double the steps, or the chains."""
        began = time.perf_counter()
        steps, groups = (2 * self.steps, 0) if self.wide else (self.steps, self.groups)
        more = range(groups, max(GROUPS, 2 * groups))
        log_weights, ends = self.path.forwards(steps, more, self.seed, context)
        if steps > self.steps:  # only now: if the time runs out, the old chains remain
            self._restart(steps)
        self.log_weights = np.concatenate([self.log_weights, log_weights])
        self.ends = np.concatenate([self.ends, ends])
        self.inside = np.concatenate([self.inside, self.alone.in_region(0, ends)])
        self.groups = more.stop
        self.seconds += time.perf_counter() - began

    def mass(self, inside: BoolArray) -> LogMean:
        """Mass of the region in all labellings; only chains that ended at home count."""
        counted = np.where(inside, self.log_weights, -np.inf)
        return log_mean(counted).plus(self.symmetries.log_count)

    def explains(self, N: FloatArray, context: RunContext) -> BoolArray:
        """Whether this mode explains each sample, (samples, size) → (samples,)."""
        problem, stream = self.path.problem, (*self.seed, BACK)
        draws = Draws(problem, np.random.default_rng(stream))
        drawn = expected_cases(problem.prior + N, draws)
        starts = [self.alone.to_reference_region(x).apply(n) for x, n in zip(drawn, N, strict=True)]
        back = self.path.backwards(np.stack(starts), self.steps, stream, context)
        forward = log_mean(self.log_weights)  # all chains: backward chains leave home, too
        spread = max(self._spread, LEAST_SPREAD)
        return np.asarray(back - forward.value <= spread**2 / 2 + ERRORS * spread)


class AnnealedMass:
    """The mass of one problem as a sum over regions."""

    def __init__(
        self,
        problem: Problem,
        samples: Sequence[HiddenSample],
        allowed: Allowed,
        seed: tuple[int, ...],
        context: RunContext,
    ) -> None:
        self.problem, self.allowed, self.seed = problem, allowed, seed
        self.symmetries = symmetries_of(problem)
        self.modes: list[ModeEstimate] = []
        self.samples = ranked(problem, samples[:MOST_SAMPLES], allowed, seed, context)
        self.unexplained = self.samples
        self.searches = len({each.search for each in self.samples})
        self.bound = self.unexplained[0].bound
        self._regions: list[tuple[ModeEstimate, LogMean, set[int]]] | None = None

    @property
    def explored(self) -> bool:
        """Whether modes explain every sample that may matter."""
        # Without symmetries there is one region: the whole space.
        return bool(self.modes) and not (self.symmetries.blocks and self._open)

    @property
    def _open(self) -> set[int]:
        """Searches with unexplained samples that may matter."""
        return {each.search for each in self.unexplained if each.bound > self.bound - NEAR}

    @property
    def unseen(self) -> float:
        """Share of the mass in regions that no search reached, by Good and Turing.

        Particles sample regions in proportion to their mass; fits do not. A few fits that agree
        leave an unseen share of at least 1/(searches + 1).
        """
        if self.searches < 2:
            return 1.0
        whole = log_sum([mass for _, mass, _ in self.regions()]).value
        once = [mass.value for _, mass, by in self.regions() if len(by) < 2]
        missed = len(self._open) / self.searches
        by_fits = all(each.search < 0 for each in self.samples) and bool(self.symmetries.blocks)
        least = 1.0 / (self.searches + 1) if by_fits else 0.0
        return min(1.0, max(least, missed + float(np.exp(np.array(once) - whole).sum())))

    def explore(self, context: RunContext) -> None:
        """Put a reference at the best unexplained sample, and drop the samples that it explains."""
        first, *rest = self.unexplained
        seed = (*self.seed, len(self.modes))
        reference = reference_near(self.problem, first.N, self.allowed, seed, context)
        if not self.modes:
            self.symmetries = distinct_symmetries(self.problem, reference, seed)
        path = AnnealingPath(self.problem, reference, self.allowed)
        mode = ModeEstimate(path, self.symmetries, seed)
        mode.improve(context)
        while mode.wide and context.limit.allows(mode.cost()):
            mode.improve(context)
        mode.explained.add(first.search)
        if rest:
            explained = mode.explains(np.stack([each.N for each in rest]), context)
            both = list(zip(rest, explained, strict=True))
            mode.explained.update(each.search for each, yes in both if yes)
            rest = [each for each, yes in both if not yes]
        self.modes.append(mode)
        self.unexplained = rest
        self._merge()
        self.changed()

    def _merge(self) -> None:
        """Drop the newest mode if most of its chains end nearer to another reference.

        Few of its chains would remain in its region, although the other mode's chains reach it.
        """
        *others, mode = self.modes
        if not others:
            return
        references = [each.path.reference.exponents for each in self.modes]
        nearest = Regions(self.symmetries, references).nearest(mode.ends)
        if np.mean(nearest == len(others)) < HALF:
            self.modes = others
            into = int(np.bincount(nearest, minlength=len(references))[:-1].argmax())
            others[into].explained |= mode.explained

    def changed(self) -> None:
        """Invalidate the cached regions: modes or chains have changed."""
        self._regions = None

    def regions(self) -> list[tuple[ModeEstimate, LogMean, set[int]]]:
        """Each mode, the mass of its region, and the searches that ended in it or it explains."""
        if self._regions is None and self.modes:
            references = [mode.path.reference.exponents for mode in self.modes]
            regions = Regions(self.symmetries, references)
            self._regions = [
                (mode, mode.mass(regions.in_region(n, mode.ends)), set(mode.explained))
                for n, mode in enumerate(self.modes)
            ]
            ended = np.stack([self.problem.prior + each.N for each in self.samples])
            for each, n in zip(self.samples, regions.nearest(ended), strict=True):
                self._regions[n][2].add(each.search)
        return self._regions or []


class UsedClasses(dict[int, AnnealedMass]):
    """E_m by m, the masses of the partitions into m used classes, computed on demand."""


class AnnealingRounds:
    """All modes; each round improves the one with the largest error."""

    def __init__(
        self,
        problem: Problem,
        samples: Sequence[HiddenSample],
        seed: int,
        context: RunContext,
        shared: UsedClasses | None = None,
    ) -> None:
        """Start from the samples of searches."""
        self.context, self.samples = context, samples
        self.one_class = known(-np.inf)
        self.factors: dict[int, float] = {0: 0.0}  # log factor of each mass
        self.masses: dict[int, AnnealedMass] = {}  # by the number of used classes; 0: any
        self.unfinished = False  # whether the time ran out before every sample was explained
        try:
            if exchangeable(problem):
                self._by_used_classes(problem, seed, UsedClasses() if shared is None else shared)
            else:
                self.masses[0] = AnnealedMass(problem, samples, ANYTHING, (seed, STREAM), context)
            for mass in self.masses.values():
                while not mass.explored:
                    context.limit.check()
                    mass.explore(context)
        except OutOfTimeError:
            self.unfinished = True

    def _by_used_classes(self, problem: Problem, seed: int, shared: UsedClasses) -> None:
        by_used = defaultdict(list)
        for each in self.samples:
            keep = used(problem, each.N)
            by_used[int(keep.sum())].append((each, keep))
        factors = log_factors(problem)
        # The number of used classes that most samples have comes first: the time may run out.
        for m, alike in sorted(by_used.items(), key=lambda item: -len(item[1])):
            fewer = with_classes(problem, m)
            self.factors[m] = float(factors[m - 1])
            if fewer.exact:  # one class, unless numbers are missing that vary with others
                self.one_class = known(fewer.log_seen + self.factors[m])
                continue
            if m not in shared:
                samples = [replace(s, N=without_empty(problem, fewer, s.N, k)) for s, k in alike]
                settings = all_used(fewer), (seed, STREAM, m), self.context
                shared[m] = AnnealedMass(fewer, samples, *settings)
            self.masses[m] = shared[m]

    def _parts(self) -> list[tuple[int, ModeEstimate, LogMean]]:
        return [
            (m, mode, part.plus(self.factors[m]))
            for m, mass in self.masses.items()
            for mode, part, _ in mass.regions()
        ]

    @property
    def sampled(self) -> LogMean:
        """The sum of all regions."""
        return log_sum([self.one_class, *(part for _, _, part in self._parts())])

    @property
    def estimate(self) -> LogMean:
        """The same, with the error widened for mass in regions that no search reached."""
        sampled, unseen = self.sampled, self.unseen
        if unseen >= 1.0:
            return replace(sampled, stderr=math.inf)
        return replace(sampled, stderr=math.hypot(self._error_of_chains, math.log1p(-unseen)))

    @property
    def _error_of_chains(self) -> float:
        """The part of the error that more chains would reduce.

        It is at least 1/n, because n chains may all miss a share of 1/n. Without chains, every
        search ended with one class in use.
        """
        return math.hypot(self.sampled.stderr, 1.0 / max(1, self.chains or len(self.samples)))

    @property
    def unseen(self) -> float:
        """Share of the evidence in regions that no search reached."""
        shares = self._shares()
        if not any(share > 0 for share in shares.values()):
            return 1.0
        missed = sum(s * self.masses[m].unseen for m, s in shares.items() if m in self.masses)
        return min(1.0, missed)

    @property
    def unsure(self) -> float:
        """Share of the evidence in modes whose error is unreliable; 1 if the time ran out."""
        if self.unfinished:
            return 1.0
        whole = self.sampled.value
        weak = [part for _, _, part in self._parts() if part.stderr > RELIABLE_ERROR]
        return float(sum(np.exp(part.value - whole) for part in weak))

    def _shares(self) -> dict[int, float]:
        parts = defaultdict(list, {1: [self.one_class]})
        for m, _, part in self._parts():
            parts[m].append(part)
        whole = self.sampled.value
        if not whole > -np.inf:
            return {}
        return {m: float(np.exp(log_sum(p).value - whole)) for m, p in sorted(parts.items())}

    @property
    def shares(self) -> dict[int, float]:
        """Posterior of the number of used classes; empty if classes are not exchangeable."""
        shares = self._shares()
        return {} if 0 in shares else {m: share for m, share in shares.items() if share > 0}

    @property
    def work(self) -> float:
        """Number of hidden components that all chains have drawn."""
        return sum(mode.work for _, mode, _ in self._parts())

    def price(self) -> float:
        """Estimated work to reach the target: errors shrink with the square root of the work."""
        return self.work * (self.sampled.stderr / self.context.limit.goal.target) ** 2

    def until_done(self) -> LogMean:
        """Improve until the goal is reached or the time is up."""
        try:
            while self._short_of_goal():
                m, mode, _ = max(self._parts(), key=lambda part: _log_error(part[2]))
                if not self.context.limit.allows(mode.cost()):
                    break
                mode.improve(self.context)
                self.masses[m].changed()
        except OutOfTimeError:
            pass
        return self.estimate

    def _short_of_goal(self) -> bool:
        far = self._error_of_chains > self.context.limit.goal.target or self.unsure > UNSURE
        return far and self.chains > 0 and not self.unfinished

    @property
    def chains(self) -> int:
        """Number of chains in the estimate."""
        return sum(len(mode.log_weights) for _, mode, _ in self._parts())

    @property
    def ran(self) -> dict[str, int]:
        """Numbers of chains, steps and references."""
        parts = self._parts()
        steps = max((mode.steps for _, mode, _ in parts), default=0)
        return {"chains": self.chains, "steps at most": steps, "references": len(parts)}


def _log_error(part: LogMean) -> float:
    """Log of the absolute error of a part."""
    return part.value + float(np.log(part.stderr)) if part.value > -np.inf else -np.inf
