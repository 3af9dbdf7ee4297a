"""What a walk over partitions sees of a latent class model."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import gammaln

from lacunet.evidence.partitions.number_cases import (
    can_be_looked_up,
    is_number,
    log_nothing,
    number_leaves,
)
from lacunet.inference.classes import exchangeable, with_classes
from lacunet.inference.kernels.blocks import Leaves, ShownCells
from lacunet.inference.problem import Problem
from lacunet.likelihoods.gamma_functions import LARGE
from lacunet.models import conjugacy
from lacunet.models.latent_class import classes_of
from lacunet.runtime.arrays import FloatArray, IntArray

AS_MANY = 8.0  # categories whose cells cost as much as that of a number


def walkable(problems: Sequence[Problem]) -> bool:
    """Whether a walk can measure them all: one table, and classes that differ only in number.

    Classes must be alike, their prior the same whatever their number (so not BDeu), the weights of
    rows whole numbers, and some row must show something.
    """
    first = problems[0]
    return (
        first.whole
        and all(_seen_by_kernels(first, leaf) for leaf in first.network.observed)
        and bool((first.codes >= 0).any())
        and first.cases_show
        and all(exchangeable(problem) for problem in problems)
        and all(_same_but_number(first, problem) for problem in problems[1:])
    )


def _seen_by_kernels(problem: Problem, leaf: int) -> bool:
    variable = problem.network.variables[leaf]
    return variable.family.tabular or (is_number(variable) and can_be_looked_up(problem, leaf))


def _same_but_number(one: Problem, other: Problem) -> bool:
    if one.codes is not other.codes and not (
        np.array_equal(one.codes, other.codes) and np.array_equal(one.counts, other.counts)
    ):
        return False
    a, b = with_classes(one, 1), with_classes(other, 1)
    return a.network.observed == b.network.observed and np.array_equal(a.alpha, b.alpha)


def shown_cells(problem: Problem) -> float:
    """Cells that cases show: what one sweep over them touches, for each block."""
    variables = problem.network.variables
    price = [AS_MANY if is_number(variables[i]) else 1.0 for i in problem.network.observed]
    shown = [float(problem.counts.sum(where=column >= 0)) for column in problem.codes.T]
    return float(np.dot(price, shown))


def leaves_of(problem: Problem) -> Leaves:
    """Write the cases, and the prior of one class, as arrays for the kernels."""
    return leaves_by_prior(problem, [problem.alpha])[0]


def leaves_by_prior(problem: Problem, alphas: Sequence[FloatArray]) -> list[Leaves]:
    """The same with each of several priors; what they have in common is there once."""
    classes = classes_of(problem.network)
    codes, counts = told_rows(problem)
    number = np.array([is_number(problem.network.variables[i]) for i in classes.leaves])
    leaves = np.array(classes.leaves)
    each = [[problem.layout.table(alpha, i)[0] for i in leaves[~number]] for alpha in alphas]
    first = np.cumsum([0, *map(len, each[0])]).astype(np.int64)
    shown = codes[:, ~number] >= 0
    rows = ShownCells(
        np.concatenate([[0], np.cumsum(shown.sum(axis=1))]).astype(np.int64),
        (codes[:, ~number] + first[:-1])[shown],
        first[-1] + np.nonzero(shown)[1],
    )
    row = np.repeat(np.arange(len(codes)), counts.astype(np.int64))
    numbers: list[Any] = [None] * len(alphas)
    if number.any():
        numbers = number_leaves(problem, alphas, leaves[number].tolist(), codes[:, number])
    found = []
    for alpha, tables, own in zip(alphas, each, numbers, strict=True):
        prior = np.concatenate([np.empty(0), *tables])
        total = np.array([table.sum() for table in tables])
        empty = _log_empty(prior, total) + (0.0 if own is None else log_nothing(own))
        a = float(problem.layout.table(alpha, classes.root)[0])
        found.append(Leaves(row, rows, first, np.concatenate([prior, total]), a, empty, own))
    return found


def _log_empty(prior: FloatArray, total: FloatArray) -> float:
    """Log ∫ of a block without cases, as `log_gamma_above` counts: large exponents at 0."""
    small, few = (x[x < LARGE] for x in (prior, total))
    return float(gammaln(small).sum() - gammaln(few).sum())


def told_rows(problem: Problem) -> tuple[IntArray, FloatArray]:
    """Distinct rows that show anything, and their counts: others say nothing of their class."""
    told = (problem.codes >= 0).any(axis=1)
    return problem.codes[told].astype(np.int64), problem.counts[told]


def log_class_weights(problem: Problem, theta: FloatArray) -> FloatArray:
    """Log weights of each class for each distinct row that shows anything, (R, k)."""
    network, classes, (codes, _) = problem.network, classes_of(problem.network), told_rows(problem)
    weights = network.to_cells(conjugacy.natural(theta, problem.layout))
    sizes = network.cells.table(weights, classes.root)
    log_weights: FloatArray = np.tile(sizes, (len(codes), 1))
    for n, leaf in enumerate(classes.leaves):
        shown = codes[:, n] >= 0
        log_weights[shown] += network.cells.table(weights, leaf).T[codes[shown, n]]
    return log_weights


def draw_blocks(log_weights: FloatArray, rng: np.random.Generator) -> IntArray:
    """Draw a class for each row of log weights, (n, k) → (n,)."""
    noise = rng.gumbel(size=log_weights.shape)
    return renumbered(np.argmax(log_weights + noise, axis=1))


def renumbered(blocks: IntArray) -> IntArray:
    """Number blocks 0, 1, … without gaps."""
    return np.unique(blocks, return_inverse=True)[1].astype(np.int64)
