"""States of a hidden variable put together, left out or begun empty, as statistics say it.

Statistics add up, whatever the families: two states that become one have the sum of theirs.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Self, TypeAlias

import numpy as np

from lacunet.fitting.diagnose import state_sizes
from lacunet.inference.problem import Problem
from lacunet.likelihoods.gamma_functions import log_rising
from lacunet.models import conjugacy
from lacunet.models.layout import Layout
from lacunet.models.surgery import with_hidden
from lacunet.runtime.arrays import FloatArray, IntArray

Group: TypeAlias = Sequence[int]  # old states that become one new state; none: it begins empty
FEWEST = 2.0  # cases: a state with fewer can be left out, and is not worth splitting


@dataclass(frozen=True, eq=False)
class Places:
    """Where a hidden variable stands in the flat vectors of a layout."""

    h: int
    layout: Layout
    states: IntArray  # (states, P) positions of each state, in every family with the variable
    others: IntArray  # positions of the other families, in an order that no layout changes

    @classmethod
    def build(cls, layout: Layout, h: int) -> Self:
        """Find them; P and its order are the same whatever the number of states."""
        positions = np.arange(layout.size)
        around = [i for i, family in enumerate(layout.families) if h in family and layout.widths[i]]
        tables = (
            np.moveaxis(layout.table(positions, i), layout.families[i].index(h), 0) for i in around
        )
        states = np.hstack([table.reshape(layout.cards[h], -1) for table in tables])
        # Storage depends on which variables are hidden; the order of tables does not.
        apart = (i for i in range(len(layout.families)) if i not in around)
        others = [layout.table(positions, i).reshape(-1) for i in apart]
        return cls(h, layout, states, np.concatenate([np.zeros(0, dtype=np.int64), *others]))

    def regroup(self, x: FloatArray, new: "Places", groups: Sequence[Group]) -> FloatArray:
        """Give statistics of a layout in which each group of states is one state."""
        y = np.zeros(new.layout.size)
        y[new.others] = x[self.others]
        for places, group in zip(new.states, groups, strict=True):
            y[places] = x[self.states[list(group)]].sum(axis=0)
        return y

    def regroup_prior(self, alpha: FloatArray, new: "Places", state: int) -> FloatArray:
        """Give hyperparameters of a layout in which every state has the prior of one."""
        y = self.regroup(alpha, new, [[state]] * len(new.states))
        for i, (kind, family) in enumerate(zip(new.layout.kinds, new.layout.families, strict=True)):
            if self.h in family[:-1] and new.layout.widths[i]:
                table = new.layout.table(y, i)
                table[...] = kind.shared_out(table, len(new.states) / len(self.states))
        return y


@dataclass(frozen=True)
class Freed:
    """A state of a hidden variable is given up: put to another, or, without cases, left out."""

    loss: float  # nats of log BD
    a: int | None  # the state that takes its cases
    b: int  # the state that is free then

    @property
    def touched(self) -> tuple[int, ...]:
        """The states that change."""
        return (self.b,) if self.a is None else (self.a, self.b)


def ways_to_free(problem: Problem, N: FloatArray, places: Places) -> list[Freed]:
    """States of h that can be left out, and pairs that can be one: what loses least comes first.

    Parameters are averaged over (log BD), so that a state is worth its mass.
    """
    h, layout = places.h, problem.layout
    sizes = state_sizes(layout, N, h)
    ways = [Freed(0.0, None, b) for b in np.flatnonzero(sizes < FEWEST).tolist()]
    alone = Places.build(
        with_hidden(problem.network, {problem.network.variables[h].name: 1}).layout, h
    )
    children = [i for i, family in enumerate(layout.families) if h in family and i != h]
    alpha = places.regroup_prior(problem.alpha, alone, 0)
    exponents = np.moveaxis(layout.table(problem.alpha, h), -1, 0)  # (states, configurations…)
    cases = np.moveaxis(layout.table(N, h), -1, 0)

    def worth(*states: int) -> float:
        x = places.regroup(N, alone, [states])
        own = log_rising(exponents[states[0]], cases[list(states)].sum(axis=0))
        return float(conjugacy.log_marginal(x, alpha, alone.layout)[children].sum() + own.sum())

    full = sorted(np.flatnonzero(sizes >= FEWEST).tolist(), key=lambda s: (-sizes[s], s))
    single = {s: worth(s) for s in full}
    ways += [Freed(single[a] + single[b] - worth(a, b), a, b) for a, b in combinations(full, 2)]
    return sorted(ways, key=lambda way: way.loss)
