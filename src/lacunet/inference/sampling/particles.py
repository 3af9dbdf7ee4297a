"""Gibbs moves (hidden values given parameters, parameters given counts), and particles.

A chain stores its hidden values by their statistics N_ijk. Drawing them is an E step with draws in
place of expectations, on the same plans.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from lacunet.errors import DataError
from lacunet.inference.kernels.draws import ParticleState, effective
from lacunet.inference.plans.plan import Components
from lacunet.inference.problem import Problem
from lacunet.inference.sampling.written_cases import (
    WrittenCases,
    block_cases,
    is_written_out,
    written_cases,
)
from lacunet.models import conjugacy
from lacunet.runtime.arrays import FloatArray, IntArray

MOST_SEQUENTIAL = 1e7  # cases of a sequential update: more take too long
CASE_BY_CASE = 2.0  # least nanoseconds for each number touched by a sequential update


def check_whole(problem: Problem) -> None:
    """Refuse fractional weights: hidden values are drawn for whole cases."""
    if not problem.whole:
        weight = problem.counts[problem.counts != np.round(problem.counts)][0]
        raise DataError(
            f"a row weighs {weight:g}: this is about the hidden values of whole cases, so weights "
            "must be whole numbers here. Scores (--scores) and the measured evidence take any."
        )


def touched_by_cases(problem: Problem) -> float:
    """Numbers touched by a draw of all cases one by one."""
    return sum(float(plan.touched() @ plan.counts) for plan in problem.components.plans)


def seconds_to_draw(problem: Problem) -> tuple[float, float]:
    """Estimated seconds to draw all distinct components, and to update by every case.

    The estimate uses sizes, not a clock, so it is reproducible.
    """
    sweep, cases = 0.0, 0.0
    for plan in problem.components.plans:
        entries = plan.touched()
        sweep += plan.pace * 1e-9 * float(entries.sum())
        cases += max(plan.pace, CASE_BY_CASE) * 1e-9 * float(entries @ plan.counts)
    return sweep, cases


class Draws:
    """Gibbs moves of several chains together, with one random generator."""

    def __init__(self, problem: Problem, rng: Any) -> None:
        self.problem, self.layout, self.rng = problem, problem.layout, rng

    def hidden(self, natural: FloatArray, counts: Sequence[FloatArray] = ()) -> FloatArray:
        """Draw hidden values ∝ exp(η), (chains, size), and return their statistics.

        `counts` are the cases of each component, by plan (default: those of the data).
        """
        components = self.problem.components
        cells = components.cells.weights(natural)
        N = np.zeros_like(cells)
        for plan, often in zip(components.plans, counts or components.counts, strict=True):
            plan.completions.draw(cells, often, self.rng, N)
        return components.cells.statistics(N)

    def natural(self, hyper: FloatArray) -> FloatArray:
        """Draw natural parameters given hyperparameters, (chains, size)."""
        return conjugacy.draw(hyper, self.layout, self.rng)


COUNTLESS = 2.0**900  # adding 1 changes neither this number nor a quotient of two such


def shuffled_cases(components: Components, rng: Any) -> Iterator[tuple[int, IntArray]]:
    """All cases in random order, cut into runs of cases of one plan: (plan, components)."""
    whole = [counts.astype(np.int64) for counts in components.counts]
    plan = np.repeat(np.arange(len(whole)), [counts.sum() for counts in whole])
    case = np.concatenate([np.repeat(np.arange(len(c)), c) for c in whole] or [plan])
    order = rng.permutation(len(plan))
    plan, case = plan[order], case[order]
    cuts = np.flatnonzero(np.diff(plan)) + 1
    for part in np.split(np.arange(len(plan)), cuts):
        if len(part):
            yield int(plan[part[0]]), case[part]


class Particles:
    """Weighted particles: α + statistics of the cases so far, fully observed families included."""

    def __init__(self, problem: Problem, particles: int, rng: Any) -> None:
        if problem.case_by_case:
            problem = problem.by_value  # sequential updates need a cell for each value
        self.problem, self.rng = problem, rng
        self.draws = Draws(problem, rng)
        # Updates by listed joint states, one for each plan; empty if kernels do the updates.
        self.written: list[WrittenCases] = []
        if not problem.case_by_case:
            self.written = list(block_cases(problem))
        elif is_written_out(problem):
            self.written = list(written_cases(problem))
        # Exponents at the last renewal.
        self.renewed: FloatArray = np.tile(problem.prior, (particles, 1))
        self.particles = self._particles(self.renewed)
        self.everything = problem.components.counts
        self.so_far = [np.zeros_like(counts) for counts in self.everything]

    def runs(self) -> Iterator[tuple[int, IntArray]]:
        """All cases in random order, in runs of cases of one plan."""
        return shuffled_cases(self.problem.components, self.rng)

    def take_in(self, plan: int, cases: IntArray, least: float) -> int:
        """Update by cases until fewer than `least` particles are effective; return how many."""
        if self.written:
            taken = self.written[plan].take_in(cases, self.particles, least, self.rng)
        else:
            completions = self.problem.components.plans[plan].completions
            taken = completions.take_in(cases, self.particles, least, self.rng)
        np.add.at(self.so_far[plan], cases[:taken], 1.0)
        return taken

    @property
    def exponents(self) -> FloatArray:
        """α + statistics of each particle, (particles, size); known tables as last renewed."""
        return np.where(self.problem.layout.learned, self.particles.A, self.renewed)

    @property
    def log_weights(self) -> FloatArray:
        """Log weight of each particle, (particles,)."""
        return self.particles.log_weights

    @property
    def effective(self) -> float:
        """Effective number of particles."""
        return float(effective(self.particles.log_weights))

    def renew(self, chosen: IntArray, sweeps: int) -> None:
        """Resample to the chosen particles, with equal weights, and move them by Gibbs sweeps."""
        A = self.particles.A[chosen]
        for _ in range(sweeps):
            A = self.problem.prior + self.draws.hidden(self.draws.natural(A), self.so_far)
        self.renewed, self.particles = A, self._particles(A)

    def _particles(self, A: FloatArray) -> ParticleState:
        """Particles for kernels, in which a known table has huge exponents."""
        layout = self.problem.layout
        if layout.given is not None and not self.written:
            A = np.where(layout.learned, A, COUNTLESS * np.nan_to_num(layout.given))
        A_ij = np.stack([layout.sum_k(x) for x in A])
        return ParticleState(A, A_ij, np.zeros(len(A)), layout.ij)
