"""How far equal modes overlap: the part of a Gaussian around a mode that has its own labels.

Where classes can hardly be told apart, the Gaussians around the k! equal modes overlap, and adding
all of them counts the same parameters again and again.
"""

import math

import numpy as np
from scipy.linalg import solve_triangular

from lacunet.arrays import FloatArray, IntArray
from lacunet.inference.classes import exchangeable
from lacunet.inference.curvature.coordinates import FreeCoordinates
from lacunet.inference.problem import Problem
from lacunet.inference.regions import JITTER, Regions
from lacunet.inference.symmetry import symmetries_of
from lacunet.learn.objective import Point
from lacunet.model import conjugacy
from lacunet.model.latent_class import classes_of

DRAWS = 400


def canonical_order(problem: Problem, mode: Point, coordinates: FreeCoordinates) -> IntArray:
    """An order of the free coordinates that does not depend on how columns and classes stand."""
    if not exchangeable(problem):
        return np.arange(len(coordinates.free))
    return np.argsort(_places(problem, mode)[coordinates.free])


def log_own_labels(problem: Problem, mode: Point, free: IntArray, L: FloatArray) -> float:
    """Log of the part of N(mode, A⁻¹), in φ, that no renumbering of classes fits better.

    Estimated by a fixed set of draws: the same for the same model, in whatever order its columns,
    states and classes stand. L is the Cholesky factor of A, with the free positions in canonical
    order. 0 for other than latent classes.
    """
    if not exchangeable(problem):
        return 0.0
    place = _places(problem, mode)
    rng = np.random.default_rng(0)
    noise = np.exp(JITTER * rng.standard_normal(problem.layout.size))[place]
    moves = solve_triangular(L, rng.standard_normal((len(free), DRAWS)), lower=True, trans="T")
    phi = np.tile(np.log(mode.theta), (DRAWS, 1))
    phi[:, free] += moves.T
    samples = np.stack([_expected(problem, x) for x in phi])
    regions = Regions(symmetries_of(problem), [mode.N + problem.alpha], noise)
    own = int(regions.at_home(0, samples).sum())
    return math.log(max(own, 0.5) / DRAWS)


def _expected(problem: Problem, phi: FloatArray) -> FloatArray:
    """θ of some φ, times the cases that go with it."""
    layout, root = problem.layout, classes_of(problem.network).root
    theta = conjugacy.mean(np.exp(phi - phi.max()), layout)
    of_class = (problem.cases * layout.table(theta, root))[:, None]
    tables = [layout.table(theta, i) for i in range(len(layout.cards))]
    return layout.flat(
        [problem.cases * t if i == root else t * of_class for i, t in enumerate(tables)]
    )


def _places(problem: Problem, mode: Point) -> IntArray:
    """Number all positions by the name of their variable, the size of their class, their state."""
    layout, variables = problem.layout, problem.network.variables
    root = classes_of(problem.network).root
    sizes = layout.table(mode.N, root)
    by_size = np.argsort(np.argsort(-sizes, kind="stable"))
    names = sorted(v.name for v in variables)
    keys = np.empty((3, layout.size), dtype=np.int64)
    for i, variable in enumerate(variables):
        block = layout.block(i)
        labels = sorted(variable.labels)
        states = np.array([labels.index(label) for label in variable.labels])
        classes = layout.k[block] if i == root else layout.ij[block] - layout.ij[block].min()
        keys[0, block] = 0 if i == root else states[layout.k[block]]
        keys[1, block] = by_size[classes]
        keys[2, block] = names.index(variable.name)
    return np.argsort(np.lexsort(keys))
