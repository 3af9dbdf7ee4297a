"""Sums over all partitions of the cases, by listing them: what a walk over partitions measures."""

from math import lgamma

import numpy as np
from scipy.special import logsumexp

from lacunet.evidence.partitions.cases import leaves_of, shown_rows
from lacunet.likelihoods import Segment
from lacunet.models.latent_class import classes_of


def partitions(cases):
    """All partitions of 0..cases − 1, each as block numbers."""
    if cases == 0:
        yield []
        return
    for rest in partitions(cases - 1):
        for block in range(max(rest, default=-1) + 2):
            yield [*rest, block]


def log_weight(problem, blocks):
    """Π_blocks Γ(a + n)/Γ(a) · L, by its definition and the integrals of families."""
    leaves, (rows, _) = leaves_of(problem), shown_rows(problem)
    codes, blocks = rows[leaves.row], np.asarray(blocks)
    total = 0.0
    for b in np.unique(blocks):
        members = codes[blocks == b]
        total += lgamma(leaves.a + len(members)) - lgamma(leaves.a)
        total += sum(
            log_marginal(problem, leaf, members[:, n])
            for n, leaf in enumerate(classes_of(problem.network).leaves)
        )
    return total


def log_marginal(problem, leaf, codes):
    """Log ∫ of what cases show of a leaf, without h(x)."""
    v, hyper = problem.network.variables[leaf], problem.layout.table(problem.alpha, leaf)[:1]
    shown = v.statistics[codes[codes >= 0]].sum(axis=0)
    at = Segment.of_table(v.family, 1, hyper.shape[1])
    before, after = (float(v.family.log_integral(x, at)[0]) for x in (hyper, hyper + shown))
    return after - before


def log_sums(problem):
    """Log Z_m for m = 1, 2, …, by listing all partitions."""
    cases = len(leaves_of(problem).row)
    terms = [[] for _ in range(cases)]
    for blocks in partitions(cases):
        terms[max(blocks)].append(log_weight(problem, blocks))
    return np.array([logsumexp(each) for each in terms])
