"""The walk: how many classes, from one set of chains over partitions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import softmax

from lacunet.evidence.estimate import Verdict
from lacunet.evidence.jackknife import jackknife_error
from lacunet.evidence.partitions.agreement import doubts
from lacunet.evidence.partitions.cases import shown_cells
from lacunet.evidence.partitions.company import CHAINS
from lacunet.evidence.partitions.levels import Averaged
from lacunet.evidence.partitions.priors import WalkedPriors
from lacunet.evidence.partitions.rounds import (
    LEARNING,
    MOST_LEARNING,
    ROUND,
    SURVEY,
    Measured,
    Rounds,
)
from lacunet.flags import Flag
from lacunet.inference.kernels.splitting import SCANS, TRIED
from lacunet.inference.problem import Problem
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.checkpoint import FORGETFUL, Kept
from lacunet.runtime.executor import SERIAL, Executor

# Chains that have not gone far agree by chance, and of many small errors some are so by chance.
FEWEST_ROUNDS = 4


@dataclass(frozen=True)
class WalkGoal:
    """When to stop."""

    target: float = 0.02  # largest standard error of a probability p(k|D)
    rounds: int = 32  # of the walk, at most, where chains agree;
    doubted: int = 64  # where they do not: most come together if they are given the time


@dataclass(frozen=True, eq=False)
class Walk:
    """The evidence of every number of classes, and how sure it is. K numbers, R chains."""

    numbers: tuple[int, ...]  # (K,)
    values: FloatArray  # (K,) log p(D|k)
    replicates: FloatArray  # (R, K) the same without one chain each: every error comes from these
    # Those whose values come from numbers of blocks that rounds have visited. Others are known from
    # the survey, which can be off by some nats.
    measured: frozenset[int]
    anchored: bool  # whether rounds went down to one block; else only differences are measured
    verdict: Verdict
    used: dict[int, float]  # posterior of the number of used classes, all k being as likely
    # (K, S) log p(D|k, s) under each prior by itself, and (R, K, S) without one chain each; None:
    # there was one prior only.
    by_prior: FloatArray | None = None
    by_prior_replicates: FloatArray | None = None
    details: dict[str, int] = field(default_factory=dict)  # what was run
    notes: tuple[Flag, ...] = ()
    # Posterior of the number of used classes given each number of classes.
    used_of: dict[int, dict[int, float]] = field(default_factory=dict)

    @property
    def posterior(self) -> FloatArray:
        """p(k|D), all k being as likely before, (K,)."""
        return np.asarray(softmax(self.values))

    @property
    def posterior_errors(self) -> FloatArray:
        """Standard errors of these, (K,)."""
        return jackknife_error(softmax(self.replicates, axis=1))


def walk_work(problem: Problem, numbers: Sequence[int], goal: WalkGoal | None = None) -> float:
    """Numbers that a walk touches at most; unlike seconds, the same every time."""
    sweep = shown_cells(problem) * (max(numbers) + TRIED * (SCANS + 2))
    sweeps = LEARNING * MOST_LEARNING + SURVEY + ROUND * (goal or WalkGoal()).rounds
    return CHAINS * sweeps * sweep


def walk_numbers(
    problem: Problem,
    numbers: Sequence[int],
    *,
    fits: Mapping[int, FloatArray],
    guesses: Mapping[int, float],
    seed: int = 0,
    executor: Executor = SERIAL,
    goal: WalkGoal | None = None,
    kept: Kept = FORGETFUL,
    several: WalkedPriors | None = None,
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
    several
        Priors to average over; None: that of the problem.
    """
    goal = goal or WalkGoal()
    rounds = Rounds(problem, sorted(numbers), fits, guesses, seed, executor, kept, several)
    executor.say("partitions", 0.0)
    rounds.learn()
    most = max(goal.rounds, goal.doubted)
    for done in range(1, most + 1):
        rounds.measure()
        executor.say("partitions", done / most)
        if done >= min(FEWEST_ROUNDS, goal.rounds):
            walk = _told(rounds)
            reached = rounds.closed and walk.posterior_errors.max() <= goal.target
            if not walk.notes and (reached or done >= goal.rounds):
                break
    executor.say("partitions", 1.0)
    return walk


def _told(rounds: Rounds) -> Walk:
    levels, left_out = rounds.levels, 0
    found = rounds.after(left_out)
    notes = doubts(found.energies, found.shares)
    if notes and rounds.number >= 2 * FEWEST_ROUNDS:  # chains may have come from far
        later = rounds.after(rounds.number // 2)
        if not doubts(later.energies, later.shares):
            found, notes, left_out = later, (), rounds.number // 2
    values, replicates = levels.log_evidence(found.log_z), levels.log_evidence(found.without)
    return Walk(
        levels.numbers,
        values,
        replicates,
        measured=levels.made_of(found.log_z, found.first, found.last),
        anchored=found.first == 1,
        verdict=Verdict.LOWER_BOUND if notes else Verdict.RELIABLE,
        used={m: float(s) for m, s in enumerate(found.shares, start=1)},
        details={"chains": CHAINS, "sweeps each": ROUND * (rounds.number - left_out)},
        notes=notes,
        used_of={
            k: {m: s for m, s in enumerate(shares, start=1) if s > 0}
            for k, shares in zip(levels.numbers, levels.used_of(found.log_z).tolist(), strict=True)
        },
        **({} if len(levels.each) == 1 else _by_prior(levels, found)),
    )


def _by_prior(levels: Averaged, found: Measured) -> dict[str, FloatArray]:
    without = levels.by_prior(found.without)
    return {"by_prior": levels.by_prior(found.log_z), "by_prior_replicates": without}
