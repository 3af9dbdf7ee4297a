"""Empty classes: counts with and without them (the identity itself: `scores.occupancy`)."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from lacunet.evidence.modes import Found
from lacunet.evidence.travellers import Allowed
from lacunet.fitting.variational import at_hyperparameters
from lacunet.inference.classes import with_classes
from lacunet.inference.problem import Problem
from lacunet.inference.symmetry import log_orders
from lacunet.models.latent_class import classes_of
from lacunet.runtime.arrays import BoolArray, FloatArray
from lacunet.scores.occupancy import log_factors

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
