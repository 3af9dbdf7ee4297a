"""Particles that take in the cases of a problem one after the other."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from lacunet.inference.expectation import safe_log
from lacunet.inference.kernels import particles
from lacunet.inference.kernels.particles import PosteriorState
from lacunet.inference.plans.plan import Components
from lacunet.inference.problem import Problem
from lacunet.inference.sampling.draws import Draws, check_whole
from lacunet.inference.sampling.written_cases import (
    WrittenCases,
    block_cases,
    is_written_out,
    written_cases,
)
from lacunet.runtime.arrays import FloatArray, IntArray

COUNTLESS = 2.0**900  # so many that one more changes no digit, nor does the quotient of two of them


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
    """Hidden values of the cases so far, as hyperparameters α + statistics, with weights.

    What was seen whole is known from the start.
    """

    def __init__(self, problem: Problem, particles: int, rng: Any) -> None:
        if problem.case_by_case:
            problem = problem.by_value  # cases are looked up one by one
        self.problem, self.rng = problem, rng
        self.draws = Draws(problem, rng)
        self.written = _written(problem)
        # Exponents before the swarm.
        self.renewed: FloatArray = np.tile(problem.prior, (particles, 1))
        self.swarm = self._swarm(self.renewed)
        self.everything = problem.components.counts
        self.so_far = [np.zeros_like(counts) for counts in self.everything]

    def runs(self) -> Iterator[tuple[int, IntArray]]:
        """All cases in random order, in runs of cases of one plan."""
        return shuffled_cases(self.problem.components, self.rng)

    def take_in(self, plan: int, cases: IntArray, least: float) -> int:
        """Take in cases until fewer than `least` particles count; return how many were taken."""
        if self.written:
            taken = self.written[plan].take_in(cases, self.swarm, least, self.rng)
        else:
            own = self.problem.components.plans[plan]
            taken = own.take_in(cases, self.swarm, least, self.rng)
        np.add.at(self.so_far[plan], cases[:taken], 1.0)
        return taken

    @property
    def exponents(self) -> FloatArray:
        """α + statistics of each particle, (particles, size); of known tables as last renewed."""
        return np.where(self.problem.layout.learned, self.swarm.A, self.renewed)

    @property
    def log_weights(self) -> FloatArray:
        """What each particle weighs."""
        return self.swarm.log_weights

    @property
    def effective(self) -> float:
        """Effective number of particles."""
        return float(particles.effective(self.swarm.log_weights))

    def renew(self, chosen: IntArray, sweeps: int) -> None:
        """Keep the chosen particles, with equal weights, and move them by Gibbs sweeps."""
        A = self.swarm.A[chosen]
        for _ in range(sweeps):
            A = self.problem.prior + self.draws.hidden(self.draws.natural(A), self.so_far)
        self.renewed, self.swarm = A, self._swarm(A)

    def _swarm(self, A: FloatArray) -> particles.ParticleState:
        """Particles as kernels see them: to these a known table has cases without number."""
        layout = self.problem.layout
        if layout.given is not None and not self.written:
            A = np.where(layout.learned, A, COUNTLESS * np.nan_to_num(layout.given))
        A_ij = np.stack([layout.sum_k(x) for x in A])
        return particles.ParticleState(A, A_ij, np.zeros(len(A)), layout.ij)


def _written(problem: Problem) -> list[WrittenCases]:
    """What takes in the cases of each plan, if they are written out; nothing where kernels do."""
    if not problem.case_by_case:
        return list(block_cases(problem))
    return list(written_cases(problem)) if is_written_out(problem) else []


# Sequential updating: one pass over the cases, each predicted from those before it.

DRAWN_PER_STATE = 4  # first cases that are drawn, for each state of the largest hidden variable
ORDERS = 256
ENOUGH = 10_000_000  # exponents touched in all passes, so that larger problems get fewer orders,
FEWEST = 8  # but never fewer than these: about a second


@dataclass(frozen=True, eq=False)
class Passes:
    """What passes in several orders found."""

    seen: float  # log p of what was seen whole: exact
    each: FloatArray  # (passes,) Σ log p(case | cases before it)
    drawn: int  # first cases whose hidden values were drawn

    @property
    def mean(self) -> float:
        """Mean over the orders: what one pass finds."""
        return self.seen + float(self.each.mean())

    @property
    def deviation(self) -> float:
        """Standard deviation between orders."""
        return float(self.each.std(ddof=1)) if len(self.each) > 1 else 0.0

    @property
    def value(self) -> float:
        """Log of the average over the orders."""
        return self.seen + float(logsumexp(self.each)) - float(np.log(len(self.each)))

    @property
    def share(self) -> float:
        """Part of that average that comes from the largest pass."""
        return float(np.exp(self.each.max() - logsumexp(self.each)))

    @property
    def stderr(self) -> float:
        """Error of the value that is due to orders and draws, in nats."""
        w = np.exp(self.each - self.each.max())
        return float(w.std(ddof=1) / w.mean() / np.sqrt(len(w))) if len(w) > 1 else float(np.inf)


def run_passes(
    problem: Problem, *, orders: int | None = None, drawn: int | None = None, seed: int = 0
) -> Passes:
    """Run passes, each in an order and with a generator of its own.

    Parameters
    ----------
    orders
        Number of passes (default: 256, fewer for large problems).
    drawn
        First cases whose hidden values are drawn (default: none where no variable is wholly hidden,
        else 4 for each state of the largest one).
    """
    check_whole(problem)
    plans = problem.components.plans
    cases = int(sum(plan.counts.sum() for plan in plans))
    drawn = min(drawn_by_default(problem) if drawn is None else drawn, cases)
    if orders is None:
        touched = int(sum(float(plan.touched() @ plan.counts) for plan in plans))
        orders = max(FEWEST, min(ORDERS, ENOUGH // max(1, touched)))
    each = [_one_pass(problem, drawn, np.random.default_rng([seed, i])) for i in range(orders)]
    return Passes(problem.log_seen, np.array(each), drawn)


def drawn_by_default(problem: Problem) -> int:
    """How many cases to draw, so that the states of hidden variables become different."""
    network, cards = problem.network, problem.layout.cards
    codes = dict(zip(network.observed, problem.codes.T, strict=True))
    shown = {v for v, column in codes.items() if (column >= 0).any()}
    states = [cards[v] for v in range(len(cards)) if v not in shown and cards[v] > 1]
    return DRAWN_PER_STATE * max(states, default=0)


def _one_pass(problem: Problem, drawn: int, rng: np.random.Generator) -> float:
    """Predict every case from those before it, in random order."""
    beliefs, total = _beliefs(problem), 0.0
    for plan, cases in shuffled_cases(problem.components, rng):
        total += problem.components.plans[plan].pass_over(cases, drawn, beliefs, rng)
        drawn = max(0, drawn - len(cases))
    return total


def _beliefs(problem: Problem) -> PosteriorState:
    """The prior, given what was seen whole."""
    layout, eta = problem.layout, problem.prior.copy()
    total = layout.sum_k(eta)
    q = layout.configurations
    listed = np.argsort(layout.ij, kind="stable")
    return PosteriorState(
        eta,
        total,
        safe_log(eta / layout.spread(total)),
        layout.ij,
        np.searchsorted(layout.ij[listed], np.arange(q + 1)).astype(np.int64),
        listed,
        np.zeros(layout.size),
        np.empty(q, dtype=np.int64),
        np.zeros(q, dtype=np.bool_),
    )
