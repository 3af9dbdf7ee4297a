"""The bound of a fit with hidden variables, with every numbering of their states."""

from __future__ import annotations

import itertools
import math

import numpy as np

from lacunet.fitting.variational import Variational
from lacunet.models import conjugacy
from lacunet.models.layout import Layout
from lacunet.runtime.arrays import BoolArray, FloatArray
from lacunet.structure.hidden.spanning import reached


def all_labellings(q: Variational) -> float:
    """The bound, with every numbering of the states of hidden variables that makes a difference.

    To exchange states that are alike makes none, and so does exchanging two that nobody has.
    """
    return q.bound + sum(log_numberings(told_apart(q, h)) for h in q.problem.network.hidden)


def told_apart(q: Variational, h: int) -> BoolArray:
    """Which states of a hidden variable differ, (states, states): by counts, or by numbers."""
    counts = counts_by_state(q.problem.layout, q.N, h)
    return more_than_chance(counts) | numbers_apart(q, h)


def more_than_chance(counts: FloatArray) -> BoolArray:
    """Which states differ anywhere by more than chance would make them; (states, places)."""
    one, other = counts[:, None], counts[None, :]
    return np.asarray((np.abs(one - other) > np.sqrt(one + other + 1.0)).any(axis=2))


def log_numberings(apart: BoolArray) -> float:
    """Log of the number of ways to number states, of which some are alike, (states, states)."""
    left, total = set(range(len(apart))), math.lgamma(len(apart) + 1)
    pairs = [(int(a), int(b)) for a, b in np.argwhere(~apart) if a < b]
    while left:
        alike = reached(min(left), pairs)
        total -= math.lgamma(len(alike) + 1)
        left -= alike
    return total


def counts_by_state(layout: Layout, N: FloatArray, h: int) -> FloatArray:
    """Counts of all families of categories with a variable, for each state: (states, places)."""
    tables = [
        np.moveaxis(layout.table(N, i), family.index(h), 0).reshape(layout.cards[h], -1)
        for i, family in enumerate(layout.families)
        if h in family and layout.kinds[i].tabular
    ]
    return np.hstack(tables)


def numbers_apart(q: Variational, h: int) -> BoolArray:
    """Between which states of a variable some number differs, (states, states).

    It does if its values are more probable with two distributions than with one.
    """
    layout, prior = q.problem.layout, q.problem.alpha
    apart = np.zeros((layout.cards[h],) * 2, dtype=bool)
    below = [
        i for i, family in enumerate(layout.families) if h in family and not layout.kinds[i].tabular
    ]
    if below:
        two = conjugacy.log_marginal(q.N, prior, layout)[below]
        for a, b in itertools.combinations(range(layout.cards[h]), 2):
            one = conjugacy.log_marginal(_merged(layout, q.N, (h, a, b)), prior, layout)[below]
            apart[a, b] = apart[b, a] = bool((two > one).any())
    return apart


def _merged(layout: Layout, N: FloatArray, states: tuple[int, int, int]) -> FloatArray:
    """Give statistics with two states of a variable as one; the other has no cases then."""
    h, a, b = states
    tables = []
    for i, family in enumerate(layout.families):
        table = layout.table(N, i).copy()
        if h in family and not layout.kinds[i].tabular:
            by_state = np.moveaxis(table, family.index(h), 0)
            by_state[a] += by_state[b]
            by_state[b] = 0.0
        tables.append(table)
    return layout.flat(tables)
