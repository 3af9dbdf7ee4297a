"""Standard errors of classes that covariates predict.

Errors come from the inverse of the joint observed information of coefficients and items, or from
the bootstrap.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from scipy.linalg import block_diag
from scipy.stats import t as student

from lacunet.fitting.ascent import Convergence
from lacunet.fitting.newton import climb_by_newton
from lacunet.fitting.objective import Estimate, Objective, Point
from lacunet.flags import Flag, Kind
from lacunet.inference import information
from lacunet.inference.predicted import PredictedClasses
from lacunet.inference.problem import Problem
from lacunet.models import conjugacy
from lacunet.models.known import Relabelling
from lacunet.models.network import Model
from lacunet.models.predictors import Covariates
from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.summaries import bootstrap
from lacunet.summaries.coefficients import Coefficients
from lacunet.summaries.identification import TOUCHED, Free, Why, without_end
from lacunet.summaries.intervals import (
    HELD,
    LARGEST,
    Intervals,
    check_flat,
    counted,
    linearised_words,
    on_boundary,
)
from lacunet.summaries.matching import cheapest_order, profile_distances

METHOD = "From the observed information of coefficients and items together, at the {} parameters."
NO_ERROR = 1e-6  # standard error of a logit that counts as 0


@dataclass(frozen=True, eq=False)
class ClassPrecision:
    """The joint covariance of coefficients and of φ of items, at a maximum."""

    objective: Objective
    point: Point
    free: IntArray  # positions of free coefficients, and of items that are not at the boundary
    root: FloatArray  # (d, m) F with F Fᵀ the covariance, along determined directions
    flat: FloatArray  # (d, f) directions that the data do not determine
    separated: FloatArray  # (coefficients, s) directions in which the likelihood has no maximum
    maximum: bool

    @cached_property
    def classes(self) -> PredictedClasses:
        """The parts of the problem."""
        return PredictedClasses(self.objective.problem)

    @cached_property
    def at_boundary(self) -> BoolArray:
        """(size without covariates,) probabilities at 0 or 1."""
        return _at_boundary(self.objective, self.point)

    def coefficients(self, level: float) -> Coefficients:
        """Coefficients in the units of the covariates, against the first class."""
        classes, known = self.classes, self.classes.logit.covariates
        changes = _in_units(self.root[: classes.free], known, classes.states)
        variable = classes.network.variables[classes.root]
        return Coefficients(
            variable.name,
            variable.labels,
            known.titles,
            known.named_places,
            _in_units_of(classes, self.point.theta),
            np.einsum("apm,bqm->apbq", changes, changes),
            0,
            level,
            self._method,
            self._degrees,
            free=tuple(self._free_directions()),
        )

    def _free_directions(self) -> Iterator[Free]:
        """Undetermined directions of coefficients, with reasons."""
        classes, known = self.classes, self.classes.logit.covariates
        n, K = classes.free, classes.states
        if not self.maximum:
            yield from free_directions(np.eye(n), known, K, Why.NO_MAXIMUM)
        cases = classes.network.layout.table(classes.counts(self.point.N), classes.root)
        likelihood = self.objective.estimate is Estimate.ML  # the MAP has a prior of coefficients
        for c in np.flatnonzero(likelihood & (cases < HELD)).tolist():
            yield class_direction(c, K, len(known.titles), Why.EMPTY_CLASS)
        yield from free_directions(self.separated, known, K, Why.SEPARATED)
        yield from free_directions(self.flat[:n], known, K, Why.NOT_IDENTIFIED)

    @property
    def _degrees(self) -> float:
        """Degrees of freedom of a survey; infinite otherwise."""
        design = self.objective.problem.design
        return np.inf if design is None else float(design.degrees)

    @property
    def _method(self) -> str:
        words, design = self.objective.estimate.words, self.objective.problem.design
        if design is None:
            return METHOD.format(words)
        together = f"Coefficients and items together, at the {words} parameters."
        return f"{linearised_words(design)} {together}"

    def intervals(self, level: float) -> Intervals:
        """Intervals of class sizes over all rows, and of items."""
        model, layout = self.classes.model(self.point.theta), self.classes.network.layout
        scaled = np.sqrt((self._changes(self.root) ** 2).sum(axis=1))
        unknown = np.abs(self._changes(self.flat)).max(axis=1, initial=0.0) > TOUCHED
        # A class size does not vary if covariates determine the class of every row.
        certain = (scaled < NO_ERROR) & bool(self.separated.shape[1])
        scaled[self.at_boundary | unknown | certain | (not self.maximum)] = np.nan
        reach = float(student.ppf((1.0 + level) / 2.0, self._degrees)) * scaled
        ends = [
            conjugacy.from_interval_scale(model.theta, sign * reach, layout) for sign in (-1.0, 1.0)
        ]
        stderr = conjugacy.scale_slope(model.theta, layout) * scaled
        vague = layout.in_simplex & (stderr > LARGEST)
        stderr, low, high = (np.where(vague, np.nan, x) for x in (stderr, *ends))
        method = self._method + " Class sizes are those of the rows at hand."
        flags = (
            *self.flags,
            *(self.coefficients(level).flags if certain.any() else ()),
            *counted(Kind.NOT_IDENTIFIED, unknown & ~self.at_boundary),
            *counted(Kind.HARDLY_IDENTIFIED, vague, largest=LARGEST),
        )
        return Intervals(model, self.objective.estimate, level, method, stderr, low, high, flags)

    @property
    def flags(self) -> tuple[Flag, ...]:
        """Warnings about the errors."""
        at_boundary = counted(Kind.HELD_AT_BOUNDARY, self.at_boundary)
        return (*at_boundary, *(() if self.maximum else (Flag(Kind.SADDLE),)))

    def _changes(self, along: FloatArray) -> FloatArray:
        """(size without covariates, m) derivatives of class sizes and items, on their scale."""
        classes, theta = self.classes, self.point.theta
        n, design, layout = classes.free, classes.logit.design, classes.problem.layout
        phi = np.zeros((layout.size, along.shape[1]))
        phi[self.free[n:]] = along[n:]
        each = conjugacy.to_interval_scale(phi, theta, layout)
        table, share = classes.sizes(theta), classes.cases / classes.cases.sum()
        slopes = np.zeros((classes.states, design.shape[1], along.shape[1]))
        slopes[1:] = along[:n].reshape(classes.states - 1, design.shape[1], -1)
        logits = np.einsum("xp,cpm->xcm", design, slopes)
        moved = table[:, :, None] * (logits - np.einsum("xc,xcm->xm", table, logits)[:, None])
        sizes, mean = np.einsum("x,xcm->cm", share, moved), share @ table
        of_sizes = sizes / np.maximum(mean * (1.0 - mean), 1e-300)[:, None]
        columns = [classes.of_items(x, s) for x, s in zip(each.T, of_sizes.T, strict=True)]
        return np.array(columns).reshape(len(columns), classes.network.layout.size).T


def class_precision(objective: Objective, point: Point) -> ClassPrecision:
    """Invert the observed information at a maximum."""
    problem, classes, theta = objective.problem, PredictedClasses(objective.problem), point.theta
    at_boundary = on_boundary(point.N, objective.pseudo, problem.layout)
    coordinates, n = classes.coordinates(theta, at_boundary), classes.free
    free = coordinates.free
    A = objective.negative_hessian(point, coordinates)
    known = classes.curvature(theta, point.N + objective.pseudo)
    inside, separated = end_of_coefficients(classes, known)
    T = block_diag(inside, np.eye(len(free) - n))
    A = T.T @ A @ T
    complete = information.complete_diagonal(point.N + objective.pseudo, theta, problem.layout)
    diagonal = np.concatenate([(inside.T @ known @ inside).diagonal(), complete[free[n:]]])
    scale = np.sqrt(np.maximum(diagonal, information.NOTHING))
    factor, flat, maximum = information.root_of_inverse(A / np.outer(scale, scale))
    root, design = T @ (factor / scale[:, None]), problem.design
    if design is not None and maximum:  # a sandwich, as without covariates
        each = information.row_scores(problem, theta, free)
        G = information.spread_of_scores(design, each, len(root))
        root = root @ information.root_of(root.T @ G @ root)
    flat = T @ (flat / scale[:, None])
    flat = flat / np.maximum(np.abs(flat).max(axis=0, initial=0.0), 1e-300)
    return ClassPrecision(objective, point, free, root, flat, separated, maximum)


def _at_boundary(objective: Objective, point: Point) -> BoolArray:
    """(size without covariates,) probabilities of items at 0 or 1."""
    classes = PredictedClasses(objective.problem)
    at_boundary = on_boundary(point.N, objective.pseudo, objective.problem.layout).astype(
        np.float64
    )
    return classes.of_items(at_boundary, np.zeros(classes.states)) > 0


def end_of_coefficients(
    classes: PredictedClasses, complete: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Bases of the coefficients: determined directions, and those without a maximum likelihood.

    `complete` is the information of complete data on them.
    """
    reach = np.abs(classes.logit.design).max(axis=0)
    return without_end(complete, np.tile(reach, classes.states - 1))


