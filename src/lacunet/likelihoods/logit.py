"""The multinomial logit: log odds of states are linear in a design of the parent configurations.

θ are coefficients. Column j of the design has those of all states at configuration j; only their
differences from the first state count. η are log probabilities, and statistics are counts.

The last configuration occurs in no row. Its η are the log density of a Gaussian prior, up to a
constant, in equal parts for all states: hyperparameters 1 there add the prior to an objective, and
0 leave it out. The prior is not conjugate, so no method integrates over coefficients.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from lacunet.likelihoods.categorical import Categories
from lacunet.likelihoods.likelihood import Segment, Vector
from lacunet.runtime.arrays import FloatArray, IntArray

TOLERANCE = 1e-9  # on the predicted gain of a Newton step, in nats
STEPS = 100  # at most; divergence to infinity takes steps of constant size
FARTHEST = 10.0  # largest change of the log odds of any row in one step
HALVINGS = 30
RIDGE = 1e-12  # of the largest curvature: keeps steps finite if the curvature is singular


@dataclass(frozen=True, eq=False)
class Logit(Categories):
    """The multinomial logit of a category, with a Gaussian prior of its coefficients.

    A priori the scores of all states are independent with covariance C. Their differences from the
    first have covariance (1 + 1[c = c′]) C, so the prior does not depend on which state is first.
    """

    name: ClassVar[str] = "logit"
    positive: ClassVar[bool] = False
    design: FloatArray  # (q − 1, p) with q − 1 ≥ p, a row for each configuration but the last
    covariance: FloatArray  # (p, p) C, of the scores of one state
    states: int  # K

    @cached_property
    def precision(self) -> FloatArray:
        """(free, free) prior precision of the free coefficients, state by state."""
        across = np.eye(self.states - 1) - 1.0 / self.states  # inverse of 1 + 11ᵀ
        each = np.linalg.inv(self.covariance)
        return np.asarray(np.kron(across, each), dtype=np.float64)

    # Coefficients in tables of parameters

    def table(self, coefficients: FloatArray) -> FloatArray:
        """The table (q, K) of coefficients (K, p)."""
        table = np.zeros((len(self.design) + 1, self.states))
        table[: self.design.shape[1]] = coefficients.T
        return table

    def coefficients(self, table: FloatArray) -> FloatArray:
        """(K, p) coefficients of a table (q, K), with zeros for the first state."""
        scores = table[: self.design.shape[1]].T
        return np.asarray(scores - scores[0])

    def _free(self, x: Vector, at: Segment) -> FloatArray:
        """Free coefficients, (free,), state by state."""
        return self.coefficients(at.tables(x))[1:].reshape(-1)

    def _along(self, phi: Vector, at: Segment) -> FloatArray:
        """A direction of free coefficients, (free,); the first state has no coordinate."""
        return np.asarray(at.tables(phi)[: self.design.shape[1], 1:].T.reshape(-1))

    def _placed(self, free: FloatArray, at: Segment) -> Vector:
        """Place numbers of free coefficients, (free,) → (s,), 0 elsewhere."""
        return at.from_tables(self.table(whole(free, self.design.shape[1])))

    def _p(self, theta: Vector, at: Segment) -> FloatArray:
        """(q − 1, K) probabilities."""
        return np.exp(log_softmax(self.design @ self.coefficients(at.tables(theta)).T))

    def _parted(self, N: Vector, at: Segment) -> tuple[FloatArray, float]:
        """Counts (q − 1, K), and the weight of the prior."""
        table = at.tables(N)
        return table[:-1], float(table[-1, 0])

    def _joined(self, table: FloatArray, prior: float, at: Segment) -> Vector:
        """The inverse of `_parted`, for a number of the prior that all states share."""
        whole = np.empty((len(table) + 1, self.states))
        whole[:-1], whole[-1] = table, prior / self.states
        return at.from_tables(whole)

    def mean_statistics(self, theta: Vector, at: Segment) -> Vector:
        return self._joined(self._p(theta, at), 0.0, at)

    # Parameters, and their maximisation

    def natural(self, theta: Vector, at: Segment) -> Vector:
        coefficients = self.coefficients(at.tables(theta))
        log_p, beta = log_softmax(self.design @ coefficients.T), coefficients[1:].ravel()
        return self._joined(log_p, -float(beta @ self.precision @ beta) / 2.0, at)

    def random(self, hyper: Vector, at: Segment, rng: np.random.Generator) -> Vector:
        return self._placed(rng.standard_normal(len(self._free(hyper, at))), at)

    def maximize(self, N: Vector, pseudo: Vector, theta: Vector, at: Segment) -> Vector:
        cases, weight = self._parted(N + pseudo, at)
        prior = weight * self.precision
        return self._placed(maximize_logit(self.design, cases, self._free(theta, at), prior), at)

    # The prior is a density of the coefficients, which are their own coordinates

    def in_theta(self, hyper: Vector, at: Segment) -> Vector:
        return hyper

    def log_constant(self, hyper: Vector, at: Segment) -> float:
        _, weight = self._parted(hyper, at)
        if not weight:
            return 0.0
        log_det = float(np.linalg.slogdet(weight * self.precision)[1])
        return (log_det - len(self.precision) * float(np.log(2.0 * np.pi))) / 2.0

    # Coordinates

    def moved(self, theta: Vector, move: Vector, at: Segment, *, edge: bool = False) -> Vector:
        return self._placed(self._free(theta, at) + self._along(move, at), at)

    def log_map(self, old: Vector, new: Vector, at: Segment, *, edge: bool) -> Vector:
        return self._placed(self._free(new, at) - self._free(old, at), at)

    def free(self, theta: Vector, at: Segment) -> tuple[IntArray, IntArray]:
        """Coefficients of every state but the first, state by state."""
        first, *others = (at.positions(k)[: self.design.shape[1]] for k in range(self.states))
        free = np.concatenate([first[:0], *others])
        return free, np.tile(first, self.states - 1)

    def pull_back(self, theta: Vector, g: Vector, at: Segment) -> Vector:
        N, weight = self._parted(g, at)
        slope = logit_gradient(self.design, N, self._p(theta, at))
        if weight:
            slope = slope - weight * (self.precision @ self._free(theta, at))
        return self._placed(slope, at)

    def push(self, theta: Vector, phi: Vector, at: Segment) -> Vector:
        along = self._along(phi, at)
        change = self._change(self._p(theta, at), along)
        return self._joined(change, -float(along @ self.precision @ self._free(theta, at)), at)

    def information(self, theta: Vector, N: Vector, phi: Vector, at: Segment) -> Vector:
        (cases, weight), along, p = self._parted(N, at), self._along(phi, at), self._p(theta, at)
        moved = cases.sum(axis=1, keepdims=True) * p * self._change(p, along)
        curved = (moved[:, 1:].T @ self.design).reshape(-1)
        return self._placed(curved + weight * (self.precision @ along), at)

    def _change(self, p: FloatArray, along: FloatArray) -> FloatArray:
        """Changes of log probabilities (q − 1, K) in a direction of free coefficients."""
        logits = self.design @ whole(along, self.design.shape[1]).T
        return np.asarray(logits - (p * logits).sum(axis=1, keepdims=True))

    def curvature(self, theta: Vector, N: Vector, at: Segment) -> FloatArray:
        """(free, free) curvature of statistics N in the free coefficients."""
        cases, weight = self._parted(N, at)
        known = logit_information(self.design, cases.sum(axis=1), self._p(theta, at))
        return known + weight * self.precision

    def metric(self, theta: Vector, N: Vector, at: Segment, *, edge: bool = False) -> Vector:
        return self._placed(self.curvature(theta, N, at).diagonal(), at)

    def log_jacobian(self, theta: Vector, at: Segment) -> float:
        return 0.0

    def complete_log_det(self, theta: Vector, N: Vector, at: Segment) -> float:
        return float(np.linalg.slogdet(self.curvature(theta, N, at))[1])

    def to_interval_scale(self, phi: FloatArray, theta: Vector, at: Segment) -> FloatArray:
        return phi


def log_softmax(logits: FloatArray) -> FloatArray:
    """Log probabilities (..., K) of scores; as in SciPy, without its overhead."""
    below = logits - logits.max(axis=-1, keepdims=True)
    return np.asarray(below - np.log(np.exp(below).sum(axis=-1, keepdims=True)))


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
    return np.concatenate([np.zeros(columns), free]).reshape(-1, columns)


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
        log_p = log_softmax(design @ whole(beta, columns).T)
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
