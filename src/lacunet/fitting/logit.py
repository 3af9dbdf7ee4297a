"""Multinomial logit: the coefficients that are best for expected numbers of each class.

What is climbed: the likelihood with covariates, and the density of coefficients and items.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.special import gammaln, log_softmax

from lacunet.fitting.objective import Estimate, Objective
from lacunet.inference.classes import Tangent, dot, expect
from lacunet.inference.plans.plan import free_coordinates
from lacunet.inference.regression.classes import ClassProblem
from lacunet.models import conjugacy
from lacunet.models.known import Relabelling
from lacunet.models.network import Model
from lacunet.runtime.arrays import FloatArray, IntArray

TOLERANCE = 1e-9  # on a Newton step's promise, in nats
STEPS = 100  # at most; Newton's method doubles digits, but to infinity it goes by even steps
FARTHEST = 10.0  # log odds that one step may move any row by
HALVINGS = 30
RIDGE = 1e-12  # of the largest curvature: keeps a step finite where nothing else does


def logit_gradient(design: FloatArray, N: FloatArray, p: FloatArray) -> FloatArray:
    """Slope of Σ N log p by free coefficients, (free,): class by class without the first.

    N and p are (patterns, K): cases, and the probability of each class.
    """
    residual = N - N.sum(axis=1, keepdims=True) * p
    return np.asarray(residual[:, 1:].T @ design).reshape(-1)


def logit_information(design: FloatArray, cases: FloatArray, p: FloatArray) -> FloatArray:
    """Negative Hessian of Σ N log p, (free, free): Σ_x n_x (diag p − ppᵀ) ⊗ xxᵀ.

    Parameters
    ----------
    design
        (patterns, columns).
    cases
        (patterns,) n_x.
    p
        (patterns, K) probability of each class.
    """
    q = p[:, 1:]
    columns, classes = design.shape[1], q.shape[1]
    A = np.empty((classes, columns, classes, columns))
    for c in range(classes):
        for b in range(c + 1):
            weight = cases * (q[:, c] * ((c == b) - q[:, b]))
            A[c, :, b, :] = A[b, :, c, :] = design.T @ (weight[:, None] * design)
    return A.reshape(classes * columns, classes * columns)


def whole(free: FloatArray, columns: int) -> FloatArray:
    """(K, p) coefficients, those of the first class 0."""
    return np.vstack([np.zeros((1, columns)), free.reshape(-1, columns)])


def _no_farther(A: FloatArray, slope: FloatArray, design: FloatArray) -> FloatArray:
    """Newton's step, shortened along directions that hardly anything holds, and only there."""
    values, vectors = np.linalg.eigh(A)
    along = vectors.T @ slope / values
    moves = np.einsum("xp,cpv->xcv", design, vectors.reshape(-1, design.shape[1], len(A)))
    most = FARTHEST / np.maximum(np.abs(moves).max(axis=(0, 1)), 1e-300)
    return np.asarray(vectors @ np.clip(along, -most, most))


def maximize_logit(
    design: FloatArray, N: FloatArray, start: FloatArray, precision: FloatArray
) -> FloatArray:
    """Maximise Σ N log p − ½ βᵀ Q β over free coefficients, by Newton's method with halved steps.

    Parameters
    ----------
    design
        (patterns, columns).
    N
        (patterns, K) expected cases.
    start
        (free,) coefficients to start from.
    precision
        (free, free) Q of the Gaussian prior; zeros for the maximum of the likelihood.
    """
    cases, columns = N.sum(axis=1), design.shape[1]
    beta = start

    def value(beta: FloatArray) -> tuple[float, FloatArray]:
        log_p = log_softmax(design @ whole(beta, columns).T, axis=1)
        return float((N * log_p).sum() - beta @ precision @ beta / 2.0), np.exp(log_p)

    now, p = value(beta)
    for _ in range(STEPS if len(beta) else 0):
        slope = logit_gradient(design, N, p) - precision @ beta
        A = logit_information(design, cases, p) + precision
        A[np.diag_indices_from(A)] += RIDGE * max(float(A.diagonal().max()), 1e-300)
        step = np.linalg.solve(A, slope)
        promise = float(step @ slope)
        if np.abs(design @ step.reshape(-1, columns).T).max() > FARTHEST:
            step = _no_farther(A, slope, design)
        if not promise > TOLERANCE:
            break
        for halving in range(HALVINGS):
            moved = beta + 0.5**halving * step
            then, its = value(moved)
            if then >= now:
                break
        else:
            break
        beta, now, p = moved, then, its
    return beta