def _in_units_of(classes: PredictedClasses, theta: FloatArray) -> FloatArray:
    """(K, p) coefficients in the units of covariates."""
    return np.asarray(classes.coefficients(theta) @ classes.logit.covariates.to_units.T)


def _in_units(along: FloatArray, known: Covariates, K: int) -> FloatArray:
    """(K, p, m) directions of free coefficients, (free, m), in the units of covariates."""
    p = len(known.titles)
    each = np.zeros((K, p, along.shape[1]))
    each[1:] = np.einsum("pq,cqm->cpm", known.to_units, along.reshape(K - 1, p, along.shape[1]))
    return each


def class_direction(c: int, K: int, p: int, why: Why) -> Free:
    """The direction of all coefficients of a class."""
    return Free(why, np.outer(np.arange(K) == c, np.ones(p)))


def free_directions(along: FloatArray, known: Covariates, K: int, why: Why) -> Iterator[Free]:
    """Scale undetermined directions of free coefficients, (free, m), one by one."""
    if along.shape[1]:
        scale = 1.0 / known.to_units.diagonal()
        each = np.moveaxis(_in_units(along, known, K) * scale[:, None], 2, 0)
        yield from (Free(why, one / max(float(np.abs(one).max()), 1e-300)) for one in each)


def predicted_intervals(
    problem: Problem,
    model: Model,
    estimate: Estimate,
    level: float,
    replicates: int = 0,
    seed: int = 0,
    executor: Executor = SERIAL,
) -> Intervals:
    """Compute the intervals of a model at its maximum, by the information or the bootstrap."""
    objective = Objective.build(problem, estimate)
    point = objective.at(PredictedClasses(problem).parameters_of(model))
    check_flat(objective.steepest(point), objective.estimate)
    if not replicates:
        return class_precision(objective, point).intervals(level)
    request = level, seed, replicates
    return class_replicates(objective, point, *request, executor=executor).intervals


