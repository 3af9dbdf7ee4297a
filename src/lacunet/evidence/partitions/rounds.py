"""Rounds of a walk over partitions: first to learn the weights, then to measure."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from lacunet.evidence.estimate import leave_one_out
from lacunet.evidence.partitions import chains
from lacunet.evidence.partitions.cases import leaves_by_prior
from lacunet.evidence.partitions.levels import (
    WORTH,
    Occupancy,
    PriorMixture,
    SharesOfPriors,
    WalkedPriors,
    by_errors,
    by_shares,
    carried_on,
    guess_levels,
    hoped_ratios,
    log_ratios,
)
from lacunet.inference.classes import with_classes
from lacunet.inference.kernels.blocks import LevelWeights
from lacunet.inference.kernels.splitting import STEEPEST, TRIED, Notes
from lacunet.inference.problem import Problem
from lacunet.likelihoods.gamma_functions import log_rising
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.checkpoint import FORGETFUL, Kept
from lacunet.runtime.executor import Executor

FAR = 250.0  # nats: numbers of classes whose guess is this far below the best are not visited
LEARNING = 20  # sweeps of a round that learns the weights,
LEARNED = 2.0  # nats: all were seen, and no weight changes by more, so they are learnt;
MOST_LEARNING = 8  # or after so many rounds
SURVEY = 100  # sweeps of the round that looks at every number of blocks
ROUND = 100  # sweeps of a round that measures
BELOW = 20.0  # nats that one number of blocks less may cost, to be visited as a way between modes
SINGLE = 0.02  # of its posterior under a single prior: what a number of blocks counts for


@dataclass(frozen=True, eq=False)
class WalkSums:
    """What rounds have found. M numbers of blocks, S priors, R chains."""

    log_z: FloatArray  # (M, S) log Z_m,s
    without: FloatArray  # (R, M, S) the same without one chain each
    first: int  # the fewest blocks that rounds have visited,
    last: int  # and the most
    shares: FloatArray  # (M,) posterior of the number of blocks
    energies: FloatArray  # (2R, M, 3) by half a chain; see `Notes`


class Rounds:
    """Chains, their weights, and what they have noted so far.

    A survey visits every number of blocks. After it chains keep to those that matter, and maybe
    one below, which leads from mode to mode. Weights go on being learnt; rates stay noted for the
    same ones, so those of all rounds can be added.
    """

    def __init__(
        self,
        problem: Problem,
        numbers: Sequence[int],
        fits: Mapping[int, FloatArray],
        guesses: Mapping[int, float],
        seed: int,
        executor: Executor,
        kept: Kept = FORGETFUL,
        several: WalkedPriors | None = None,
    ) -> None:
        self.executor, self.kept = executor, kept
        several = several or WalkedPriors.only(problem.alpha)
        leaves = leaves_by_prior(problem, several.alphas)
        self.priors = chains.joined_priors(leaves)
        cases = len(leaves[0].row)
        last = min(max(numbers), cases)
        each = [Occupancy(tuple(numbers), own.a, float(cases), 1, last) for own in leaves]
        with np.errstate(divide="ignore"):
            self.levels = PriorMixture(tuple(each), np.log(several.weights))
        base, best = each[several.base], max(guesses.values(), default=0.0)
        near = [k for k in guesses if k <= last and guesses[k] >= best - FAR]
        self.first, self.last = min(near, default=1), last  # numbers of blocks that chains visit
        self.log_z = guess_levels(base, guesses)  # (M,) log Σ_s c_m,s Z_m,s
        self.guessed = base.shares(self.log_z) if guesses else np.zeros(last)
        one_block = [
            with_classes(replace(problem, alpha=alpha), 1).log_seen
            + float(log_rising(own.a, cases))
            for alpha, own in zip(several.alphas, leaves, strict=True)
        ]
        self.split = SharesOfPriors(self.levels, np.array(one_block), several.base)
        self.often = np.array([float(cases), float(TRIED)])
        self.chains = chains.several_starts(problem, leaves, fits, self.first, self.last, seed)
        self.visits: FloatArray = np.zeros(last)  # (M,) log of how often each shall be visited
        self.hope: FloatArray = np.zeros(last - 1)  # (M − 1,) see `_hope`
        self.survey = chains.no_notes(
            last + 2, len(leaves), 0
        )  # with an axis for chains before others
        self.surveyed: FloatArray = np.zeros(0)  # their reference,
        self.noted: FloatArray = np.zeros(0)  # and that of the rounds that measure
        self._noted: list[Notes] = []  # the notes of each of these
        self.apart = self._apart(chains.no_notes(last + 2, len(leaves)))  # (M, S) see `_apart`

    @property
    def number(self) -> int:
        """How many rounds have measured."""
        return len(self._noted)

    def learn(self) -> None:
        """Find weights with which chains visit every number of blocks that matters."""
        self._learn_weights(priors=True)
        self.surveyed = self._reference()
        self.survey = self._walk(SURVEY, self.surveyed)
        rates = self.survey.rates.sum(axis=0)
        self.log_z = self._from_one_block(self._ratios(rates, self.surveyed))
        self.apart = self._apart(_of_all(self.survey))
        # Visit what either the survey or the guess holds to matter: each may miss by some nats.
        worth = 1 + np.flatnonzero(np.maximum(self._matter(), self.guessed) >= WORTH)
        self.first, self.last = self._one_beyond(int(worth[0]), int(worth[-1]))
        self.visits = by_shares(self._shares())
        self._learn_weights()  # and chains come from where they stay
        self.noted = self._reference()

    def _learn_weights(self, *, priors: bool = False) -> None:
        for _ in range(MOST_LEARNING):
            reference = self._reference()
            seen = self._walk(LEARNING, reference)
            hoped = hoped_ratios(seen.rates.sum(axis=0), reference, self.often)
            steps = np.diff(self.log_z)
            wrong = (hoped[1 : self.levels.last] - steps)[self._made]
            change = carried_on(wrong)
            steps[self._made] += change
            self.log_z = self._from_one_block(steps)
            if priors:
                self.apart = self._apart(_of_all(seen))
                self.split.learn(self.log_z, self.apart)
            if not np.isnan(wrong).any() and np.abs(change).max(initial=0.0) < LEARNED:
                break

    def _one_beyond(self, first: int, last: int) -> tuple[int, int]:
        """One number of blocks more; one less only where chains come back from."""
        below = first > 1 and self._shares()[first - 2] > math.exp(-BELOW)
        return first - below, min(last + 1, self.levels.last)

    def _further(self) -> tuple[int, int]:
        """The fewest and the most blocks to visit, by what is known so far."""
        first, last = self._one_beyond(self.first, self.last)
        worth = self._matter() >= WORTH
        return (
            first if worth[self.first - 1] else self.first,
            last if worth[self.last - 1] else self.last,
        )

    @property
    def closed(self) -> bool:
        """Whether what lies beyond the numbers of blocks that are visited is worth nothing."""
        return self._further() == (self.first, self.last)

    def measure(self) -> None:
        """One more round over the numbers of blocks that matter."""
        self._noted.append(self._walk(ROUND, self.noted))
        every = self._since(0)
        rates = every.rates.sum(axis=0)
        self.log_z = self._from_one_block(self._steps(rates, self.survey.rates.sum(axis=0)))
        self.apart = self._apart(_of_all(every), _of_all(self.survey))
        shares = self._shares()
        wanted = by_errors(every.rates, self.often, shares, self.first)
        self.visits = by_shares(shares) if wanted is None else wanted
        self.first, self.last = self._further()
        self.hope = self._hope(rates)

    def after(self, left_out: int) -> WalkSums:
        """What rounds after the first few have measured."""
        seen, survey = self._since(left_out), self.survey
        halves = np.array_split(np.array([own.energy for own in self._noted[left_out:]]), 2)
        energies = np.concatenate([half.sum(axis=0) for half in halves])
        log_z = self._sums(_of_all(seen), _of_all(survey))
        each = zip(_without_each(seen), _without_each(survey), strict=True)
        return WalkSums(
            log_z,
            np.array([self._sums(*one) for one in each]),
            self.first,
            self.last,
            self.levels.shares(log_z),
            energies[:, 1 : self.levels.last + 1],
        )

    def _since(self, left_out: int) -> Notes:
        """What rounds after the first few have noted, by chain."""
        return Notes(*(np.sum(each, axis=0) for each in zip(*self._noted[left_out:], strict=True)))

    def _shares(self) -> FloatArray:
        """Posterior of the number of blocks by what is known so far, (M,)."""
        return self.levels.shares(self.log_z[:, None] + self.apart)

    def _matter(self) -> FloatArray:
        """The same, or what a single prior makes of it, which counts for less, (M,)."""
        each = self.levels.shares_by_prior(self.log_z[:, None] + self.apart)
        return np.asarray(np.maximum(self._shares(), SINGLE * each.max(axis=1)))

    def _apart(self, notes: Notes, otherwise: Notes | None = None) -> FloatArray:
        """Log Z_m,s less log Z_m, (M, S), by notes of all chains; without any, by others."""
        every = slice(1, self.levels.last + 1)
        found = self.split.apart(notes.priors[every], notes.energy[every, 0])
        if otherwise is not None:
            found = np.where(np.isnan(found), self._apart(otherwise), found)
        return self.split.everywhere(found)

    def _hope(self, rates: FloatArray) -> FloatArray:
        """Nats by which steps that no round has seen from both sides are taken to be larger.

        Only so that chains go there: a number of blocks that is held to weigh more than it does is
        never visited, and would never be known better. Results stay as they were learnt.
        """
        hoped = hoped_ratios(rates, self.noted, self.often)[1 : self.levels.last]
        unseen = np.zeros(len(hoped), dtype=np.bool_)
        unseen[self._made] = np.isnan(self._ratios(rates, self.noted)[self._made])
        more = hoped - np.diff(self.log_z)
        return np.where(unseen & np.isfinite(more), more, 0.0)

    def _sums(self, seen: Notes, survey: Notes) -> FloatArray:
        """Log Z_m,s by notes of some chains, (M, S)."""
        log_z = self.split.bottom + self._from_one_block(self._steps(seen.rates, survey.rates))
        return log_z[:, None] + self._apart(seen, survey)

    def _reference(self) -> FloatArray:
        """Differences of the weights that make visits equal, for m = 0, 1, …."""
        rise = np.zeros(self.levels.last + 2)
        steps = np.diff(self.log_z) + self.hope
        rise[1 : self.levels.last] = np.clip(-steps, -STEEPEST, STEEPEST)
        return rise

    @property
    def _made(self) -> slice:
        """The steps that chains make, among those from one block up."""
        return slice(self.first - 1, self.last - 1)

    def _ratios(self, rates: FloatArray, noted: FloatArray) -> FloatArray:
        """Log Z_{m+1}/Z_m from one block up, (M − 1,); NaN: not known."""
        return log_ratios(rates, noted, self.often)[1 : self.levels.last]

    def _steps(self, rates: FloatArray, survey: FloatArray) -> FloatArray:
        """The same from the rounds that measured; where they have not been, from the survey."""
        steps = self._ratios(survey, self.surveyed)
        steps[self._made] = self._ratios(rates, self.noted)[self._made]
        return steps

    def _from_one_block(self, steps: FloatArray) -> FloatArray:
        """Log Z_m less that of one; a step that is not known is as learnt: (M − 1,) → (M,)."""
        known = np.where(np.isnan(steps), np.diff(self.log_z), steps)
        return np.concatenate([[0.0], np.cumsum(known)])

    def _walk(self, sweeps: int, noted: FloatArray) -> Notes:
        """Walk with every chain by the weights as they are; note rates for those that are given.

        Gives what each chain has seen, chains before all other axes.
        """
        rise = np.exp(self._reference())
        rise[1 : self.levels.last] *= np.exp(np.diff(self.visits))
        rise[: self.first] = math.exp(STEEPEST)
        rise[self.last :] = 0.0
        levels = LevelWeights(rise, np.exp(noted))
        go_on = partial(
            chains.walk_on, chains.Stretch(levels, sweeps, self.priors, self.split.log_weights)
        )
        walked = self.kept.map(go_on, self.chains, self.executor, packing=chains.STATE_OF_CHAIN)
        self.chains = [chain for chain, _ in walked]
        return Notes(*map(np.array, zip(*(notes for _, notes in walked), strict=True)))


def _of_all(notes: Notes) -> Notes:
    """Add up the notes of all chains."""
    return Notes(*(own.sum(axis=0) for own in notes))


def _without_each(notes: Notes) -> list[Notes]:
    """Add up the notes of all chains but one, for each."""
    return [Notes(*own) for own in zip(*map(leave_one_out, notes), strict=True)]