@dataclass(frozen=True, eq=False)
class ClassPoint:
    """Coefficients and items, and what one pass over the data says of them."""

    beta: FloatArray  # (free,) coefficients of standardised columns: see `ClassProblem.free`
    theta: FloatArray  # (size,) with the class sizes that they give
    N: FloatArray  # (size,) expected counts
    log_lik: float  # log p(items | covariates, β, θ)
    g: float  # what is climbed


@dataclass(frozen=True, eq=False)
class ClassObjective:
    """The function of (β, θ of items) to climb, with its M step, gradient and curvature.

    Coordinates are β, then φ of the items (`model.conjugacy`): steps never leave the range.
    """

    given: ClassProblem
    estimate: Estimate
    pseudo: FloatArray  # (size,) what the M step adds to statistics of items; 0 elsewhere
    constant: float  # of the log prior of items and coefficients
    precision: FloatArray  # (free, free) of the Gaussian prior; zeros for the ML

    @classmethod
    def build(cls, given: ClassProblem, estimate: Estimate) -> "ClassObjective":
        """Take the prior of items that a search without covariates has, and that of β."""
        plain = Objective.build(given.plain, estimate)
        items = given.of_items
        free = given.free
        if plain.estimate is Estimate.ML:
            nothing = np.zeros(given.layout.size)
            return cls(given, plain.estimate, nothing, 0.0, np.zeros((free, free)))
        alpha, layout = given.problem.alpha, given.layout
        softmax = plain.estimate is Estimate.SOFTMAX
        added = alpha if softmax else conjugacy.in_theta(alpha, layout)
        # The constant of the plain prior without that of class sizes, which β replaces.
        sizes = given.plain.layout.table(given.plain.alpha, given.root)
        of_sizes = float(_log_dirichlet(sizes))
        of_beta = (
            np.linalg.slogdet(given.precision)[1] - free * np.log(2.0 * np.pi) if free else 0.0
        ) / 2.0
        constant = plain.constant - of_sizes + of_beta
        return cls(given, plain.estimate, np.where(items, added, 0.0), constant, given.precision)

    def at(self, beta: FloatArray, items: FloatArray) -> ClassPoint:
        """Run the E step, for items as they stand in any θ."""
        given = self.given
        theta = given.in_place(items, whole(beta, given.design.matrix.shape[1]))
        found = expect(given.problem, theta)
        log_lik = found.log_lik - given.log_patterns
        g = log_lik + self.constant - float(beta @ self.precision @ beta) / 2.0
        return ClassPoint(beta, theta, found.N, log_lik, g + dot(self.pseudo, found.natural))

    def em_step(self, point: ClassPoint) -> ClassPoint:
        """One iteration of EM: items in closed form, coefficients by Newton's method inside."""
        given = self.given
        theta = conjugacy.maximize(point.N, self.pseudo, point.theta, given.layout)
        N = given.class_table(point.N)
        beta = maximize_logit(given.design.matrix, N, point.beta, self.precision)
        return self.at(beta, np.where(given.of_items, theta, point.theta))

    def free(self, theta: FloatArray) -> IntArray:
        """(d of items,) positions of items that vary, at θ."""
        free = free_coordinates(self.given.layout, theta).free
        return np.asarray(free[self.given.of_items[free]])

    def gradient(self, point: ClassPoint, free: IntArray) -> FloatArray:
        """Slope by (β, φ of items at `free`), in cases."""
        given = self.given
        p, N = given.class_table(point.theta), given.class_table(point.N)
        of_beta = logit_gradient(given.design.matrix, N, p) - self.precision @ point.beta
        of_items = conjugacy.pull_back(point.theta, point.N + self.pseudo, given.layout)
        return np.concatenate([of_beta, of_items[free]])

    def steepest(self, point: ClassPoint) -> float:
        """Largest component of the gradient by any coordinate, whichever makes up for others."""
        every = np.flatnonzero(self.given.of_items)
        return float(np.abs(self.gradient(point, every)).max(initial=0.0))

    def moved(self, point: ClassPoint, move: FloatArray, free: IntArray) -> ClassPoint:
        """Go a step in (β, φ of items at `free`)."""
        coefficients = len(point.beta)
        along = np.zeros(self.given.layout.size)
        along[free] = move[coefficients:]
        theta = conjugacy.moved(point.theta, along, self.given.layout)
        return self.at(point.beta + move[:coefficients], theta)

    def negative_hessian(self, point: ClassPoint, free: IntArray) -> FloatArray:
        """A by (β, φ of items at `free`), (d, d): that of complete data less what is missing."""
        return self.complete(point, free) - self._missing(point, free)

    def complete(self, point: ClassPoint, free: IntArray) -> FloatArray:
        """A′, (d, d): what A would be if the classes had been seen in their expected numbers."""
        given, coefficients = self.given, len(point.beta)
        A = np.zeros((coefficients + len(free),) * 2)
        p = given.class_table(point.theta)
        A[:coefficients, :coefficients] = self.precision + logit_information(
            given.design.matrix, given.cases, p
        )
        for column, position in enumerate(free, start=coefficients):
            phi, known = self._direction(position), point.N + self.pseudo
            curved = conjugacy.information(point.theta, known, phi, given.layout)
            A[coefficients:, column] = curved[free]
        return A

    def _missing(self, point: ClassPoint, free: IntArray) -> FloatArray:
        """Information that hidden classes take away, (d, d). Louis (1982).

        It is the covariance of the complete-data score: a tangent for each coordinate.
        """
        given, layout, theta = self.given, self.given.layout, point.theta
        design, coefficients = given.design.matrix, len(point.beta)
        tangent = Tangent(given.problem, theta)
        columns = []
        for eta in self._directions(point, free):
            change = tangent(eta)
            of_beta = np.asarray(given.class_table(change)[:, 1:].T @ design).reshape(-1)
            of_items = conjugacy.pull_back(theta, change, layout)[free]
            columns.append(np.concatenate([of_beta, of_items]))
        missing: FloatArray = np.array(columns).reshape(coefficients + len(free), -1)
        return (missing + missing.T) / 2.0

    def _directions(self, point: ClassPoint, free: IntArray) -> Iterator[FloatArray]:
        """How log probabilities change with each coordinate, (size,)."""
        given, layout = self.given, self.given.layout
        p = given.class_table(point.theta)
        for c in range(1, given.states):
            slope = (np.arange(given.states) == c) - p[:, [c]]
            for column in given.design.matrix.T:
                eta = np.zeros(layout.size)
                eta[layout.block(given.root)] = (column[:, None] * slope).reshape(-1)
                yield eta
        for position in free:
            pushed = conjugacy.push(point.theta, self._direction(position), layout)
            yield np.where(given.of_items, pushed, 0.0)

    def _direction(self, position: int) -> FloatArray:
        phi = np.zeros(self.given.layout.size)
        phi[position] = 1.0
        return phi


