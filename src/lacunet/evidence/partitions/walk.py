"""The joint estimate of log p(D|k) for every number of classes k, from chains over partitions.

Let Z_m be the sum over all partitions of N cases into m blocks of Π_blocks Γ(a + n_b)/Γ(a) · L_b,
with L_b the marginal likelihood of a block's leaves. Exactly (docs/explanation/evidence.md),

    p(D|k) = Γ(ka)/Γ(ka + N) Σ_m k!/(k − m)! Z_m,

and Z_1 is known. Chains move between neighbouring numbers of blocks, and the rates of these moves
estimate Z_{m+1}/Z_m. The identity accounts for labels and empty classes.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from scipy.special import softmax

from lacunet.evidence import roundings
from lacunet.evidence.estimate import Verdict, jackknife_error
from lacunet.evidence.partitions.cases import shown_cells, walkable
from lacunet.evidence.partitions.chains import CHAINS, agreement_flags
from lacunet.evidence.partitions.levels import WalkedPriors
from lacunet.evidence.partitions.rounds import LEARNING, MOST_LEARNING, ROUND, SURVEY, Rounds
from lacunet.flags import Flag
from lacunet.inference.classes import with_classes
from lacunet.inference.kernels.splitting import SCANS, TRIED
from lacunet.inference.problem import Problem
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.checkpoint import NULL_CHECKPOINT, Checkpoint
from lacunet.runtime.executor import SERIAL, Executor

# Short chains may agree by chance, and errors of a few rounds may be small by chance.
FEWEST_ROUNDS = 4


@dataclass(frozen=True)
class WalkGoal:
    """The stopping rule of a walk."""

    target: float = 0.02  # largest standard error of a probability p(k|D)
    rounds: int = 32  # the most rounds if chains agree;
    more_rounds: int = 64  # if they disagree: with more time most agree


@dataclass(frozen=True, eq=False)
class Walk:
    """The evidence of every number of classes, with errors. K numbers of classes, R chains."""

    numbers: tuple[int, ...]  # (K,)
    values: FloatArray  # (K,) log p(D|k)
    replicates: FloatArray  # (R, K) the same, leaving out one chain at a time, for all errors
    # Numbers of classes whose evidence comes from numbers of blocks that rounds visited. The others
    # rest on the survey, which can be off by some nats.
    measured: frozenset[int]
    anchored_by_bridge: bool  # whether rounds visited one block; else only differences are measured
    verdict: Verdict
    used: dict[int, float]  # posterior of the number of used classes, under equal priors of k
    # (K, S) log p(D|k, s) under each single prior, and its replicates, (R, K, S); None if there is
    # one prior only.
    by_prior: FloatArray | None = None
    by_prior_replicates: FloatArray | None = None
    details: dict[str, int] = field(default_factory=dict)  # numbers of chains and sweeps
    notes: tuple[Flag, ...] = ()
    # Posterior of the number of used classes given each number of classes.
    used_of: dict[int, dict[int, float]] = field(default_factory=dict)

    @property
    def posterior(self) -> FloatArray:
        """p(k|D) under equal priors, (K,)."""
        return np.asarray(softmax(self.values))

    @property
    def posterior_errors(self) -> FloatArray:
        """Standard errors of p(k|D), (K,)."""
        return jackknife_error(softmax(self.replicates, axis=1))


def can_walk(problems: Sequence[Problem]) -> bool:
    """Whether walks can measure all these problems; row weights may be fractional."""
    return walkable([roundings.nearest_whole(problem) for problem in problems])


def work_of_walks(problem: Problem, numbers: Sequence[int], goal: WalkGoal) -> float:
    """Largest number of memory accesses of the walks of a problem; unlike seconds, reproducible."""
    sweep = shown_cells(roundings.nearest_whole(problem)) * (max(numbers) + TRIED * (SCANS + 2))
    sweeps = LEARNING * MOST_LEARNING + SURVEY + ROUND * goal.rounds
    return CHAINS * sweeps * sweep * (1 if problem.whole else roundings.ROUNDINGS)


def walk_numbers(
    problem: Problem,
    numbers: Sequence[int],
    *,
    fits: Mapping[int, FloatArray],
    guesses: Mapping[int, float],
    seed: int = 0,
    executor: Executor = SERIAL,
    goal: WalkGoal | None = None,
    checkpoint: Checkpoint = NULL_CHECKPOINT,
    several: WalkedPriors | None = None,
) -> Walk:
    """Measure log p(D|k) for several numbers of classes at once; see `can_walk` for conditions.

    `problem` is any of the candidates. Chains start at `fits`, parameters by number of classes in
    the layout of that number. Weights start at `guesses`, log evidences by a cheap score. The
    evidence is averaged over the priors in `several`; the default is the prior of the problem.
    """
    goal = goal or WalkGoal()
    if not problem.whole:
        one = partial(walk_numbers, numbers=numbers, fits=fits, guesses=guesses, seed=seed)
        return _over_roundings(
            problem, partial(one, checkpoint=checkpoint, several=several), goal, executor
        )
    rounds = Rounds(problem, sorted(numbers), fits, guesses, seed, executor, checkpoint, several)
    executor.report("partitions", 0.0)
    rounds.learn()
    most = max(goal.rounds, goal.more_rounds)
    for done in range(1, most + 1):
        rounds.measure()
        executor.report("partitions", done / most)
        if done >= min(FEWEST_ROUNDS, goal.rounds):
            walk = _walk_of(rounds)
            reached = rounds.closed and walk.posterior_errors.max() <= goal.target
            if not walk.notes and (reached or done >= goal.rounds):
                break
    executor.report("partitions", 1.0)
    return walk


def _walk_of(rounds: Rounds) -> Walk:
    levels, left_out = rounds.levels, 0
    sums = rounds.after(left_out)
    notes = agreement_flags(sums.energies, sums.shares)
    if notes and rounds.number >= 2 * FEWEST_ROUNDS:  # treat the first half as burn-in
        later = rounds.after(rounds.number // 2)
        if not agreement_flags(later.energies, later.shares):
            sums, notes, left_out = later, (), rounds.number // 2
    alone, used_of = len(levels.each) == 1, levels.used_of(sums.log_z).tolist()
    return Walk(
        levels.numbers,
        levels.log_evidence(sums.log_z),
        levels.log_evidence(sums.without),
        measured=levels.made_of(sums.log_z, sums.first, sums.last),
        anchored_by_bridge=sums.first == 1,
        verdict=Verdict.LOWER_BOUND if notes else Verdict.RELIABLE,
        used={m: float(s) for m, s in enumerate(sums.shares, start=1)},
        by_prior=None if alone else levels.by_prior(sums.log_z),
        by_prior_replicates=None if alone else levels.by_prior(sums.without),
        details={"chains": CHAINS, "sweeps each": ROUND * (rounds.number - left_out)},
        notes=notes,
        used_of={
            k: {m: s for m, s in enumerate(shares, start=1) if s > 0}
            for k, shares in zip(levels.numbers, used_of, strict=True)
        },
    )


def _over_roundings(
    problem: Problem, walk: partial[Walk], goal: WalkGoal, executor: Executor
) -> Walk:
    """Average walks over roundings of fractional weights.

    The variational bound of every number of classes corrects for the difference in weights.
    """
    near, fits = roundings.roundings(problem, walk.keywords["seed"]), walk.keywords["fits"]
    ends = np.linspace(0.0, 1.0, len(near) + 1)
    goal = replace(goal, target=goal.target * math.sqrt(len(near)))  # the mean has a smaller error
    walks = [
        walk(whole, executor=executor.part(ends[j], ends[j + 1], f"rounding {j + 1}"), goal=goal)
        for j, whole in enumerate(near)
    ]
    first = walks[0]

    def bounds(of: Problem) -> FloatArray:
        return np.array([roundings.bound_near(with_classes(of, k), fits[k]) for k in first.numbers])

    above = np.array([w.values - bounds(p) for w, p in zip(walks, near, strict=True)])
    errors = np.array([jackknife_error(w.replicates) for w in walks])
    mean, covariance = roundings.mean_of_roundings(above, errors)
    values = bounds(problem) + mean
    sure = all(w.verdict is not Verdict.LOWER_BOUND for w in walks)
    apart = [w.by_prior - w.values[:, None] for w in walks if w.by_prior is not None]
    return replace(
        first,
        values=values,
        replicates=values + _spread(covariance),
        measured=frozenset.intersection(*(w.measured for w in walks)),
        anchored_by_bridge=all(w.anchored_by_bridge for w in walks),
        verdict=first.verdict if sure else Verdict.LOWER_BOUND,
        used_of={k: roundings.mean_shares([w.used_of[k] for w in walks]) for k in first.numbers},
        **roundings.joined(problem, walks),
        by_prior=values[:, None] + np.mean(apart, axis=0) if apart else None,
        by_prior_replicates=None,
    )


def _spread(covariance: FloatArray) -> FloatArray:
    """Deviations, (R, K), whose jackknife covariance is the given one, (K, K)."""
    values, vectors = np.linalg.eigh(covariance)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))).T  # (K, K), rootᵀ root = covariance
    R = 2 * len(root)
    return np.asarray(np.concatenate([root, -root]) * np.sqrt(R / (2.0 * (R - 1))))
