"""How far equal modes overlap: the part of a Gaussian around a mode that has its own labels.

Where hidden states can hardly be told apart, the Gaussians around equal modes overlap, and adding
all of them counts the same parameters again and again.
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy.linalg import solve_triangular

from lacunet.inference.curvature.coordinates import FreeCoordinates
from lacunet.inference.problem import Problem
from lacunet.inference.regions import JITTER, Regions
from lacunet.inference.symmetry import symmetries_of
from lacunet.learn.objective import Point
from lacunet.model import conjugacy
from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray
from lacunet.scoring.expected_cases import ExpectedCases

DRAWS = 400
FARTHEST = 300.0  # that a draw moves φ: e^300 times as much of one probability as of another
ENOUGH = 20  # draws at home, from which their share is known well enough


def canonical_order(problem: Problem, mode: Point, coordinates: FreeCoordinates) -> IntArray:
    """An order of the free coordinates that does not depend on how columns and states stand."""
    return np.argsort(_places(problem, mode)[coordinates.free])


def log_own_labels(
    problem: Problem,
    mode: Point,
    free: IntArray,
    L: FloatArray,
    beside: Sequence[FloatArray] = (),
) -> float:
    """Log of the part of N(mode, A⁻¹), in φ, that no relabelling of what is hidden fits better.

    Nor any labelling of the modes that are `beside` it, given by their exponents.

    Estimated by a fixed set of draws: the same for the same model, in whatever order its columns,
    states and classes stand. L is the Cholesky factor of A, with the free positions in canonical
    order.
    """
    symmetries = symmetries_of(problem)
    if not symmetries.blocks:  # without symmetries there are no regions to tell modes apart
        return 0.0
    place = _places(problem, mode)
    rng = np.random.default_rng(0)
    noise = np.exp(JITTER * rng.standard_normal(problem.layout.size))[place]
    moves = solve_triangular(L, rng.standard_normal((len(free), DRAWS)), lower=True, trans="T")
    phi = np.zeros((DRAWS, problem.layout.size))
    # In directions that the data do not hold, φ may be anything: so far that others do not count.
    phi[:, free] = np.clip(moves.T, -FARTHEST, FARTHEST)
    theta = [conjugacy.moved(mode.theta, x, problem.layout) for x in phi]
    samples = ExpectedCases(problem, mode.N)(np.stack(theta))
    regions = Regions(symmetries, [mode.N + problem.alpha, *beside], noise)
    at_home = regions.steps_at_home(samples)
    if beside:
        at_home = np.column_stack([at_home, regions.nearest(samples) == 0])
    return _log_share(at_home)


def _log_share(at_home: BoolArray) -> float:
    """Log of the share of draws, (draws, steps), that are at home in every step.

    Where next to none is, the steps are taken as if independent: each by itself can be counted.
    """
    together = int(at_home.all(axis=1).sum())
    if together >= ENOUGH or at_home.shape[1] == 1:
        return math.log(max(together, 0.5) / len(at_home))
    return float(np.sum(np.log(np.maximum(at_home.sum(axis=0), 0.5) / len(at_home))))


def _places(problem: Problem, mode: Point) -> IntArray:
    """Number all positions by the names of their variables, observed states by their labels.

    Hidden states are numbered by their size.
    """
    layout, variables = problem.layout, problem.network.variables
    names = [v.name for v in variables]
    positions = np.arange(layout.size)
    found: list[IntArray] = []
    for i in sorted(range(len(names)), key=lambda i: names[i]):
        family = layout.families[i]
        table, axes = layout.table(positions, i), sorted(family[:-1], key=lambda v: names[v])
        table = np.transpose(table, [family.index(v) for v in (*axes, i)])
        for axis, v in enumerate(axes):
            table = np.take(table, np.argsort(_ranks(problem, mode, v)), axis=axis)
        if layout.kinds[i].tabular:
            table = np.take(table, np.argsort(_ranks(problem, mode, i)), axis=-1)
        found.append(table.reshape(-1))
    return np.argsort(np.concatenate(found))


def _ranks(problem: Problem, mode: Point, i: int) -> IntArray:
    """The place of each state of a variable among all of them."""
    variable = problem.network.variables[i]
    if variable.hidden:
        sizes = problem.layout.table(mode.N, i).reshape(-1, len(variable.states)).sum(axis=0)
        return np.argsort(np.argsort(-sizes, kind="stable"))
    labels = sorted(variable.labels)
    return np.array([labels.index(label) for label in variable.labels])
