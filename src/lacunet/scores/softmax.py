"""The mode of the posterior in the softmax basis φ = log θ, and the Gaussian around it.

If hidden states are poorly separated, the Gaussians around equal modes overlap, and their sum
counts parameters several times. So draws estimate the share of a Gaussian with the labels of its
own mode. Expected cases around hidden variables determine the labels of a draw.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigh, solve_triangular
from scipy.linalg.lapack import dpotrf

from lacunet.data.discover import weighed
from lacunet.fitting.ascent import Climb, Convergence
from lacunet.fitting.objective import Point
from lacunet.flags import Flag, Kind
from lacunet.inference.hessian import prior_curvature, softmax_hessian
from lacunet.inference.plans.plan import free_coordinates
from lacunet.inference.problem import Problem
from lacunet.inference.regions import JITTER, Regions
from lacunet.inference.symmetry import symmetries_of
from lacunet.models import conjugacy
from lacunet.runtime.arrays import FloatArray, IntArray
from lacunet.runtime.rows import in_passing

DRAWS = 400
FARTHEST = 300.0  # largest move of φ in a draw, against overflow
ENOUGH = 20  # least draws with the mode's labels for a direct estimate of their share
MOST_FOLLOWED = 40  # variables in one sum of products
NEARLY_SINGULAR = 1e-8  # squared pivot over curvature, below which A is nearly singular
WIDEST = 2.0  # variance in any direction, as a multiple of the prior's (docs: labels)


@dataclass(frozen=True, eq=False)
class CholeskyFactor:
    """The Cholesky factor of A, a negative Hessian."""

    L: FloatArray  # (d, d) lower triangle; the upper triangle is undefined
    flags: tuple[Flag, ...]

    @property
    def pivots(self) -> FloatArray:
        """The diagonal of L, (d,)."""
        return self.L.diagonal()

    @property
    def log_det(self) -> float:
        """Log |A|."""
        return 2.0 * float(np.sum(np.log(self.pivots)))


def factorise(A: FloatArray) -> CholeskyFactor | None:
    """Factor A in place, from its lower triangle; None if A is not positive definite.

    Unlike the sign of the determinant, Cholesky also detects two negative curvatures.
    """
    curvature = A.diagonal().copy()
    L, failed = dpotrf(A, lower=1, overwrite_a=1, clean=0)
    if failed or not np.isfinite(curvature).all():
        return None
    pivots = L.diagonal()
    doubtful = len(A) and (pivots**2 / curvature).min() < NEARLY_SINGULAR
    return CholeskyFactor(L, (Flag(Kind.NEARLY_SINGULAR),) if doubtful else ())


@dataclass(frozen=True, eq=False)
class SoftmaxMode:
    """The end point of an ascent in φ, with A, the negative Hessian in φ."""

    point: Point  # its g is log p(D|φ) + log p(φ)
    log_det: float | None  # log |A|; None if A is not positive definite
    log_det_complete: float  # log |A′| of complete data with the expected counts
    log_within_prior: float  # log of the share of the Gaussian's volume within the prior's width
    log_mode_labels: float  # log of the share of that with the mode's own labels
    flags: tuple[Flag, ...]


def softmax_mode(problem: Problem, climb: Climb) -> SoftmaxMode:
    """Compute the curvature at the end point of an ascent in φ."""
    point = climb.point
    coordinates = free_coordinates(problem.layout, point.theta)
    A = softmax_hessian(problem, point.theta, point.N, coordinates)
    place = _canonical_places(problem, point)
    order = np.argsort(place[coordinates.free])  # invariant to orders of columns and states
    A = A[np.ix_(order, order)]
    factor = factorise(np.array(A, order="F"))
    saddle = Flag(Kind.NOT_POSITIVE_DEFINITE, detail={"point": "φ"})
    flags = factor.flags if factor else (saddle,)
    if climb.outcome is Convergence.MAX_STEPS:
        flags = (Flag(Kind.NOT_CONVERGED, detail={"outcome": climb.outcome}), *flags)
    log_within_prior, log_mode_labels = 0.0, 0.0
    if factor:
        prior = prior_curvature(problem, point.theta, coordinates)[np.ix_(order, order)]
        log_within_prior, narrowed = hold_widths(A, prior)
        if narrow := factorise(np.array(narrowed, order="F")):
            log_mode_labels = _log_mode_labels(
                problem, point, coordinates.free[order], narrow.L, place
            )
    complete = conjugacy.complete_log_det(point.theta, point.N + problem.alpha, problem.layout)
    log_det = factor.log_det if factor else None
    return SoftmaxMode(point, log_det, complete, log_within_prior, log_mode_labels, flags)


def hold_widths(A: FloatArray, prior: FloatArray) -> tuple[float, FloatArray]:
    """Bound the variance in every direction by `WIDEST` times the prior's, both given as curvature.

    At a mode on a ridge between others, the Gaussian may be wider than the prior, and would cover
    improbable parameters. Returns the log of the remaining share of the volume, and the bounded
    curvature, (d, d).
    """
    if not len(A):
        return 0.0, A
    try:
        cholesky(A - prior / WIDEST, lower=True)
    except LinAlgError:  # not positive definite: too wide somewhere
        pass
    else:
        return 0.0, A
    try:
        L = cholesky(prior, lower=True)
    except LinAlgError:  # the prior is nearly flat in some direction
        return 0.0, A
    half = solve_triangular(L, A, lower=True)
    relative = solve_triangular(L, half.T, lower=True)
    values, vectors = eigh(relative, subset_by_value=[-np.inf, 1.0 / WIDEST])
    if (values <= 0.0).any():  # not a maximum, up to rounding
        return 0.0, A
    back = L @ vectors
    narrowed = A + (back * (1.0 / WIDEST - values)) @ back.T
    return 0.5 * float(np.sum(np.log(values * WIDEST))), narrowed


def _log_mode_labels(
    problem: Problem, mode: Point, free: IntArray, L: FloatArray, place: IntArray
) -> float:
    """Log of the share of N(mode, A⁻¹), in φ, that is nearest to the mode among all relabellings.

    A fixed set of draws, in canonical order, makes it invariant to the order of columns, states and
    classes. L is the Cholesky factor of A, with the free positions in canonical order. If too few
    draws have the mode's labels, the steps of a relabelling are treated as independent.
    """
    symmetries = symmetries_of(problem)
    if not symmetries.blocks:
        return 0.0
    rng = np.random.default_rng(0)
    noise = np.exp(JITTER * rng.standard_normal(problem.layout.size))[place]
    moves = solve_triangular(L, rng.standard_normal((len(free), DRAWS)), lower=True, trans="T")
    phi = np.zeros((DRAWS, problem.layout.size))
    # In directions that the data do not determine, draws of φ are clipped against overflow.
    phi[:, free] = np.clip(moves.T, -FARTHEST, FARTHEST)
    theta = np.stack([conjugacy.moved(mode.theta, x, problem.layout) for x in phi])
    samples = ExpectedCases(problem, mode.N)(theta)
    regions = Regions(symmetries, [mode.N + problem.alpha], noise)
    in_region = regions.steps_in_region(samples)
    together = int(in_region.all(axis=1).sum())
    if together >= ENOUGH or in_region.shape[1] == 1:
        return math.log(max(together, 0.5) / DRAWS)
    return float(np.sum(np.log(np.maximum(in_region.sum(axis=0), 0.5) / DRAWS)))


def _canonical_places(problem: Problem, mode: Point) -> IntArray:
    """Canonical numbers of all positions: by variable name, label, and size of hidden states."""
    layout, variables = problem.layout, problem.network.variables
    names = [v.name for v in variables]
    ranks = []
    for i, variable in enumerate(variables):
        if variable.hidden:
            sizes = layout.table(mode.N, i).reshape(-1, len(variable.states)).sum(axis=0)
            ranks.append(np.argsort(np.argsort(-sizes, kind="stable")))
        else:
            labels = sorted(variable.labels)
            ranks.append(np.array([labels.index(label) for label in variable.labels]))
    positions = np.arange(layout.size)
    ordered: list[IntArray] = []
    for i in sorted(range(len(names)), key=lambda i: names[i]):
        family = layout.families[i]
        table, axes = layout.table(positions, i), sorted(family[:-1], key=lambda v: names[v])
        table = np.transpose(table, [family.index(v) for v in (*axes, i)])
        for axis, v in enumerate(axes):
            table = np.take(table, np.argsort(ranks[v]), axis=axis)
        if layout.kinds[i].tabular:
            table = np.take(table, np.argsort(ranks[i]), axis=-1)
        ordered.append(table.reshape(-1))
    return np.argsort(np.concatenate(ordered))


class ExpectedCases:
    """Expected cases in the cells of hidden variables and their children, given parameters.

    Hidden variables and their parents follow the model; other observed variables have their
    empirical distribution.
    """

    def __init__(self, problem: Problem, N: FloatArray) -> None:
        """The counts N of a mode give the frequencies of configurations of observed parents."""
        self.problem, self.N, network = problem, N, problem.network
        roots = {p for h in network.hidden for p in network.parents[h]}.difference(network.hidden)
        # Hidden variables with their parents, and observed parents as roots, in topological order.
        self.followed: dict[int, tuple[int, ...]] = {
            v: () if v in roots else network.parents[v]
            for v in network.order
            if v in roots or v in network.hidden
        }

    def __call__(self, theta: FloatArray) -> FloatArray:
        """Cases of every position, (draws, size), at parameters (draws, size).

        Families without hidden variables keep their parameters.
        """
        layout, expected = self.problem.layout, theta.copy()
        each = conjugacy.expected_statistics(theta, np.ones(layout.size), layout)
        hidden = set(self.problem.network.hidden)
        for i, family in enumerate(layout.families):
            if hidden.isdisjoint(family) or not layout.widths[i]:
                continue
            at = self._positions(i)
            weights = self._parents(theta, i)[..., None]
            expected[:, at.reshape(-1)] = (each[:, at] * weights).reshape(len(theta), -1)
        return expected

    def _parents(self, theta: FloatArray, i: int) -> FloatArray:
        """Cases of each configuration of the parents of i, (draws, states of each parent)."""
        problem, parents = self.problem, self.problem.layout.families[i][:-1]
        inside = [v for v in parents if v in self.followed]
        cases = problem.layout.table(conjugacy.cases(self.N + problem.alpha, problem.layout), i)
        away = tuple(n for n, v in enumerate(parents) if v in inside)
        outside = cases[..., 0].sum(axis=away, keepdims=True)
        shape = [problem.layout.cards[v] if v in inside else 1 for v in parents]
        joint = self._joint(theta, inside).reshape(-1, *shape)
        weights: FloatArray = joint * (outside / outside.sum())
        return problem.cases * weights

    @cached_property
    def _shares(self) -> dict[int, FloatArray]:
        """Frequencies of the states of observed parents of hidden variables."""
        problem, shares = self.problem, {}
        for column, v in enumerate(problem.network.observed):
            if v in self.followed:
                seen = np.zeros(problem.layout.cards[v])
                for part in in_passing(problem.codes, problem.counts):
                    seen += weighed(part.codes[:, column], part.counts, len(seen))
                shares[v] = (seen + 1.0) / (seen + 1.0).sum()
        return shares

    def _joint(self, theta: FloatArray, variables: Sequence[int]) -> FloatArray:
        """The joint distribution of some variables, (draws, states of each).

        Their most distant ancestors are uniform, beyond `MOST_FOLLOWED` variables.
        """
        if not variables:
            return np.ones((len(theta), 1))
        above = list(variables)  # with their ancestors, nearest first
        for v in above:
            more = [u for u in self.followed[v] if u not in above]
            above += more[: max(0, MOST_FOLLOWED - len(above))]
        label = {v: n + 1 for n, v in enumerate(above)}  # 0: the draws
        factors: list[Any] = [np.ones(len(theta)), [0]]
        for v in above:
            if v in self._shares:
                factors += [self._shares[v], [label[v]]]
                continue
            family = self.problem.layout.families[v]
            away = tuple(n + 1 for n, u in enumerate(family) if u not in label)
            table = theta[:, self._positions(v)].mean(axis=away)
            factors += [table, [0, *(label[u] for u in family if u in label)]]
        joint: FloatArray = np.einsum(*factors, [0, *(label[v] for v in variables)], optimize=True)
        return joint

    def _positions(self, i: int) -> IntArray:
        """Positions of the parameters of a family: axes for parents in order, then the child."""
        layout = self.problem.layout
        return layout.table(np.arange(layout.size), i)
