"""Slow, obvious and independent: what the package is held to on tiny problems.

Nothing here imports lacunet. A latent class model is (weights, tables): weights (K,), and one
(K, r) array p(state | class) per leaf. Rows are tuples of states, -1 = missing.
"""

import itertools
from math import lgamma, log

import numpy as np


def row_probability(row, weights, tables):
    """Sum over classes of the product of what was seen."""
    total = 0.0
    for c, weight in enumerate(weights):
        p = weight
        for x, table in zip(row, tables, strict=True):
            if x >= 0:
                p *= table[c][x]
        total += p
    return total


def log_likelihood(rows, counts, weights, tables):
    return sum(
        n * log(row_probability(r, weights, tables)) for r, n in zip(rows, counts, strict=True)
    )


def completions(row, classes, cards):
    """Every (class, completed row) that agrees with what was seen."""
    options = [range(r) if x < 0 else (x,) for x, r in zip(row, cards, strict=True)]
    return [(c, full) for c in range(classes) for full in itertools.product(*options)]


def expected_counts(rows, counts, weights, tables):
    """E[N] of the root (K,) and of each leaf (K, r), missing cells filled in."""
    cards = [t.shape[1] for t in tables]
    root = np.zeros(len(weights))
    leaves = [np.zeros_like(t) for t in tables]
    for row, n in zip(rows, counts, strict=True):
        z = row_probability(row, weights, tables)
        for c, full in completions(row, len(weights), cards):
            p = weights[c] * np.prod([t[c][x] for x, t in zip(full, tables, strict=True)]) / z
            root[c] += n * p
            for leaf, x in zip(leaves, full, strict=True):
                leaf[c, x] += n * p
    return root, leaves


def log_dirichlet_multinomial(counts, alphas):
    """Closed form of one parameter set. CH96 eq. 5."""
    total = lgamma(sum(alphas)) - lgamma(sum(alphas) + sum(counts))
    return total + sum(lgamma(a + n) - lgamma(a) for a, n in zip(alphas, counts, strict=True))


def log_bd(root, leaves, alpha):
    """BD of (expected) complete counts with one exponent everywhere."""
    total = log_dirichlet_multinomial(root, [alpha] * len(root))
    for leaf in leaves:
        for counts in leaf:
            total += log_dirichlet_multinomial(counts, [alpha] * len(counts))
    return total


def log_evidence(rows, counts, classes, cards, alpha):
    """Exact log p(D|S): the sum of BD over all completions of all cases. Tiny data only."""
    cases = [r for r, n in zip(rows, counts, strict=True) for _ in range(int(n))]
    terms = []
    for world in itertools.product(*(completions(r, classes, cards) for r in cases)):
        root = np.zeros(classes)
        leaves = [np.zeros((classes, r)) for r in cards]
        for c, full in world:
            root[c] += 1
            for leaf, x in zip(leaves, full, strict=True):
                leaf[c, x] += 1
        terms.append(log_bd(root, leaves, alpha))
    return float(np.logaddexp.reduce(terms))
