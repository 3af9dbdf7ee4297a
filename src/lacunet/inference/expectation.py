"""The E step: expected statistics and log-likelihood at θ, and how they move with θ."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lacunet.inference.problem import Problem
from lacunet.models import conjugacy
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.executor import SERIAL, Executor


@dataclass(frozen=True, eq=False)
class Expectation:
    """What one pass over the data tells about θ."""

    log_lik: float  # log p(D | θ)
    N: FloatArray  # (size,) E[N | D, θ] over the rows in which family i is not barren
    natural: FloatArray  # (size,) η(θ), or whatever stood in for it


def safe_log(p: FloatArray) -> FloatArray:
    """Take logs of probabilities; log 0 = −inf without a warning, for that is what it weighs."""
    with np.errstate(divide="ignore"):
        return np.log(p)


def dot(N: FloatArray, natural: FloatArray) -> float:
    """Σ N η, where nothing times −inf is nothing."""
    used = N != 0.0
    return float(N[used] @ natural[used])


def expect(problem: Problem, theta: FloatArray, executor: Executor = SERIAL) -> Expectation:
    """Run the E step. CH96 eq. 11.

    Barren variables are left out ("pruned"), not filled in: they carry no information about θ, so
    the log-likelihood, its gradient and every fixed point of EM are the same, and EM converges
    faster. `complete_counts` gives the filled-in counts of the paper.
    """
    layout, cells = problem.layout, problem.components.cells
    log_lik = problem.log_base
    natural = conjugacy.natural(theta, layout)
    if problem.any_seen:
        log_lik += dot(problem.seen, natural)
    N = problem.components.seen.copy()
    log_lik += problem.components.add_expected(cells.weights(natural), N, executor.here())
    return Expectation(log_lik, cells.statistics(N), natural)


def expect_at_once(problem: Problem, thetas: Sequence[FloatArray]) -> list[Expectation]:
    """Run the E step at several θ in one call: what a device asks for."""
    components, theta = problem.components, np.stack(thetas)
    natural = conjugacy.natural(theta, problem.layout)
    N = np.tile(components.seen, (len(theta), 1))
    log_lik = np.full(len(theta), problem.log_base)
    if problem.any_seen:
        log_lik += [dot(problem.seen, eta) for eta in natural]
    for plan in components.plans:
        log_lik += plan.expect(components.cells.weights(natural), N)
    each = zip(log_lik.tolist(), components.cells.statistics(N), natural, strict=True)
    return [Expectation(*one) for one in each]


def hidden_counts(problem: Problem, natural: FloatArray) -> Expectation:
    """The part of it that is hidden, under any weights: log Z, and expected statistics."""
    cells = problem.components.cells
    weights = cells.weights(natural)
    N = np.zeros(len(weights))
    log_z = problem.components.add_expected(weights, N)
    return Expectation(log_z, cells.statistics(N), natural)


def complete_counts(problem: Problem, theta: FloatArray) -> FloatArray:
    """E[N | D, θ] of the imaginary data D′: the paper's, in which every category is filled in.

    A missing category without children adds its θ times the expected count of its parents. A
    missing number without a shown number beside it is left out, as in the E step. It integrates to
    one, and filled in its density would count: a number can have a density above 1, so that the
    completed data would bound nothing, and their density would depend on the unit of a value that
    nobody saw.
    """
    layout, components = problem.layout, problem.filled
    cells = components.cells
    weights = cells.weights(conjugacy.natural(theta, layout))
    N = components.seen.copy()
    components.add_expected(np.concatenate([weights, np.zeros(layout.configurations)]), N)
    # Cases of each configuration of which a category is missing.
    barren = np.where(layout.in_tables, N[len(weights) :][layout.ij], 0.0)
    known = cells.statistics(N[: len(weights)])
    return known + conjugacy.expected_statistics(theta, barren, layout)


def missing_numbers(problem: Problem, theta: FloatArray) -> float:
    """What the base measure and the entropy of missing numbers come to together, in nats.

    They are those of which a row shows others with a joint distribution: of θ, D and the hidden
    categories given, they are normal with covariance C, and add ½ (d + log |C|) each.
    """
    weights = problem.components.cells.weights(conjugacy.natural(theta, problem.layout))
    return problem.components.missing_numbers(weights)


class Tangent:
    """The linear map from a direction of η to the change of the expected statistics, at one θ."""

    def __init__(self, problem: Problem, theta: FloatArray, executor: Executor = SERIAL) -> None:
        self.cells = problem.components.cells
        weights = self.cells.weights(conjugacy.natural(theta, problem.layout))
        here = executor.here()
        self.maps = [plan.tangent(weights, here) for plan in problem.components.plans]

    def __call__(self, direction: FloatArray) -> FloatArray:
        """Give dE[N] for dη = direction, (size,)."""
        along = self.cells.weights(direction)
        change = np.zeros(len(along))
        for one in self.maps:
            change += one(along)
        return self.cells.statistics(change)
