"""A walk over partitions of the cases, sweep after sweep, and among several priors.

With several priors a chain carries the index s of its own. After each sweep it draws s given the
partition z, with p(s|z) in proportion to c_s,m p(D, z|s): the blocks hold all that this needs. What
is noted is p(s|z) itself (Rao-Blackwell), not the draw.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from lacunet.inference.kernels.blocks import (
    CASES,
    SPLITS,
    Leaves,
    Levels,
    Partition,
    change_prior,
    sweep_cases,
)
from lacunet.inference.kernels.number_blocks import numbers_under
from lacunet.inference.kernels.splitting import log_block_under, split_or_merge
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.jit import kernel

STEEPEST = 300.0  # nats: the largest step of weights between neighbouring numbers of blocks
TRIED = 2  # splits or merges tried in each sweep: about as much work as the sweep


class Notes(NamedTuple):
    """What a walk sees at each number of blocks. B numbers, from 0 up; S priors."""

    rates: FloatArray  # (kinds of moves, B, 3) tries, and rates of steps up and down, added up
    energy: FloatArray  # (B, 3) sweeps, and log weights of partitions: their sum, that of squares
    priors: FloatArray  # (B, S) probabilities of the priors given partitions, added up


class Priors(NamedTuple):
    """Priors of one class: what `Leaves` has of one, for S of them."""

    prior: FloatArray  # (S, cells + leaves) exponents
    a: FloatArray  # (S,) exponent of a class weight
    log_empty: FloatArray  # (S,)
    numbers: Any  # `NumberPriors`; None without numbers


@kernel
def steeper(ratio: float, more: float) -> float:
    """Multiply a ratio by e to some nats; none stays none, and no other is lost."""
    if ratio == 0.0 or more == 0.0:
        return ratio
    return math.exp(min(max(math.log(ratio) + more, -STEEPEST), STEEPEST))


@kernel
def under(leaves: Leaves, priors: Priors, s: int) -> Leaves:
    """The cases with one of the priors."""
    return Leaves(
        leaves.row,
        leaves.rows,
        leaves.first,
        priors.prior[s],
        priors.a[s],
        priors.log_empty[s],
        numbers_under(leaves.numbers, priors.numbers, s),
    )


@kernel
def weigh_priors(
    leaves: Leaves, priors: Priors, at: Partition, log_weights: FloatArray, p: FloatArray
) -> float:
    """Write p(s|z) of every prior, (S,); return the log of what they were divided by."""
    used, top = at.used[0], -math.inf
    own = under(leaves, priors, at.prior[0])
    for s in range(len(p)):
        other = under(leaves, priors, s)
        p[s] = log_weights[s, used]
        for b in range(used):
            p[s] += log_block_under(own, other, at.blocks, b)
        top = max(top, p[s])
    total = 0.0
    for s in range(len(p)):
        p[s] = math.exp(p[s] - top)
        total += p[s]
    for s in range(len(p)):
        p[s] /= total
    return top + math.log(total)


@kernel
def draw_prior(leaves: Leaves, priors: Priors, at: Partition, p: FloatArray, rng: Any) -> None:
    """Draw the prior that a chain goes on with."""
    if len(p) == 1:
        return
    u, s = rng.random(), 0
    while s < len(p) - 1 and u >= p[s]:
        u -= p[s]
        s += 1
    if s != at.prior[0]:
        old, new = under(leaves, priors, at.prior[0]), under(leaves, priors, s)
        change_prior(old, new, at.blocks, at.used[0] + 1)
        at.prior[0] = s


@kernel
def walk(
    leaves: Leaves,
    priors: Priors,
    at: Partition,
    levels: Levels,
    log_weights: FloatArray,
    sweeps: int,
    notes: Notes,
    rng: Any,
) -> None:
    """Walk, and note what is seen; `log_weights`, (S, B), are those of priors, log c."""
    numbers, p = len(levels.rise), np.empty(len(log_weights))
    here = Levels(np.empty(numbers), np.empty(numbers))
    for _ in range(sweeps):
        own = at.prior[0]
        for m in range(numbers):
            more = 0.0
            if m + 1 < numbers:
                more = log_weights[own, m + 1] - log_weights[own, m]
            here.rise[m] = steeper(levels.rise[m], more)
            here.reference[m] = steeper(levels.reference[m], more)
        own_leaves = under(leaves, priors, own)
        sweep_cases(own_leaves, at, here, notes.rates[CASES], rng)
        for _ in range(TRIED):
            split_or_merge(own_leaves, at, here, notes.rates[SPLITS], rng)
        energy, used = weigh_priors(leaves, priors, at, log_weights, p), at.used[0]
        notes.energy[used, 0] += 1.0
        notes.energy[used, 1] += energy
        notes.energy[used, 2] += energy * energy
        for s in range(len(p)):
            notes.priors[used, s] += p[s]
        draw_prior(leaves, priors, at, p, rng)
