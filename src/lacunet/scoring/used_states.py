"""Unused states of hidden variables: the occupancy identity of a network.

Call a state of a hidden variable used if some case has it. Completions of the data in which m_h of
the k_h states of each hidden variable h are used have the same probability for every k_h ≥ m_h, but
for the family of h itself: parameters of children, given a state that is not used, integrate to 1.
With a_j the exponent of each state of h, and N_j the cases, at configuration j of its parents,

    p(D|k) = Σ_m E_m Π_h C(k_h, m_h) Π_j ρ(k_h, m_h; a_j, N_j),
    ρ(k, m; a, N) = Γ(ka) Γ(ma + N) / (Γ(ka + N) Γ(ma)),

where E_m is the part of p(D|m) in which all states are used. N_j is known if h has no parents, or
if its parents are seen; else it is taken as expected.
"""

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TypeAlias

import numpy as np
from scipy.special import gammaln, xlog1py

from lacunet.inference.classes import prior_of_states, states_told
from lacunet.inference.plans.plan import EStep
from lacunet.inference.problem import Problem
from lacunet.inference.symmetry import symmetries_of
from lacunet.likelihoods.gamma_functions import log_rising
from lacunet.runtime.arrays import FloatArray, IndexArray

MOST_FITS = 32  # of models with fewer states, if all combinations are summed
MOST_ALONE = 12  # if each variable is taken by itself

States: TypeAlias = tuple[int, ...]  # used states of each variable that may have unused ones
Cases: TypeAlias = Mapping[int, FloatArray]  # of hidden variables, (configurations of the parents,)


def log_ratio(k: float, m: float, a: FloatArray | float, cases: FloatArray | float) -> FloatArray:
    """Log ρ(k, m; a, N).

    One case is in one of two states, or in the only one: ρ(2, 1) = 1/2.

    >>> float(np.exp(log_ratio(2, 1, 1.0, 1.0))).__round__(9)
    0.5
    """
    return log_rising(m * a, cases) - log_rising(k * a, cases)


def log_choices(k: int, m: int) -> float:
    """Log of the number of ways to choose m of k states."""
    return float(gammaln(k + 1) - gammaln(m + 1) - gammaln(k - m + 1))


