"""A, the negative Hessian of g at a maximum θ̃ in free θ, three ways.

Thiesson (1995): exactly, by inference. Finite differences of the gradient. Supplemented EM (Meng &
Rubin 1991): near θ̃ one iteration of EM leaves the part J of a displacement, and A = A_c (I − J)
with A_c the curvature of complete data, so that EM's own convergence tells the curvature.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lacunet.fitting.objective import Objective
from lacunet.inference.hessian import negative_hessian
from lacunet.inference.plans.plan import FreeCoordinates, free_coordinates
from lacunet.runtime.arrays import FloatArray
from lacunet.scores.softmax import factorise

STEP = np.finfo(float).eps ** (1 / 3)  # of central differences, as a part of the coordinate
DISPLACED = 1e-4  # in log θ: how far from θ̃ the EM iterations of supplemented EM begin
SETTLED = 1e-6  # change of a column of J, in units of the curvatures, at which it is believed
ITERATIONS = 200  # of EM, at most
SMALLEST = 1e-9  # displacement, as a part of the coordinate, below which rounding takes over


@dataclass(frozen=True, eq=False)
class Curvature:
    """A, and what it cost."""

    A: FloatArray  # (d, d)
    passes: int  # E steps, or inferences that cost about as much
    cpu: float  # seconds

    @property
    def log_det(self) -> float | None:
        """Log |A|; None where A is not positive definite."""
        factor = factorise(np.asfortranarray((self.A + self.A.T) / 2))
        return None if factor is None else factor.log_det

    @property
    def asymmetry(self) -> float:
        """Largest difference of A and its transpose, in units of the curvatures."""
        return largest_difference(self.A, self.A.T)


def largest_difference(one: FloatArray, other: FloatArray) -> float:
    """Largest difference of two Hessians, in units of the second one's curvatures."""
    root = np.sqrt(np.abs(other.diagonal()))
    return float(np.abs((one - other) / np.outer(root, root)).max(initial=0.0))


Differentiate = Callable[[Objective, FloatArray], Curvature]


def exact(objective: Objective, theta: FloatArray) -> Curvature:
    """Take the second derivatives from inference."""
    began = time.thread_time()
    coordinates = free_coordinates(objective.problem.layout, theta)
    lower = np.tril(negative_hessian(objective.problem, theta, coordinates))
    A = lower + np.tril(lower, -1).T
    return Curvature(A, 1, time.thread_time() - began)


def finite_differences(objective: Objective, theta: FloatArray) -> Curvature:
    """Difference the gradient, to both sides of every coordinate."""
    began = time.thread_time()
    coordinates = free_coordinates(objective.problem.layout, theta)
    A = np.empty((len(coordinates.free),) * 2)
    for column in range(len(A)):
        step = STEP * _room(theta, coordinates)[column]
        ahead, behind = (
            _slope(objective, _displaced(theta, coordinates, column, side), coordinates)
            for side in (step, -step)
        )
        A[:, column] = (behind - ahead) / (2 * step)
    return Curvature(A, 2 * len(A), time.thread_time() - began)


def supplemented_em(objective: Objective, theta: FloatArray) -> Curvature:
    """Follow EM on its way to θ̃, and see what it leaves of each coordinate's displacement."""
    began = time.thread_time()
    coordinates = free_coordinates(objective.problem.layout, theta)
    free, room = coordinates.free, _room(theta, coordinates)
    complete = _complete(objective, theta, coordinates)
    root = np.sqrt(complete.diagonal())
    home = _mapped(objective, theta)[free]
    J, settled = np.zeros((len(free),) * 2), np.zeros(len(free), dtype=bool)
    path, passes = _beginning(objective, theta), 1
    for _ in range(ITERATIONS):
        step = path[free] - theta[free]
        usable = (np.abs(step) > SMALLEST * room) & (np.abs(step) < room)
        for column in np.flatnonzero(usable & ~settled).tolist():
            moved = _displaced(theta, coordinates, column, step[column])
            left = (_mapped(objective, moved)[free] - home) / step[column]
            change = np.abs((left - J[:, column]) * root / root[column]).max()
            J[:, column], settled[column] = left, change < SETTLED
            passes += 1
        if not (usable & ~settled).any():
            break
        path, passes = _mapped(objective, path), passes + 1
    A = complete @ (np.eye(len(free)) - J)
    return Curvature(A, passes, time.thread_time() - began)


def _room(theta: FloatArray, at: FreeCoordinates) -> FloatArray:
    """How far each free coordinate may move before it, or what makes up for it, is 0."""
    return np.minimum(theta[at.free], theta[at.reference])


def _displaced(theta: FloatArray, at: FreeCoordinates, column: int, step: float) -> FloatArray:
    moved = theta.copy()
    moved[at.free[column]] += step
    moved[at.reference[column]] -= step
    return moved


def _slope(objective: Objective, theta: FloatArray, at: FreeCoordinates) -> FloatArray:
    """Gradient of g in free θ."""
    each: FloatArray = (objective.at(theta).N + objective.pseudo) / theta
    return each[at.free] - each[at.reference]


def _mapped(objective: Objective, theta: FloatArray) -> FloatArray:
    """One iteration of EM."""
    point = objective.at(theta)
    return objective.m_step(point.N, point.theta)


def _beginning(objective: Objective, theta: FloatArray) -> FloatArray:
    """A place near θ̃ from which every coordinate is displaced: every other state a bit larger."""
    layout = objective.problem.layout
    pushed = theta * np.exp(DISPLACED * np.where(layout.k % 2, 1.0, -1.0))
    return pushed / layout.spread(layout.sum_k(pushed))


def _complete(objective: Objective, theta: FloatArray, at: FreeCoordinates) -> FloatArray:
    """A_c: diag(Ñ_k / θ_k²) + Ñ_ref / θ_ref² · 11ᵀ for each parent configuration."""
    each = (objective.at(theta).N + objective.pseudo) / theta**2
    ij = objective.problem.layout.ij[at.free]
    together = ij[:, None] == ij[None, :]
    return np.diag(each[at.free]) + np.where(together, each[at.reference][:, None], 0.0)
