"""Relabellings in contexts, as far as references tell them apart.

Where labels of a context cannot be told apart, chains change them by themselves: to demand that
each context has those of the reference would only lose chains. Relabellings in some of the seen
contexts are a group as well, and so are those that are the same in all of them, so that regions
stay exact parts of the whole.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lacunet.evidence.annealing import drawn_cases
from lacunet.evidence.path import Reference
from lacunet.inference.problem import Problem
from lacunet.inference.regions import Regions
from lacunet.inference.sampling.draws import Draws
from lacunet.inference.symmetry import ExchangeableBlock, Symmetries, kinds_of_states, symmetries_of
from lacunet.runtime.arrays import BoolArray, FloatArray

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
