"""Annealing from one place after the other, until every search's place is explained by one of them.

A place is *explained* by a reference if annealing backwards, from a sample there down to the
reference, loses no more than chains lose that came the other way: then those chains reach it too.
What no reference explains gets one of its own. Regions around references cut the space, and masses
add up. How many searches ended in a region tells how much may have been missed: mass in regions
that only one search found (Good & Turing) is as much as there may be in others that none did.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from lacunet.evidence.annealing import Allowed, Annealing, Means, Path, expected
from lacunet.evidence.estimate import LogMean, log_mean, log_sum
from lacunet.evidence.modes import Found, ranked, told_apart, widened
from lacunet.inference.problem import Problem
from lacunet.inference.regions import Regions
from lacunet.inference.sampling.particles import Draws
from lacunet.inference.symmetry import Symmetries, symmetries_of
from lacunet.runtime.arrays import BoolArray, FloatArray

STEPS, GROUPS = 128, 4  # of the first round
WIDE = 0.8  # nats: where chains differ by more, longer ones help better than more of them
NEAR = 6.0  # nats: places whose bound is this much below the best need no reference of their own
ERRORS = 3.0  # standard deviations that a backward chain may be off
LEAST_SPREAD = 0.5  # nats: that much chains may always differ
PLACES = 24  # samples of one problem, from several searches, that are looked at
HALF = 0.5  # of the chains of a leg, that must end nearest to its own reference
BACK = 4  # the stream of random numbers


class Leg:
    """One reference's annealing, and the chains that were run."""

    def __init__(self, annealing: Annealing, symmetries: Symmetries, seed: Sequence[int]) -> None:
        self.annealing, self.symmetries, self.seed = annealing, symmetries, seed
        self.alone = Regions(symmetries, [annealing.path.reference.exponents])
        self.explained = set[int]()  # searches that ended where this one leads
        self._restart(STEPS)

    def _restart(self, steps: int) -> None:
        self.steps, self.groups, self.seconds = steps, 0, 0.0
        self.log_weights: FloatArray = np.empty(0)
        self.ends: FloatArray = np.empty((0, self.annealing.path.problem.layout.size))
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
        components = sum(map(len, self.annealing.path.problem.components.counts))
        return 2.0 * components * self.steps * len(self.log_weights)

    def cost(self) -> float:
        """Seconds that improving it will take, about."""
        return self.seconds * (2.0 if self.wide else 1.0)

    def improve(self, means: Means) -> None:
        """Double the steps, or the chains."""
        began = time.perf_counter()
        steps, groups = (2 * self.steps, 0) if self.wide else (self.steps, self.groups)
        more = range(groups, max(GROUPS, 2 * groups))
        new = self.annealing.forwards(steps, more, self.seed, means)
        if steps > self.steps:  # only now: what there is stays if the time runs out
            self._restart(steps)
        self.log_weights = np.concatenate([self.log_weights, new.log_weights])
        self.ends = np.concatenate([self.ends, new.ends])
        self.home = np.concatenate([self.home, self.alone.at_home(0, new.ends)])
        self.groups = more.stop
        self.seconds += time.perf_counter() - began

    def mass(self, home: BoolArray) -> LogMean:
        """Mass of the chains that ended at home, in all labellings."""
        counted = np.where(home, self.log_weights, -np.inf)
        return log_mean(counted).plus(self.symmetries.log_count)

    def explains(self, N: FloatArray, means: Means) -> BoolArray:
        """Tell which samples, (samples, size), chains of this leg reach."""
        path, stream = self.annealing.path, (*self.seed, BACK)
        draws = Draws(path.problem, np.random.default_rng(stream))
        placed = [self.alone.bring_home(x) for x in expected(path, N, draws)]
        starts = np.stack([place.apply(n) for place, n in zip(placed, N, strict=True)])
        back = self.annealing.backwards(starts, self.steps, stream, means)
        there = log_mean(self.log_weights)  # wherever they ended: backward chains leave home, too
        spread = max(self._spread, LEAST_SPREAD)
        return np.asarray(back - there.value <= spread**2 / 2 + ERRORS * spread)


