"""Any plans of a problem, asked for one row at a time, as the enumeration plan is."""

import numpy as np

from lacunet.inference.kernels.draws import ParticleState
from lacunet.inference.plans.builder import Builder
from problems import build

NETWORKS = {
    "latent class": build("H>a H>b H>c", {"H": 3, "a": 2, "b": 3, "c": 2}, "H"),
    "two hidden": build("G>a H>a H>b G>c", {"G": 2, "H": 3, "a": 2, "b": 2, "c": 3}, "GH"),
    "chain": build("P>Q Q>R P>a Q>b R>c", {"P": 3, "Q": 3, "R": 2, "a": 2, "b": 2, "c": 2}, "PQR"),
    "missing values only": build("a>b a>c b>d c>d", {"a": 2, "b": 3, "c": 2, "d": 2}),
}


class RowByRow:
    """The plans of a problem, asked for one row at a time, with what the row shows whole."""

    def __init__(self, case):
        builder = Builder(case.network, case.codes, case.counts, keep_rows=True)
        self.plans = builder.build().plans
        self.seen = [[] for _ in case.codes]
        for collector in builder.collectors:
            for row, position, _ in zip(*builder.seen_whole(collector), strict=True):
                self.seen[row].append(position)

    def components(self, row):
        """Its components, by plan."""
        for plan in self.plans:
            yield plan, plan.rows.component[plan.rows.rows == row]

    def draw(self, row, log_weights, rng):
        N = np.zeros_like(log_weights)
        N[:, self.seen[row]] += 1.0
        for plan, which in self.components(row):
            counts = np.bincount(which, minlength=len(plan.counts)).astype(float)
            plan.draw(log_weights, counts, rng, N)
        return N

    def take_in(self, row, particles, rng):
        seen = self.seen[row]
        A, A_ij, log_weights, ij = particles
        log_weights += np.log(A[:, seen] / A_ij[:, ij[seen]]).sum(axis=1)
        A[:, seen] += 1.0
        A_ij[:, ij[seen]] += 1.0
        for plan, which in self.components(row):
            assert plan.take_in(which, particles, 0.0, rng) == len(which)


def particles_of(A, layout):
    sums = np.array([layout.sum_k(x) for x in A])
    return ParticleState(A.copy(), sums, np.zeros(len(A)), layout.ij)
