"""Where annealing may start: samples from independent searches, and references around them.

Relabellings in contexts, as far as references tell them apart.
Empty classes: counts with and without them (the identity itself: `scores.occupancy`).
"""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from lacunet.evidence.annealing import (
    GROUP,
    Allowed,
    AnnealedChains,
    Annealing,
    Means,
    Path,
    Reference,
    Temperatures,
    drawn_cases,
)
from lacunet.fitting.diagnose import at_hyperparameters, vary
from lacunet.inference.classes import with_classes
from lacunet.inference.problem import Problem
from lacunet.inference.regions import Regions
from lacunet.inference.sampling.particles import Draws
from lacunet.inference.symmetry import (
    ExchangeableBlock,
    Symmetries,
    kinds_of_states,
    log_orders,
    symmetries_of,
)
from lacunet.models import conjugacy
from lacunet.models.latent_class import classes_of
from lacunet.runtime.arrays import BoolArray, FloatArray
from lacunet.scores.occupancy import log_factors

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


DRAWS = 64  # from each reference
LEAST = 4  # labellings are mixed up if each has at least one in so many of its equal share of draws


def told_apart(
    problem: Problem, references: Sequence[Reference], seed: Sequence[int]
) -> Symmetries:
    """The symmetries of a problem, without contexts whose labels every reference mixes up."""
    symmetries = symmetries_of(problem)
    if all(len(block.contexts) == 1 for block in symmetries.blocks):
        return symmetries
    mixed = [_mixed(problem, symmetries, reference, seed) for reference in references]
    ends = np.cumsum([len(block.contexts) for block in symmetries.blocks])[:-1]
    each = zip(symmetries.blocks, np.split(~np.all(mixed, axis=0), ends), strict=True)
    return replace(symmetries, blocks=tuple(_kept(problem, *both) for both in each))


def _mixed(
    problem: Problem, symmetries: Symmetries, reference: Reference, seed: Sequence[int]
) -> BoolArray:
    """Whether draws from a reference have all labels of a context about equally often, (contexts,).

    It is not enough that some labels are mixed up: chains must find all of them by themselves.
    """
    regions = Regions(symmetries, [reference.exponents])
    found = [regions.bring_home(x).steps[1:] for x in _drawn(problem, reference, seed)]
    numbers = [
        math.exp(replace(block, contexts=(within,), kinds=(kinds,)).log_count)
        for block in symmetries.blocks
        for within, kinds in zip(block.contexts, block.kinds, strict=True)
    ]
    mixed = []
    for number, steps in zip(numbers, zip(*found, strict=True), strict=True):
        seen = Counter((*step.places.values(), *map(tuple, step.orders.values())) for step in steps)
        often = sum(n >= DRAWS / (LEAST * number) for n in seen.values())
        mixed.append(number * LEAST <= DRAWS and often >= round(number))
    return np.array(mixed)


def _drawn(problem: Problem, reference: Reference, seed: Sequence[int]) -> FloatArray:
    """Cases that parameters drawn from a reference expect, (draws, size)."""
    draws = Draws(problem, np.random.default_rng([*seed, DRAWS]))
    return drawn_cases(np.tile(reference.exponents, (DRAWS, 1)), problem.layout, draws)


def _kept(problem: Problem, block: ExchangeableBlock, apart: BoolArray) -> ExchangeableBlock:
    """Keep those contexts; if hidden variables are among them, all or none."""
    hidden = not set(block.contexts[0]).isdisjoint(problem.network.hidden)
    if len(block.contexts) == 1 or apart.all() or (hidden and apart.any()):
        return block
    if not apart.any():  # the same everywhere
        return ExchangeableBlock(
            block.variables, ({},), (kinds_of_states(problem, block.variables[0], {}),)
        )
    kept = np.flatnonzero(apart)
    contexts = tuple(block.contexts[n] for n in kept)
    return ExchangeableBlock(block.variables, contexts, tuple(block.kinds[n] for n in kept))


NO_MASS = 20.0  # nats: a number of used classes this much below the best is left out


def all_used(problem: Problem) -> Allowed:
    """Allow the count vectors in which every class of a problem has a case."""
    return Allowed(problem.layout.block(classes_of(problem.network).root))


def used(problem: Problem, N: FloatArray) -> BoolArray:
    """Which classes have a case, (k,)."""
    return np.asarray(problem.layout.table(N, classes_of(problem.network).root) > 0)


def without(problem: Problem, fewer: Problem, N: FloatArray, keep: BoolArray) -> FloatArray:
    """Counts of the used classes only, in the layout of the problem that has no others."""
    tables = [problem.layout.table(N, i)[keep] for i in range(len(problem.layout.cards))]
    return fewer.layout.flat(tables)


def among(problem: Problem, fewer: Problem, N: FloatArray) -> FloatArray:
    """The same the other way: counts of fewer classes, with empty ones after them."""
    more: FloatArray = np.zeros(problem.layout.size)
    for i in range(len(problem.layout.cards)):
        few = fewer.layout.table(N, i)
        problem.layout.table(more, i)[: len(few)] = few  # tables are views
    return more


def fewer_classes(
    problem: Problem, search: Callable[[Problem], list[Found]], in_time: Callable[[], bool]
) -> list[Found]:
    """Places with k, k − 1, … used classes, until two in a row have no mass worth a term.

    When the time is over it ends with what there is, which then is no more than a bound.
    """
    factors = log_factors(problem)
    kept: list[Found] = []
    best, hopeless = -math.inf, 0
    for m in range(len(factors), 0, -1):
        if kept and not in_time():
            break
        fewer = with_classes(problem, m)
        found = [Found(fewer.seen, 0)] if fewer.exact else search(fewer)
        masses = [
            fewer.log_seen if fewer.exact else at_hyperparameters(fewer, fewer.prior + each.N).bound
            for each in found
        ]
        mass = max(masses, default=-math.inf) + log_orders(m) + float(factors[m - 1])
        hopeless = hopeless + 1 if mass < best - NO_MASS else 0
        if hopeless == 2:
            break
        best = max(best, mass)
        kept += [replace(each, N=among(problem, fewer, each.N)) for each in found]
    return kept
