"""Networks with fixed tables, tied tables and zeros, and what enumeration says of them.

The oracle imports nothing of lacunet: a network is (cards, parents), `given` has a table for each
family with NaN where it is learned, `leaders` the family whose table each has.
"""

import itertools
from dataclasses import replace
from math import lgamma

import numpy as np
from hypothesis import strategies as st

from lacunet.models.conjugacy import random_theta
from lacunet.models.known import KnownTable
from lacunet.models.network import Model, Network
from lacunet.models.prior import dirichlet
from lacunet.models.surgery import sample_codes
from oracle import completions
from problems import Case, structures


def with_knowledge(network, rng):
    """Fix some tables, give some zeros, tie some that are alike."""
    variables, learned = [], {}
    for i, v in enumerate(network.variables):
        shape, kind = network.shape(i), rng.integers(5)
        table = rng.dirichlet(np.ones(shape[-1]), shape[:-1])
        zeros = np.where(rng.random(shape) < 0.4, 0.0, np.nan)
        zeros[..., rng.integers(shape[-1])] = np.nan
        known = {0: table, 1: zeros if (zeros == 0.0).any() else None}.get(int(kind))
        tied_to = learned.get(shape) if known is None and kind >= 3 else None
        if known is not None:
            known = KnownTable.of(known)
        if tied_to is None and not (known and known.fixed):
            learned[shape] = v.name
        variables.append(replace(v, known=known, tied_to=tied_to))
    return Network.build(variables, network.parents)


@st.composite
def known_cases(draw, *, max_rows=8, **structure):
    """A network of which something is known, with rows that it can have, and missing values."""
    rng = np.random.default_rng(draw(st.integers(0, 100_000)))
    network = with_knowledge(draw(structures(**structure)), rng)
    theta = random_theta(network.layout, rng)
    alpha = dirichlet(network, draw(st.sampled_from([0.7, 1.01, 1.5, "bdeu:5"])))
    missing = draw(st.sampled_from([0.0, 0.3, 0.7]))
    model = Model(network, theta, alpha)
    codes = sample_codes(model, draw(st.integers(1, max_rows)), rng, missing).astype(np.int8)
    return Case(network, theta, alpha, codes, np.ones(len(codes)))


def given_tables(network):
    """A table for each family, NaN where it is learned; those of tied ones are their leader's."""
    results = []
    for i, v in enumerate(network.variables):
        source = v if v.tied_to is None else network.variables[network.index(v.tied_to)]
        results.append(
            np.full(network.shape(i), np.nan) if source.known is None else source.known.values
        )
    return results


def leaders(network):
    return [network.index(v.tied_to or v.name) for v in network.variables]


def log_evidence(network, alphas, rows):
    """Log p(D|S) given a table of exponents of each family: a sum over completions. Tiny data."""
    cards = [len(v.states) for v in network.variables]
    given, lead = given_tables(network), leaders(network)
    terms = []
    for world in itertools.product(*(completions(row, cards) for row in rows)):
        counts = [np.zeros(table.shape) for table in given]
        for full in world:
            for i, pa in enumerate(network.parents):
                counts[lead[i]][(*(full[u] for u in pa), full[i])] += 1
        terms.append(sum(map(log_bd, counts, given, alphas)))
    return float(np.logaddexp.reduce(terms))


def log_bd(N, given, alphas):
    """Log evidence of complete counts of a table, of which some numbers are known."""
    total = 0.0
    rows = (x.reshape(-1, N.shape[-1]) for x in (N, given, alphas))
    for n, row, alpha in zip(*rows, strict=True):
        free = np.isnan(row)
        if (n[row == 0.0] > 0).any():
            return -np.inf
        total += sum(k * np.log(p) for k, p in zip(n, row, strict=True) if k and p > 0.0)
        if free.sum() > 1:
            a, k = alpha[free], n[free]
            total += lgamma(a.sum()) - lgamma(a.sum() + k.sum())
            total += sum(lgamma(x + y) - lgamma(x) for x, y in zip(a, k, strict=True))
    return total


def whole_alphas(case):
    """The exponents of each family's table, those of tied tables together."""
    return case.tables(case.layout.pooled(case.alpha))


class FreeLogits:
    """Tables as a function of the logits that are free: a twin of coordinates, by softmax."""

    def __init__(self, network):
        self.given, self.lead = given_tables(network), leaders(network)
        self.free = []  # (family, row, states) of each row with something to learn
        for i, table in enumerate(self.given):
            if self.lead[i] == i:
                rows = table.reshape(-1, table.shape[-1])
                unknown = ((i, j, np.flatnonzero(np.isnan(row))) for j, row in enumerate(rows))
                self.free += [one for one in unknown if len(one[2])]

    @property
    def number(self):
        return sum(len(states) - 1 for _, _, states in self.free)

    def tables(self, x):
        """The tables of some logits; the last free state of each row is the reference."""
        result, at = [t.copy().astype(x.dtype) for t in self.given], 0
        for i, j, states in self.free:
            weights = np.exp(np.append(x[at : at + len(states) - 1], 0.0))
            result[i].reshape(-1, result[i].shape[-1])[j, states] = weights / weights.sum()
            at += len(states) - 1
        return [result[leader] for leader in self.lead]

    def log_prior(self, tables, added):
        """Σ added · log θ over what is learned, each once."""
        return sum(
            added * np.log(tables[i].reshape(-1, tables[i].shape[-1])[j, states]).sum()
            for i, j, states in self.free
        )

    def of(self, tables):
        """The logits of tables."""
        rows = [tables[i].reshape(-1, tables[i].shape[-1])[j, k] for i, j, k in self.free]
        return np.concatenate([np.zeros(0), *(np.log(row[:-1] / row[-1]) for row in rows)])