@dataclass(frozen=True, eq=False)
class ClassReplicates:
    """Bootstrap refits, with classes numbered as in the fit."""

    intervals: Intervals  # percentile intervals of class sizes over all rows, and of items
    coefficients: FloatArray  # (B, K, p) in the units of the covariates

    def of_coefficients(self, coefficients: Coefficients) -> Coefficients:
        """Coefficients with errors and intervals from these refits."""
        method = f"{self.intervals.method} Coefficients: p-values by their standard deviations."
        return replace(coefficients, method=method, draws=self.coefficients)


def class_replicates(
    objective: Objective,
    point: Point,
    level: float,
    seed: int,
    replicates: int,
    *,
    executor: Executor = SERIAL,
) -> ClassReplicates:
    """Refit drawn data, each time from a maximum."""
    problem, estimate = objective.problem, objective.estimate
    classes = PredictedClasses(problem)
    bootstrap.check_possible_replicates(problem, replicates)
    executor = executor.if_worth(problem.components.nanoseconds)
    refit = partial(_refit, problem, estimate, point.theta, seed)
    refits = executor.count(refit, range(replicates), "bootstrap", 0, replicates)
    thetas, coefficients, finished = zip(*refits, strict=True)
    settings = estimate, level, np.array(thetas), _at_boundary(objective, point)
    model, stopped = classes.model(point.theta), replicates - sum(finished)
    notes = {"stopped": stopped, "seed": seed}
    intervals = bootstrap.replicated(classes.plain, model, *settings, **notes)
    return ClassReplicates(intervals, np.array(coefficients))


def _refit(
    problem: Problem, estimate: Estimate, theta: FloatArray, seed: int, replicate: int
) -> tuple[FloatArray, FloatArray, bool]:
    """Parameters without covariates, coefficients, and success of the climb from θ on a replicate.

    Classes are numbered as at θ. Coefficients without a maximum of the likelihood are infinite.
    """
    drawn = bootstrap.resample(problem, theta, seed, replicate)
    objective, classes = Objective.build(drawn, estimate), PredictedClasses(drawn)
    climb = climb_by_newton(objective, objective.at(theta))
    like = PredictedClasses(problem).model(theta)
    apart = profile_distances(classes.model(climb.point.theta), like, classes.root)
    by = Relabelling(drawn.layout, orders={classes.root: cheapest_order(apart)})
    point = objective.at(by.apply(climb.point.theta))
    values = _in_units_of(classes, point.theta)
    known = classes.curvature(point.theta, point.N + objective.pseudo)
    _, separated = end_of_coefficients(classes, known)
    for free in free_directions(separated, classes.logit.covariates, len(values), Why.SEPARATED):
        values = np.where(np.abs(free.along) > TOUCHED, np.inf, values)
    finished = climb.outcome is Convergence.CONVERGED
    return classes.to_plain(point.theta), values, finished
