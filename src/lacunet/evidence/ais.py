"""Rounds of annealing from references, until the error bar is small enough.

Each term is one problem: of a latent class model one for every number of used classes that has any
mass, combined by the occupancy identity; of other networks the problem itself. Terms do not depend
on the number of classes of the model that asks for them, so several models can share them.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lacunet.evidence.annealing import Means, OutOfTimeError, anything
from lacunet.evidence.estimate import RELIABLE_ERROR, LogMean, known, log_sum
from lacunet.evidence.legs import Leg, Term
from lacunet.evidence.modes import Found, all_used, used, without
from lacunet.inference.classes import exchangeable, with_classes
from lacunet.inference.problem import Problem
from lacunet.models.latent_class import classes_of
from lacunet.scores.occupancy import log_factors

UNSURE = 0.02  # share of the evidence that parts without a believable error may have
STREAM = 3  # of random numbers


class UsedClasses:
    """E_m: parts of the evidence in which m classes are all used, made when first asked for."""

    def __init__(self) -> None:
        self.terms: dict[int, Term] = {}

    def term(self, fewer: Problem, found: Sequence[Found], seed: int, means: Means) -> Term:
        """Give the term of a problem in which all classes are to be used."""
        m = classes_of(fewer.network).number
        if m not in self.terms:
            allowed = all_used(fewer)
            self.terms[m] = Term(fewer, found, allowed, (seed, STREAM, m), means)
        return self.terms[m]


class AnnealingRounds:
    """All legs of all terms; a round improves the leg to which most of the error is due."""

    def __init__(
        self,
        problem: Problem,
        found: Sequence[Found],
        seed: int,
        means: Means,
        shared: UsedClasses | None = None,
    ) -> None:
        """Start from places that searches found."""
        self.means, self.found = means, found
        self.one_class = known(-np.inf)
        self.factors: dict[int, float] = {0: 0.0}  # log factor of each term
        self.terms: dict[int, Term] = {}  # by the number of used classes; 0: any
        self.unfinished = False  # whether the time did not suffice for every place
        try:
            if exchangeable(problem):
                self._occupancy(problem, found, seed, shared or UsedClasses())
            else:
                self.terms[0] = Term(problem, found, anything, (seed, STREAM), means)
            for term in self.terms.values():
                while not term.explored:
                    means.clock.check()
                    term.explore(means)
        except OutOfTimeError:
            self.unfinished = True

    def _occupancy(
        self,
        problem: Problem,
        found: Sequence[Found],
        seed: int,
        shared: UsedClasses,
    ) -> None:
        by_used = defaultdict(list)
        for each in found:
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
            starts = [replace(f, N=without(problem, fewer, f.N, keep)) for f, keep in alike]
            self.terms[m] = shared.term(fewer, starts, seed, self.means)

    def _parts(self) -> list[tuple[int, Leg, LogMean]]:
        return [
            (m, leg, part.plus(self.factors[m]))
            for m, term in self.terms.items()
            for leg, part in term.parts
        ]

    @property
    def sampled(self) -> LogMean:
        """The sum of all regions of all terms."""
        return log_sum([self.one_class, *(part for _, _, part in self._parts())])

    @property
    def estimate(self) -> LogMean:
        """The same, with the error that may come from places where no search went."""
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
        return min(1.0, sum(s * self.terms[m].unseen for m, s in shares.items() if m in self.terms))

    @property
    def unsure(self) -> float:
        """Share of the evidence in legs that rest on a few chains: they may hide more.

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
        return sum(leg.work for _, leg, _ in self._parts())

    def price(self) -> float:
        """Work to the target, about: errors shrink with its square root."""
        return self.work * (self.sampled.stderr / self.means.clock.goal.target) ** 2

    def until_done(self) -> LogMean:
        """Improve until the goal is reached or the time is up."""
        try:
            while self._wanting():
                m, leg, _ = max(self._parts(), key=lambda part: _error(part[2]))
                if not self.means.clock.allows(leg.cost()):
                    break
                leg.improve(self.means)
                self.terms[m].changed()
        except OutOfTimeError:
            pass
        return self.estimate

    def _wanting(self) -> bool:
        far = self._error_of_chains > self.means.clock.goal.target or self.unsure > UNSURE
        return far and self.chains > 0 and not self.unfinished

    @property
    def references(self) -> int:
        """Places from which chains were annealed."""
        return len(self._parts())

    @property
    def chains(self) -> int:
        """Chains that the estimate rests on."""
        return sum(len(leg.log_weights) for _, leg, _ in self._parts())

    @property
    def steps(self) -> int:
        """Steps of the longest chains."""
        return max((leg.steps for _, leg, _ in self._parts()), default=0)


def _error(part: LogMean) -> float:
    """Log of the error that a part adds."""
    return part.value + float(np.log(part.stderr)) if part.value > -np.inf else -np.inf
