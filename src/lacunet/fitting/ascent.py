"""Climb to a maximum: EM while it is fast, then L-BFGS, then escape from saddle points.

L-BFGS starts with the inverse curvature of complete data. Without memory a step is EM to first
order, and the memory corrects for the missing information (Jamshidian & Jennrich 1997). A step that
gains too little is replaced by an EM step, so the objective never falls. A stationary point is a
maximum if the least curvature of g, relative to complete data, is positive.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from lacunet.fitting.objective import Objective, Point
from lacunet.inference.classes import Tangent
from lacunet.inference.kernels import rows as kernels
from lacunet.models import conjugacy
from lacunet.runtime.arrays import FloatArray

TOLERANCE = 1e-6  # on the largest gradient component, in cases
LAST_DIGITS = 1e-14  # the same relative to cases and exponents, because of rounding
PAPER_CHANGE = 1e-5  # relative change of g; CH96 §3
EM_AT_MOST = 200
MEMORY = (10, 80)  # fewest and most pairs of the L-BFGS memory
MEMORY_NUMBERS = 40_000  # most numbers in it, to keep its cost below that of an E step
# A start is abandoned if it is so many nats below a better one, and by so many times the gain
# predicted for its next step.
HOPELESS = 10.0, 1e4
ONE_OF_MANY = 0.3, 100.0  # the same with many starts
SHORTEST = 0.1  # a step cut to less than this fraction shows that the memory is stale
ENOUGH = 1e-4  # least gain of a step, relative to its predicted gain (Armijo)
ROUNDING = 1e-14  # relative noise of a log-likelihood that is a sum over rows


class Convergence(StrEnum):
    """How learning ended, as shown to the user."""

    CONVERGED = "converged: scaled gradient below tolerance"
    MAX_STEPS = "stopped at the step limit before converging: the maximum is nearly flat"
    PAPER_CONVERGED = "converged by the paper's test: relative change of g below 1e-5"
    PAPER_STOPPED = "not converged by the paper's test after 200 iterations"
    ABANDONED = "stopped early: far below a better start, with little possible gain"
    CLOSED_FORM = "closed form: nothing is hidden"


@dataclass(frozen=True, eq=False)
class Climb:
    """The end of an ascent."""

    point: Point
    steps: int  # E steps
    outcome: Convergence


def em_while_fast(objective: Objective, point: Point) -> Climb:
    """Run EM until the convergence test of CH96 holds."""
    steps, fast = 0, True
    while fast and steps < EM_AT_MOST:
        before, point, steps = point, objective.em_step(point), steps + 1
        fast = relative_change(before, point, objective.problem.log_base) >= PAPER_CHANGE
    return Climb(point, steps, Convergence.MAX_STEPS)


def relative_change(before: Point, after: Point, base: float = 0.0) -> float:
    """Compute the relative change of g between two iterations, as in CH96.

    `base` is the constant part of g; without it the unit of a number would affect convergence.
    """
    now, smallest = float(after.g), float(np.finfo(float).tiny)
    return abs(now - float(before.g)) / max(abs(now - base), smallest)


def ascend(
    objective: Objective,
    start: Climb,
    *,
    rival: float = -np.inf,
    hopeless: tuple[float, float] = HOPELESS,
    max_steps: int = 5000,
) -> Climb:
    """Climb until no component of the gradient exceeds the tolerance.

    Abandon the ascent if `rival`, the g of a better start, is out of reach.
    """
    gap, factor = hopeless
    point, steps = start.point, start.steps
    layout, edge = objective.problem.layout, objective.edge
    longest = conjugacy.longest_move(layout, edge=edge)
    gradient = objective.gradient(point)
    slope = conjugacy.slope(point.theta, gradient, layout, edge=edge)
    shape = int(np.clip(MEMORY_NUMBERS // len(slope), *MEMORY)), len(slope)
    moves, changes, stored = (
        np.zeros(shape),
        np.zeros(shape),
        0,
    )  # the memory, and the number of pairs
    large = objective.problem.cases + float(np.abs(objective.pseudo).max(initial=0.0))
    tolerance = max(TOLERANCE, LAST_DIGITS * large)
    while np.abs(gradient).max(initial=0.0) > tolerance:
        if steps >= max_steps:
            return Climb(point, steps, Convergence.MAX_STEPS)
        known = point.N + objective.pseudo
        metric = conjugacy.metric(point.theta, known, layout, edge=edge)
        move = slope.copy()
        kernels.two_loop(moves, changes, stored, metric, move)
        promise = float(move @ slope)
        if rival - point.g > max(gap, factor * promise):
            return Climb(point, steps, Convergence.ABANDONED)
        shorter = min(1.0, longest / np.abs(move).max())
        enough = point.g + ENOUGH * shorter * promise - ROUNDING * abs(point.g)
        moved = None
        if shorter > SHORTEST:
            moved = objective.at(conjugacy.moved(point.theta, shorter * move, layout, edge=edge))
            steps += 1
        if moved is None or not moved.g >= enough:
            stored = 0
            moved = objective.em_step(point)
            steps += 1
        gradient = objective.gradient(moved)
        new_slope = conjugacy.slope(moved.theta, gradient, layout, edge=edge)
        step = conjugacy.log_map(point.theta, moved.theta, layout, edge=edge)
        change = slope - new_slope
        if step @ change > 0:  # only pairs with positive curvature
            moves[stored % len(moves)], changes[stored % len(moves)] = step, change
            stored += 1
        point, slope = moved, new_slope
    return Climb(point, steps, Convergence.CONVERGED)


SMALL = 60  # largest size at which the full matrix is formed: as fast, and exact
PRECISION = 1e-3
RESTARTS = 20


@dataclass(frozen=True, eq=False)
class Curvature:
    """The direction of least curvature: the flattest, or the steepest ascent from a saddle."""

    least: float  # least eigenvalue of B: 1 = as for complete data, < 0 = saddle
    direction: FloatArray  # (size,) its eigenvector, in φ


def least_curvature(objective: Objective, point: Point) -> Curvature:
    """Find the least eigenvalue of B and its direction in φ."""
    layout, theta = objective.problem.layout, point.theta
    N = point.N + objective.pseudo
    complete = conjugacy.metric(theta, N, layout)
    alive = np.flatnonzero(complete > 0)
    root = np.sqrt(complete[alive])
    tangent = Tangent(objective.problem, theta, objective.executor)

    def times_B(v: FloatArray) -> FloatArray:
        whole, phi = np.zeros(layout.size), np.zeros(layout.size)
        whole[alive] = np.ravel(v)
        phi[alive] = whole[alive] / root
        missing = tangent(conjugacy.push(theta, phi, layout))
        curved = conjugacy.information(theta, N, phi, layout)
        curved -= conjugacy.pull_back(theta, missing, layout)
        # Directions without effect on the distribution get curvature 1, not 0.
        null = conjugacy.null_projection(theta, whole, layout)
        return np.asarray(null[alive] + curved[alive] / root)

    direction, least = np.zeros(layout.size), 1.0  # the result without cases and prior
    if 0 < len(alive) <= SMALL:
        B = np.array([times_B(e) for e in np.eye(len(alive))])
        values, vectors = np.linalg.eigh((B + B.T) / 2)
        least, direction[alive] = float(values[0]), vectors[:, 0] / root
    elif len(alive):
        least, v = _lanczos(times_B, len(alive))
        direction[alive] = v / root
    return Curvature(least, direction)


def _lanczos(times_B: Callable[[FloatArray], FloatArray], n: int) -> tuple[float, FloatArray]:
    start = np.random.default_rng(n).standard_normal(n)  # a fixed seed, for reproducible results
    operator = LinearOperator((n, n), matvec=times_B, dtype=np.float64)
    try:
        values, vectors = eigsh(
            operator, k=1, which="SA", v0=start, tol=PRECISION, maxiter=RESTARTS
        )
    except ArpackNoConvergence:
        # Many directions are about equally flat. A few power iterations on 1 − B determine the sign
        # of the least eigenvalue of B well enough.
        v = start
        for _ in range(RESTARTS):
            v = v / np.linalg.norm(v)
            v = v - times_B(v)
        values, vectors = np.array([1.0 - np.linalg.norm(v)]), v[:, None]
    return float(values[0]), np.asarray(vectors[:, 0])


SADDLE = -1e-4  # least curvature below which a point is a saddle
CLEAR = 0.1  # least curvature on a part of the rows above which all rows are not needed
ESCAPES = 20  # most saddles to leave


def climb_from(objective: Objective, point: Point) -> tuple[Climb, Curvature]:
    """Climb from a point to a maximum."""
    return leave_saddles(objective, ascend(objective, em_while_fast(objective, point)))


def leave_saddles(objective: Objective, climb: Climb) -> tuple[Climb, Curvature]:
    """Climb on from saddles until the point is a maximum."""
    for _ in range(ESCAPES):
        curvature = _least(objective, climb.point)
        if curvature.least >= SADDLE:
            break
        if (higher := _along(objective, climb.point, curvature)) is None:
            break
        climb = ascend(objective, Climb(higher, climb.steps, climb.outcome))
    return climb, curvature


def _least(objective: Objective, point: Point) -> Curvature:
    """Compute the least curvature, on a part of very many rows if that is clearly positive."""
    if (part := objective.problem.part) is not None:
        part_objective = Objective.build(part, objective.estimate, objective.executor)
        on_part = least_curvature(part_objective, part_objective.at(point.theta))
        if on_part.least > CLEAR:
            return on_part
    return least_curvature(objective, point)


def _along(objective: Objective, point: Point, curvature: Curvature) -> Point | None:
    """Search a direction both ways, with doubled steps while g rises; None if it never does."""
    direction = curvature.direction / np.abs(curvature.direction).max()
    layout, highest = objective.problem.layout, point
    for sign in (1.0, -1.0):
        length = 0.25
        while length < 64:
            higher = objective.at(conjugacy.moved(point.theta, sign * length * direction, layout))
            if not higher.g > highest.g:
                break
            highest, length = higher, 2 * length
    return highest if highest is not point else None
