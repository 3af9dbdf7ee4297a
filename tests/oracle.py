"""Slow, obvious and independent: what no plan says of a discrete network, by full completions.

What plans say is written out in `enumeration.py`. Nothing here imports lacunet. A network is
(cards, parents, tables): tables[i] has one axis for each parent, in the order of parents[i], then
one for the states of i. A row is a tuple with one state for each variable, hidden ones too; -1 =
not seen.
"""

import itertools
from math import lgamma

import numpy as np


def joint(network):
    """p(every variable): one axis each."""
    cards, parents, tables = network
    p, axes = np.ones(cards), range(len(cards))
    for i, table in enumerate(tables):
        p = np.einsum(p, axes, table, [*parents[i], i], axes)
    return p


def agreeing(row):
    """Index of the completions that agree with what a row shows."""
    return tuple(slice(None) if x < 0 else slice(x, x + 1) for x in row)


def row_posterior(p, row):
    """p(every variable | row) and p(row), from the joint."""
    q = np.zeros_like(p)
    q[agreeing(row)] = p[agreeing(row)]
    z = q.sum()
    return (q / z if z > 0 else q), z


def log_likelihood(network, rows, counts):
    p = joint(network)
    probabilities = [row_posterior(p, row)[1] for row in rows]
    seen = [(z, n) for z, n in zip(probabilities, counts, strict=True) if n > 0]
    return sum(n * np.log(z) if z > 0 else -np.inf for z, n in seen)


def marginal(q, group):
    """Sum out all but a group of variables; its axes in the order of the group."""
    summed = q.sum(axis=tuple(v for v in range(q.ndim) if v not in group))
    return np.transpose(summed, [sorted(group).index(v) for v in group])


def expected_counts(network, rows, counts):
    """E[N_ijk] of each family, everything unseen filled in."""
    cards, parents, _ = network
    p = joint(network)
    total = np.zeros(cards)
    for row, n in zip(rows, counts, strict=True):
        total += n * row_posterior(p, row)[0]
    return [marginal(total, (*pa, i)) for i, pa in enumerate(parents)]


def entropy(network, rows, counts):
    """Of what the rows do not show, given what they do."""
    p = joint(network)
    total = 0.0
    for row, n in zip(rows, counts, strict=True):
        q = row_posterior(p, row)[0]
        total -= n * float(np.sum(q[q > 0] * np.log(q[q > 0])))
    return total


def log_bd(counts, alphas):
    """BD of (expected) complete counts, one table per family. CH96 eq. 5."""
    total = 0.0
    for N, a in zip(counts, alphas, strict=True):
        for row, exponents in zip(
            N.reshape(-1, N.shape[-1]), a.reshape(-1, a.shape[-1]), strict=True
        ):
            total += lgamma(exponents.sum()) - lgamma(exponents.sum() + row.sum())
            total += sum(lgamma(x + n) - lgamma(x) for n, x in zip(row, exponents, strict=True))
    return total


def completions(row, cards):
    return list(
        itertools.product(*(range(r) if x < 0 else (x,) for x, r in zip(row, cards, strict=True)))
    )


def log_evidence(cards, parents, alphas, cases):
    """Exact log p(D|S): BD summed over all completions of all cases. Tiny data only."""
    terms = []
    for world in itertools.product(*(completions(row, cards) for row in cases)):
        counts = [np.zeros_like(a) for a in alphas]
        for full in world:
            for i, pa in enumerate(parents):
                counts[i][(*(full[u] for u in pa), full[i])] += 1
        terms.append(log_bd(counts, alphas))
    return float(np.logaddexp.reduce(terms))


PRIME = 2_147_483_647


def generic_rank(cards, parents, hidden, seed=0):
    """Rank of ∂p(x)/∂θ over all observable x at a random point of a prime field: exact numbers."""
    rng = np.random.default_rng(seed)
    families = [(*pa, i) for i, pa in enumerate(parents)]
    tables = []
    for family in families:
        table = rng.integers(1, PRIME, [cards[v] for v in family]).astype(object)
        table[..., -1] = (1 - table[..., :-1].sum(axis=-1)) % PRIME
        tables.append(table)
    seen = [v for v in range(len(cards)) if v not in hidden]
    rows = {x: i for i, x in enumerate(itertools.product(*(range(cards[v]) for v in seen)))}
    slopes = [np.zeros((len(rows), *t.shape), dtype=object) for t in tables]
    for full in itertools.product(*map(range, cards)):
        places = [tuple(full[v] for v in family) for family in families]
        factors = [int(t[place]) for t, place in zip(tables, places, strict=True)]
        row = rows[tuple(full[v] for v in seen)]
        for i, place in enumerate(places):
            others = 1
            for j, factor in enumerate(factors):
                others = others * factor % PRIME if j != i else others
            slopes[i][(row, *place)] += others
    free = [(s[..., :-1] - s[..., -1:]).reshape(len(rows), -1) for s in slopes]
    return _rank([[int(x) % PRIME for x in line] for line in np.concatenate(free, axis=1)])


def _rank(matrix):
    """Gaussian elimination modulo PRIME."""
    rank = 0
    for column in range(len(matrix[0]) if matrix else 0):
        pivot = next((r for r in range(rank, len(matrix)) if matrix[r][column]), None)
        if pivot is None:
            continue
        matrix[rank], matrix[pivot] = matrix[pivot], matrix[rank]
        inverse = pow(matrix[rank][column], -1, PRIME)
        for r in range(rank + 1, len(matrix)):
            factor = matrix[r][column] * inverse % PRIME
            if factor:
                matrix[r] = [
                    (x - factor * y) % PRIME for x, y in zip(matrix[r], matrix[rank], strict=True)
                ]
        rank += 1
    return rank


def forward(initial, step, emission, row):
    """Log p(row) of a hidden Markov chain; -1 = not seen."""
    log_p, belief = 0.0, initial
    for t, x in enumerate(row):
        belief = belief if t == 0 else belief @ step
        if x >= 0:
            belief = belief * emission[:, x]
        log_p += np.log(belief.sum())
        belief = belief / belief.sum()
    return log_p
