"""Rounds of a walk over partitions: rounds that learn the weights, then rounds that measure."""

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
    PriorWeights,
    WalkedPriors,
    by_errors,
    by_shares,
    extrapolated,
    guess_levels,
    log_ratios,
    optimistic_ratios,
)
from lacunet.inference.classes import with_classes
from lacunet.inference.kernels.blocks import LevelWeights
from lacunet.inference.kernels.splitting import STEEPEST, TRIED, Notes
from lacunet.inference.problem import Problem
from lacunet.likelihoods.gamma_functions import log_rising
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.checkpoint import NULL_CHECKPOINT, Checkpoint
from lacunet.runtime.executor import Executor

FAR = 250.0  # nats: numbers of classes whose guess is this far below the best are not visited
LEARNING = 20  # sweeps of a round that learns the weights
LEARNED = 2.0  # nats: learning ends when no weight changes by more,
MOST_LEARNING = 8  # or after so many rounds
SURVEY = 100  # sweeps of the round that surveys every number of blocks
ROUND = 100  # sweeps of a round that measures
BELOW = 20.0  # nats: one block less is also visited, as a path between modes, if it costs less
SINGLE = 0.02  # weight of the posterior of a number of blocks under a single prior


@dataclass(frozen=True, eq=False)
class WalkSums:
    """Estimates from the rounds. M numbers of blocks, S priors, R chains."""

    log_z: FloatArray  # (M, S) log Z_m,s
    without: FloatArray  # (R, M, S) the same, leaving out one chain at a time
    first: int  # the fewest blocks that rounds visit,
    last: int  # and the most
    shares: FloatArray  # (M,) posterior of the number of blocks
    energies: FloatArray  # (2R, M, 3) by half a chain; see `Notes`


