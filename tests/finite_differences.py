"""Observed information by finite differences: independent of the package, for any network.

A network is (cards, parents, hidden); parameters are one array of logits for each table, the last
state of every parent configuration being the reference. Gradients are by the complex step (exact),
their differences of fourth order.
"""

import itertools

import numpy as np

STEP = 1e-3


def unpack(x, shapes):
    """From free logits to tables; a table's last axis is the child."""
    tables, at = [], 0
    for shape in shapes:
        size = int(np.prod(shape[:-1])) * (shape[-1] - 1)
        free = x[at : at + size].reshape(*shape[:-1], shape[-1] - 1)
        at += size
        weight = np.concatenate([np.exp(free), np.ones((*shape[:-1], 1))], axis=-1)
        tables.append(weight / weight.sum(axis=-1, keepdims=True))
    return tables


def pack(tables):
    """Free logits of tables."""
    return np.concatenate([np.log(t[..., :-1] / t[..., -1:]).ravel() for t in tables])


class LogLikelihood:
    """Of rows with one entry for each variable, -1 = not seen; by enumeration of what is not."""

    def __init__(self, cards, parents, rows, counts):
        completions = [
            list(
                itertools.product(
                    *(range(r) if s < 0 else (s,) for s, r in zip(row, cards, strict=True))
                )
            )
            for row in rows
        ]
        full = np.array([c for row in completions for c in row])
        self.first = np.cumsum([0, *(len(row) for row in completions)])[:-1]
        self.places = [tuple(full[:, [*pa, i]].T) for i, pa in enumerate(parents)]
        self.counts = counts

    def __call__(self, tables):
        joint = np.prod([t[at] for t, at in zip(tables, self.places, strict=True)], axis=0)
        return (self.counts * np.log(np.add.reduceat(joint, self.first))).sum()


def gradient(f, x):
    """By the complex step."""
    return np.array([np.imag(f(x + 1j * 1e-30 * np.eye(len(x))[j])) / 1e-30 for j in range(len(x))])


def hessian(f, x):
    """Fourth-order differences of the gradient, made symmetric."""
    columns = []
    for e in np.eye(len(x)):
        near = gradient(f, x + STEP * e) - gradient(f, x - STEP * e)
        far = gradient(f, x + 2 * STEP * e) - gradient(f, x - 2 * STEP * e)
        columns.append((8 * near - far) / (12 * STEP))
    H = np.array(columns)
    return (H + H.T) / 2


def standard_errors(tables, objective, free=None):
    """Of every probability, from the inverse of the negative Hessian over the free logits.

    `objective` takes tables; `free` are the logits that vary (default: all), the others are fixed.
    """
    shapes = [t.shape for t in tables]
    x = pack(tables)
    which = np.arange(len(x)) if free is None else np.flatnonzero(free)

    def full(y):
        z = x.astype(y.dtype)
        z[which] = y
        return z

    information = -hessian(lambda y: objective(unpack(full(y), shapes)), x[which])
    covariance = np.linalg.inv(information)
    sizes = np.cumsum([int(np.prod(s)) for s in shapes])
    flat = lambda y: np.concatenate([t.ravel() for t in unpack(full(y), shapes)])  # noqa: E731
    jacobian = np.array(
        [np.imag(flat(x[which] + 1j * 1e-30 * e)) / 1e-30 for e in np.eye(len(which))]
    )
    variance = np.einsum("ja,jk,ka->a", jacobian, covariance, jacobian)
    parts = np.split(np.sqrt(variance), sizes[:-1])
    return [p.reshape(s) for p, s in zip(parts, shapes, strict=True)]
