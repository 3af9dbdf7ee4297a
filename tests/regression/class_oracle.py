"""Latent class regression written out, row by row: imports nothing of the package.

Rows are (items, covariates); all items are binary or have a few states, -1 = not seen.
Parameters are one flat vector: coefficients of classes 2 … K (K − 1, p) against the first, then,
item by item and class by class, logits of the states but the first.
"""

import itertools

import numpy as np
from scipy.special import gammaln, log_softmax, logsumexp


class Rows:
    """Rows of items and of a design, with their counts."""

    def __init__(self, items, design, counts, cards, classes):
        self.items, self.design, self.counts = items, design, counts
        self.cards, self.K = cards, classes

    def unpack(self, x):
        """Coefficients (K, p), and log tables (K, states) of the items."""
        p = self.design.shape[1]
        free = (self.K - 1) * p
        beta = np.vstack([np.zeros((1, p)), x[:free].reshape(self.K - 1, p)])
        tables, at = [], free
        for r in self.cards:
            logits = x[at : at + self.K * (r - 1)].reshape(self.K, r - 1)
            at += self.K * (r - 1)
            tables.append(log_softmax(np.column_stack([np.zeros(self.K), logits]), axis=1))
        return beta, tables

    def pack(self, beta, tables):
        """The flat vector of coefficients (K, p) and tables (K, states)."""
        parts = [(beta - beta[0])[1:].ravel()]
        parts += [(np.log(t[:, 1:]) - np.log(t[:, :1])).ravel() for t in tables]
        return np.concatenate(parts)

    def log_lik(self, x):
        """Σ counts · log Σ_class p(class | covariates) Π p(item | class)."""
        beta, tables = self.unpack(x)
        joint = log_softmax(self.design @ beta.T, axis=1)
        for j, table in enumerate(tables):
            shown = self.items[:, j] >= 0
            joint = joint + np.where(shown[:, None], table[:, self.items[:, j]].T, 0.0)
        return float(self.counts @ logsumexp(joint, axis=1))

    def log_density(self, x, prior_of_class, alpha):
        """The same, with the density of coefficients and of logits of items.

        Scores of all classes are independent N(0, prior_of_class) before the data, so that
        differences from the first have the covariance (1 + 1[c = c′]) prior_of_class.
        """
        beta, tables = self.unpack(x)
        p = self.design.shape[1]
        b = beta[1:].ravel()
        V = np.kron(1.0 + np.eye(self.K - 1), prior_of_class)
        total = -0.5 * (b @ np.linalg.solve(V, b) + np.linalg.slogdet(V)[1])
        total -= 0.5 * (self.K - 1) * p * np.log(2 * np.pi)
        for table in tables:
            r = table.shape[1]
            total += self.K * (gammaln(r * alpha) - r * gammaln(alpha)) + alpha * table.sum()
        return self.log_lik(x) + total


def hessian(f, x, step=1e-3):
    """Second derivatives by differences of fourth order, made symmetric."""

    def along(g, i):
        e = np.eye(len(x))[i] * step

        def one(y):
            return (8 * (g(y + e) - g(y - e)) - (g(y + 2 * e) - g(y - 2 * e))) / (12 * step)

        return one

    H = np.zeros((len(x), len(x)))
    for i in range(len(x)):
        slope = along(f, i)
        for j in range(i + 1):
            H[i, j] = H[j, i] = along(slope, j)(x)
    return H


def log_evidence(items, design, cards, classes, prior_of_class, alpha, points=61, reach=7.0):
    """Sum over all classes of all rows, and over a grid of coefficients; for a few rows.

    Given the classes items have closed forms. The integral over free coefficients (at most two) is
    by the trapezoidal rule in units of the prior, which for such smooth functions has no error to
    speak of.
    """
    free = (classes - 1) * design.shape[1]
    V = np.kron(1.0 + np.eye(classes - 1), prior_of_class)
    axis = np.linspace(-reach, reach, points)
    u = np.stack(np.meshgrid(*[axis] * free, indexing="ij"), axis=-1).reshape(-1, free)
    log_weight = -0.5 * (u**2).sum(axis=1) + free * np.log((axis[1] - axis[0]) / np.sqrt(2 * np.pi))
    beta = (u @ np.linalg.cholesky(V).T).reshape(len(u), classes - 1, -1)
    beta = np.concatenate([np.zeros((len(u), 1, design.shape[1])), beta], axis=1)
    log_p = log_softmax(np.einsum("xp,ucp->uxc", design, beta), axis=2)
    terms = []
    for drawn in itertools.product(range(classes), repeat=len(items)):
        z = np.array(drawn)
        of_classes = logsumexp(log_weight + log_p[:, np.arange(len(z)), z].sum(axis=1))
        terms.append(of_classes + _log_items(items, z, cards, classes, alpha))
    return float(logsumexp(terms))


def log_evidence_dirichlet(items, cards, classes, exponent, alpha):
    """The same without covariates, with a Dirichlet prior of class sizes in closed form."""
    terms = []
    for drawn in itertools.product(range(classes), repeat=len(items)):
        z = np.array(drawn)
        n = np.bincount(z, minlength=classes)
        sizes = gammaln(classes * exponent) - gammaln(classes * exponent + n.sum())
        sizes += (gammaln(exponent + n) - gammaln(exponent)).sum()
        terms.append(sizes + _log_items(items, z, cards, classes, alpha))
    return float(logsumexp(terms))


def _log_items(items, z, cards, classes, alpha):
    total = 0.0
    for c in range(classes):
        for j, r in enumerate(cards):
            values = items[z == c, j]
            n = np.bincount(values[values >= 0], minlength=r)
            total += gammaln(r * alpha) - gammaln(r * alpha + n.sum())
            total += (gammaln(alpha + n) - gammaln(alpha)).sum()
    return total
