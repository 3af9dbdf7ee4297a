"""Rounds of a walk over partitions: first to learn the weights, then to measure."""

import math
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from lacunet.arrays import FloatArray
from lacunet.evidence.partitions.cases import leaves_of
from lacunet.evidence.partitions.chains import Chain, Stretch, walk_on
from lacunet.evidence.partitions.flows import hoped_ratios, leave_one_out, log_ratios
from lacunet.evidence.partitions.levels import Occupancy, guess_levels
from lacunet.evidence.partitions.starts import Starts
from lacunet.executor import Executor
from lacunet.inference.classes import with_classes
from lacunet.inference.kernels.blocks import Levels
from lacunet.inference.kernels.walking import TRIED, Notes
from lacunet.inference.problem import Problem

CHAINS = 16
LEARNING = 30  # sweeps of a round that learns the weights,
LEARNED = 2.0  # nats: no weight changes by more, so they are learnt;
MOST_LEARNING = 8  # or after so many rounds
SURVEY = 150  # sweeps of the round that looks at every number of blocks
ROUND = 150  # sweeps of a round that measures
WORTH = 1e-4  # posterior of a number of blocks that is worth more than the survey
STEEPEST = 300.0  # nats: the largest step of weights between neighbours


class Rounds:
    """Chains, their weights, and what they have noted so far.

    A survey visits every number of blocks. After it chains keep to those that matter, and one
    below, which leads from mode to mode.
    """

    def __init__(
        self,
        problem: Problem,
        numbers: Sequence[int],
        fits: Mapping[int, FloatArray],
        guesses: Mapping[int, float],
        seed: int,
        executor: Executor,
    ) -> None:
        self.executor, self.leaves = executor, leaves_of(problem)
        cases = len(self.leaves.row)
        last = min(max(numbers), cases)
        self.levels = Occupancy(tuple(numbers), self.leaves.a, float(cases), 1, last)
        self.first, self.last = 1, last  # of the numbers of blocks that chains visit now
        self.log_z = guess_levels(self.levels, guesses)
        # Z_1, in closed form.
        self.bottom = with_classes(problem, 1).log_seen + float(
            math.lgamma(self.leaves.a + cases) - math.lgamma(self.leaves.a)
        )
        self.often = np.array([float(cases), float(TRIED)])
        starts = Starts(problem, self.leaves, fits, self.first, self.last, seed)
        self.chains: list[Chain] = [starts.chain(n) for n in range(CHAINS)]
        self.survey: FloatArray = np.zeros(0)  # (chains, kinds, numbers, 3) rates
        self.surveyed: FloatArray = np.zeros(0)  # their reference
        self.rounds: list[tuple[FloatArray, FloatArray]] = []  # rates, energies; by chain

    def learn(self) -> None:
        """Find weights with which chains visit every number of blocks about equally."""
        for _ in range(MOST_LEARNING):
            rates, _ = self._walk(LEARNING)
            old = self.log_z.copy()
            self._learn_from(hoped_ratios(rates.sum(axis=0), self.reference, self.often))
            if np.abs(np.diff(self.log_z) - np.diff(old)).max(initial=0.0) < LEARNED:
                break
        self.surveyed = self.reference
        self.survey, _ = self._walk(SURVEY)
        self._learn_from(log_ratios(self.survey.sum(axis=0), self.surveyed, self.often))
        worth = np.flatnonzero(self.levels.shares(self.log_z) >= WORTH)
        self.first, self.last = max(1, int(worth[0])), 1 + int(worth[-1])

    def measure(self) -> None:
        """One more round over the numbers of blocks that matter."""
        self.rounds.append(self._walk(ROUND))

    @property
    def replicates(self) -> tuple[FloatArray, FloatArray]:
        """Log Z_m, (M,), and without one chain each, (chains, M)."""
        rates = self._rates
        whole = self._log_z(rates.sum(axis=0), self.survey.sum(axis=0))
        each = zip(leave_one_out(rates), leave_one_out(self.survey), strict=True)
        return whole, np.array([self._log_z(*one) for one in each])

    @property
    def energies(self) -> FloatArray:
        """Log weights of partitions, by half a chain: (2 chains, numbers of blocks, 3)."""
        each = [energy for _, energy in self.rounds]
        half = len(each) // 2
        parts = [np.sum(part, axis=0) for part in (each[:half], each[half:]) if part]
        return np.concatenate(parts)

    @property
    def reference(self) -> FloatArray:
        """Differences of the weights that make visits equal, for m = 0, 1, …."""
        rise = np.zeros(self.levels.last + 2)
        rise[1 : self.levels.last] = np.clip(-np.diff(self.log_z), -STEEPEST, STEEPEST)
        return rise

    def _learn_from(self, ratios: FloatArray) -> None:
        known = ratios[1 : self.levels.last]
        steps = np.where(np.isnan(known), np.diff(self.log_z), known)
        self.log_z = self.log_z[0] + np.concatenate([[0.0], np.cumsum(steps)])

    @property
    def linked(self) -> bool:
        """Whether chains have been on both sides of every step, down to one block."""
        return bool(
            np.isfinite(self._steps(self._rates.sum(axis=0), self.survey.sum(axis=0))).all()
        )

    @property
    def _rates(self) -> FloatArray:
        return np.asarray(np.sum([rates for rates, _ in self.rounds], axis=0))

    def _steps(self, rates: FloatArray, survey: FloatArray) -> FloatArray:
        """Log Z_{m+1}/Z_m, (M − 1,); NaN: not known."""
        steps = log_ratios(survey, self.surveyed, self.often)
        measured = log_ratios(rates, self.reference, self.often)
        steps[self.first : self.last] = measured[self.first : self.last]
        return steps[1 : self.levels.last]

    def _log_z(self, rates: FloatArray, survey: FloatArray) -> FloatArray:
        steps = self._steps(rates, survey)
        known = np.where(np.isnan(steps), np.diff(self.log_z), steps)
        return self.bottom + np.concatenate([[0.0], np.cumsum(known)])

    def _walk(self, sweeps: int) -> tuple[FloatArray, FloatArray]:
        rise = np.exp(self.reference)
        rise[: self.first] = math.exp(STEEPEST)
        rise[self.last :] = 0.0
        stretch = Stretch(Levels(rise, np.exp(self.reference)), sweeps)
        walked = self.executor.map(partial(walk_on, stretch), self.chains)
        self.chains = [chain for chain, _ in walked]
        notes: list[Notes] = [note for _, note in walked]
        return np.array([n.rates for n in notes]), np.array([n.energy for n in notes])
