"""Sequential updating: one pass over the cases, each predicted from those before it.

After a case with holes the posterior is a mixture of Dirichlets, one for each way to fill the
holes. It is replaced by one product of Dirichlets, by one of these rules, and the next case is
predicted from that; the logs of the predictions add up to an approximation of log p(D|S).

Parts of a row that have no hidden value in common have no parameters in common either, so the chain
rule holds for them in any order: all that was seen whole comes first, in closed form, then the
components, in random order. The result depends on that order.

Where the prior does not tell the states of a hidden variable apart, no rule ever does: every case
is shared out evenly, for ever. So the hidden values of the first few cases are drawn, as in
sequential imputation; averaged over passes (not their logs), that adds no bias of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
from scipy.special import logsumexp

from lacunet.arrays import FloatArray, IntArray
from lacunet.inference.expectation import safe_log, work_space
from lacunet.inference.kernels import one_pass as kernels
from lacunet.inference.plans.patterns import PatternPlan
from lacunet.inference.plans.trees import TreeArrays
from lacunet.inference.problem import Problem
from lacunet.inference.sampling.draws import case_counts, check_whole

DRAWN_PER_STATE = 4  # first cases that are drawn, for each state of the largest hidden variable
ORDERS = 256
ENOUGH = 10_000_000  # exponents touched in all passes, so that larger problems get fewer orders,
FEWEST = 8  # but never fewer than these: about a second


class Rule(StrEnum):
    """What one case teaches the Dirichlets."""

    MOMENTS = "moments"  # the mixture's means, and its mean variance (Spiegelhalter & Lauritzen)
    FRACTIONAL = "fractional"  # expected counts are added to the exponents, as if they were counts
    IMPUTATION = "imputation"  # hidden values are drawn, for every case (Kong, Liu & Wong 1994)


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
    problem: Problem,
    rule: Rule = Rule.MOMENTS,
    *,
    orders: int | None = None,
    drawn: int | None = None,
    seed: int = 0,
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
    seen = problem.log_seen
    counts = np.concatenate([np.zeros(0), *case_counts(problem)]).astype(np.int64)
    cases = np.repeat(np.arange(len(counts)), counts)
    if drawn is None or rule is Rule.IMPUTATION:
        drawn = len(cases) if rule is Rule.IMPUTATION else drawn_by_default(problem)
    drawn = min(drawn, len(cases))
    walk = _Walk(problem, moments=rule is Rule.MOMENTS)
    if orders is None:
        touched = max(1, int(walk.touched() @ counts))
        orders = max(FEWEST, min(ORDERS, ENOUGH // touched))
    each = [walk(cases, drawn, np.random.default_rng([seed, i])) for i in range(orders)]
    return Passes(seen, np.array(each), drawn)


def drawn_by_default(problem: Problem) -> int:
    """How many cases to draw, so that the states of hidden variables become different."""
    network, cards = problem.network, problem.layout.cards
    codes = dict(zip(network.observed, problem.codes.T, strict=True))
    shown = {v for v, column in codes.items() if (column >= 0).any()}
    states = [cards[v] for v in range(len(cards)) if v not in shown and cards[v] > 1]
    return DRAWN_PER_STATE * max(states, default=0)


class _Walk:
    """A pass over the components of one problem."""

    def __init__(self, problem: Problem, *, moments: bool) -> None:
        components, self.layout, self.moments = problem.components, problem.layout, moments
        self.prior = problem.alpha + components.seen
        self.rows = _rows(components.patterns)
        self.trees, self.work, self.messages = NO_TREES, np.empty(0), np.empty(0)
        if components.trees is not None:
            self.trees = components.trees.arrays
            self.work, self.messages = work_space(components.trees)
        kinds = np.arange(len(self.trees.kind_width))
        self.kind_of = np.repeat(kinds, np.diff(self.trees.kind_instances))
        ij = self.layout.ij
        self.listed = np.argsort(ij, kind="stable")
        bounds = np.searchsorted(ij[self.listed], np.arange(self.layout.configurations + 1))
        self.starts = bounds.astype(np.int64)

    def __call__(self, cases: IntArray, drawn: int, rng: np.random.Generator) -> float:
        beliefs = self.beliefs()
        plan = (self.rows, self.trees, self.kind_of, rng.permutation(cases))
        how = (drawn, self.moments, rng)
        return kernels.run_pass(*plan, *how, beliefs, self.work, self.messages)

    def touched(self) -> IntArray:
        """How many exponents each component touches."""
        a = self.trees
        cliques = np.concatenate([[0], np.cumsum(a.cells * np.diff(a.slots))])
        kinds = np.diff(cliques[a.kind_cliques])
        return np.concatenate([np.diff(self.rows.starts) * self.rows.cells, kinds[self.kind_of]])

    def beliefs(self) -> kernels.Beliefs:
        """The prior, given what was seen whole."""
        layout, eta = self.layout, self.prior.copy()
        total = layout.sum_k(eta)
        q = layout.configurations
        return kernels.Beliefs(
            eta,
            total,
            safe_log(eta / layout.spread(total)),
            layout.ij,
            self.starts,
            self.listed,
            np.zeros(layout.size),
            np.empty(q, dtype=np.int64),
            np.zeros(q, dtype=np.bool_),
        )


def _rows(plans: Sequence[PatternPlan]) -> kernels.RowArrays:
    """Write the blocks of all rows of all plans out."""
    blocks, lengths, cells = [], [], []
    for plan in plans:
        length = np.diff(plan.starts)[plan.index]  # (m, G) blocks of each pattern of each row
        ends = np.cumsum(length.reshape(-1))
        within = np.arange(ends[-1]) - np.repeat(ends - length.reshape(-1), length.reshape(-1))
        first = np.repeat(plan.starts[plan.index].reshape(-1), length.reshape(-1))
        blocks.append(plan.positions[plan.entries[first + within]])
        lengths.append(length.sum(axis=1))
        cells.append(np.full(len(plan.counts), plan.cells))
    none = np.zeros(0, dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(np.concatenate([none, *lengths]))])
    return kernels.RowArrays(
        starts.astype(np.int64),
        np.concatenate([none, *blocks]),
        np.concatenate([none, *cells]).astype(np.int64),
    )


def _no_trees() -> TreeArrays:
    """Arrays without a component."""
    none, zero = np.zeros(0, dtype=np.int64), np.zeros(1, dtype=np.int64)
    fields: dict[str, Any] = dict.fromkeys(TreeArrays._fields, none)
    fields |= dict.fromkeys(("kind_cliques", "kind_instances", "slots"), zero)
    fields |= {"counts": np.zeros(0), "maps": np.zeros(0, dtype=np.int32)}
    return TreeArrays(**fields)


NO_TREES = _no_trees()
