"""The first two steps of a three-step analysis: class assignments and their error rates.

D_ts = p(assigned s | class t) follows from the posteriors of all rows (Vermunt 2010). Treating
assigned classes as true ones attenuates differences between classes. The third step corrects this
by the inverse of D (BCH) or by a likelihood with known D (ML). Sandwich covariances (Huber 1967)
include the uncertainty of the first step.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Self, TypeAlias

import numpy as np

from lacunet.data.design import SamplingDesign
from lacunet.errors import ModelError
from lacunet.fitting.objective import Objective
from lacunet.flags import Flag, Kind
from lacunet.inference.information import NOTHING, root_of_inverse, row_scores, spread_of_scores
from lacunet.inference.plans.plan import FreeCoordinates, free_coordinates
from lacunet.inference.problem import Problem
from lacunet.models import conjugacy
from lacunet.models.network import Variable
from lacunet.runtime.arrays import BoolArray, FloatArray
from lacunet.summaries.identification import listed
from lacunet.summaries.intervals import HELD, NOT_A_MAXIMUM, linearised_words, on_boundary

SINGULAR = 1e-6  # least singular value of an invertible D


class Assigning(StrEnum):
    """How rows are assigned to classes."""

    MODAL = "modal"  # to the most probable class
    PROPORTIONAL = "proportional"  # to every class, weighted by its probability


class Correction(StrEnum):
    """The correction of assignment errors."""

    BCH = "bch"  # weights by the inverse: Bolck, Croon & Hagenaars (2004), Vermunt (2010)
    ML = "ml"  # a likelihood with known errors: Vermunt (2010), Bakk, Tekle & Vermunt (2013)
    NONE = "none"  # none, for comparison

    @property
    def words(self) -> str:
        """Its name in sentences."""
        return "not corrected" if self is Correction.NONE else f"{self.value.upper()} correction"


@dataclass(frozen=True, eq=False)
class AssignedRows:
    """Rows with their class assignments."""

    variable: Variable  # its states are the classes
    nonempty: BoolArray  # (all classes,) whether any row is assigned to it: K of them
    every_size: FloatArray  # (all classes,) shares among all rows
    posterior: FloatArray  # (m, K) p(class | items)
    given: FloatArray  # (m, K) assigned share of each row to each class
    counts: FloatArray  # (m,) cases of each row
    errors: FloatArray  # (K, K) D_ts = p(assigned s | class t), by all rows
    sizes: FloatArray  # (K,) shares of the classes, by all rows
    design: SamplingDesign | None = None  # how rows were drawn

    @property
    def classes(self) -> tuple[str, ...]:
        """Labels of all classes."""
        return self.variable.labels

    @property
    def cases(self) -> float:
        """Number of cases."""
        return float(self.counts.sum())

    @property
    def every_error(self) -> FloatArray:
        """(all classes, all classes) errors; NaN for classes without rows."""
        full = np.full((len(self.nonempty),) * 2, np.nan)
        full[np.ix_(self.nonempty, self.nonempty)] = self.errors
        return full

    @property
    def flags(self) -> tuple[Flag, ...]:
        """The flag of classes without rows, if there are any."""
        empty = [c for c, nonempty in zip(self.classes, self.nonempty, strict=True) if not nonempty]
        names = listed(f"{self.variable.name} {c}" for c in empty)
        return (Flag(Kind.CLASS_WITHOUT_ROWS, detail={"names": names}),) if empty else ()

    @cached_property
    def bch_weights(self) -> FloatArray:
        """(m, K) assignments times the inverse of D: they sum to 1, and may be negative."""
        return np.asarray(self.given @ np.linalg.inv(self.errors))

    @property
    def degrees(self) -> float:
        """Degrees of freedom of a survey; infinite without a design."""
        return math.inf if self.design is None else float(self.design.degrees)

    @property
    def design_words(self) -> str:
        """Describe the standard errors of a survey; "" without a design."""
        return "" if self.design is None else f" {linearised_words(self.design)}"

    def weights(self, correction: Correction) -> FloatArray:
        """(m, K) weights of each row in each class."""
        return self.bch_weights if correction is Correction.BCH else self.given

    def only(self, rows: BoolArray) -> Self:
        """Select rows; the error rates remain those of all rows."""
        selected = self.posterior[rows], self.given[rows], self.counts[rows]
        share = float(selected[2].sum() / self.counts.sum())
        design = self.design and self.design.only(rows, share)
        return replace(
            self, posterior=selected[0], given=selected[1], counts=selected[2], design=design
        )


def assign_rows(
    problem: Problem, theta: FloatArray, assigning: Assigning, nonempty: BoolArray | None = None
) -> AssignedRows:
    """Assign rows to classes, at the parameters of a model with one hidden variable.

    Classes without rows are dropped; `nonempty`, if given, are the others.
    """
    (hidden,) = problem.network.hidden
    (posteriors,) = problem.about_hidden(theta)
    posterior, counts = np.asarray(posteriors), problem.counts
    possible = posterior.sum(axis=1) > 0
    if not possible.all():
        raise ModelError(
            f"{counts[~possible].sum():g} cases have probability 0 under the model, and so "
            "no class. Fit the model to these data."
        )
    every = counts @ posterior
    nonempty = counts @ _given(posterior, assigning) >= HELD if nonempty is None else nonempty
    if not nonempty.all():
        posterior = posterior[:, nonempty]
        posterior = posterior / np.maximum(posterior.sum(axis=1, keepdims=True), 1e-300)
    given = _given(posterior, assigning)
    weighted = counts[:, None] * posterior
    cases = weighted.sum(axis=0)
    errors = (weighted.T @ given) / cases[:, None]
    if not np.linalg.svd(errors, compute_uv=False).min() > SINGULAR:
        raise ModelError(
            "the assignments do not distinguish two of the classes, so assignment errors cannot be "
            "corrected. Take fewer classes."
        )
    variable, sizes = problem.network.variables[hidden], cases / cases.sum()
    shares = every / every.sum()
    design = problem.design
    return AssignedRows(variable, nonempty, shares, posterior, given, counts, errors, sizes, design)


def _given(posterior: FloatArray, assigning: Assigning) -> FloatArray:
    """Return the assigned shares of rows, (m, K)."""
    if assigning is Assigning.MODAL:
        return np.asarray(np.eye(posterior.shape[1])[posterior.argmax(axis=1)])
    return posterior


STEPS = 5000  # most EM steps
TOLERANCE = 1e-8  # of the largest slope, in cases
NEWTON = 1e-2  # slope below which Newton steps are tried
FARTHEST = 10.0  # longest Newton step: log odds, or standard deviations of an outcome


@dataclass(frozen=True, eq=False)
class Solved:
    """The solution of the estimating equations Σ scores = 0, with its sandwich covariance."""

    scores: FloatArray  # (m, q) per row
    counts: FloatArray  # (m,) cases per row
    A: FloatArray  # (q, q) negative derivative of the summed scores
    design: SamplingDesign | None = None  # how rows were drawn
    inside: FloatArray | None = None  # (q, a) identified directions; None: all

    @property
    def directions(self) -> FloatArray:
        """(q, a) identified directions, along which the summed scores are 0."""
        return np.eye(len(self.A)) if self.inside is None else self.inside

    @property
    def total(self) -> FloatArray:
        """(q,) the sum of the scores over all cases."""
        return np.asarray(self.counts @ self.scores)

    @property
    def covariance(self) -> FloatArray:
        """(q, q) sandwich covariance from A and the outer products of the scores."""
        if self.design is None:
            B = self.scores.T @ (self.counts[:, None] * self.scores)
        else:
            every = [(slice(0, len(self.scores)), self.scores)]
            B = spread_of_scores(self.design, every, self.scores.shape[1])
        T = self.directions
        A = T.T @ self.A @ T
        scale = np.sqrt(np.maximum(np.abs(A.diagonal()), 1e-300))
        turned = T / scale
        inverse = turned @ np.linalg.pinv(A / np.outer(scale, scale), NOTHING) @ turned.T
        return np.asarray(inverse @ B @ inverse.T)


def climb(
    start: FloatArray,
    expected: Callable[[FloatArray], tuple[FloatArray, Solved]],
    improve: Callable[[FloatArray, FloatArray], FloatArray],
) -> tuple[FloatArray, bool]:
    """Maximise a likelihood with known errors by EM, and by Newton steps near the maximum.

    `expected` is the E step: expected classes and scores. `improve` is the M step. Also returns
    whether the iteration converged.
    """
    now = start
    for _ in range(STEPS):
        classes, solved = expected(now)
        T = solved.directions
        slope = T.T @ solved.total
        steepest = np.abs(slope).max(initial=0.0)
        if not np.isfinite(steepest):
            return now, False
        if steepest < TOLERANCE:
            return now, True
        step = _newton(T.T @ solved.A @ T, slope) if steepest < NEWTON else None
        now = improve(now, classes) if step is None else now + (T @ step).reshape(now.shape)
    return now, False


def _newton(A: FloatArray, slope: FloatArray) -> FloatArray | None:
    """Return the Newton step; None if the likelihood is not concave or the step too long."""
    scale = np.sqrt(np.maximum(A.diagonal(), 1e-300))
    values, vectors = np.linalg.eigh((A + A.T) / 2.0 / np.outer(scale, scale))
    if not values.min() > NOTHING:
        return None
    step: FloatArray = vectors @ (vectors.T @ (slope / scale) / values) / scale
    return step if np.abs(step).max() < FARTHEST else None


def with_known_errors(
    U: FloatArray,
    complete: Callable[[FloatArray], FloatArray],
    log_joint: FloatArray,
    rows: AssignedRows,
) -> tuple[FloatArray, Solved]:
    """Compute expected classes, (m, K), and scores and A of Σ given_s log Σ_t p(t, y) D_ts.

    `U`, (m, K, q), are complete-data scores of a row of class t. `complete` is the complete-data
    information, (q, q), by expected classes, (m, K). `log_joint`, (m, K), is log p(t) p(y | t).
    """
    given, counts, errors = rows.given, rows.counts, rows.errors
    with np.errstate(divide="ignore"):
        log_each = log_joint[:, None, :] + np.log(np.maximum(errors.T, 0.0))[None]  # (m, s, t)
    most = log_each.max(axis=2, keepdims=True)
    joint = np.exp(log_each - np.where(np.isfinite(most), most, 0.0))
    r = joint / np.maximum(joint.sum(axis=2, keepdims=True), 1e-300)
    expected = np.einsum("is,ist->it", given, r)
    each = np.einsum("ist,itq->isq", r, U)
    scores = np.einsum("is,isq->iq", given, each)
    weighted = counts[:, None] * expected
    second = np.einsum("it,itq,itp->qp", weighted, U, U)
    squared = np.einsum("is,isq,isp->qp", counts[:, None] * given, each, each)
    return expected, Solved(scores, counts, complete(expected) - (second - squared), rows.design)


STEP = 1e-4  # of numerical derivatives, in standard errors

# Scores at the estimates of a third step, as a function of the assignments.
ThirdStep: TypeAlias = Callable[[AssignedRows], Solved]


@dataclass(frozen=True, eq=False)
class FirstStep:
    """The first step as an estimator: assignments as a function of its parameters."""

    assigned: Callable[[FloatArray], AssignedRows]  # after a change of the parameters, (d,)
    influence: FloatArray  # (m, d) influence of a case of each row on each parameter


def first_step(objective: Objective, theta: FloatArray, assigning: Assigning) -> FirstStep | None:
    """Return the first step; None if the model is not at a maximum for these rows."""
    problem, layout = objective.problem, objective.problem.layout
    point = objective.at(theta)
    if not objective.steepest(point) <= NOT_A_MAXIMUM:
        return None
    coordinates = free_coordinates(layout, theta)
    alive = ~on_boundary(point.N, objective.pseudo, layout)[coordinates.free]
    free = coordinates.free[alive]
    inside = FreeCoordinates(free, coordinates.reference[alive])
    A = objective.negative_hessian(point, inside)
    nonempty = assign_rows(problem, theta, assigning).nonempty
    slopes = np.concatenate([scores for _, scores in row_scores(problem, theta, free)])

    def assigned(move: FloatArray) -> AssignedRows:
        along = np.zeros(len(theta))
        along[free] = move
        return assign_rows(problem, conjugacy.moved(theta, along, layout), assigning, nonempty)

    return FirstStep(assigned, slopes @ _inverse(A))


def _inverse(A: FloatArray) -> FloatArray:
    """Invert the information along identified directions."""
    scale = np.sqrt(np.maximum(np.abs(A.diagonal()), 1e-300))
    root, _, _ = root_of_inverse(A / np.outer(scale, scale))
    return np.asarray((root @ root.T) / np.outer(scale, scale))


def covariance_of(
    third: ThirdStep, rows: AssignedRows, shown: BoolArray, first: FirstStep | None
) -> FloatArray:
    """Compute the covariance (q, q) of a third step from the rows `shown`.

    With `first`, it includes the uncertainty of the first step, from all rows.
    """
    if first is None:
        return third(rows.only(shown)).covariance

    def scores_of_all(rows: AssignedRows) -> Solved:
        solved = third(rows.only(shown))
        scores = np.zeros((len(rows.counts), solved.scores.shape[1]))
        scores[shown] = solved.scores
        return replace(solved, scores=scores, counts=rows.counts, design=rows.design)

    solved = scores_of_all(rows)
    slopes = np.empty((first.influence.shape[1], solved.scores.shape[1]))
    scales = np.sqrt((first.influence**2 * rows.counts[:, None]).sum(axis=0))
    for j, step in enumerate(STEP * np.maximum(scales, STEP)):
        move = np.eye(len(scales))[j] * step
        up, down = (scores_of_all(first.assigned(sign * move)) for sign in (1.0, -1.0))
        slopes[j] = (up.total - down.total) / (2.0 * step)
    moves = solved.scores + _error_influence(rows, scores_of_all) + first.influence @ slopes
    return replace(solved, scores=moves).covariance


def _error_influence(rows: AssignedRows, third: ThirdStep) -> FloatArray:
    """Compute the influence (m, q) of rows on the summed scores through D and class sizes."""
    unit, cases = np.eye(len(rows.sizes)) * STEP, rows.counts.sum()
    influence: FloatArray = np.zeros((len(rows.counts), third(rows).scores.shape[1]))

    def add(part: FloatArray, up: AssignedRows, down: AssignedRows) -> None:
        nonlocal influence
        influence += part[:, None] * (third(up).total - third(down).total) / (2.0 * STEP)

    for t, share in enumerate((rows.posterior / (cases * rows.sizes)).T):
        for s, along in enumerate(unit):
            ends = (rows.errors + sign * np.outer(unit[t] / STEP, along) for sign in (1.0, -1.0))
            part = share * (rows.given[:, s] - rows.errors[t, s])
            add(part, *(replace(rows, errors=errors) for errors in ends))
        sizes = (rows.sizes + sign * unit[t] for sign in (1.0, -1.0))
        part = (rows.posterior[:, t] - rows.sizes[t]) / cases
        add(part, *(replace(rows, sizes=moved) for moved in sizes))
    return influence
