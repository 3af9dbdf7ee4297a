"""References for annealing: modes that particles found, widened by a short Gibbs run."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from lacunet.arrays import FloatArray
from lacunet.evidence.annealing import GROUP, Allowed, moved
from lacunet.evidence.path import Path, Reference
from lacunet.executor import Executor
from lacunet.inference.problem import Problem
from lacunet.inference.sampling.draws import Draws
from lacunet.learn.variational import at_hyperparameters, vary
from lacunet.model import conjugacy

NEAR = 4.0  # nats: modes whose bound is this much below the best are worth a reference of their own
SAME = 0.05  # nats: bounds this near to each other belong to one mode
MOST = 3  # references for one problem
STEPS = 200  # of variational Bayes: towards the mode, not to the last digit
BURNED, KEPT = 30, 70  # Gibbs sweeps
GIBBS = 2  # the stream of random numbers


@dataclass(frozen=True, eq=False)
class Mode:
    """One place where mass is, and a state there to start from."""

    N: FloatArray  # (size,) hidden counts of a sample
    bound: float  # variational


def find_modes(problem: Problem, samples: Sequence[FloatArray], executor: Executor) -> list[Mode]:
    """Tell the modes that samples (hidden counts) belong to apart, best first."""
    each = executor.map(partial(_mode, problem), samples)
    modes: list[Mode] = []
    for mode in sorted(each, key=lambda mode: -mode.bound):
        if not any(abs(mode.bound - known.bound) < SAME for known in modes):
            modes.append(mode)
    return [mode for mode in modes if mode.bound > modes[0].bound - NEAR][:MOST]


def _mode(problem: Problem, N: FloatArray) -> Mode:
    """Find the mode that is uphill from a sample."""
    q = at_hyperparameters(problem, problem.prior + N)
    return Mode(N, vary(q, max_steps=STEPS).bound)


def widened(problem: Problem, mode: Mode, allowed: Allowed, seed: Sequence[int]) -> Reference:
    """Mean counts of a Gibbs run from a mode: nearer to the posterior than the mode itself."""
    draws = Draws(problem, np.random.default_rng([*seed, GIBBS]))
    path = Path(problem, Reference.prior(problem))
    N = np.tile(mode.N, (GROUP, 1))
    total = np.zeros(problem.layout.size)
    for sweep in range(BURNED + KEPT):
        N = moved(path, 1.0, N, allowed, draws)
        if sweep >= BURNED:
            total += N.mean(axis=0)
    return Reference.around(problem, total / KEPT + problem.seen)


def at_parameters(problem: Problem, theta: FloatArray, seed: Sequence[int]) -> FloatArray:
    """Hidden counts drawn given parameters, (size,)."""
    draws = Draws(problem, np.random.default_rng([*seed, GIBBS, 1]))
    drawn: FloatArray = draws.hidden(conjugacy.natural(theta, problem.layout)[None, :])[0]
    return drawn
