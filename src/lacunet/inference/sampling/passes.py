"""Sequential updating: one pass over the cases, each predicted from those before it.

After a case with holes the posterior is a mixture of Dirichlets, one for each way to fill the
holes. It is replaced by one product of Dirichlets with the mixture's means and mean variance
(Spiegelhalter & Lauritzen), and the next case is predicted from that; the logs of the predictions
add up to an approximation of log p(D|S).

Parts of a row that have no hidden value in common have no parameters in common either, so the chain
rule holds for them in any order: all that was seen whole comes first, in closed form, then the
components, in random order. The result depends on that order.

Where the prior does not tell the states of a hidden variable apart, no rule ever does: every case
is shared out evenly, for ever. So the hidden values of the first few cases are drawn, as in
sequential imputation; averaged over passes (not their logs), that adds no bias of its own.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from lacunet.inference.expectation import safe_log
from lacunet.inference.kernels.one_pass import Beliefs
from lacunet.inference.problem import Problem
from lacunet.inference.sampling.draws import check_whole
from lacunet.inference.sampling.particles import shuffled_cases
from lacunet.runtime.arrays import FloatArray

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


def _beliefs(problem: Problem) -> Beliefs:
    """The prior, given what was seen whole."""
    layout, eta = problem.layout, problem.prior.copy()
    total = layout.sum_k(eta)
    q = layout.configurations
    listed = np.argsort(layout.ij, kind="stable")
    return Beliefs(
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
