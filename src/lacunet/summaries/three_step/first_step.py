"""How sure the classes themselves are, and what that does to a third step.

Classes, their sizes and the errors of assignment are estimates. A third step solves Σ s(β; D) = 0;
with small changes of the first step's parameters φ and of D it moves by A⁻¹ times what these change
in that sum (Bakk, Oberski & Vermunt 2014). So each row moves β three ways: by its own score, by its
part in D, and by its part in φ; the covariance is the sum of squares of all three together.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from lacunet.fitting.objective import Objective
from lacunet.fitting.regression.objective import ClassParameters
from lacunet.inference.curvature.coordinates import FreeCoordinates, free_coordinates
from lacunet.inference.curvature.hessian import softmax_hessian
from lacunet.inference.curvature.information import root_of_inverse, row_scores
from lacunet.models import conjugacy
from lacunet.runtime.arrays import BoolArray, FloatArray
from lacunet.summaries.intervals import NOT_A_MAXIMUM, on_boundary
from lacunet.summaries.regression.precision import class_row_scores, inside_of
from lacunet.summaries.three_step.assigned import AssignedRows, Assigning, assign_rows
from lacunet.summaries.three_step.sandwich import Solved

STEP = 1e-4  # of a coordinate, in units of its standard error

ThirdStep = Callable[
    [AssignedRows], Solved
]  # scores at what it found, were rows assigned otherwise


@dataclass(frozen=True, eq=False)
class FirstStep:
    """The parameters that rows are assigned by, as estimates from the same rows."""

    assigned: Callable[[FloatArray], AssignedRows]  # by parameters that moved so far, (d,)
    influence: FloatArray  # (m, d) how much a case of each row moves each parameter

    def moved(self, j: int, by: float) -> AssignedRows:
        """Assign rows by parameters of which one is moved."""
        along = np.zeros(self.influence.shape[1])
        along[j] = by
        return self.assigned(along)


def first_step(objective: Objective, theta: FloatArray, how: Assigning) -> FirstStep | None:
    """Look at the first step; None where the model is no maximum for these rows."""
    problem, layout = objective.problem, objective.problem.layout
    point = objective.at(theta)
    if not np.abs(objective.gradient(point)).max(initial=0.0) <= NOT_A_MAXIMUM:
        return None
    coordinates = free_coordinates(layout, theta)
    alive = ~on_boundary(point.N, objective.pseudo, layout)[coordinates.free]
    free = coordinates.free[alive]
    inside = FreeCoordinates(free, coordinates.reference[alive])
    A = softmax_hessian(problem, theta, point.N + objective.pseudo - problem.alpha, inside)
    kept = assign_rows(problem, theta, how).kept
    slopes = np.concatenate([scores for _, scores in row_scores(problem, theta, free)])

    def assigned(move: FloatArray) -> AssignedRows:
        along = np.zeros(len(theta))
        along[free] = move
        return assign_rows(problem, conjugacy.moved(theta, along, layout), how, kept)

    return FirstStep(assigned, slopes @ _inverse(A))


def predicted_first_step(fit: ClassParameters, how: Assigning) -> FirstStep | None:
    """Do the same where covariates predict the classes: by coefficients, then by φ of items."""
    objective, point, problem = fit.objective, fit.point, fit.given.problem
    if not objective.steepest(point) <= NOT_A_MAXIMUM:
        return None
    free = inside_of(fit)
    A = objective.negative_hessian(point, free)
    kept = assign_rows(problem, point.theta, how).kept
    slopes = np.concatenate([scores for _, scores in class_row_scores(fit, free)])

    def assigned(move: FloatArray) -> AssignedRows:
        return assign_rows(problem, objective.moved(point, move, free).theta, how, kept)

    return FirstStep(assigned, slopes @ _inverse(A))


def _inverse(A: FloatArray) -> FloatArray:
    """Invert the information along what is determined."""
    scale = np.sqrt(np.maximum(np.abs(A.diagonal()), 1e-300))
    root, _, _ = root_of_inverse(A / np.outer(scale, scale))
    return np.asarray((root @ root.T) / np.outer(scale, scale))


def covariance_of(
    third: ThirdStep, rows: AssignedRows, shown: BoolArray, first: FirstStep | None
) -> FloatArray:
    """(q, q) covariance of what a third step found in the rows that it could use.

    With a first step, with all that is uncertain before it: what rows do that the third step leaves
    out, too.
    """
    if first is None:
        return third(rows.only(shown)).covariance

    def of_all(rows: AssignedRows) -> Solved:
        solved = third(rows.only(shown))
        scores = np.zeros((len(rows.counts), solved.scores.shape[1]))
        scores[shown] = solved.scores
        return replace(solved, scores=scores, counts=rows.counts, design=rows.design)

    solved = of_all(rows)
    slopes = np.empty((first.influence.shape[1], solved.scores.shape[1]))
    sure = np.sqrt((first.influence**2 * rows.counts[:, None]).sum(axis=0))
    for j, step in enumerate(STEP * np.maximum(sure, STEP)):
        up, down = (of_all(first.moved(j, sign * step)) for sign in (1.0, -1.0))
        slopes[j] = (_total(up) - _total(down)) / (2.0 * step)
    moves = solved.scores + _by_errors(rows, of_all) + first.influence @ slopes
    return replace(solved, scores=moves).covariance


def _by_errors(rows: AssignedRows, third: ThirdStep) -> FloatArray:
    """(m, q) how rows move scores by their part in D and in class sizes."""
    K, cases = len(rows.sizes), rows.counts.sum()
    found: FloatArray = np.zeros((len(rows.counts), third(rows).scores.shape[1]))
    for t in range(K):
        own = rows.posterior[:, t] / (cases * rows.sizes[t])
        for s in range(K):
            step = np.zeros((K, K))
            step[t, s] = STEP
            ends = (replace(rows, errors=rows.errors + sign * step) for sign in (1.0, -1.0))
            up, down = (_total(third(end)) for end in ends)
            part = own * (rows.given[:, s] - rows.errors[t, s])
            found += part[:, None] * (up - down) / (2.0 * STEP)
        step = np.eye(K)[t] * STEP
        ends = (replace(rows, sizes=rows.sizes + sign * step) for sign in (1.0, -1.0))
        up, down = (_total(third(end)) for end in ends)
        found += (rows.posterior[:, t] - rows.sizes[t])[:, None] * (up - down) / (2 * STEP * cases)
    return found


def _total(solved: Solved) -> FloatArray:
    return np.asarray(solved.counts @ solved.scores)
