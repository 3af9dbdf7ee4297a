"""The evidence by annealing from one mode after the other, until all searches are explained.

A sample is *explained* by a mode's reference if annealing backwards, from the sample down to the
reference, loses no more than chains lose that came the other way: then these chains reach it too.
What no reference explains gets one of its own. Regions around references cut the space, and masses
add up. How many searches ended in a region tells how much may have been missed (Good & Turing).

A latent class model has a mass for every number of used classes, combined by the occupancy
identity; another network has one. These do not depend on the number of classes of the model that
needs them, so several models can share them.
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
WIDE = 0.8  # nats: where chains differ by more, longer ones help better than more of them
NEAR = 6.0  # nats: samples whose bound is this much below the best need no reference of their own
ERRORS = 3.0  # standard deviations that a backward chain may be off
LEAST_SPREAD = 0.5  # nats: that much chains may always differ
PLACES = 24  # samples of one problem, from several searches, that are looked at
HALF = 0.5  # of the chains of a mode, that must end nearest to its own reference
BACK, STREAM = 4, 3  # streams of random numbers: of backward chains, and of all others
UNSURE = 0.02  # share of the evidence that parts without a believable error may have


class ModeEstimate:
    """Annealing from the reference of one mode, and the chains that were run."""

    def __init__(self, path: AnnealingPath, symmetries: Symmetries, seed: Sequence[int]) -> None:
        self.path, self.symmetries, self.seed = path, symmetries, seed
        self.alone = Regions(symmetries, [path.reference.exponents])
        self.explained = set[int]()  # searches that ended where this one leads
        self._restart(STEPS)

    def _restart(self, steps: int) -> None:
        self.steps, self.groups, self.seconds = steps, 0, 0.0
        self.log_weights: FloatArray = np.empty(0)
        self.ends: FloatArray = np.empty((0, self.path.problem.layout.size))
        self.home: BoolArray = np.empty(0, dtype=np.bool_)  # in its own labelling

    @property
    def wide(self) -> bool:
        """Whether chains are too far apart for an average to mean much."""
        return self._spread > WIDE

    @property
    def _spread(self) -> float:
        home = self.log_weights[self.home & (self.log_weights > -np.inf)]
        return float(home.std(ddof=1)) if len(home) > 1 else 0.0

    @property
    def work(self) -> float:
        """Hidden components drawn, with parameters and densities that cost about as much."""
        components = sum(map(len, self.path.problem.components.counts))
        return 2.0 * components * self.steps * len(self.log_weights)

    def cost(self) -> float:
        """Seconds that improving it will take, about."""
        return self.seconds * (2.0 if self.wide else 1.0)

    def improve(self, context: RunContext) -> None:
        """Double the steps, or the chains."""
        began = time.perf_counter()
        steps, groups = (2 * self.steps, 0) if self.wide else (self.steps, self.groups)
        more = range(groups, max(GROUPS, 2 * groups))
        log_weights, ends = self.path.forwards(steps, more, self.seed, context)
        if steps > self.steps:  # only now: what there is stays if the time runs out
            self._restart(steps)
        self.log_weights = np.concatenate([self.log_weights, log_weights])
        self.ends = np.concatenate([self.ends, ends])
        self.home = np.concatenate([self.home, self.alone.at_home(0, ends)])
        self.groups = more.stop
        self.seconds += time.perf_counter() - began

    def mass(self, home: BoolArray) -> LogMean:
        """Mass of the chains that ended at home, in all labellings."""
        counted = np.where(home, self.log_weights, -np.inf)
        return log_mean(counted).plus(self.symmetries.log_count)

    def explains(self, N: FloatArray, context: RunContext) -> BoolArray:
        """Tell which samples, (samples, size), chains of this mode reach."""
        problem, stream = self.path.problem, (*self.seed, BACK)
        draws = Draws(problem, np.random.default_rng(stream))
        drawn = expected_cases(problem.prior + N, draws)
        starts = [self.alone.bring_home(x).apply(n) for x, n in zip(drawn, N, strict=True)]
        back = self.path.backwards(np.stack(starts), self.steps, stream, context)
        there = log_mean(self.log_weights)  # all of them: backward chains leave home, too
        spread = max(self._spread, LEAST_SPREAD)
        return np.asarray(back - there.value <= spread**2 / 2 + ERRORS * spread)


class AnnealedMass:
    """One problem's mass, region by region."""

    def __init__(
        self,
        problem: Problem,
        found: Sequence[HiddenSample],
        allowed: Allowed,
        seed: tuple[int, ...],
        context: RunContext,
    ) -> None:
        self.problem, self.allowed, self.seed = problem, allowed, seed
        self.symmetries = symmetries_of(problem)
        self.modes: list[ModeEstimate] = []
        self.samples = ranked(problem, found[:PLACES], allowed, seed, context)
        self.unexplained = self.samples
        self.searches = len({each.search for each in self.samples})
        self.bound = self.unexplained[0].bound
        self._regions: list[tuple[ModeEstimate, LogMean, set[int]]] | None = None

    @property
    def explored(self) -> bool:
        """Whether no sample is left that may matter, and could have a region of its own."""
        # Without symmetries there is one region: everything.
        return bool(self.modes) and not (self.symmetries.blocks and self._open)

    @property
    def _open(self) -> set[int]:
        """Searches that ended in samples which may matter and are not explained."""
        return {each.search for each in self.unexplained if each.bound > self.bound - NEAR}

    @property
    def unseen(self) -> float:
        """Share of the mass that may lie where no search went, by Good and Turing.

        Particles go everywhere in proportion to the mass. Fits look for one mode, and a few that
        agree say little of others: these may have as much as one more fit could tell.
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
        """Put a reference at the best unexplained sample, and see which others it explains."""
        first, *rest = self.unexplained
        seed = (*self.seed, len(self.modes))
        reference = reference_near(self.problem, first.N, self.allowed, seed, context)
        if not self.modes:
            self.symmetries = distinct_symmetries(self.problem, reference, seed)
        path = AnnealingPath(self.problem, reference, self.allowed)
        mode = ModeEstimate(path, self.symmetries, seed)
        mode.improve(context)
        while mode.wide and context.clock.allows(mode.cost()):
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
        """Leave out the newest mode if most of its chains end nearer to the reference of another.

        The border of its region would cut through what the other reaches, and the few chains that
        stay would have to stand for it.
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
        """Forget which chains are at home: there are other regions, or other chains."""
        self._regions = None

    def regions(self) -> list[tuple[ModeEstimate, LogMean, set[int]]]:
        """Each mode, the mass of its region, and the searches that ended there or are explained."""
        if self._regions is None and self.modes:
            references = [mode.path.reference.exponents for mode in self.modes]
            regions = Regions(self.symmetries, references)
            self._regions = [
                (mode, mode.mass(regions.at_home(n, mode.ends)), set(mode.explained))
                for n, mode in enumerate(self.modes)
            ]
            ended = np.stack([self.problem.prior + each.N for each in self.samples])
            for each, n in zip(self.samples, regions.nearest(ended), strict=True):
                self._regions[n][2].add(each.search)
        return self._regions or []


