"""Standard errors: the inverse observed information, or the sandwich for survey designs.

The information A is the negative Hessian of the objective in the coordinates φ of each family. So
no term with the gradient is lost, and steps stay in the range of θ. The delta method carries A⁻¹ to
every parameter, and to the scale of symmetric intervals (logits of probabilities). With a survey
design the covariance is A⁻¹ G A⁻¹ (linearised: Binder 1983), with G the covariance of the total
score under the design.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtri
from scipy.sparse import csr_array

from lacunet.data.design import SamplingDesign
from lacunet.inference.hessian import softmax_hessian
from lacunet.inference.plans.plan import FreeCoordinates, free_coordinates
from lacunet.inference.problem import Problem
from lacunet.inference.queries.query import ByRow
from lacunet.models import conjugacy
from lacunet.models.layout import Layout
from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray

NUMBERS = 1 << 23  # held in memory at once: rows times cells


def row_scores(
    problem: Problem, theta: FloatArray, free: IntArray, step: int | None = None
) -> Iterator[tuple[slice, FloatArray]]:
    """Yield d log p(row)/dφ at θ for chunks of distinct rows, (rows, free).

    `step` is the chunk size; by default a chunk holds about `NUMBERS` numbers.
    """
    cells, layout = problem.components.cells, problem.layout
    weights = cells.weights(conjugacy.natural(theta, layout))
    directions = [conjugacy.push_unit(theta, position, layout) for position in free]
    pushed = csr_array(np.array(directions).reshape(len(free), layout.size))
    # The range of cells that some coordinate moves; plans write whole families.
    first, last = 0, layout.size if cells.identity else cells.layout.size
    if cells.identity:
        owner, block = layout.owner, layout.block
        first = block(int(owner[pushed.indices.min()])).start if pushed.nnz else 0
        last = block(int(owner[pushed.indices.max()])).stop if pushed.nnz else 0
    step = step or max(1, NUMBERS // max(1, last - first))
    for start in range(0, len(problem.codes), step):
        rows = slice(start, min(start + step, len(problem.codes)))
        by_row = ByRow(problem.network, problem.codes[rows], cells)
        _, N = by_row.posterior(weights, first, last)
        T = N if cells.identity else cells.statistics(N)
        yield rows, np.asarray(pushed[:, first:last] @ T.T).T


def spread_of_scores(
    design: SamplingDesign, each: Iterable[tuple[slice, FloatArray]], free: int
) -> FloatArray:
    """Covariance of the total score of the rows under a sampling design, (free, free).

    Σ_h n_h/(n_h − 1) Σ_i (t_hi − t̄_h)(t_hi − t̄_h)ᵀ, with t_hi the total of unit i in stratum h.
    """
    spread, units = _Spread(design, free), len(design.stratum)
    totals = np.zeros((units if design.clusters else 0, free))
    step = max(1, NUMBERS // max(1, free))
    for rows, scores in each:
        first, last = np.searchsorted(design.row, [rows.start, rows.stop]).tolist()
        for start in range(first, last, step):
            chunk = slice(start, min(start + step, last))
            pulls = design.weight[chunk, None] * scores[design.row[chunk] - rows.start]
            if design.clusters:  # a later chunk may continue a unit
                np.add.at(totals, design.unit[chunk], pulls)
            else:
                spread.add(pulls, design.unit[chunk])
    if design.clusters:
        spread.add(totals, np.arange(units))
    return spread.covariance


class _Spread:
    """Running sums of squares and totals of strata."""

    def __init__(self, design: SamplingDesign, free: int) -> None:
        self.design = design
        self.units = np.bincount(design.stratum, design.copies)
        self.factor = self.units / (self.units - 1.0)
        self.squares, self.sums = np.zeros((free, free)), np.zeros((len(self.units), free))

    def add(self, totals: FloatArray, which: IntArray) -> None:
        """Add the totals, (units, free), of some of the units."""
        stratum, copies = self.design.stratum[which], self.design.copies[which]
        self.squares += (totals * (self.factor[stratum] * copies)[:, None]).T @ totals
        np.add.at(self.sums, stratum, totals * copies[:, None])

    @property
    def covariance(self) -> FloatArray:
        """Sum of squares around the means of strata."""
        means = self.sums * (self.factor / self.units)[:, None]
        return np.asarray(self.squares - self.sums.T @ means)


NOTHING = 1e-7  # share of complete data's information below which a direction is not identified
TOUCHED = 1e-3  # component along such a direction that makes a probability unidentified


@dataclass(frozen=True, eq=False)
class StandardErrors:
    """Standard errors of parameters, and on the scale of intervals; NaN where undefined."""

    theta: FloatArray  # (size,) standard error of θ_ijk
    scaled: FloatArray  # (size,) on the scale; for probabilities, of log θ_ijk/(1 − θ_ijk)
    unidentified: BoolArray  # (size,) parameters that the data do not determine
    maximum: bool  # whether A has no negative curvature; if False, ignore the rest
    design: "DesignEffect | None" = None  # of a survey


@dataclass(frozen=True, eq=False)
class DesignEffect:
    """Comparison of a design with a simple random sample of as many people."""

    simple: FloatArray  # (size,) standard errors of θ under simple random sampling
    overall: float  # mean of the eigenvalues of A⁻¹ G, cases counted as people (Rao & Scott 1984)


def precision(
    problem: Problem, theta: FloatArray, counts: FloatArray, on_boundary: BoolArray
) -> StandardErrors:
    """Compute standard errors at a maximum.

    Parameters
    ----------
    problem
        The data and the structure.
    theta
        (size,) parameters.
    counts
        (size,) expected counts at θ plus α − 1 for the MAP, plus 0 for the ML.
    held
        (size,) probabilities on the boundary, which are held fixed without a standard error.
    """
    layout, inverse = problem.layout, informed(problem, theta, counts, on_boundary)
    unknown = np.full(layout.size, np.nan)
    if not inverse.maximum:
        return StandardErrors(
            unknown, unknown, np.zeros(layout.size, dtype=np.bool_), maximum=False
        )
    root, slope, design = inverse.root, conjugacy.scale_slope(theta, layout), None
    if problem.design is not None:
        each = row_scores(problem, theta, inverse.free)
        G = spread_of_scores(problem.design, each, len(inverse.free))
        people_per_case = problem.design.people / problem.cases
        simple = _errors(root, inverse.free, theta, layout)
        middle = root.T @ G @ root
        overall = people_per_case * float(middle.trace()) / max(1, root.shape[1])
        design = DesignEffect(slope * simple / np.sqrt(people_per_case), overall)
        root = root @ root_of(middle)
    along = _changes(inverse.flat, inverse.free, theta, layout)
    complete = np.sqrt(complete_diagonal(counts, theta, layout))
    unidentified = np.abs(along).max(axis=1, initial=0.0) * complete > TOUCHED
    error = _errors(root, inverse.free, theta, layout)
    error[unidentified | on_boundary] = np.nan
    return StandardErrors(
        slope * error, error, unidentified & ~on_boundary, maximum=True, design=design
    )


class Informed(NamedTuple):
    """The inverse of the information in φ, A⁻¹ = root rootᵀ."""

    free: IntArray  # (d,) positions that vary
    root: FloatArray  # (d, r)
    flat: FloatArray  # (d, d − r) directions in which A is zero
    maximum: bool  # whether A has no negative curvature


def informed(
    problem: Problem, theta: FloatArray, counts: FloatArray, on_boundary: BoolArray
) -> Informed:
    """Invert the information of the parameters that are not held; arguments as in `precision`."""
    layout = problem.layout
    coordinates = _without(free_coordinates(layout, theta), on_boundary)
    # softmax_hessian adds α, for the density of φ; the maximised objective has no such term.
    A = softmax_hessian(problem, theta, counts - problem.alpha, coordinates)
    scale = np.sqrt(complete_diagonal(counts, theta, layout))[coordinates.free]
    factor, flat, maximum = root_of_inverse(A / np.outer(scale, scale))
    root, along = factor / scale[:, None], flat / scale[:, None]
    return Informed(coordinates.free, root, along, maximum)


def complete_diagonal(counts: FloatArray, theta: FloatArray, layout: Layout) -> FloatArray:
    """Diagonal of the complete-data information in φ, used as the scale of each coordinate."""
    cases = layout.spread(layout.sum_k(layout.pooled(counts)))
    if layout.in_simplex.all():
        return cases * theta * (1.0 - theta)
    other = conjugacy.metric(theta, counts, layout)
    return np.where(layout.in_simplex, cases * theta * (1.0 - theta), other)


def _without(coordinates: FreeCoordinates, on_boundary: BoolArray) -> FreeCoordinates:
    inside = ~on_boundary[coordinates.free]
    return FreeCoordinates(coordinates.free[inside], coordinates.reference[inside])


def root_of_inverse(A: FloatArray) -> tuple[FloatArray, FloatArray, bool]:
    """Return F with F Fᵀ = A⁻¹, the flat directions of A, (d, ...) each, and whether A ≥ 0.

    A has about a unit diagonal. If A is singular, F belongs to the pseudo-inverse, which is valid
    for functions that are constant along the flat directions.
    """
    d = len(A)
    if not d:  # LAPACK fails on empty matrices
        return np.zeros((0, 0)), np.zeros((0, 0)), True
    L, failed = dpotrf(A, lower=1, clean=1)
    if not failed and (L.diagonal() ** 2).min() > NOTHING:
        inverse, _ = dtrtri(L, lower=1)
        return inverse.T, np.zeros((d, 0)), True
    values, vectors = np.linalg.eigh(A)
    flat = np.abs(values) <= NOTHING
    alive = values > NOTHING
    return vectors[:, alive] / np.sqrt(values[alive]), vectors[:, flat], bool((alive | flat).all())


def root_of(A: FloatArray) -> FloatArray:
    """Return R with R Rᵀ = A, which may be singular."""
    values, vectors = np.linalg.eigh(A)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def _errors(phi: FloatArray, free: IntArray, theta: FloatArray, layout: Layout) -> FloatArray:
    """Standard errors of all parameters on their scale, (size,), if Cov φ = phi phiᵀ."""
    return np.asarray(np.sqrt(np.sum(_changes(phi, free, theta, layout) ** 2, axis=1)))


def _changes(phi: FloatArray, free: IntArray, theta: FloatArray, layout: Layout) -> FloatArray:
    """Map changes of free φ, (d, m), to the scale of all parameters, (size, m)."""
    change = np.zeros((layout.size, phi.shape[1]))
    change[free] = phi
    return conjugacy.to_interval_scale(change, theta, layout)
