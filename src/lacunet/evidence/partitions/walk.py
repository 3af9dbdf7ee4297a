"""How many classes, from one set of chains over partitions: log p(D|k) of every k at once.

Let Z_m be the sum over all partitions of N cases into m blocks of Π_blocks Γ(a + n_b)/Γ(a) · L_b,
with L_b the marginal likelihood of a block's leaves. Exactly (docs/explanation/evidence.md),

    p(D|k) = Γ(ka)/Γ(ka + N) Σ_m k!/(k − m)! Z_m,

and Z_1 is known. Chains move between neighbouring numbers of blocks; how readily they do gives the
ratios Z_{m+1}/Z_m. Labels and empty classes are counted by the identity, not by the chains.
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


def can_walk(problems: Sequence[Problem]) -> bool:
    """Whether walks can measure all these problems, whatever the weights of rows."""
    return walkable([roundings.nearest_whole(problem) for problem in problems])


def work_of_walks(problem: Problem, numbers: Sequence[int], goal: WalkGoal) -> float:
    """Numbers that the walks of a problem touch at most; unlike seconds, the same every time."""
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
    kept: Kept = FORGETFUL,
    several: WalkedPriors | None = None,
) -> Walk:
    """Measure log p(D|k) for several numbers of classes at once; `can_walk` says of which models.

    `problem` is any one of the candidates. Chains start at `fits`, parameters by number of classes
    in the layout of that number, weights at `guesses`, log evidences by a cheap score. The evidence
    is averaged over `several` priors; without any, it is that of the problem's own.
    """
    goal = goal or WalkGoal()
    if not problem.whole:
        walk = partial(walk_numbers, numbers=numbers, fits=fits, guesses=guesses, seed=seed)
        return _over_roundings(problem, partial(walk, kept=kept, several=several), goal, executor)
    rounds = Rounds(problem, sorted(numbers), fits, guesses, seed, executor, kept, several)
    executor.say("partitions", 0.0)
    rounds.learn()
    most = max(goal.rounds, goal.doubted)
    for done in range(1, most + 1):
        rounds.measure()
        executor.say("partitions", done / most)
        if done >= min(FEWEST_ROUNDS, goal.rounds):
            found = _walk_of(rounds)
            reached = rounds.closed and found.posterior_errors.max() <= goal.target
            if not found.notes and (reached or done >= goal.rounds):
                break
    executor.say("partitions", 1.0)
    return found


def _walk_of(rounds: Rounds) -> Walk:
    levels, left_out = rounds.levels, 0
    found = rounds.after(left_out)
    notes = agreement_flags(found.energies, found.shares)
    if notes and rounds.number >= 2 * FEWEST_ROUNDS:  # chains may have come from far
        later = rounds.after(rounds.number // 2)
        if not agreement_flags(later.energies, later.shares):
            found, notes, left_out = later, (), rounds.number // 2
    alone, used_of = len(levels.each) == 1, levels.used_of(found.log_z).tolist()
    return Walk(
        levels.numbers,
        levels.log_evidence(found.log_z),
        levels.log_evidence(found.without),
        measured=levels.made_of(found.log_z, found.first, found.last),
        anchored=found.first == 1,
        verdict=Verdict.LOWER_BOUND if notes else Verdict.RELIABLE,
        used={m: float(s) for m, s in enumerate(found.shares, start=1)},
        by_prior=None if alone else levels.by_prior(found.log_z),
        by_prior_replicates=None if alone else levels.by_prior(found.without),
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
    """Walk over each rounding of fractional weights.

    What the walks found is brought to the weights by the variational bound of every number.
    """
    near, fits = roundings.roundings(problem, walk.keywords["seed"]), walk.keywords["fits"]
    ends = np.linspace(0.0, 1.0, len(near) + 1)
    goal = replace(goal, target=goal.target * math.sqrt(len(near)))  # their mean is so much surer
    walks = [
        walk(whole, executor=executor.part(ends[j], ends[j + 1], f"rounding {j + 1}"), goal=goal)
        for j, whole in enumerate(near)
    ]
    first = walks[0]

    def bounds(of: Problem) -> FloatArray:
        return np.array([roundings.bound_near(with_classes(of, k), fits[k]) for k in first.numbers])

    above = np.array([w.values - bounds(p) for w, p in zip(walks, near, strict=True)])
    errors = np.array([jackknife_error(own.replicates) for own in walks])
    mean, covariance = roundings.mean_of_roundings(above, errors)
    values = bounds(problem) + mean
    sure = all(own.verdict is not Verdict.LOWER_BOUND for own in walks)
    apart = [w.by_prior - w.values[:, None] for w in walks if w.by_prior is not None]
    return replace(
        first,
        values=values,
        replicates=values + _spread(covariance),
        measured=frozenset.intersection(*(own.measured for own in walks)),
        anchored=all(own.anchored for own in walks),
        verdict=first.verdict if sure else Verdict.LOWER_BOUND,
        used_of={k: roundings.mean_shares([w.used_of[k] for w in walks]) for k in first.numbers},
        **roundings.joined(problem, walks),
        by_prior=values[:, None] + np.mean(apart, axis=0) if apart else None,
        by_prior_replicates=None,
    )


def _spread(covariance: FloatArray) -> FloatArray:
    """Give deviations, (R, K), whose jackknife covariance is a given one, (K, K)."""
    values, vectors = np.linalg.eigh(covariance)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))).T  # (K, K), rootᵀ root = covariance
    R = 2 * len(root)
    return np.asarray(np.concatenate([root, -root]) * np.sqrt(R / (2.0 * (R - 1))))