class Rounds:
    """Chains with their weights and notes.

    A survey visits every number of blocks. Later rounds visit those that matter, and possibly one
    below, as a path between modes. Weights adapt after each round, but rates are noted under fixed
    reference weights, so rates of all rounds can be added.
    """

    def __init__(
        self,
        problem: Problem,
        numbers: Sequence[int],
        fits: Mapping[int, FloatArray],
        guesses: Mapping[int, float],
        seed: int,
        executor: Executor,
        checkpoint: Checkpoint = NULL_CHECKPOINT,
        several: WalkedPriors | None = None,
    ) -> None:
        self.executor, self.checkpoint = executor, checkpoint
        several = several or WalkedPriors.only(problem.alpha)
        leaves = leaves_by_prior(problem, several.alphas)
        self.priors = chains.joined_priors(leaves)
        cases = len(leaves[0].row)
        last = min(max(numbers), cases)
        each = [Occupancy(tuple(numbers), one.a, float(cases), 1, last) for one in leaves]
        with np.errstate(divide="ignore"):
            self.levels = PriorMixture(tuple(each), np.log(several.weights))
        base, best = each[several.base], max(guesses.values(), default=0.0)
        near = [k for k in guesses if k <= last and guesses[k] >= best - FAR]
        self.first, self.last = min(near, default=1), last  # numbers of blocks that chains visit
        self.log_z = guess_levels(base, guesses)  # (M,) log Σ_s c_m,s Z_m,s
        self.guessed = base.shares(self.log_z) if guesses else np.zeros(last)
        one_block = [
            with_classes(replace(problem, alpha=alpha), 1).log_seen
            + float(log_rising(one.a, cases))
            for alpha, one in zip(several.alphas, leaves, strict=True)
        ]
        self.prior_weights = PriorWeights(self.levels, np.array(one_block), several.base)
        self.moves_per_sweep = np.array([float(cases), float(TRIED)])
        self.chains = chains.several_starts(problem, leaves, fits, self.first, self.last, seed)
        self.visits: FloatArray = np.zeros(last)  # (M,) log of how often each shall be visited
        self.optimism: FloatArray = np.zeros(last - 1)  # (M − 1,) see `_optimism`
        self.survey = chains.empty_notes(last + 2, len(leaves), 0)  # with a first axis for chains
        self.survey_reference: FloatArray = np.zeros(0)
        self.round_reference: FloatArray = np.zeros(0)  # of the rounds that measure
        self._round_notes: list[Notes] = []  # of each of these
        self.offsets = self._offsets(
            chains.empty_notes(last + 2, len(leaves))
        )  # (M, S) see `_offsets`

    @property
    def number(self) -> int:
        """The number of rounds that have measured."""
        return len(self._round_notes)

    def learn(self) -> None:
        """Learn weights with which chains visit every number of blocks that matters."""
        self._learn_weights(priors=True)
        self.survey_reference = self._reference()
        self.survey = self._walk(SURVEY, self.survey_reference)
        rates = self.survey.rates.sum(axis=0)
        self.log_z = self._from_one_block(self._ratios(rates, self.survey_reference))
        self.offsets = self._offsets(_of_all(self.survey))
        # Visit numbers that matter by the survey or by the guess: both may be off by some nats.
        worth = 1 + np.flatnonzero(np.maximum(self._importance(), self.guessed) >= WORTH)
        self.first, self.last = self._widened(int(worth[0]), int(worth[-1]))
        self.visits = by_shares(self._shares())
        self._learn_weights()  # chains also move into the range of the rounds
        self.round_reference = self._reference()

    def _learn_weights(self, *, priors: bool = False) -> None:
        for _ in range(MOST_LEARNING):
            reference = self._reference()
            notes = self._walk(LEARNING, reference)
            ratios = optimistic_ratios(notes.rates.sum(axis=0), reference, self.moves_per_sweep)
            steps = np.diff(self.log_z)
            errors = (ratios[1 : self.levels.last] - steps)[self._visited]
            change = extrapolated(errors)
            steps[self._visited] += change
            self.log_z = self._from_one_block(steps)
            if priors:
                self.offsets = self._offsets(_of_all(notes))
                self.prior_weights.learn(self.log_z, self.offsets)
            if not np.isnan(errors).any() and np.abs(change).max(initial=0.0) < LEARNED:
                break

    def _widened(self, first: int, last: int) -> tuple[int, int]:
        """The range with one more block, and with one less if chains return from there."""
        below = first > 1 and self._shares()[first - 2] > math.exp(-BELOW)
        return first - below, min(last + 1, self.levels.last)

    def _next_range(self) -> tuple[int, int]:
        """The fewest and the most blocks to visit, by the current estimates."""
        first, last = self._widened(self.first, self.last)
        worth = self._importance() >= WORTH
        return (
            first if worth[self.first - 1] else self.first,
            last if worth[self.last - 1] else self.last,
        )

    @property
    def closed(self) -> bool:
        """Whether numbers of blocks outside the visited range are negligible."""
        return self._next_range() == (self.first, self.last)

    def measure(self) -> None:
        """Run one more round over the numbers of blocks that matter."""
        self._round_notes.append(self._walk(ROUND, self.round_reference))
        every = self._since(0)
        rates = every.rates.sum(axis=0)
        self.log_z = self._from_one_block(self._steps(rates, self.survey.rates.sum(axis=0)))
        self.offsets = self._offsets(_of_all(every), _of_all(self.survey))
        shares = self._shares()
        wanted = by_errors(every.rates, self.moves_per_sweep, shares, self.first)
        self.visits = by_shares(shares) if wanted is None else wanted
        self.first, self.last = self._next_range()
        self.optimism = self._optimism(rates)

    def after(self, left_out: int) -> WalkSums:
        """Estimates from the rounds after the first `left_out`."""
        notes, survey = self._since(left_out), self.survey
        each_energy = [one.energy for one in self._round_notes[left_out:]]
        halves = np.array_split(np.array(each_energy), 2)
        energies = np.concatenate([half.sum(axis=0) for half in halves])
        log_z = self._sums(_of_all(notes), _of_all(survey))
        each = zip(_without_each(notes), _without_each(survey), strict=True)
        return WalkSums(
            log_z,
            np.array([self._sums(*one) for one in each]),
            self.first,
            self.last,
            self.levels.shares(log_z),
            energies[:, 1 : self.levels.last + 1],
        )

    def _since(self, left_out: int) -> Notes:
        """Summed notes of the rounds after the first `left_out`, by chain."""
        return Notes(
            *(np.sum(each, axis=0) for each in zip(*self._round_notes[left_out:], strict=True))
        )

    def _shares(self) -> FloatArray:
        """Posterior of the number of blocks by the current estimates, (M,)."""
        return self.levels.shares(self.log_z[:, None] + self.offsets)

    def _importance(self) -> FloatArray:
        """The same, or `SINGLE` times the largest posterior under a single prior, (M,)."""
        each = self.levels.shares_by_prior(self.log_z[:, None] + self.offsets)
        return np.asarray(np.maximum(self._shares(), SINGLE * each.max(axis=1)))

    def _offsets(self, notes: Notes, otherwise: Notes | None = None) -> FloatArray:
        """Log Z_m,s − log Z_m, (M, S), from notes of all chains; where unknown, from others."""
        every = slice(1, self.levels.last + 1)
        offsets = self.prior_weights.offsets(notes.priors[every], notes.energy[every, 0])
        if otherwise is not None:
            offsets = np.where(np.isnan(offsets), self._offsets(otherwise), offsets)
        return self.prior_weights.filled_in(offsets)

    def _optimism(self, rates: FloatArray) -> FloatArray:
        """Nats added to the weights of steps that no round visited from both sides.

        Chains then go there. Otherwise a number of blocks with an overestimated Z would never be
        visited, nor its estimate corrected. Estimates themselves do not change.
        """
        ratios = optimistic_ratios(rates, self.round_reference, self.moves_per_sweep)
        unseen = np.zeros(self.levels.last - 1, dtype=np.bool_)
        unseen[self._visited] = np.isnan(self._ratios(rates, self.round_reference)[self._visited])
        more = ratios[1 : self.levels.last] - np.diff(self.log_z)
        return np.where(unseen & np.isfinite(more), more, 0.0)

    def _sums(self, notes: Notes, survey: Notes) -> FloatArray:
        """Log Z_m,s from notes of some chains, (M, S)."""
        from_one = self._from_one_block(self._steps(notes.rates, survey.rates))
        log_z = self.prior_weights.bottom + from_one
        return log_z[:, None] + self._offsets(notes, survey)

    def _reference(self) -> FloatArray:
        """Differences of the log weights that make visits equal, for m = 0, 1, …."""
        rise = np.zeros(self.levels.last + 2)
        steps = np.diff(self.log_z) + self.optimism
        rise[1 : self.levels.last] = np.clip(-steps, -STEEPEST, STEEPEST)
        return rise

    @property
    def _visited(self) -> slice:
        """The visited steps, among those from one block up."""
        return slice(self.first - 1, self.last - 1)

    def _ratios(self, rates: FloatArray, reference: FloatArray) -> FloatArray:
        """Log Z_{m+1}/Z_m from one block up, (M − 1,); NaN: unknown."""
        return log_ratios(rates, reference, self.moves_per_sweep)[1 : self.levels.last]

    def _steps(self, rates: FloatArray, survey: FloatArray) -> FloatArray:
        """The same from the rounds; outside the visited steps, from the survey."""
        steps = self._ratios(survey, self.survey_reference)
        steps[self._visited] = self._ratios(rates, self.round_reference)[self._visited]
        return steps

    def _from_one_block(self, steps: FloatArray) -> FloatArray:
        """Log Z_m − log Z_1; an unknown step keeps its learnt value: (M − 1,) → (M,)."""
        known = np.where(np.isnan(steps), np.diff(self.log_z), steps)
        return np.concatenate([[0.0], np.cumsum(known)])

    def _walk(self, sweeps: int, reference: FloatArray) -> Notes:
        """Advance every chain under the current weights; note rates under the reference weights.

        The first axis of the notes is for chains.
        """
        rise = np.exp(self._reference())
        rise[1 : self.levels.last] *= np.exp(np.diff(self.visits))
        rise[: self.first] = math.exp(STEEPEST)
        rise[self.last :] = 0.0
        levels = LevelWeights(rise, np.exp(reference))
        advance = partial(
            chains.advance_chain,
            chains.Stretch(levels, sweeps, self.priors, self.prior_weights.log_weights),
        )
        walked = self.checkpoint.map(
            advance, self.chains, self.executor, packing=chains.STATE_OF_CHAIN
        )
        self.chains = [chain for chain, _ in walked]
        return Notes(*map(np.array, zip(*(notes for _, notes in walked), strict=True)))


def _of_all(notes: Notes) -> Notes:
    """Add up the notes of all chains."""
    return Notes(*(each.sum(axis=0) for each in notes))


def _without_each(notes: Notes) -> list[Notes]:
    """Leave-one-out sums of the notes, one for each chain."""
    return [Notes(*rest) for rest in zip(*map(leave_one_out, notes), strict=True)]
