"""Starts of annealing: samples of hidden values, and references fitted around them."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from lacunet.evidence.annealing import GROUP, Allowed, Reference, RunContext, expected_cases, gibbs
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

STEPS = 50  # of variational Bayes: the last digits of the mode do not matter
BURNED, SAMPLED = 30, 70  # Gibbs sweeps
GIBBS = 2  # the stream of random numbers
DRAWS = 64  # from a reference, to detect label mixing
LEAST = 4  # labels mix if each labelling has at least 1/LEAST of its equal share of draws
NO_MASS = 20.0  # nats: a number of used classes this much below the best is left out


@dataclass(frozen=True, eq=False)
class HiddenSample:
    """The hidden counts at the end of a search."""

    N: FloatArray  # (size,)
    search: int  # number of the independent search: a particle run, or, below 0, a fit
    bound: float = -np.inf  # variational bound raised from the sample


def ranked(
    problem: Problem,
    samples: Sequence[HiddenSample],
    allowed: Allowed,
    seed: Sequence[int],
    context: RunContext,
) -> list[HiddenSample]:
    """Run Gibbs sweeps from each sample, and sort by variational bound, highest first."""
    draws = Draws(problem, np.random.default_rng((*seed, GIBBS, 0)))
    N = gibbs(np.stack([each.N for each in samples]), BURNED, allowed, draws, context.limit)
    bounds = context.map(partial(_bound, problem), list(N))
    moved = [HiddenSample(n, each.search, b) for n, each, b in zip(N, samples, bounds, strict=True)]
    return sorted(moved, key=lambda each: -each.bound)


def _bound(problem: Problem, N: FloatArray) -> float:
    """Variational bound raised from a sample."""
    return vary(at_hyperparameters(problem, problem.prior + N), max_steps=STEPS).bound


def reference_near(
    problem: Problem, N: FloatArray, allowed: Allowed, seed: Sequence[int], context: RunContext
) -> Reference:
    """A reference fitted to the mean counts of a Gibbs run from a sample."""
    draws = Draws(problem, np.random.default_rng((*seed, GIBBS)))
    state = gibbs(np.tile(N, (GROUP, 1)), BURNED, allowed, draws, context.limit)
    total = np.zeros(problem.layout.size)
    for _ in range(SAMPLED):
        state = gibbs(state, 1, allowed, draws, context.limit)
        total += state.mean(axis=0)
    return Reference.around(problem, total / SAMPLED + problem.seen)


def sample_at(problem: Problem, theta: FloatArray, seed: Sequence[int]) -> FloatArray:
    """Hidden counts drawn given parameters, (size,)."""
    draws = Draws(problem, np.random.default_rng([*seed, GIBBS, 1]))
    drawn: FloatArray = draws.hidden(conjugacy.natural(theta, problem.layout)[None, :])[0]
    return drawn


def distinct_symmetries(problem: Problem, reference: Reference, seed: Sequence[int]) -> Symmetries:
    """The symmetries of a problem, without contexts whose labels mix under a reference."""
    symmetries = symmetries_of(problem)
    if all(len(block.contexts) == 1 for block in symmetries.blocks):
        return symmetries
    apart = ~_mixed(problem, symmetries, reference, seed)
    ends = np.cumsum([len(block.contexts) for block in symmetries.blocks])[:-1]
    each = zip(symmetries.blocks, np.split(apart, ends), strict=True)
    return replace(symmetries, blocks=tuple(_reduced_contexts(problem, *both) for both in each))


def _mixed(
    problem: Problem, symmetries: Symmetries, reference: Reference, seed: Sequence[int]
) -> BoolArray:
    """Whether draws from a reference have all labels of a context about equally often, (contexts,).

    Mixing of some labels is not enough, because chains must reach all labellings.
    """
    regions = Regions(symmetries, [reference.exponents])
    draws = Draws(problem, np.random.default_rng([*seed, DRAWS]))
    drawn = expected_cases(np.tile(reference.exponents, (DRAWS, 1)), draws)
    relabellings = [regions.to_reference_region(x).steps[1:] for x in drawn]
    numbers = [
        math.exp(replace(block, contexts=(within,), kinds=(kinds,)).log_count)
        for block in symmetries.blocks
        for within, kinds in zip(block.contexts, block.kinds, strict=True)
    ]
    mixed = []
    for number, steps in zip(numbers, zip(*relabellings, strict=True), strict=True):
        seen = Counter((*step.places.values(), *map(tuple, step.orders.values())) for step in steps)
        often = sum(n >= DRAWS / (LEAST * number) for n in seen.values())
        mixed.append(number * LEAST <= DRAWS and often >= round(number))
    return np.array(mixed)


def _reduced_contexts(
    problem: Problem, block: ExchangeableBlock, apart: BoolArray
) -> ExchangeableBlock:
    """Keep the contexts whose labels stay apart; if they have hidden variables, all or none."""
    hidden = not set(block.contexts[0]).isdisjoint(problem.network.hidden)
    if len(block.contexts) == 1 or apart.all() or (hidden and apart.any()):
        return block
    if not apart.any():  # labels mix in every context
        kinds = kinds_of_states(problem, block.variables[0], {})
        return ExchangeableBlock(block.variables, ({},), (kinds,))
    remaining = np.flatnonzero(apart)
    contexts = tuple(block.contexts[n] for n in remaining)
    return ExchangeableBlock(block.variables, contexts, tuple(block.kinds[n] for n in remaining))


def all_used(problem: Problem) -> Allowed:
    """Allow the count vectors in which every class of a problem has a case."""
    return Allowed(problem.layout.block(classes_of(problem.network).root))


def used(problem: Problem, N: FloatArray) -> BoolArray:
    """Which classes have a case, (k,)."""
    return np.asarray(problem.layout.table(N, classes_of(problem.network).root) > 0)


def without_empty(problem: Problem, fewer: Problem, N: FloatArray, keep: BoolArray) -> FloatArray:
    """Counts of the used classes only, in the layout of the problem with fewer classes."""
    tables = [problem.layout.table(N, i)[keep] for i in range(len(problem.layout.cards))]
    return fewer.layout.flat(tables)


def with_empty(problem: Problem, fewer: Problem, N: FloatArray) -> FloatArray:
    """The inverse: counts of fewer classes, with empty classes appended."""
    more: FloatArray = np.zeros(problem.layout.size)
    for i in range(len(problem.layout.cards)):
        few = fewer.layout.table(N, i)
        problem.layout.table(more, i)[: len(few)] = few  # tables are views
    return more


def fewer_classes(
    problem: Problem, search: Callable[[Problem], list[HiddenSample]], in_time: Callable[[], bool]
) -> list[HiddenSample]:
    """Samples with k, k − 1, … used classes, until two numbers in a row have negligible mass.

    It also stops when the time is up; the evidence is then only a lower bound.
    """
    factors = log_factors(problem)
    samples_so_far: list[HiddenSample] = []
    best, hopeless = -math.inf, 0
    for m in range(len(factors), 0, -1):
        if samples_so_far and not in_time():
            break
        fewer = with_classes(problem, m)
        if fewer.exact:
            samples, masses = [HiddenSample(fewer.seen, 0)], [fewer.log_seen]
        else:
            samples = search(fewer)
            masses = [at_hyperparameters(fewer, fewer.prior + each.N).bound for each in samples]
        mass = max(masses, default=-math.inf) + log_orders(m) + float(factors[m - 1])
        hopeless = hopeless + 1 if mass < best - NO_MASS else 0
        if hopeless == 2:
            break
        best = max(best, mass)
        samples_so_far += [replace(each, N=with_empty(problem, fewer, each.N)) for each in samples]
    return samples_so_far
