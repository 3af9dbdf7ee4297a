"""Multinomial logit: maximum likelihood or MAP coefficients given expected counts of classes."""

import numpy as np
from scipy.special import log_softmax

from lacunet.runtime.arrays import FloatArray

TOLERANCE = 1e-9  # on the predicted gain of a Newton step, in nats
STEPS = 100  # at most; divergence to infinity takes steps of constant size
FARTHEST = 10.0  # largest change of the log odds of any row in one step
HALVINGS = 30
RIDGE = 1e-12  # of the largest curvature: keeps steps finite if the curvature is singular


def logit_gradient(design: FloatArray, N: FloatArray, p: FloatArray) -> FloatArray:
    """Gradient of Σ N log p by free coefficients, (free,): class by class without the first.

    N and p are (patterns, K): cases, and the probability of each class.
    """
    residual = N - N.sum(axis=1, keepdims=True) * p
    return np.asarray(residual[:, 1:].T @ design).reshape(-1)


def logit_information(design: FloatArray, cases: FloatArray, p: FloatArray) -> FloatArray:
    """Negative Hessian of Σ N log p, (free, free): Σ_x n_x (diag p − ppᵀ) ⊗ xxᵀ.

    The design is (patterns, columns), cases n_x are (patterns,), p is (patterns, K).
    """
    q = p[:, 1:]
    columns, classes = design.shape[1], q.shape[1]
    A = np.empty((classes, columns, classes, columns))
    for c in range(classes):
        for b in range(c + 1):
            weight = cases * (q[:, c] * ((c == b) - q[:, b]))
            A[c, :, b, :] = A[b, :, c, :] = design.T @ (weight[:, None] * design)
    return A.reshape(classes * columns, classes * columns)


def whole(free: FloatArray, columns: int) -> FloatArray:
    """(K, p) coefficients with zeros for the first class."""
    return np.vstack([np.zeros((1, columns)), free.reshape(-1, columns)])


def _shortened(A: FloatArray, slope: FloatArray, design: FloatArray) -> FloatArray:
    """Newton's step, shortened only along nearly flat directions."""
    values, vectors = np.linalg.eigh(A)
    along = vectors.T @ slope / values
    moves = np.einsum("xp,cpv->xcv", design, vectors.reshape(-1, design.shape[1], len(A)))
    most = FARTHEST / np.maximum(np.abs(moves).max(axis=(0, 1)), 1e-300)
    return np.asarray(vectors @ np.clip(along, -most, most))


def maximize_logit(
    design: FloatArray, N: FloatArray, start: FloatArray, precision: FloatArray
) -> FloatArray:
    """Maximise Σ N log p − ½ βᵀ Q β over free coefficients, by Newton's method with halved steps.

    N are expected cases, (patterns, K), and Q is the precision of the Gaussian prior, (free, free):
    zeros for the maximum of the likelihood.
    """
    cases, columns = N.sum(axis=1), design.shape[1]
    beta = start

    def value(beta: FloatArray) -> tuple[float, FloatArray]:
        log_p = log_softmax(design @ whole(beta, columns).T, axis=1)
        return float((N * log_p).sum() - beta @ precision @ beta / 2.0), np.exp(log_p)

    now, p = value(beta)
    for _ in range(STEPS if len(beta) else 0):
        slope = logit_gradient(design, N, p) - precision @ beta
        A = logit_information(design, cases, p) + precision
        A[np.diag_indices_from(A)] += RIDGE * max(float(A.diagonal().max()), 1e-300)
        step = np.linalg.solve(A, slope)
        gain = float(step @ slope)
        if np.abs(design @ step.reshape(-1, columns).T).max() > FARTHEST:
            step = _shortened(A, slope, design)
        if not gain > TOLERANCE:
            break
        for halving in range(HALVINGS):
            moved = beta + 0.5**halving * step
            then, p_moved = value(moved)
            if then >= now:
                break
        else:
            break
        beta, now, p = moved, then, p_moved
    return beta
