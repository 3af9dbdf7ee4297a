"""Particles of plain NumPy: the twin of the kernel that has them take in cases, draw by draw."""

from dataclasses import replace

import numpy as np

from chain_twin import TwinChains, philox, uniform
from lacunet.inference.devices.particles import RunsThere

TAKEN_IN = 3


class TwinRuns(RunsThere):
    def __init__(self, packed):
        self.packed, path = packed, packed.path
        (R, _), P = packed.orders.shape, packed.particles
        self.chains = TwinChains(path)
        self.N = np.zeros((R, P, *path.owner.shape))
        self.log_weights, self.taken = np.zeros((R, P)), np.zeros(R, dtype=np.int64)
        self.renewals = np.zeros(R, dtype=np.int64)

    @property
    def counts(self):
        return self.N

    def take_in(self, least):
        for run, order in enumerate(self.packed.orders):
            while self.taken[run] < len(order):
                self.one(run, order[self.taken[run]])
                self.taken[run] += 1
                w = np.exp(self.log_weights[run] - self.log_weights[run].max())
                if w.sum() ** 2 / (w**2).sum() < least:
                    break
        return self.log_weights.copy(), self.taken.copy()

    def one(self, run, row):
        """Weigh particles by a case at the means of their parameters, and draw its class."""
        path, N = self.packed.path, self.N[run]
        shown = self.chains.shown[:, row] > 0
        totals = self.packed.sums + self.chains.totals(N)  # (P, Q)
        means = (self.packed.exponents + N) / totals[:, path.owner]
        log_w = np.log(means[:, shown]).sum(axis=1)  # (P, K)
        top = log_w.max(axis=1, keepdims=True)
        below = np.cumsum(np.exp(log_w - top), axis=1)
        numbers = self.packed.who.chains.reshape(len(self.N), -1)[run]
        u = uniform(*philox((self.taken[run], 0, TAKEN_IN, numbers), self.packed.who.key)[:2])
        chosen = (below <= (u * below[:, -1])[:, None]).sum(axis=1)
        self.log_weights[run] += top[:, 0] + np.log(below[:, -1])
        self.N[run] += shown[:, None] * np.eye(path.owner.shape[1])[chosen][:, None, :]

    def renew(self, runs, chosen, sweeps):
        P = self.packed.particles
        for run, own in zip(runs, chosen, strict=True):
            numbers = self.packed.who.chains.reshape(-1, P)[run]
            who, N = replace(self.packed.who, chains=numbers), self.N[run][own]
            (self.chains.often,) = self.packed.so_far(self.taken, np.array([run]))
            for n in range(sweeps):
                N = self.chains.move(1.0, N, who, int(self.renewals[run]) * sweeps + n)
            self.N[run], self.log_weights[run] = N, 0.0
            self.renewals[run] += 1
