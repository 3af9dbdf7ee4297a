"""What a walk over partitions sees of leaves that are numbers."""

from collections.abc import Sequence

import numpy as np

from lacunet.inference.kernels.number_blocks import (
    BETA_BINOMIAL,
    KNOWN,
    NEGATIVE_BINOMIAL,
    PLACES,
    STUDENT,
    NumberLeaves,
    log_number_blocks,
    work_out,
)
from lacunet.inference.problem import Problem
from lacunet.likelihoods.gamma_functions import log_rising
from lacunet.models.network import Variable
from lacunet.runtime.arrays import FloatArray, IntArray

KINDS = {"gaussian": STUDENT, "poisson": NEGATIVE_BINOMIAL, "binomial": BETA_BINOMIAL}
MOST_LOOKED_UP = 1 << 22  # values of log Γ that are kept of one leaf


def is_number(variable: Variable) -> bool:
    """Whether the kernels see a leaf by its statistics."""
    return variable.family.name in KINDS


def can_be_looked_up(problem: Problem, leaf: int) -> bool:
    """Whether the sums of a leaf's values are small enough."""
    return not is_number(problem.network.variables[leaf]) or (
        _highest(problem, leaf).sum() < MOST_LOOKED_UP
    )


def number_leaves(
    problem: Problem, alphas: Sequence[FloatArray], leaves: Sequence[int], codes: IntArray
) -> list[NumberLeaves]:
    """Write what rows, (R, leaves), show of some leaves, and several priors of one class."""
    variables = [problem.network.variables[i] for i in leaves]
    shown = codes >= 0
    leaf = np.nonzero(shown)[1]
    T = np.zeros((len(leaf), PLACES))
    priors = np.zeros((len(alphas), len(leaves), PLACES + KNOWN))
    for g, (i, v) in enumerate(zip(leaves, variables, strict=True)):
        values = v.statistics_of(codes[shown[:, g], g])
        T[leaf == g, : values.shape[1]] = values
        for prior, alpha in zip(priors, alphas, strict=True):
            prior[g, : values.shape[1]] = problem.layout.table(alpha, i)[0]
    kinds = np.array([KINDS[v.family.name] for v in variables], dtype=np.int64)
    gamma_at, log_gamma = _looked_up(problem, leaves, kinds, priors)
    starts = np.concatenate([[0], np.cumsum(shown.sum(axis=1))]).astype(np.int64)
    found = [
        NumberLeaves(starts, leaf.astype(np.int64), T, kinds, prior, at, log_gamma)
        for prior, at in zip(priors, gamma_at, strict=True)
    ]
    for own in found:
        for g in range(len(leaves)):
            work_out(own, own.prior[None], 0, g)
    return found


def _looked_up(
    problem: Problem, leaves: Sequence[int], kinds: IntArray, priors: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Every log Γ that can occur, and where those of each prior and leaf start, (S, G, 3)."""
    tables, starts, end = [np.empty(0)], dict[tuple[int, int, float], int](), 0
    at = np.zeros((*priors.shape[:2], 3), dtype=np.int64)
    for g, (i, kind) in enumerate(zip(leaves, kinds, strict=True)):
        highest = _highest(problem, i)
        for s, prior in enumerate(priors):
            for n, (a, more) in enumerate(_arguments(int(kind), prior[g], highest)):
                if (g, n, a) not in starts:  # priors may have it in common
                    starts[g, n, a] = end
                    tables.append(log_rising(a, more))
                    end += len(more)
                at[s, g, n] = starts[g, n, a]
    return at, np.concatenate(tables)


def log_nothing(numbers: NumberLeaves) -> float:
    """Log integrals of a block without cases."""
    return float(log_number_blocks(numbers, numbers.prior[None], 0, 0))


def _highest(problem: Problem, leaf: int) -> FloatArray:
    """Statistics of all cases, and of the largest one once more: no block has more, (places,)."""
    column = problem.codes[:, problem.network.observed.index(leaf)]
    told = column >= 0
    T = np.abs(problem.network.variables[leaf].statistics_of(column[told]))
    return np.asarray(problem.counts[told] @ T + T.max(axis=0, initial=0.0))


def _arguments(kind: int, hyper: FloatArray, highest: FloatArray) -> list[tuple[float, FloatArray]]:
    """Whatever log Γ is ever taken of: a, and what comes to it, for three arguments of a leaf."""
    none = 1.0, np.empty(0)
    if kind == STUDENT:  # a + n/2; hyper[3] is 2 a + 1
        return [((hyper[3] - 1.0) / 2.0, np.arange(highest[3] + 1.0) / 2.0), none, none]
    if kind == NEGATIVE_BINOMIAL:
        return [(hyper[0], np.arange(highest[0] + 1.0)), none, none]
    exponents, ends = [hyper[0], hyper[1], hyper[:2].sum()], [*highest, highest.sum()]
    return [(a, np.arange(end + 1.0)) for a, end in zip(exponents, ends, strict=True)]
