"""Relabellings in contexts, as far as references tell them apart.

Where labels of a context can hardly be told apart, chains change them by themselves: to demand that
each context has those of the reference would only lose chains. Relabellings in some of the seen
contexts are a group as well, and so are those that are the same in all of them, so that regions
stay exact parts of the whole.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from lacunet.arrays import BoolArray, FloatArray
from lacunet.evidence.path import Reference
from lacunet.inference.contexts import kinds_of_states
from lacunet.inference.problem import Problem
from lacunet.inference.regions import Regions
from lacunet.inference.sampling.draws import Draws
from lacunet.inference.symmetry import Block, Symmetries, symmetries_of
from lacunet.model import conjugacy

DRAWS = 64  # from each reference
APART = 0.9  # of them must have the labels of a context, if they are to count there


def told_apart(
    problem: Problem, references: Sequence[Reference], seed: Sequence[int]
) -> Symmetries:
    """The symmetries of a problem, without contexts whose labels some reference mixes up."""
    symmetries = symmetries_of(problem)
    if all(len(block.contexts) == 1 for block in symmetries.blocks):
        return symmetries
    home = np.ones(sum(len(block.contexts) for block in symmetries.blocks))
    for reference in references:
        regions = Regions(symmetries, [reference.exponents])
        samples = _drawn(problem, reference, seed)
        home = np.minimum(home, regions.steps_at_home(samples)[:, 1:].mean(axis=0))
    ends = np.cumsum([len(block.contexts) for block in symmetries.blocks])[:-1]
    each = zip(symmetries.blocks, np.split(home >= APART, ends), strict=True)
    blocks = tuple(_kept(problem, block, apart) for block, apart in each)
    return replace(symmetries, blocks=blocks)


def _drawn(problem: Problem, reference: Reference, seed: Sequence[int]) -> FloatArray:
    """Cases that parameters drawn from a reference expect, (draws, size)."""
    layout, hyper = problem.layout, reference.exponents
    draws = Draws(problem, np.random.default_rng([*seed, DRAWS]))
    theta = conjugacy.parameters(draws.natural(np.tile(hyper, (DRAWS, 1))), layout)
    cases = conjugacy.cases(hyper, layout)
    return np.stack([conjugacy.expected_statistics(x, cases, layout) for x in theta])


def _kept(problem: Problem, block: Block, apart: BoolArray) -> Block:
    """Keep those contexts; if hidden variables are among them, all or none."""
    hidden = not set(block.contexts[0]).isdisjoint(problem.network.hidden)
    if len(block.contexts) == 1 or apart.all():
        return block
    if hidden or not apart.any():  # the same everywhere
        return Block(block.variables, ({},), (kinds_of_states(problem, block.variables[0], {}),))
    kept = np.flatnonzero(apart)
    contexts = tuple(block.contexts[n] for n in kept)
    return Block(block.variables, contexts, tuple(block.kinds[n] for n in kept))