class UsedClasses(dict[int, AnnealedMass]):
    """E_m: parts of the evidence in which m classes are all used, made when first needed."""


class AnnealingRounds:
    """All modes; a round improves the one to which most of the error is due."""

    def __init__(
        self,
        problem: Problem,
        found: Sequence[HiddenSample],
        seed: int,
        context: RunContext,
        shared: UsedClasses | None = None,
    ) -> None:
        """Start from samples that searches found."""
        self.context, self.found = context, found
        self.one_class = known(-np.inf)
        self.factors: dict[int, float] = {0: 0.0}  # log factor of each mass
        self.masses: dict[int, AnnealedMass] = {}  # by the number of used classes; 0: any
        self.unfinished = False  # whether the time did not suffice for every sample
        try:
            if exchangeable(problem):
                self._by_used_classes(problem, seed, UsedClasses() if shared is None else shared)
            else:
                self.masses[0] = AnnealedMass(problem, found, ANYTHING, (seed, STREAM), context)
            for mass in self.masses.values():
                while not mass.explored:
                    context.clock.check()
                    mass.explore(context)
        except OutOfTimeError:
            self.unfinished = True

    def _by_used_classes(self, problem: Problem, seed: int, shared: UsedClasses) -> None:
        by_used = defaultdict(list)
        for each in self.found:
            keep = used(problem, each.N)
            by_used[int(keep.sum())].append((each, keep))
        factors = log_factors(problem)
        # What most samples have comes first, should the time run out.
        for m, alike in sorted(by_used.items(), key=lambda item: -len(item[1])):
            fewer = with_classes(problem, m)
            self.factors[m] = float(factors[m - 1])
            if fewer.exact:  # one class, unless numbers are missing that vary with others
                self.one_class = known(fewer.log_seen + self.factors[m])
                continue
            if m not in shared:
                found = [replace(f, N=without_empty(problem, fewer, f.N, own)) for f, own in alike]
                where = all_used(fewer), (seed, STREAM, m), self.context
                shared[m] = AnnealedMass(fewer, found, *where)
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
        """The same, with the error that may come from where no search went."""
        sampled, unseen = self.sampled, self.unseen
        if unseen >= 1.0:
            return replace(sampled, stderr=math.inf)
        return replace(sampled, stderr=math.hypot(self._error_of_chains, math.log1p(-unseen)))

    @property
    def _error_of_chains(self) -> float:
        """The error that more chains would make smaller.

        Chains that agree to every digit have not seen everything either: what none of n came to may
        be an nth part of the whole. Without chains, every search ended with one class in use.
        """
        return math.hypot(self.sampled.stderr, 1.0 / max(1, self.chains or len(self.found)))

    @property
    def unseen(self) -> float:
        """Share of the evidence that may lie where no search went."""
        shares = self._shares()
        if not any(share > 0 for share in shares.values()):
            return 1.0
        missed = sum(s * self.masses[m].unseen for m, s in shares.items() if m in self.masses)
        return min(1.0, missed)

    @property
    def unsure(self) -> float:
        """Share of the evidence in modes that rest on a few chains: they may hide more.

        What the time did not suffice for may be anything.
        """
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
        """Posterior of the number of used classes; empty where that has no meaning."""
        shares = self._shares()
        return {} if 0 in shares else {m: share for m, share in shares.items() if share > 0}

    @property
    def work(self) -> float:
        """What all chains have drawn."""
        return sum(mode.work for _, mode, _ in self._parts())

    def price(self) -> float:
        """Work to the target, about: errors shrink with its square root."""
        return self.work * (self.sampled.stderr / self.context.clock.goal.target) ** 2

    def until_done(self) -> LogMean:
        """Improve until the goal is reached or the time is up."""
        try:
            while self._wanting():
                m, mode, _ = max(self._parts(), key=lambda part: _log_error(part[2]))
                if not self.context.clock.allows(mode.cost()):
                    break
                mode.improve(self.context)
                self.masses[m].changed()
        except OutOfTimeError:
            pass
        return self.estimate

    def _wanting(self) -> bool:
        far = self._error_of_chains > self.context.clock.goal.target or self.unsure > UNSURE
        return far and self.chains > 0 and not self.unfinished

    @property
    def chains(self) -> int:
        """Chains that the estimate rests on."""
        return sum(len(mode.log_weights) for _, mode, _ in self._parts())

    @property
    def ran(self) -> dict[str, int]:
        """What was run."""
        parts = self._parts()
        steps = max((mode.steps for _, mode, _ in parts), default=0)
        return {"chains": self.chains, "steps at most": steps, "references": len(parts)}


def _log_error(part: LogMean) -> float:
    """Log of the error that a part adds."""
    return part.value + float(np.log(part.stderr)) if part.value > -np.inf else -np.inf
