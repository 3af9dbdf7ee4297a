"""What a walk over partitions sees of a latent class model."""

from collections.abc import Sequence

import numpy as np
from scipy.special import gammaln

from lacunet.arrays import FloatArray, IntArray
from lacunet.inference.classes import exchangeable, with_classes
from lacunet.inference.kernels.blocks import Leaves, Rows
from lacunet.inference.problem import Problem
from lacunet.model.latent_class import classes_of


def walkable(problems: Sequence[Problem]) -> bool:
    """Whether a walk can measure them all: one table, and classes that differ only in number.

    Classes must be alike, their prior the same whatever their number (so not BDeu), the weights of
    rows whole numbers, and some row must show something.
    """
    first = problems[0]
    return (
        first.whole
        and first.layout.tabular
        and bool((first.codes >= 0).any())
        and all(exchangeable(problem) for problem in problems)
        and all(_same_but_number(first, problem) for problem in problems[1:])
    )


def _same_but_number(one: Problem, other: Problem) -> bool:
    if one.codes is not other.codes and not (
        np.array_equal(one.codes, other.codes) and np.array_equal(one.counts, other.counts)
    ):
        return False
    a, b = with_classes(one, 1), with_classes(other, 1)
    return a.network.observed == b.network.observed and np.array_equal(a.alpha, b.alpha)


def shown_cells(problem: Problem) -> float:
    """Cells that cases show: what one sweep over them touches, for each block."""
    return float((problem.codes >= 0).sum(axis=1) @ problem.counts)


def leaves_of(problem: Problem) -> Leaves:
    """Write the cases, and the prior of one class, as arrays for the kernels.

    A case that shows nothing says nothing of its class: such cases are left out.
    """
    classes = classes_of(problem.network)
    told = (problem.codes >= 0).any(axis=1)
    codes, counts = problem.codes[told].astype(np.int64), problem.counts[told]
    tables = [problem.layout.table(problem.alpha, i)[0] for i in classes.leaves]
    sizes = [len(table) for table in tables]
    first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    shown = codes >= 0
    prior, total = np.concatenate(tables), np.array([table.sum() for table in tables])
    rows = Rows(
        np.concatenate([[0], np.cumsum(shown.sum(axis=1))]).astype(np.int64),
        (codes + first[:-1])[shown],
        len(prior) + np.nonzero(shown)[1],
    )
    return Leaves(
        np.repeat(np.arange(len(codes)), counts.astype(np.int64)),
        rows,
        first,
        np.concatenate([prior, total]),
        float(problem.layout.table(problem.alpha, classes.root)[0]),
        float(gammaln(prior).sum() - gammaln(total).sum()),
    )


def log_class_weights(problem: Problem, leaves: Leaves, theta: FloatArray) -> FloatArray:
    """Log weights of each class for each distinct row, given parameters, (R, k)."""
    classes = classes_of(problem.network)
    with np.errstate(divide="ignore"):
        sizes = np.log(problem.layout.table(theta, classes.root))
        cells = np.log(
            np.concatenate([problem.layout.table(theta, i).T for i in classes.leaves], axis=0)
        )
    starts = leaves.rows.starts
    rows = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    log_weights: FloatArray = np.tile(sizes, (len(starts) - 1, 1))
    np.add.at(log_weights, rows, cells[leaves.rows.cells])
    return log_weights


def draw_blocks(log_weights: FloatArray, rng: np.random.Generator) -> IntArray:
    """Draw a class for each row of log weights, (n, k) → (n,)."""
    noise = rng.gumbel(size=log_weights.shape)
    return renumbered(np.argmax(log_weights + noise, axis=1))


def renumbered(blocks: IntArray) -> IntArray:
    """Number blocks 0, 1, … without gaps."""
    return np.unique(blocks, return_inverse=True)[1].astype(np.int64)
