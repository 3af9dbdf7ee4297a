"""Gibbs moves: hidden values given parameters, parameters given counts.

What a chain has to remember of its hidden values are their statistics: how often each θ_ijk was
used. Drawing them is an E step with draws in place of expectations, on the same plans.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from lacunet.errors import DataError
from lacunet.inference.problem import Problem
from lacunet.models import conjugacy
from lacunet.runtime.arrays import FloatArray

MOST_ONE_BY_ONE = 1e7  # cases that are taken in one after the other: more take too long
CASE_BY_CASE = 2.0  # nanoseconds for a number that is touched for one case at a time, at least


def check_whole(problem: Problem) -> None:
    """Refuse fractional weights: hidden values are drawn for whole cases."""
    if not problem.whole:
        weight = problem.counts[problem.counts != np.round(problem.counts)][0]
        raise DataError(
            f"a row weighs {weight:g}: this is about the hidden values of whole cases, so weights "
            "must be whole numbers here. Scores (--scores) and the measured evidence take any."
        )


def touched_by_cases(problem: Problem) -> float:
    """Numbers that a draw touches, case by case."""
    return sum(float(plan.touched() @ plan.counts) for plan in problem.components.plans)


def seconds_to_draw(problem: Problem) -> tuple[float, float]:
    """About how long it takes to draw all distinct components, and to take in every case.

    It follows from numbers, not from a clock: the same every time.
    """
    sweep, cases = 0.0, 0.0
    for plan in problem.components.plans:
        entries = plan.touched()
        sweep += plan.pace * 1e-9 * float(entries.sum())
        cases += max(plan.pace, CASE_BY_CASE) * 1e-9 * float(entries @ plan.counts)
    return sweep, cases


class Draws:
    """Moves of several chains together, with a generator of their own."""

    def __init__(self, problem: Problem, rng: Any) -> None:
        self.problem, self.layout, self.rng = problem, problem.layout, rng

    def hidden(self, natural: FloatArray, counts: Sequence[FloatArray] = ()) -> FloatArray:
        """Draw hidden values ∝ exp(η), and give their statistics (what was seen is not among them).

        Parameters
        ----------
        natural : (chains, size)
        counts
            How often each component counts, by plan (default: as often as the data have it).

        Returns
        -------
        N : (chains, size)
        """
        components = self.problem.components
        cells = components.cells.weights(natural)
        N = np.zeros_like(cells)
        for plan, often in zip(components.plans, counts or components.counts, strict=True):
            plan.draw(cells, often, self.rng, N)
        return components.cells.statistics(N)

    def natural(self, hyper: FloatArray) -> FloatArray:
        """Draw natural parameters given hyperparameters, (chains, size)."""
        return conjugacy.draw(hyper, self.layout, self.rng)
