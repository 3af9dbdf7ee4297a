"""Flags about hidden variables after a fit; and variational Bayes.

Variational Bayes finds the best posterior in which parameters and hidden values are independent.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from lacunet.flags import Flag, Kind
from lacunet.inference.classes import dot, hidden_counts
from lacunet.inference.problem import Problem
from lacunet.inference.queries.most_probable import identified_parameters
from lacunet.models import conjugacy
from lacunet.models.conjugacy import cases
from lacunet.models.latent_class import LatentClasses, find_classes, unit
from lacunet.models.layout import Layout
from lacunet.models.network import Model, Variable
from lacunet.models.surgery import members, table_of
from lacunet.runtime.arrays import FloatArray

EMPTY = 0.5  # expected cases below which a state counts as empty
DUPLICATE = 0.01  # classes whose probabilities differ by at most this are duplicates
BOUNDARY = 0.01  # expected cases below which data do not keep a probability above 0


def diagnose(problem: Problem, theta: FloatArray, N: FloatArray) -> Iterator[Flag]:
    """Flag empty states and, in latent class models, duplicate and boundary classes."""
    yield from _too_many_parameters(problem, N)
    if (classes := find_classes(problem.network)) is None:
        for h in problem.network.hidden:
            v, sizes = problem.network.variables[h], state_sizes(problem.layout, N, h)
            if not sizes.any():
                yield Flag(Kind.UNKNOWABLE, (v.name,))
                continue
            yield from _empty(Kind.EMPTY_STATE, v, sizes)
        return
    yield from _classes(problem.layout, classes, theta, N)
    sizes = problem.layout.table(N, classes.root)
    yield from _narrow(problem, classes, theta, sizes)
    for i in classes.leaves:
        if len(block := members(problem.network, i)) > 1:
            yield from _few_pairs(problem, classes, i, block)
            yield from _few_cases(problem, classes, i, len(block), sizes)


def state_sizes(layout: Layout, N: FloatArray, h: int) -> FloatArray:
    """Compute the expected cases of each state of a variable, summed over its parents."""
    sizes: FloatArray = layout.table(N, h).reshape(-1, layout.cards[h]).sum(axis=0)
    return sizes


def _empty(kind: Kind, v: Variable, sizes: FloatArray) -> Iterator[Flag]:
    for k in np.flatnonzero(sizes < EMPTY):
        yield Flag(kind, (v.name, v.labels[k]), {"cases": float(sizes[k])})


def _too_many_parameters(problem: Problem, N: FloatArray) -> Iterator[Flag]:
    """Flag more parameters than the columns, or the rows, can determine.

    A likelihood depends on the parameters only through the probabilities of distinct rows. So if
    more parameters are free, away from 0 and 1, some combinations have no effect.
    """
    network, layout = problem.network, problem.layout
    name = unit(network)
    rank = identified_parameters(network)
    if rank is not None:
        counts: dict[str, str | float] = {"parameters": network.dimension, "rank": rank}
        yield Flag(Kind.TOO_MANY_PARAMETERS, detail=counts | {"unit": name})
        return
    if (
        find_classes(network) is None
        or problem.place.holder is not None
        or not layout.in_tables.all()
    ):
        return
    free = network.dimension - int(np.sum(layout.learned & (layout.pooled(N) < BOUNDARY)))
    if free > len(problem.counts):
        counts = {"parameters": free, "rows": len(problem.counts)}
        yield Flag(Kind.FEW_DISTINCT_ROWS, detail=counts | {"unit": name})


def _few_pairs(
    problem: Problem, classes: LatentClasses, i: int, block: Sequence[int]
) -> Iterator[Flag]:
    """Flag the two numbers of a block that are observed together least often, if too seldom."""
    network = problem.network
    fewest = network.variables[i].family.fewest_pairs(classes.number)
    seen = problem.codes[:, [network.observed.index(j) for j in block]] >= 0
    together = (seen * problem.counts[:, None]).T @ seen
    pairs = [(together[a, b], a, b) for a, b in combinations(range(len(block)), 2)]
    few = [pair for pair in pairs if pair[0] < fewest]
    if few:
        least, a, b = min(few)
        detail: dict[str, str | float] = {
            "one": network.variables[block[a]].name,
            "other": network.variables[block[b]].name,
            "pairs": float(least),
            "fewest": fewest,
            "classes": classes.number,
            "number": len(few),
        }
        yield Flag(Kind.FEW_PAIRS, detail=detail)


def _few_cases(
    problem: Problem, classes: LatentClasses, i: int, d: int, sizes: FloatArray
) -> Iterator[Flag]:
    """Flag classes with too few cases for the covariance of a block."""
    root, v = classes.variable, problem.network.variables[i]
    groups = [("all classes", sizes.sum(), float(d + classes.number))]  # a mean in each class
    if v.family.apart:
        groups = [(f"{root.name} {k}", n, d + 1.0) for k, n in zip(root.labels, sizes, strict=True)]
    for holder, number, fewest in groups:
        if EMPTY <= number < fewest:
            detail: dict[str, str | float] = {
                "holder": holder,
                "cases": float(number),
                "column": v.name,
                "columns": d,
                "fewest": fewest,
            }
            yield Flag(Kind.FEW_CASES, detail=detail)


def _narrow(
    problem: Problem, classes: LatentClasses, theta: FloatArray, sizes: FloatArray
) -> Iterator[Flag]:
    """Flag classes whose numbers vary less than by rounding: one step over √12."""
    root = classes.variable
    for i in classes.leaves:
        v = problem.network.variables[i]
        deviations = v.deviations(table_of(problem.network, theta, i))
        narrow = (sizes >= EMPTY) & (deviations < v.smallest_gap / np.sqrt(12.0))
        for c in np.flatnonzero(narrow):
            width = {"deviation": float(deviations[c]), "gap": v.smallest_gap}
            named = (root.name, root.labels[c])
            yield Flag(Kind.NARROW_CLASS, named, {"column": v.name, **width})


def _classes(
    layout: Layout, classes: LatentClasses, theta: FloatArray, N: FloatArray
) -> Iterator[Flag]:
    root, sizes = classes.variable, layout.table(N, classes.root)
    yield from _empty(Kind.EMPTY_CLASS, root, sizes)
    profiles = [layout.table(theta, i) for i in classes.leaves]
    for a, b in combinations(np.flatnonzero(sizes >= EMPTY), 2):
        apart = max(np.abs(t[a] - t[b]).max(initial=0.0) for t in profiles)
        if apart < DUPLICATE:
            pair = (root.name, root.labels[a], root.labels[b])
            yield Flag(Kind.DUPLICATE_CLASSES, pair, {"apart": float(apart)})
    learned = layout.learned & layout.in_tables
    unheld = learned & (layout.pooled(N) < BOUNDARY) & (cases(N, layout) >= EMPTY)
    at_zero = np.hstack([layout.table(unheld, i) for i in classes.leaves])
    if at_zero.any():
        where = [root.labels[c] for c in np.flatnonzero(at_zero.any(axis=1))]
        total = sum(layout.table(layout.in_tables, i).sum() for i in classes.leaves)
        detail = {"number": int(at_zero.sum()), "total": int(total)}
        yield Flag(Kind.NO_EXPECTED_CASES, (root.name, *where), detail)


TOLERANCE = 1e-7  # nats gained by a step below which the bound has converged
MAX_STEPS = 5000


@dataclass(frozen=True, eq=False)
class Variational:
    """A variational posterior q(hidden) q(θ), and its bound on the evidence."""

    problem: Problem
    N: FloatArray  # (size,) expected counts under q(hidden), with observed counts
    bound: float  # ≤ log p(D|S)
    steps: int = 0

    @property
    def exponents(self) -> FloatArray:
        """The exponents η of the best q(θ)."""
        return self.problem.alpha + self.N

    @property
    def model(self) -> Model:
        """The network with expected parameters."""
        network, alpha, exponents = self.problem.network, self.problem.alpha, self.exponents
        return Model(network, conjugacy.mean(exponents, network.layout), alpha, exponents)

    @property
    def log_weights(self) -> FloatArray:
        """E_q[log θ], the weights of the best q(hidden)."""
        return conjugacy.expected_natural(self.exponents, self.problem.layout)


def at_weights(problem: Problem, log_weights: FloatArray, steps: int = 0) -> Variational:
    """Compute q(hidden) ∝ Π weights, and the best q(θ) given it."""
    hidden = hidden_counts(problem, log_weights)
    entropy = hidden.log_lik - dot(hidden.N, log_weights)
    N = hidden.N + problem.seen
    families = conjugacy.log_marginal(N, problem.alpha, problem.layout)
    return Variational(problem, N, float(families.sum()) + entropy + problem.log_base, steps)


def at_hyperparameters(problem: Problem, hyper: FloatArray) -> Variational:
    """Compute the best q(hidden) given a q(θ) with these hyperparameters."""
    return at_weights(problem, conjugacy.expected_natural(hyper, problem.layout))


def at_theta(problem: Problem, theta: FloatArray) -> Variational:
    """Compute the posterior of the hidden values at θ: the bound is that of Cheeseman–Stutz."""
    return at_weights(problem, conjugacy.natural(theta, problem.layout))


def step(q: Variational) -> Variational:
    """Improve q(θ), then q(hidden): the bound never falls."""
    return at_weights(q.problem, q.log_weights, q.steps + 1)


def vary(
    q: Variational, *, tolerance: float = TOLERANCE, max_steps: int = MAX_STEPS
) -> Variational:
    """Step until the bound converges."""
    for _ in range(max_steps):
        before, q = q, step(q)
        if q.bound - before.bound < tolerance:
            break
    return q
