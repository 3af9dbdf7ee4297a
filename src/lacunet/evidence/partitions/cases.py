"""The data of a latent class model for a walk over partitions: cases, class priors, statistics."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import gammaln

from lacunet.inference.classes import exchangeable, with_classes
from lacunet.inference.kernels import number_blocks
from lacunet.inference.kernels.blocks import Leaves, ShownCells
from lacunet.inference.problem import Problem
from lacunet.likelihoods.gamma_functions import LARGE, log_rising
from lacunet.models import conjugacy
from lacunet.models.latent_class import classes_of
from lacunet.runtime.arrays import FloatArray, IntArray

# The predictive density of each kind of numbers, by family.
KINDS = {
    "gaussian": number_blocks.STUDENT,
    "poisson": number_blocks.NEGATIVE_BINOMIAL,
    "binomial": number_blocks.BETA_BINOMIAL,
}
MOST_LOOKED_UP = 1 << 22  # tabulated values of log Γ for one leaf
AS_MANY = 8.0  # cost of a cell with a number, in cells with a category


def walkable(problems: Sequence[Problem]) -> bool:
    """Whether a walk can measure all problems: one table, and models that differ only in k.

    Classes must be exchangeable, their prior independent of k (so not BDeu), row weights integers,
    and some row must have an observed value.
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


def _is_number(problem: Problem, leaf: int) -> bool:
    return problem.network.variables[leaf].family.name in KINDS


def _seen_by_kernels(problem: Problem, leaf: int) -> bool:
    if problem.network.variables[leaf].family.tabular:
        return True
    return _is_number(problem, leaf) and bool(_highest(problem, leaf).sum() < MOST_LOOKED_UP)


def _same_but_number(one: Problem, other: Problem) -> bool:
    if one.codes is not other.codes and not (
        np.array_equal(one.codes, other.codes) and np.array_equal(one.counts, other.counts)
    ):
        return False
    a, b = with_classes(one, 1), with_classes(other, 1)
    return a.network.observed == b.network.observed and np.array_equal(a.alpha, b.alpha)


def shown_cells(problem: Problem) -> float:
    """Weighted number of observed cells, the cost of one sweep for each block."""
    price = [AS_MANY if _is_number(problem, i) else 1.0 for i in problem.network.observed]
    shown = [float(problem.counts.sum(where=column >= 0)) for column in problem.codes.T]
    return float(np.dot(price, shown))


def shown_rows(problem: Problem) -> tuple[IntArray, FloatArray]:
    """Distinct rows with an observed value, and their counts."""
    shown = (problem.codes >= 0).any(axis=1)
    return problem.codes[shown].astype(np.int64), problem.counts[shown]


def leaves_of(problem: Problem) -> Leaves:
    """The cases and the prior of one class as arrays for the kernels."""
    return leaves_by_prior(problem, [problem.alpha])[0]


def leaves_by_prior(problem: Problem, alphas: Sequence[FloatArray]) -> list[Leaves]:
    """The same for each of several priors, with shared arrays."""
    classes, (codes, counts) = classes_of(problem.network), shown_rows(problem)
    number = np.array([_is_number(problem, i) for i in classes.leaves])
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
        numbers = _number_leaves(problem, alphas, leaves[number].tolist(), codes[:, number])
    leaves_of_priors = []
    for alpha, tables, of_numbers in zip(alphas, each, numbers, strict=True):
        prior = np.concatenate([np.empty(0), *tables])
        total = np.array([table.sum() for table in tables])
        # Log ∫ of a block without cases, by the convention of `log_gamma_above`: 0 if large.
        empty = gammaln(prior[prior < LARGE]).sum() - gammaln(total[total < LARGE]).sum()
        if of_numbers is not None:
            empty += number_blocks.log_number_blocks(
                of_numbers, of_numbers, of_numbers.prior[None], 0, 0
            )
        a = float(problem.layout.table(alpha, classes.root)[0])
        hyper = np.concatenate([prior, total])
        leaves_of_priors.append(Leaves(row, rows, first, hyper, a, float(empty), of_numbers))
    return leaves_of_priors


def _number_leaves(
    problem: Problem, alphas: Sequence[FloatArray], leaves: Sequence[int], codes: IntArray
) -> list[number_blocks.NumberLeaves]:
    """The numbers of rows, codes (R, leaves), for each of several priors of one class."""
    variables = [problem.network.variables[i] for i in leaves]
    shown = codes >= 0
    leaf = np.nonzero(shown)[1]
    T = np.zeros((len(leaf), number_blocks.PLACES))
    priors = np.zeros((len(alphas), len(leaves), number_blocks.PLACES + number_blocks.KNOWN))
    for g, (i, v) in enumerate(zip(leaves, variables, strict=True)):
        values = v.statistics_of(codes[shown[:, g], g])
        T[leaf == g, : values.shape[1]] = values
        for prior, alpha in zip(priors, alphas, strict=True):
            prior[g, : values.shape[1]] = problem.layout.table(alpha, i)[0]
    kinds = np.array([KINDS[v.family.name] for v in variables], dtype=np.int64)
    gamma_at, log_gamma = _log_gamma_tables(problem, leaves, kinds, priors)
    starts = np.concatenate([[0], np.cumsum(shown.sum(axis=1))]).astype(np.int64)
    counts = 1 if np.any(kinds != number_blocks.STUDENT) else None
    cells = starts, leaf.astype(np.int64), T, kinds, counts
    of_priors = [
        number_blocks.NumberLeaves(*cells, prior, at, log_gamma)
        for prior, at in zip(priors, gamma_at, strict=True)
    ]
    for one in of_priors:
        for g in range(len(leaves)):
            number_blocks.work_out(one, one.prior[None], 0, g)
    return of_priors


