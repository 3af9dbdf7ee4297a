"""Data sets of known origin: networks with hidden variables, and without any."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lacunet.data import Table
from lacunet.runtime.arrays import IntArray

COPIES = 0.85  # how often a child has the state of its hidden parent


@dataclass(frozen=True)
class World:
    """A way to draw tables."""

    name: str
    hidden: int  # how many variables are hidden in truth
    rows: int
    missing: float  # share of the cells
    draw: Callable[[np.random.Generator, int], IntArray]  # (rows, columns)

    def table(self, seed: int) -> Table:
        """Draw a table; the same seed gives the same, whatever else was drawn."""
        rng = np.random.default_rng([seed, self.rows, int(1000 * self.missing), self.hidden])
        codes = self.draw(rng, self.rows)
        codes[rng.random(codes.shape) < self.missing] = -1
        return Table.from_codes(codes)


def copied(rng: np.random.Generator, x: IntArray, share: float, states: int = 2) -> IntArray:
    """Keep a share of some states, and change the others."""
    changed = (x + rng.integers(1, states, len(x))) % states
    return np.where(rng.random(len(x)) < share, x, changed)


def random_graph(rng: np.random.Generator, rows: int) -> IntArray:
    """Four to ten columns of two or three states, up to three parents each, any tables."""
    columns: list[IntArray] = []
    cards = rng.integers(2, 4, int(rng.integers(4, 11))).tolist()
    for v, card in enumerate(cards):
        parents = rng.permutation(v)[: int(rng.integers(0, min(v, 3) + 1))]
        j, q = np.zeros(rows, dtype=np.int64), 1
        for u in parents.tolist():
            j, q = j * cards[u] + columns[u], q * cards[u]
        below = np.cumsum(rng.dirichlet(np.ones(card), q), axis=1)[j]
        columns.append(np.minimum((rng.random(rows)[:, None] > below).sum(axis=1), card - 1))
    return np.column_stack(columns)


def random_network(
    rng: np.random.Generator, rows: int, most_states: int, *, hidden: bool, columns: int = 6
) -> IntArray:
    """Columns of any graph and any tables; one of two or three states behind three to five of them.

    Each data set has its own share of edges and its own Dirichlet exponent.
    """
    share, exponent = rng.choice([0.2, 0.4, 0.6]), rng.choice([0.3, 0.5, 1.0])
    n = columns + hidden
    order = rng.permutation(n)
    cards = rng.integers(2, most_states + 1, n)
    if hidden:
        cards[columns] = rng.integers(2, 4)
    parents = np.zeros((n, n), dtype=bool)
    place = np.argsort(order)
    for v in range(n):
        own = [u for u in range(n) if place[u] < place[v] and rng.random() < share]
        rng.shuffle(own)
        parents[v, own[:3]] = True
    if hidden:
        parents[columns], parents[:, columns] = False, False
        for v in rng.permutation(columns)[: rng.integers(3, 6)]:
            others = np.flatnonzero(parents[v])
            if len(others) > 1:
                parents[v, rng.permutation(others)[1:]] = False
            parents[v, columns] = True
        order = np.array([columns, *(v for v in order if v != columns)])
    codes = np.zeros((rows, n), dtype=np.int64)
    for v in order.tolist():
        j, q = np.zeros(rows, dtype=np.int64), 1
        for u in np.flatnonzero(parents[v]).tolist():
            j, q = j * cards[u] + codes[:, u], q * int(cards[u])
        below = np.cumsum(rng.dirichlet(np.full(cards[v], exponent), q), axis=1)[j]
        codes[:, v] = np.minimum((rng.random(rows)[:, None] > below).sum(axis=1), cards[v] - 1)
    return codes[:, :columns]


def classes(leaves: int, states: int = 2) -> Callable[[np.random.Generator, int], IntArray]:
    """A latent class model."""

    def draw(rng: np.random.Generator, rows: int) -> IntArray:
        hidden = rng.integers(0, states, rows)
        return np.column_stack([copied(rng, hidden, COPIES, states) for _ in range(leaves)])

    return draw


def inside(rng: np.random.Generator, rows: int) -> IntArray:
    """A hidden parent of four columns, itself a grandchild, in a network of ten columns."""
    a = rng.integers(0, 2, rows)
    b = copied(rng, a, 0.8)
    hidden = copied(rng, b, 0.75)
    c, d, e, f = (copied(rng, hidden, COPIES) for _ in range(4))
    g = copied(rng, e, 0.8)
    h = copied(rng, f & g, 0.9)
    i = rng.integers(0, 2, rows)
    return np.column_stack([a, b, c, d, e, f, g, h, i, copied(rng, i, 0.7)])


def chain(rng: np.random.Generator, rows: int) -> IntArray:
    """Two hidden variables, one the parent of the other, four leaves on each."""
    first = rng.integers(0, 2, rows)
    both = [first, copied(rng, first, 0.8)]
    return np.column_stack([copied(rng, x, COPIES) for x in both for _ in range(4)])


NONE = (
    World("no hidden variable, 1,000 rows", 0, 1000, 0.0, random_graph),
    World("no hidden variable, 1,000 rows, 10 % missing", 0, 1000, 0.1, random_graph),
)
SOME = (
    World("4 leaves, 2 classes", 1, 1000, 0.0, classes(4)),
    World("4 leaves, 2 classes, 10 % missing", 1, 1000, 0.1, classes(4)),
    World("6 leaves, 3 classes", 1, 1000, 0.0, classes(6, 3)),
    World("8 leaves, 2 classes, 10 % missing", 1, 1000, 0.1, classes(8)),
    World("a parent inside a network", 1, 1500, 0.0, inside),
    World("a parent inside a network, 10 % missing", 1, 1500, 0.1, inside),
    World("two in a chain", 2, 1500, 0.0, chain),
    World("two in a chain, 10 % missing", 2, 1500, 0.1, chain),
)
