"""The plan that every other plan is held to: each row with all its joint hidden states written out.

Slow and obvious: a row is a component by itself, also where all of it was seen, and a joint state
adds a case to one cell of each family concerned. Sums are plain sums over these states. Nothing of
the package is used but the contract and its value types; no kernels, no taking apart.
"""

import itertools
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import logsumexp

from lacunet.inference.plans.plan import ComponentRows, Components, JointStates, SampledEStep
from lacunet.inference.problem import Problem


@dataclass(frozen=True, eq=False)
class EnumerationPlan(SampledEStep):
    """Rows, and what each of their joint states adds a case to."""

    hidden: tuple  # (m,) of sets: the variables that each row leaves open, barren ones apart
    cells: tuple  # (m,) of (K, F): for each joint state, a cell of each of F families
    counts: np.ndarray
    rows: ComponentRows | None = None

    @property
    def members(self):
        return tuple(sorted(frozenset().union(*self.hidden)))

    def weighted(self, counts):
        return replace(self, counts=counts, rows=None)

    def touched(self):
        return np.array([float(cells.size) for cells in self.cells])

    def expect_one(self, log_weights, out, executor=None):
        log_lik = 0.0
        for n, cells in zip(self.counts, self.cells, strict=True):
            log_z, p = conditional(log_weights, cells)
            log_lik += n * log_z if n > 0 else 0.0
            np.add.at(out, cells, n * p[:, None])
        return log_lik

    def covariance(self, log_weights):
        """Of the counts of all cells, given the rows, (cells, cells)."""
        total = np.zeros((len(log_weights),) * 2)
        for n, cells in zip(self.counts, self.cells, strict=True):
            p, u = conditional(log_weights, cells)[1], indicators(cells, len(log_weights))
            total += n * ((p[:, None] * u).T @ u - np.outer(p @ u, p @ u))
        return total

    def tangent(self, log_weights, executor=None):
        covariance = self.covariance(log_weights)
        return lambda direction: covariance @ direction

    def subtract_covariance(self, A, theta, coordinates):
        size, d = len(theta), len(coordinates.free)
        score = np.zeros((d, size))  # dlog p(complete data)/dθ_free, from counts
        score[np.arange(d), coordinates.free] += 1.0 / theta[coordinates.free]
        score[np.arange(d), coordinates.reference] -= 1.0 / theta[coordinates.reference]
        A -= np.tril(score @ self.covariance(np.log(theta)) @ score.T)
        return A

    def draw(self, log_weights, counts, rng, out):
        for x, N in zip(log_weights, out, strict=True):
            for n, cells in zip(counts, self.cells, strict=True):
                _, p = conditional(x, cells)
                np.add.at(N, cells, rng.multinomial(int(n), p)[:, None])

    def posterior(self, log_weights, first, last):
        log_z, N = np.zeros(len(self.cells)), np.zeros((len(self.cells), len(log_weights)))
        for i, cells in enumerate(self.cells):
            log_z[i], p = conditional(log_weights, cells)
            np.add.at(N[i], cells, p[:, None])
        return log_z, N[:, first:last]

    def take_in(self, cases, particles, least, rng):
        """With the parameters of a particle integrated out, a cell has probability A / A_ij."""
        for n, case in enumerate(cases, start=1):
            cells = self.cells[case]
            for particle, (A, A_ij) in enumerate(zip(particles.A, particles.A_ij, strict=True)):
                p = np.prod(A[cells] / A_ij[particles.ij[cells]], axis=1)
                particles.log_weights[particle] += np.log(p.sum())
                drawn = cells[rng.choice(len(p), p=p / p.sum())]
                A[drawn] += 1.0
                A_ij[particles.ij[drawn]] += 1.0
            w = np.exp(particles.log_weights - particles.log_weights.max())
            if w.sum() ** 2 / (w**2).sum() < least:
                return n
        return len(cases)

    def sizes(self):
        return np.array([len(cells) for cells in self.cells])

    def choices(self):
        for n, cells in zip(self.counts, self.cells, strict=True):
            yield JointStates(int(n), cells)


def conditional(log_weights, cells):
    """Log of the sum over joint states, and the probability of each: 0 if all are impossible."""
    joint = log_weights[cells].sum(axis=1)
    if (joint == -np.inf).all():
        return -np.inf, np.zeros(len(joint))
    p = np.exp(joint - logsumexp(joint))
    return float(logsumexp(joint)), p / p.sum()


def indicators(cells, size):
    """(K, size) 1 at the cells of each joint state."""
    u = np.zeros((len(cells), size))
    u[np.arange(len(cells))[:, None], cells] = 1.0
    return u


def barren(network, row):
    """Variables that a row does not show, nor anything below them."""
    result = set()
    for v in reversed(network.order):
        children = [i for i, pa in enumerate(network.parents) if v in pa]
        if row[v] < 0 and all(i in result for i in children):
            result.add(v)
    return result


def shown(network, codes):
    """Rows with a state for every variable, -1 = not seen; a hidden one with one state is known."""
    rows = np.full((len(codes), len(network.variables)), -1)
    rows[:, list(network.observed)] = codes
    rows[:, [i for i in network.hidden if len(network.variables[i].states) == 1]] = 0
    return rows.tolist()


def joint_cells(network, row, left_out):
    """(K, F) the cells of each joint state of what a row leaves open; some variables left out."""
    numbers = np.arange(network.cells.size)
    where = [network.cells.table(numbers, i) for i in range(len(row))]
    kept = [i for i in range(len(row)) if i not in left_out]
    options = [
        (x,) if x >= 0 or i in left_out else range(len(network.variables[i].states))
        for i, x in enumerate(row)
    ]
    cells = [
        [where[i][(*(full[u] for u in network.parents[i]), full[i])] for i in kept]
        for full in itertools.product(*options)
    ]
    return np.array(cells, dtype=np.int64).reshape(len(cells), len(kept))


def enumeration(network, codes, counts):
    """Write rows out."""
    rows = shown(network, codes)
    left_out = [barren(network, row) for row in rows]
    return EnumerationPlan(
        hidden=tuple(
            {v for v, x in enumerate(row) if x < 0} - out
            for row, out in zip(rows, left_out, strict=True)
        ),
        cells=tuple(joint_cells(network, r, out) for r, out in zip(rows, left_out, strict=True)),
        counts=counts,
        rows=ComponentRows(np.arange(len(rows)), np.arange(len(rows))),
    )


class EnumeratedProblem(Problem):
    """A problem with everything that it leaves open written out."""

    @cached_property
    def filled(self):
        network = super().filled.cells.network
        rows = np.array(shown(self.network, self.codes))
        codes = np.column_stack([self.codes, *((rows[:, i] < 0) - 1 for i in self.childless)])
        plan = enumeration(network, codes, self.counts)
        return Components(np.zeros(network.cells.size), (plan,), network.by_value)


def enumerated(problem):
    """The same problem on the enumeration plan: seen families stand in it too."""
    network, codes, counts = problem.network, problem.codes, problem.counts
    components = Components(
        np.zeros(network.cells.size), (enumeration(network, codes, counts),), network.by_value
    )
    return EnumeratedProblem(network, problem.alpha, codes, counts, components)