def _log_gamma_tables(
    problem: Problem, leaves: Sequence[int], kinds: IntArray, priors: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Tables of all log Γ that can occur, and the offsets of each prior and leaf, (S, G, 3)."""
    tables, starts, end = [np.empty(0)], dict[tuple[int, int, float], int](), 0
    at = np.zeros((*priors.shape[:2], 3), dtype=np.int64)
    for g, (i, kind) in enumerate(zip(leaves, kinds, strict=True)):
        highest = _highest(problem, i)
        for s, prior in enumerate(priors):
            for n, (a, more) in enumerate(_arguments(int(kind), prior[g], highest)):
                if (g, n, a) not in starts:  # priors may share a table
                    starts[g, n, a] = end
                    tables.append(log_rising(a, more))
                    end += len(more)
                at[s, g, n] = starts[g, n, a]
    return at, np.concatenate(tables)


def _highest(problem: Problem, leaf: int) -> FloatArray:
    """Upper bounds of the statistics of a block, (places,): all cases, the largest one twice."""
    column = problem.codes[:, problem.network.observed.index(leaf)]
    shown = column >= 0
    T = np.abs(problem.network.variables[leaf].statistics_of(column[shown]))
    return np.asarray(problem.counts[shown] @ T + T.max(axis=0, initial=0.0))


def _arguments(kind: int, hyper: FloatArray, highest: FloatArray) -> list[tuple[float, FloatArray]]:
    """Arguments of log Γ as (a, increments), for each of the three arguments of a leaf."""
    none = 1.0, np.empty(0)
    if kind == number_blocks.STUDENT:  # a + n/2; hyper[3] is 2 a + 1
        return [((hyper[3] - 1.0) / 2.0, np.arange(highest[3] + 1.0) / 2.0), none, none]
    if kind == number_blocks.NEGATIVE_BINOMIAL:
        return [(hyper[0], np.arange(highest[0] + 1.0)), none, none]
    exponents, ends = [hyper[0], hyper[1], hyper[:2].sum()], [*highest, highest.sum()]
    return [(a, np.arange(end + 1.0)) for a, end in zip(exponents, ends, strict=True)]


def log_class_weights(problem: Problem, theta: FloatArray) -> FloatArray:
    """Log weights of each class for each distinct row with an observed value, (R, k)."""
    network, classes, (codes, _) = problem.network, classes_of(problem.network), shown_rows(problem)
    weights = network.to_cells(conjugacy.natural(theta, problem.layout))
    sizes = network.cells.table(weights, classes.root)
    log_weights: FloatArray = np.tile(sizes, (len(codes), 1))
    for n, leaf in enumerate(classes.leaves):
        shown = codes[:, n] >= 0
        log_weights[shown] += network.cells.table(weights, leaf).T[codes[shown, n]]
    return log_weights


def draw_blocks(log_weights: FloatArray, rng: np.random.Generator) -> IntArray:
    """Draw a class for each row of log weights, (n, k) → (n,), numbered without gaps."""
    noise = rng.gumbel(size=log_weights.shape)
    drawn = np.argmax(log_weights + noise, axis=1)
    return np.unique(drawn, return_inverse=True)[1].astype(np.int64)


class PartitionStatistics:
    """Statistics of each row, and their positions in layouts with any number of classes."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        network, (codes, _) = problem.network, shown_rows(problem)
        parts = [np.ones((len(codes), 1))]  # the row itself, as a case of its class
        for n, i in enumerate(classes_of(network).leaves):
            leaf, shown = network.variables[i], np.flatnonzero(codes[:, n] >= 0)
            statistics = np.zeros((len(codes), leaf.family.width(leaf.states)))
            if leaf.family.tabular:
                statistics[shown, codes[shown, n]] = 1.0
            else:
                statistics[shown] = leaf.statistics_of(codes[shown, n])
            parts.append(statistics)
        self.of_rows = np.hstack(parts)  # (rows, width)
        self._places: dict[int, IntArray] = {}

    def of(self, row: IntArray, block: IntArray) -> FloatArray:
        """Statistics, (size,), of cases by row and block; blocks are numbered without gaps."""
        used, rows = int(block.max()) + 1, len(self.of_rows)
        if used not in self._places:  # (used, width) in the layout with so many classes
            layout = with_classes(self.problem, used).layout
            classes, positions = classes_of(self.problem.network), np.arange(layout.size)
            tables = [layout.table(positions, i) for i in (classes.root, *classes.leaves)]
            self._places[used] = np.hstack([table.reshape(used, -1) for table in tables])
        cases = np.bincount(block * rows + row, minlength=used * rows).reshape(used, rows)
        places = self._places[used]
        N = np.empty(places.size)
        N[places] = cases.astype(np.float64) @ self.of_rows
        return N
