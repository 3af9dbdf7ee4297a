"""Chains of plain NumPy: the twin of the kernel that moves them on a device, draw by draw."""

import numpy as np

from lacunet.inference.devices.chains import ChainsThere
from twins import log_gamma_above

GAMMA, BELOW_ONE, ROW = range(3)
LOW = np.uint64(0xFFFFFFFF)


def philox(at, key):
    """Philox4x32-10 of counters, 4 × (…), under a key of two words (Salmon et al. 2011)."""
    a, b, c, d = (np.asarray(x, dtype=np.uint64) for x in np.broadcast_arrays(*at))
    k, m = (np.uint64(x) for x in key)
    for _ in range(10):
        one, other = np.uint64(0xD2511F53) * a, np.uint64(0xCD9E8D57) * c
        high, low = one >> np.uint64(32), one & LOW
        more, less = other >> np.uint64(32), other & LOW
        a, b, c, d = more ^ b ^ k, less, high ^ d ^ m, low
        k, m = (k + np.uint64(0x9E3779B9)) & LOW, (m + np.uint64(0xBB67AE85)) & LOW
    return a, b, c, d


def uniform(high, low):
    return ((high >> np.uint64(5)) * 67108864.0 + (low >> np.uint64(6))) / 2.0**53


def log_gammas(shape, at, key):
    """Logs of gamma variates of any shape; `at` are their counters but for the try."""
    numbers, sweep, chain = at
    d = np.where(shape < 1.0, shape + 1.0, shape) - 1.0 / 3.0
    c, found = 1.0 / np.sqrt(9.0 * d), np.full(shape.shape, np.nan)
    attempt = 0
    while np.isnan(found).any():
        w = philox((numbers, attempt, 4 * sweep + GAMMA, chain), key)
        x = np.sqrt(-2.0 * np.log(1.0 - uniform(w[0], w[1]))) * np.cos(2.0 * np.pi * w[2] / 2.0**32)
        v = (1.0 + c * x) ** 3
        with np.errstate(divide="ignore", invalid="ignore"):
            limit = 0.5 * x**2 + d * (1.0 - v + np.log(v))
        taken = (v > 0) & (np.log((w[3] + 0.5) / 2.0**32) < limit) & np.isnan(found)
        found[taken] = np.log(d * np.where(v > 0, v, 1.0))[taken]
        attempt += 1
    w = philox((numbers, 0, 4 * sweep + BELOW_ONE, chain), key)
    return found + np.where(shape < 1.0, np.log(1.0 - uniform(w[0], w[1])) / shape, 0.0)


class TwinChains(ChainsThere):
    """All chains side by side: (C, …)."""

    def __init__(self, path):
        self.path, rows = path, path.rows
        starts, members = path.members
        self.starts, self.members = starts[:-1], members
        self.patterns = rows.first[:, None] + rows.bytes  # (G, m)
        group, shift, mask, value = rows.shown.T[:, :, None]
        self.shown = ((rows.bytes[group[:, 0]] >> shift) & mask == value).astype(float)  # (B, m)
        self.often = path.often
        self.sent = []

    def travel(self, N, journey, who):
        self.sent.append((len(N), len(journey.moves)))
        weight = np.zeros(len(N))
        for step, (upper, lower) in enumerate(zip(journey.upper, journey.lower, strict=True)):
            if upper != lower:
                weight += self.log_density(upper, N) - self.log_density(lower, N)
            if step < len(journey.moves):
                new = self.move(journey.moves[step], N, who, who.sweep + step)
                may = (new[:, self.path.watched] > 0).all(axis=1) | (self.path.watched < 0)
                N = np.where(may[:, None, None], new, N)
        return N, weight

    def totals(self, x):
        """Sums by configuration, (C, Q)."""
        return np.add.reduceat(x.reshape(len(x), -1)[:, self.members], self.starts, axis=1)

    def log_density(self, b, N):
        p = self.path
        n = (1.0 - b) * p.counts + b * (p.seen + N)
        value = log_gamma_above(p.alpha, n).sum(axis=(1, 2))
        value -= log_gamma_above(p.sums, self.totals(n)).sum(axis=1)
        return value + b * p.slope + (1.0 - b) * (N * p.log_weights).sum(axis=(1, 2))

    def move(self, b, N, who, sweep):
        p, x, chains = self.path, np.tile(self.path.log_weights, (len(N), 1, 1)), who.chains
        if b > 0.0:
            shape = (1.0 - b) * p.exponents + b * (p.alpha + p.seen + N)
            numbers = np.arange(p.owner.size).reshape(p.owner.shape)
            g = log_gammas(shape, (numbers, sweep, chains[:, None, None]), who.key)
            top = g.max(axis=(1, 2), keepdims=True)
            log_theta = g - (top + np.log(self.totals(np.exp(g - top)))[:, p.owner])
            x = (1.0 - b) * x + b * log_theta
        parts = p.rows.parts
        table = np.where((parts >= 0)[:, :, None], x[:, parts], 0.0).sum(axis=2)
        weights = table[:, self.patterns].sum(axis=1)  # (C, m, K)
        posterior = np.exp(weights - weights.max(axis=2, keepdims=True))
        return self.shown @ self.classes(posterior, who, sweep)

    def classes(self, posterior, who, sweep):
        """Draw the cases of every row, (C, m, K)."""
        drawn, below = np.zeros_like(posterior), np.cumsum(posterior, axis=2)
        often, rows, classes = self.often, np.arange(posterior.shape[1]), posterior.shape[2]
        for draw in range(often.max()):
            w = philox((rows, draw // 2, 4 * sweep + ROW, who.chains[:, None]), who.key)
            u = uniform(*(w[2:] if draw % 2 else w[:2])) * below[:, :, -1]
            chosen = (below <= u[:, :, None]).sum(axis=2)
            drawn += np.eye(classes)[chosen] * (draw < often)[:, None]
        return drawn