@dataclass(frozen=True, eq=False)
class UsedStates:
    """The numbers of used states that have a term in p(D|k)."""

    problem: Problem

    @cached_property
    def own(self) -> dict[int, int]:
        """The variables that may have unused states, and how many they have."""
        return states_told(self.problem)

    @cached_property
    def whole(self) -> States:
        """All states used."""
        return self._sorted(tuple(self.own.values()))

    @cached_property
    def number(self) -> int:
        """How many different combinations of used states there are."""
        own = list(self.own.values())
        return math.prod(math.comb(own[b[0]] + len(b) - 1, len(b)) for b in self._places)

    @cached_property
    def jointly(self) -> bool:
        """Whether all combinations are summed; else each variable by itself, the others full."""
        return self.number - 1 <= MOST_FITS

    @cached_property
    def combinations(self) -> dict[States, int]:
        """Numbers of used states, all of them last: each with how many exchanges make it."""
        every = itertools.product(*(range(1, k + 1) for k in self.own.values()))
        return dict(Counter(map(self._sorted, every)))

    @cached_property
    def fewer(self) -> list[States]:
        """Those combinations that are looked at, without the whole."""
        if self.jointly:
            return [sizes for sizes in self.combinations if sizes != self.whole]
        alone = [sizes for n in range(len(self.whole)) for sizes in self._alone(n)]
        nearest = sorted(dict.fromkeys(alone), key=lambda sizes: -sum(sizes))
        return nearest[:MOST_ALONE]

    def _alone(self, n: int) -> list[States]:
        """Fewer used states of one variable."""
        full = self.whole
        return [self._sorted((*full[:n], m, *full[n + 1 :])) for m in range(1, full[n])]

    def exact(self, sizes: States) -> bool:
        """Whether nothing is left to sum over with so many states."""
        single = {h for h, m in zip(self.own, sizes, strict=True) if m == 1}
        return self.problem.components.members <= single

    def of_variables(self, sizes: States) -> tuple[tuple[int, int], ...]:
        """The same numbers by variable."""
        return tuple(zip(self.own, sizes, strict=True))

    def log_factor(self, sizes: States, cases: Cases) -> float:
        """Log of Π C(k, m) Π ρ(k, m) of one combination; `cases` as counted with so many states."""
        total, prior = 0.0, prior_of_states(self.problem, dict(self.of_variables(sizes)))
        for (h, k), m in zip(self.own.items(), sizes, strict=True):
            a = prior[h][..., 0].reshape(-1)
            total += log_choices(k, m) + float(log_ratio(k, m, a, cases[h]).sum())
        return total

    def log_parts(self, values: Sequence[float], cases: Sequence[Cases]) -> FloatArray:
        """Log terms of p(D|k) from log E_m of each of `fewer`, and of the whole at last."""
        told = {h: float(cases[-1][h].sum()) for h in self.own}
        parts = []
        for sizes, value, counted in zip([*self.fewer, self.whole], values, cases, strict=True):
            # With one state, cases that say nothing of a variable are counted all the same.
            own = {
                h: N * min(1.0, told[h] / (N.sum() or 1.0)) for h, N in counted.items() if h in told
            }
            parts.append(value + self.log_factor(sizes, own))
        return np.array(parts)

    def log_sum(self, parts: FloatArray) -> float:
        """Log p(D|k) from its terms, as `log_parts` gives them."""
        if self.jointly:
            weights = [self.combinations[sizes] for sizes in [*self.fewer, self.whole]]
            return float(np.logaddexp.reduce(parts + np.log(weights)))
        total = whole = float(parts[-1])
        found = dict(zip(self.fewer, parts, strict=False))
        for n in range(len(self.whole)):
            terms = [found[sizes] for sizes in self._alone(n) if sizes in found]
            total += float(np.logaddexp.reduce([whole, *terms])) - whole
        return total

    @cached_property
    def _places(self) -> list[list[int]]:
        """Where variables stand that can change places; those that cannot, by themselves."""
        told = list(self.own)
        blocks = [block.variables for block in symmetries_of(self.problem).blocks]
        places = [[told.index(h) for h in block] for block in blocks if set(block) <= set(told)]
        alone = set(range(len(told))).difference(*places)
        return [*places, *([place] for place in alone)]

    def _sorted(self, sizes: States) -> States:
        """Of variables that can change places, that with the most states first."""
        found = list(sizes)
        for block in self._places:
            for place, m in zip(
                block, sorted((sizes[p] for p in block), reverse=True), strict=True
            ):
                found[place] = m
        return tuple(found)


def log_all_used(problem: Problem, log_weights: FloatArray) -> float:
    """Log probability that no state is unused, with hidden values drawn row by row.

    Each has its posterior under the weights. States are taken as if independent: they are not
    quite, but where the product is far from 1, one or two of them are nearly sure to be unused.
    """
    total = 0.0
    cells = problem.components.cells
    weights = cells.weights(log_weights)
    for h, k in states_told(problem).items():
        block, log_unused = cells.layout.block(h), np.zeros(k)
        ask = partial(_log_unused, weights, block.start, cells.layout.k[block], k)
        for plan in problem.components.plans:
            for part in plan.by_part(ask):
                log_unused += part
        with np.errstate(divide="ignore"):
            total += float(np.sum(np.log(-np.expm1(log_unused))))
    return total


def _log_unused(
    weights: FloatArray, first: int, states: IndexArray, k: int, plan: EStep
) -> FloatArray:
    """Log probability that no case of a plan has each state of a variable, (k,)."""
    _, r = plan.posterior(weights, first, first + len(states))
    by_state = np.stack([r[:, states == s].sum(axis=1) for s in range(k)], axis=1)
    return np.asarray(xlog1py(plan.counts[:, None], -np.clip(by_state, 0.0, 1.0)).sum(axis=0))


def counted_cases(problem: Problem, N: FloatArray) -> Cases:
    """Cases at each configuration of the parents of hidden variables, by counts N."""
    tables = {h: problem.layout.table(N, h) for h in problem.network.hidden}
    return {h: table.reshape(-1, table.shape[-1]).sum(axis=1) for h, table in tables.items()}
