"""The walk: how many classes, from one set of chains over partitions."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from lacunet.arrays import FloatArray
from lacunet.evidence.estimate import Verdict
from lacunet.evidence.partitions.cases import (
    draw_blocks,
    leaves_of,
    log_class_weights,
    renumbered,
)
from lacunet.evidence.partitions.chains import Chain, Stretch, start_chain, walk_on
from lacunet.evidence.partitions.flows import jackknife_error, leave_one_out, log_ratios
from lacunet.evidence.partitions.levels import Occupancy, guess_levels, with_uniform_prior
from lacunet.executor import SERIAL, Executor
from lacunet.flags import Flag
from lacunet.inference.classes import with_classes
from lacunet.inference.kernels.partitions import Leaves, Levels
from lacunet.inference.problem import Problem

CHAINS = 8
LEARNING = (50, 100, 200)  # sweeps of the rounds that learn the weights
ROUND = 400  # sweeps of a round that measures
STREAM = 7  # of random numbers
STEEPEST = 300.0  # nats: the largest step of weights between neighbours


@dataclass(frozen=True)
class WalkGoal:
    """When to stop."""

    target: float = 0.02  # largest standard error of a probability p(k|D)
    rounds: int = 16  # of the walk, at most


@dataclass(frozen=True, eq=False)
class Walk:
    """The evidence of every number of classes, and how sure it is. K numbers, R chains."""

    numbers: tuple[int, ...]  # (K,)
    values: FloatArray  # (K,) log p(D|k)
    replicates: FloatArray  # (R, K) the same without one chain each: every error comes from these
    anchored: bool  # whether values are absolute; else only their differences mean anything
    verdict: Verdict
    used: dict[int, float]  # posterior of the number of used classes, all k being as likely
    details: dict[str, int] = field(default_factory=dict)  # what was run
    notes: tuple[Flag, ...] = ()

    @property
    def posterior(self) -> FloatArray:
        """p(k|D), all k being as likely before, (K,)."""
        return with_uniform_prior(self.values)

    @property
    def posterior_errors(self) -> FloatArray:
        """Standard errors of these, (K,)."""
        return jackknife_error(with_uniform_prior(self.replicates))

    def log_factor_error(self, one: int, other: int) -> float:
        """Standard error of log p(D|one) − log p(D|other), in nats."""
        i, j = self.numbers.index(one), self.numbers.index(other)
        return float(jackknife_error(self.replicates[:, i] - self.replicates[:, j]))


def walk_work(problem: Problem, numbers: Sequence[int], goal: WalkGoal | None = None) -> float:
    """Numbers that a walk touches at most; unlike seconds, the same every time."""
    leaves = leaves_of(problem)
    sweep = float(np.diff(leaves.starts)[leaves.row].sum()) * max(numbers)
    return CHAINS * (sum(LEARNING) + ROUND * (goal or WalkGoal()).rounds) * sweep


def walk_numbers(
    problem: Problem,
    numbers: Sequence[int],
    *,
    fits: Mapping[int, FloatArray],
    guesses: Mapping[int, float],
    seed: int = 0,
    executor: Executor = SERIAL,
    goal: WalkGoal | None = None,
) -> Walk:
    """Measure log p(D|k) for several numbers of classes at once; `walkable` says of which models.

    Parameters
    ----------
    problem
        Any one of the candidates.
    numbers
        Of classes.
    fits
        Parameters of a fit, by number of classes, in the layout of that number: chains start there.
    guesses
        Log evidences by a cheap score, by number of classes: weights start there.
    """
    walking = _Walking(problem, sorted(numbers), fits, guesses, seed, executor)
    walking.learn()
    return walking.measure(goal or WalkGoal())


class _Walking:
    def __init__(
        self,
        problem: Problem,
        numbers: Sequence[int],
        fits: Mapping[int, FloatArray],
        guesses: Mapping[int, float],
        seed: int,
        executor: Executor,
    ) -> None:
        self.problem, self.executor = problem, executor
        self.leaves = leaves_of(problem)
        cases = float(len(self.leaves.row))
        self.levels = Occupancy(
            tuple(numbers), self.leaves.a, cases, 1, min(max(numbers), int(cases))
        )
        self.log_z = guess_levels(self.levels, guesses)
        self.chains: list[Chain] = [
            start_chain(self.leaves, *_start(problem, self.leaves, fits, self.levels, (seed, n)))
            for n in range(CHAINS)
        ]
        self.often = np.array([cases, 1.0])

    def learn(self) -> None:
        """Find weights with which every number of blocks is visited about equally."""
        for sweeps in LEARNING:
            notes = self._walk(sweeps)
            ratios = log_ratios(notes.sum(axis=0), self.reference, self.often)
            self._learn_from(ratios)

    def _learn_from(self, ratios: FloatArray) -> None:
        steps = np.diff(self.log_z)
        known = ratios[self.levels.first : self.levels.last]
        self.log_z[1:] = self.log_z[0] + np.cumsum(np.where(np.isnan(known), steps, known))

    def measure(self, goal: WalkGoal) -> Walk:
        """Walk round after round until the goal is reached."""
        notes = self._walk(ROUND)
        rounds = 1
        walk = self._told(notes, rounds)
        while rounds < goal.rounds and walk.posterior_errors.max() > goal.target:
            notes = notes + self._walk(ROUND)
            rounds += 1
            walk = self._told(notes, rounds)
        return walk

    @property
    def reference(self) -> FloatArray:
        """Differences of the weights that make visits equal, (numbers of blocks from 0 up,)."""
        rise = np.full(self.levels.last + 2, STEEPEST)
        rise[self.levels.first : self.levels.last] = -np.diff(self.log_z)
        rise[self.levels.last :] = 0.0
        return np.asarray(np.clip(rise, -STEEPEST, STEEPEST))

    def _walk(self, sweeps: int) -> FloatArray:
        rise = self.reference
        rise[self.levels.last :] = -math.inf
        stretch = Stretch(Levels(rise, self.reference), sweeps)
        self.chains = self.executor.map(partial(walk_on, stretch), self.chains)
        return np.array([chain.note for chain in self.chains])

    def _told(self, notes: FloatArray, rounds: int) -> Walk:
        log_z = self._log_z(notes.sum(axis=0))
        without = np.array([self._log_z(one) for one in leave_one_out(notes)])
        shares = self.levels.shares(log_z)
        ratios = log_ratios(notes.sum(axis=0), self.reference, self.often)
        linked = not np.isnan(ratios[self.levels.first : self.levels.last]).any()
        return Walk(
            self.levels.numbers,
            self.levels.log_evidence(log_z),
            self.levels.log_evidence(without),
            anchored=linked,
            verdict=Verdict.RELIABLE if linked else Verdict.LOWER_BOUND,
            used={int(m): float(s) for m, s in zip(self.levels.blocks, shares, strict=True)},
            details={"chains": CHAINS, "sweeps each": ROUND * rounds},
        )

    def _log_z(self, notes: FloatArray) -> FloatArray:
        ratios = log_ratios(notes, self.reference, self.often)
        steps = ratios[self.levels.first : self.levels.last]
        steps = np.where(np.isnan(steps), np.diff(self.log_z), steps)
        bottom = with_classes(self.problem, 1).log_seen + float(
            math.lgamma(self.leaves.a + self.levels.cases) - math.lgamma(self.leaves.a)
        )
        return bottom + np.concatenate([[0.0], np.cumsum(steps)])


def _start(
    problem: Problem,
    leaves: Leaves,
    fits: Mapping[int, FloatArray],
    levels: Occupancy,
    seed: tuple[int, int],
) -> tuple[np.ndarray, int, np.random.Generator]:
    """Where a chain starts: one block, a fit, or anywhere."""
    rng = np.random.default_rng([seed[0], STREAM, seed[1]])
    near = [k for k in sorted(fits) if levels.first <= k <= levels.last]
    match seed[1] % 4:
        case 0:
            blocks = np.zeros(len(leaves.row), dtype=np.int64)
        case 1:
            blocks = renumbered(rng.integers(0, levels.last, size=len(leaves.row)))
        case _ if near:
            k = near[int(rng.integers(len(near)))]
            weights = log_class_weights(with_classes(problem, k), leaves, fits[k])
            blocks = draw_blocks(weights[leaves.row], rng)
        case _:
            blocks = renumbered(rng.integers(0, levels.last, size=len(leaves.row)))
    return blocks, levels.last, rng
