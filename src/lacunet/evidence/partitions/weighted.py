"""Walks for rows whose weights are not whole numbers: over roundings (`evidence.roundings`)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from lacunet.evidence.estimate import Verdict
from lacunet.evidence.jackknife import jackknife_error
from lacunet.evidence.partitions.cases import walkable
from lacunet.evidence.partitions.priors import WalkedPriors
from lacunet.evidence.partitions.walk import Walk, WalkGoal, walk_numbers, walk_work
from lacunet.evidence.roundings import (
    ROUNDINGS,
    bound_near,
    mean_of_roundings,
    mean_shares,
    nearest_whole,
    roundings,
    told_together,
)
from lacunet.inference.classes import with_classes
from lacunet.inference.problem import Problem
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.checkpoint import FORGETFUL, Kept
from lacunet.runtime.executor import SERIAL, Executor


def can_walk(problems: Sequence[Problem]) -> bool:
    """Whether walks can measure all these problems, whatever the weights of rows."""
    return walkable([nearest_whole(problem) for problem in problems])


def work_of_walks(problem: Problem, numbers: Sequence[int], goal: WalkGoal) -> float:
    """Numbers that the walks of a problem touch at most."""
    return walk_work(nearest_whole(problem), numbers, goal) * (1 if problem.whole else ROUNDINGS)


def walk_weighted(
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
    """Walk as `walk_numbers` does; with fractional weights, over each rounding of them."""
    walk = partial(walk_numbers, numbers=numbers, fits=fits, guesses=guesses, seed=seed, kept=kept)
    walk = partial(walk, several=several)
    if problem.whole:
        return walk(problem, executor=executor, goal=goal)
    near = roundings(problem, seed)
    ends = np.linspace(0.0, 1.0, len(near) + 1)
    each = goal or WalkGoal()
    each = replace(each, target=each.target * math.sqrt(len(near)))  # their mean is so much surer
    walks = [
        walk(whole, executor=executor.part(ends[j], ends[j + 1], f"rounding {j + 1}"), goal=each)
        for j, whole in enumerate(near)
    ]
    return _joined(problem, near, walks, fits)


def _joined(
    problem: Problem, near: Sequence[Problem], walks: Sequence[Walk], fits: Mapping[int, FloatArray]
) -> Walk:
    """Bring what walks found to the weights, by the variational bound of every number."""
    first = walks[0]

    def bounds(of: Problem) -> FloatArray:
        return np.array([bound_near(with_classes(of, k), fits[k]) for k in first.numbers])

    above = np.array([w.values - bounds(p) for w, p in zip(walks, near, strict=True)])
    errors = np.array([jackknife_error(walk.replicates) for walk in walks])
    mean, covariance = mean_of_roundings(above, errors)
    values = bounds(problem) + mean
    told = all(walk.verdict is not Verdict.LOWER_BOUND for walk in walks)
    return replace(
        first,
        values=values,
        replicates=values + _spread(covariance),
        measured=frozenset.intersection(*(walk.measured for walk in walks)),
        anchored=all(walk.anchored for walk in walks),
        verdict=first.verdict if told else Verdict.LOWER_BOUND,
        used_of={k: mean_shares([w.used_of[k] for w in walks]) for k in first.numbers},
        **told_together(problem, walks),
        by_prior=_by_prior(values, walks),
        by_prior_replicates=None,
    )


def _by_prior(values: FloatArray, walks: Sequence[Walk]) -> FloatArray | None:
    """Bring what walks found under each prior to the same values."""
    apart = [w.by_prior - w.values[:, None] for w in walks if w.by_prior is not None]
    return np.asarray(values[:, None] + np.mean(apart, axis=0)) if apart else None


def _spread(covariance: FloatArray) -> FloatArray:
    """Give deviations, (R, K), whose jackknife covariance is a given one, (K, K)."""
    values, vectors = np.linalg.eigh(covariance)
    root = (vectors * np.sqrt(np.maximum(values, 0.0))).T  # (K, K), rootᵀ root = covariance
    R = 2 * len(root)
    return np.asarray(np.concatenate([root, -root]) * np.sqrt(R / (2.0 * (R - 1))))