class Term:
    """One problem's mass, region by region."""

    def __init__(
        self,
        problem: Problem,
        found: Sequence[Found],
        allowed: Allowed,
        seed: tuple[int, ...],
        means: Means,
    ) -> None:
        self.problem, self.allowed, self.seed = problem, allowed, seed
        self.symmetries = symmetries_of(problem)
        self.legs: list[Leg] = []
        self.places = ranked(problem, found[:PLACES], allowed, seed, means)
        self.unexplained = self.places
        self.searches = len({each.search for each in self.places})
        self._cut: Cut | None = None  # to be found out
        self.bound = self.unexplained[0].bound

    @property
    def explored(self) -> bool:
        """Whether no place is left that may matter, and could have a region of its own."""
        # Where nothing can be relabelled there is one region: everything.
        return bool(self.legs) and not (self.symmetries.blocks and self._open)

    @property
    def _open(self) -> set[int]:
        """Searches that ended in places which may matter and are not explained."""
        return {each.search for each in self.unexplained if each.bound > self.bound - NEAR}

    @property
    def unseen(self) -> float:
        """Share of the mass that may lie where no search went, by Good and Turing.

        Particles go everywhere in proportion to the mass. Fits look for one mode, and a few that
        agree say little of others: these may have as much as one more fit could tell.
        """
        if self.searches < 2:
            return 1.0
        whole = self.estimate.value
        found = zip(self.parts, self.cut.found_by, strict=True)
        once = [part.value for (_, part), by in found if len(by) < 2]
        missed = len(self._open) / self.searches
        by_fits = all(each.search < 0 for each in self.places) and bool(self.symmetries.blocks)
        least = 1.0 / (self.searches + 1) if by_fits else 0.0
        return min(1.0, max(least, missed + float(np.exp(np.array(once) - whole).sum())))

    def explore(self, means: Means) -> None:
        """Put a reference at the best place that none explains, and see what it explains."""
        first, *rest = self.unexplained
        seed = (*self.seed, len(self.legs))
        reference = widened(self.problem, first.N, self.allowed, seed, means)
        if not self.legs:
            self.symmetries = told_apart(self.problem, [reference], seed)
        leg = Leg(Annealing(Path(self.problem, reference), self.allowed), self.symmetries, seed)
        leg.improve(means)
        while leg.wide and means.clock.allows(leg.cost()):
            leg.improve(means)
        leg.explained.add(first.search)
        if rest:
            explained = leg.explains(np.stack([each.N for each in rest]), means)
            both = list(zip(rest, explained, strict=True))
            leg.explained.update(each.search for each, yes in both if yes)
            rest = [each for each, yes in both if not yes]
        self.legs.append(leg)
        self.unexplained = rest
        self._merge()
        self.changed()

    def _merge(self) -> None:
        """Leave out the newest leg if most of its chains end nearer to the reference of another.

        The border of its region would cut through what the other reaches, and the few chains that
        stay would have to stand for it.
        """
        *others, leg = self.legs
        if not others:
            return
        references = [each.annealing.path.reference.exponents for each in self.legs]
        nearest = Regions(self.symmetries, references).nearest(leg.ends)
        if np.mean(nearest == len(others)) < HALF:
            self.legs = others
            into = int(np.bincount(nearest, minlength=len(references))[:-1].argmax())
            others[into].explained |= leg.explained

    def changed(self) -> None:
        """Forget who is at home: there are other regions, or other chains."""
        self._cut = None

    @property
    def cut(self) -> "Cut":
        """The regions around all references, and what is in them."""
        if self._cut is None:  # once, however many places were looked at since
            self._cut = Cut.of(self)
        return self._cut

    @property
    def parts(self) -> list[tuple[Leg, LogMean]]:
        """Every region's mass."""
        return self.cut.parts

    @property
    def estimate(self) -> LogMean:
        """The whole mass."""
        return log_sum([part for _, part in self.parts])


@dataclass(frozen=True, eq=False)
class Cut:
    """The space, cut into regions: one for each leg of a term."""

    parts: list[tuple[Leg, LogMean]]  # the mass of each
    found_by: list[set[int]]  # searches that ended in each, or that its leg explains

    @classmethod
    def of(cls, term: Term) -> Self:
        """See which chains of each leg are at home, and where searches ended."""
        if not term.legs:
            return cls([], [])
        references = [leg.annealing.path.reference for leg in term.legs]
        regions = Regions(term.symmetries, [r.exponents for r in references])
        homes = [regions.at_home(n, leg.ends) for n, leg in enumerate(term.legs)]
        masses = [leg.mass(home) for leg, home in zip(term.legs, homes, strict=True)]
        found = [set(leg.explained) for leg in term.legs]
        ended = np.stack([term.problem.prior + each.N for each in term.places])
        for each, n in zip(term.places, regions.nearest(ended), strict=True):
            found[n].add(each.search)  # whoever explained it first
        return cls(list(zip(term.legs, masses, strict=True)), found)
