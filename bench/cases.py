"""The data of each case, and the start that both sides go from: plain NumPy, fixed seeds.

Nothing of Lacunet is used here, so the data stay the same whatever changes in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

IntArray = np.ndarray[Any, np.dtype[np.int8]]
FloatArray = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Case:
    """Rows drawn from a random latent class model, and the model to be fitted to them."""

    name: str
    leaves: int
    states: int  # of each leaf
    classes: int  # of the model that is fitted
    rows: int
    missing: float = 0.0  # share of the cells, completely at random
    truth: int | None = None  # classes of the model the rows are drawn from; None = the same number
    seed: int = 1996

    @property
    def title(self) -> str:
        """What a reader of the table sees."""
        holes = f", {self.missing:.0%} missing" if self.missing else ""
        kind = {2: "binary", 3: "three-state", 4: "four-state"}.get(self.states, "many-state")
        return f"{self.rows:,} rows, {self.leaves} {kind} leaves, {self.classes} classes{holes}"

    @property
    def size(self) -> int:
        """Length of a parameter vector, class weights and tables."""
        return self.classes * (1 + self.leaves * self.states)

    @cached_property
    def codes(self) -> IntArray:
        """(rows, leaves), -1 = missing."""
        rng = np.random.default_rng([self.seed, 0])
        classes = self.truth or self.classes
        member = rng.choice(classes, size=self.rows, p=rng.dirichlet(np.ones(classes)))
        codes = np.empty((self.rows, self.leaves), np.int8)
        for j in range(self.leaves):
            upper = rng.dirichlet(np.ones(self.states), classes).cumsum(axis=1)[:, :-1]
            codes[:, j] = (rng.random(self.rows)[:, None] > upper[member]).sum(axis=1)
            codes[rng.random(self.rows) < self.missing, j] = -1
        return codes

    @cached_property
    def weights(self) -> FloatArray:
        """(classes,) class weights of the start: all the same, the only ones that polca takes."""
        return np.full(self.classes, 1 / self.classes)

    @cached_property
    def tables(self) -> list[FloatArray]:
        """p(state | class) of each leaf, (classes, states), at the start."""
        rng = np.random.default_rng([self.seed, 1])
        return [rng.dirichlet(np.ones(self.states), self.classes) for _ in range(self.leaves)]


A = Case("a", leaves=64, states=2, classes=32, rows=400)
B = Case("b", leaves=10, states=2, classes=4, rows=10_000)
C = Case("c", leaves=50, states=4, classes=10, rows=100_000)
D = Case("d", leaves=50, states=4, classes=10, rows=100_000, missing=0.2)
E = Case("e", leaves=20, states=3, classes=4, rows=5_000, missing=0.2)
F = Case("f", leaves=64, states=2, classes=36, rows=400, truth=32)  # Table 2's hardest row
G_ONE = Case("g", leaves=50, states=4, classes=10, rows=20_000)
G_TEN = Case("g", leaves=50, states=4, classes=10, rows=200_000)
G_MEMORY = Case("g", leaves=50, states=4, classes=10, rows=500_000)
M = Case("m", leaves=40, states=2, classes=10, rows=50_000)
