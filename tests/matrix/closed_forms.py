"""The evidence of a small mixed network by enumeration: all completions, closed forms for numbers.

Nothing of the package is used. A family has its own closed form given the states of its parents; a
completion multiplies families. Families repeat themselves over completions, so each keeps its terms
by the states of the variables that it depends on.
"""

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import lgamma

import numpy as np
from scipy.special import betaln, logsumexp

from block_sums import _regression, log_labelled


@dataclass(frozen=True)
class Part:
    """A factor of the probability of completed cases."""

    reads: tuple[str, ...]  # categories that it depends on
    log_marginal: Callable[[Mapping[str, np.ndarray]], float]  # of their states, one for each case
    known: dict = field(default_factory=dict)

    def __call__(self, states):
        key = tuple(tuple(states[name]) for name in self.reads)
        if key not in self.known:
            self.known[key] = self.log_marginal({n: np.array(states[n]) for n in self.reads})
        return self.known[key]


def log_evidence(sizes, shown, parts):
    """Log Σ over completions of Π of parts; `shown` has a state for each case, −1 = not seen."""
    options = [
        [(x,) if x >= 0 else range(size) for x in shown[name]] for name, size in sizes.items()
    ]
    cases = len(next(iter(shown.values())))
    terms = []
    for full in itertools.product(*itertools.chain.from_iterable(options)):
        states = {name: full[i * cases : (i + 1) * cases] for i, name in enumerate(sizes)}
        terms.append(sum(part(states) for part in parts))
    return float(logsumexp(terms))


def table(children, parents, sizes, alpha, given):
    """One table that all `children` share, each with its parents; NaN where it is learned."""
    reads = tuple(dict.fromkeys([*children, *itertools.chain.from_iterable(parents)]))
    shape = given.shape

    def log_marginal(states):
        N = np.zeros(shape)
        for child, above in zip(children, parents, strict=True):
            np.add.at(N, tuple(states[name] for name in (*above, child)), 1.0)
        total = 0.0
        for n, row in zip(N.reshape(-1, shape[-1]), given.reshape(-1, shape[-1]), strict=True):
            free, fixed = np.isnan(row), row > 0.0
            if n[row == 0.0].any():
                return -np.inf
            total += float(n[fixed] @ np.log(row[fixed]))
            k = int(free.sum())
            if k > 1:
                total += lgamma(k * alpha) - lgamma(k * alpha + n[free].sum())
                total += sum(lgamma(alpha + x) - lgamma(alpha) for x in n[free])
        return total

    return Part(reads, log_marginal)


def groups(states, parents, sizes):
    """The configuration of the parents in each case, and how many configurations there are."""
    shape = [sizes[name] for name in parents]
    configuration = np.zeros(len(next(iter(states.values()))) if states else 0, dtype=int)
    if parents:
        configuration = np.ravel_multi_index([states[name] for name in parents], shape)
    return configuration, int(np.prod(shape, dtype=int))


def by_configuration(parents, sizes, shown, of_group):
    """A number whose configurations share nothing; `shown` tells which cases show it."""

    def log_marginal(states):
        configuration, number = groups(states, parents, sizes)
        return sum(of_group(np.flatnonzero((configuration == j) & shown)) for j in range(number))

    return Part(tuple(parents), log_marginal)


def poisson(x, parents, sizes, shape, rate):
    """Counts, with a gamma prior of their rate in each configuration."""

    def of_group(cases):
        n, total = len(cases), x[cases].sum()
        logs = shape * np.log(rate) - (shape + total) * np.log(rate + n)
        logs += lgamma(shape + total) - lgamma(shape)
        return logs - sum(lgamma(value + 1) for value in x[cases])

    return by_configuration(parents, sizes, ~np.isnan(x), of_group)


def binomial(x, parents, sizes, alpha):
    """Ordered answers from their lowest to their highest, with a beta prior of the chance."""
    low = np.nanmin(x)
    most = np.nanmax(x) - low

    def of_group(cases):
        up = x[cases] - low
        ways = sum(lgamma(most + 1) - lgamma(u + 1) - lgamma(most - u + 1) for u in up)
        down = (most - up).sum()
        return ways + betaln(alpha + up.sum(), alpha + down) - betaln(alpha, alpha)

    return by_configuration(parents, sizes, ~np.isnan(x), of_group)


def normal(columns, parents, sizes, prior, *, common):
    """One or two normal numbers, (cases, d), in the unit of their family.

    Of two the second may be missing where the first is shown.
    """
    d = columns.shape[1]
    shown = ~np.isnan(columns[:, 0])
    m, weight, degrees, scale = prior

    def of_cases(cases, configuration, number):
        x = columns[cases]
        if d == 2:
            return log_labelled(x, configuration, number, (m, weight, degrees, scale))
        mean, wide = np.full(number, m), np.eye(number) / weight
        return _regression(x[:, 0], np.eye(number)[configuration], mean, wide, (degrees, scale))

    def log_marginal(states):
        configuration, number = groups(states, parents, sizes)
        if common:
            cases = np.flatnonzero(shown)
            return float(of_cases(cases, configuration[cases], number))
        each = [np.flatnonzero((configuration == j) & shown) for j in range(number)]
        return float(sum(of_cases(c, np.zeros(len(c), dtype=int), 1) for c in each if len(c)))

    return Part(tuple(parents), log_marginal)
