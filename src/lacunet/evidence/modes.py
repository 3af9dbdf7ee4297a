"""Where annealing may start: samples from independent searches, and references around them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from lacunet.evidence.annealing import GROUP, Annealing
from lacunet.evidence.clock import Means
from lacunet.evidence.path import Path, Reference
from lacunet.evidence.travellers import Allowed, AnnealedChains, Temperatures
from lacunet.fitting.variational import at_hyperparameters, vary
from lacunet.inference.problem import Problem
from lacunet.inference.sampling.draws import Draws
from lacunet.models import conjugacy
from lacunet.runtime.arrays import FloatArray

STEPS = 50  # of variational Bayes: towards the mode, not to the last digit
BURNED, KEPT = 30, 70  # Gibbs sweeps
GIBBS = 2  # the stream of random numbers


@dataclass(frozen=True, eq=False)
class Found:
    """A place with mass that a search found."""

    N: FloatArray  # (size,) hidden counts of a sample
    search: int  # which of the independent searches: a particle run, or, below 0, a fit
    bound: float = -np.inf  # variational, uphill from there


def ranked(
    problem: Problem, found: Sequence[Found], allowed: Allowed, seed: Sequence[int], means: Means
) -> list[Found]:
    """Let samples settle by Gibbs sweeps, and put those with the highest bounds uphill first."""
    N = np.stack([each.N for each in found])
    around = _around(problem, allowed, (*seed, GIBBS, 0), means)
    N, _ = around.go(N, Temperatures.constant(1.0, BURNED))
    bounds = means.map(partial(_bound, problem), list(N))
    settled = [
        Found(n, each.search, bound) for n, each, bound in zip(N, found, bounds, strict=True)
    ]
    return sorted(settled, key=lambda each: -each.bound)


def _bound(problem: Problem, N: FloatArray) -> float:
    """Variational bound of the mode that is uphill from a sample."""
    return vary(at_hyperparameters(problem, problem.prior + N), max_steps=STEPS).bound


def widened(
    problem: Problem, N: FloatArray, allowed: Allowed, seed: Sequence[int], means: Means
) -> Reference:
    """Mean counts of a Gibbs run from a sample: nearer to the posterior than the mode itself."""
    around = _around(problem, allowed, (*seed, GIBBS), means)
    state, _ = around.go(np.tile(N, (GROUP, 1)), Temperatures.constant(1.0, BURNED))
    total = np.zeros(problem.layout.size)
    for _ in range(KEPT):
        state, _ = around.go(state, Temperatures.constant(1.0, 1))
        total += state.mean(axis=0)
    return Reference.around(problem, total / (KEPT) + problem.seen)


def _around(
    problem: Problem, allowed: Allowed, seed: Sequence[int], means: Means
) -> AnnealedChains:
    """Gibbs sweeps of the posterior itself, whatever the reference."""
    annealing = Annealing(Path(problem, Reference.prior(problem)), allowed)
    return annealing.chains(np.random.default_rng(seed), means.clock)


def at_parameters(problem: Problem, theta: FloatArray, seed: Sequence[int]) -> FloatArray:
    """Hidden counts drawn given parameters, (size,)."""
    draws = Draws(problem, np.random.default_rng([*seed, GIBBS, 1]))
    drawn: FloatArray = draws.hidden(conjugacy.natural(theta, problem.layout)[None, :])[0]
    return drawn