@dataclass(frozen=True, eq=False)
class ClassParameters:
    """Coefficients and items, and the function that they are held to."""

    objective: ClassObjective
    point: ClassPoint

    @property
    def given(self) -> ClassProblem:
        """What they are parameters of."""
        return self.objective.given

    @property
    def free(self) -> IntArray:
        """Positions of items that vary."""
        return self.objective.free(self.point.theta)

    @property
    def dimension(self) -> int:
        """Free parameters."""
        return self.given.free + len(self.free)

    def held_to(self, estimate: Estimate) -> "ClassParameters":
        """Hold the same parameters to another estimate."""
        objective = ClassObjective.build(self.given, estimate)
        return ClassParameters(objective, objective.at(self.point.beta, self.point.theta))

    def renumbered(self, order: Sequence[int]) -> Self:
        """Give the new class k what the old class order[k] had."""
        given, point = self.given, self.point
        relabelled = Relabelling(given.layout, orders={given.root: order})
        if list(order) == sorted(order) or not relabelled.keeps(given.problem.alpha):
            return self
        coefficients = whole(point.beta, given.design.matrix.shape[1])[list(order)]
        free = (coefficients - coefficients[0])[1:].reshape(-1)
        moved = self.objective.at(free, relabelled.apply(point.theta))
        return replace(self, point=moved)


def parameters_of(model: Model, given: ClassProblem, estimate: Estimate) -> ClassParameters:
    """Take coefficients and items as a model has them, for rows and a design that may be others."""
    predictors, objective = model.predictors, ClassObjective.build(given, estimate)
    assert predictors is not None
    beta = predictors.coefficients[1:].reshape(-1)
    return ClassParameters(objective, objective.at(beta, given.from_plain(model.theta)))


def _log_dirichlet(exponents: FloatArray) -> float:
    """Log of the normalising constant of a Dirichlet density."""
    return float(gammaln(exponents.sum()) - gammaln(exponents).sum())
