"""Scores: how much each row, and each unit of a survey, pulls at every coordinate."""

from collections.abc import Iterable, Iterator

import numpy as np
from scipy.sparse import csr_array

from lacunet.data.sampling_design import SamplingDesign
from lacunet.inference.asking.by_row import ByRow
from lacunet.inference.problem import Problem
from lacunet.model import conjugacy
from lacunet.model.cells import Cells
from lacunet.model.layout import Layout
from lacunet.runtime.arrays import FloatArray, IntArray

NUMBERS = 1 << 23  # to hold at once: rows times cells


def row_scores(
    problem: Problem, theta: FloatArray, free: IntArray, step: int | None = None
) -> Iterator[tuple[slice, FloatArray]]:
    """Give d log p(row)/dφ at θ for some distinct rows after the other, (rows, free).

    `step` says how many at once, if not as many as can well be held.
    """
    cells, layout = problem.components.cells, problem.layout
    weights = cells.weights(conjugacy.natural(theta, layout))
    directions = [_pushed(theta, position, layout) for position in free]
    pushed = csr_array(np.array(directions).reshape(len(free), layout.size))
    first, last = _needed(pushed, cells)
    step = step or max(1, NUMBERS // max(1, last - first))
    for start in range(0, len(problem.codes), step):
        rows = slice(start, min(start + step, len(problem.codes)))
        asked = ByRow(problem.network, problem.codes[rows], cells)
        _, N = asked.posterior(weights, first, last)
        T = N if cells.identity else cells.statistics(N)
        yield rows, np.asarray(pushed[:, first:last] @ T.T).T


def _needed(pushed: csr_array, cells: Cells) -> tuple[int, int]:
    """From where to where cells move with some coordinate; all of them where cells are values.

    Plans write whole families, so these are ends of families.
    """
    if not cells.identity:
        return 0, cells.layout.size
    if not pushed.nnz:
        return 0, 0
    owner, layout = cells.layout.owner, cells.layout
    ends = owner[pushed.indices.min()], owner[pushed.indices.max()]
    return layout.block(int(ends[0])).start, layout.block(int(ends[1])).stop


def _pushed(theta: FloatArray, position: int, layout: Layout) -> FloatArray:
    """How natural parameters move with one coordinate: of all rows at once, a matrix."""
    phi = np.zeros(layout.size)
    phi[position] = 1.0
    return conjugacy.push(theta, phi, layout)


def spread_of_scores(
    design: SamplingDesign, each: Iterable[tuple[slice, FloatArray]], free: int
) -> FloatArray:
    """Give the covariance that the sum of scores of rows has over samples drawn so, (free, free).

    Σ_h n_h/(n_h − 1) Σ_i (t_hi − t̄_h)(t_hi − t̄_h)ᵀ, with t_hi the total of unit i in stratum h.
    """
    spread, units = _Spread(design, free), len(design.stratum)
    totals = np.zeros((units if design.clusters else 0, free))
    step = max(1, NUMBERS // max(1, free))
    for rows, scores in each:
        first, last = np.searchsorted(design.row, [rows.start, rows.stop]).tolist()
        for start in range(first, last, step):
            here = slice(start, min(start + step, last))
            pulls = design.weight[here, None] * scores[design.row[here] - rows.start]
            if design.clusters:  # a unit may lie in rows that come later
                np.add.at(totals, design.unit[here], pulls)
            else:
                spread.add(pulls, design.unit[here])
    if design.clusters:
        spread.add(totals, np.arange(units))
    return spread.found


class _Spread:
    """Sums of squares and totals of strata, as units come."""

    def __init__(self, design: SamplingDesign, free: int) -> None:
        self.design = design
        self.units = np.bincount(design.stratum, design.copies)
        self.factor = self.units / (self.units - 1.0)
        self.squares, self.sums = np.zeros((free, free)), np.zeros((len(self.units), free))

    def add(self, totals: FloatArray, which: IntArray) -> None:
        """Take in the totals, (units, free), of some of the units."""
        stratum, copies = self.design.stratum[which], self.design.copies[which]
        self.squares += (totals * (self.factor[stratum] * copies)[:, None]).T @ totals
        np.add.at(self.sums, stratum, totals * copies[:, None])

    @property
    def found(self) -> FloatArray:
        """What is left around the means of strata."""
        means = self.sums * (self.factor / self.units)[:, None]
        return np.asarray(self.squares - self.sums.T @ means)
