"""Equal labellings, added exactly: the parameter space cut into as many equal regions.

A sample belongs to the region in which everything hidden stands as in a reference: of all
relabellings that change nothing (`symmetry.py`) the one that fits the reference best, an assignment
problem, is the identity. Mass inside that region is one part in their number of the whole, exactly,
whether or not chains change labels.

With several references (modes that are no relabellings of each other) the space is cut further, by
which of them fits best; masses of all parts add up to the whole. Where nothing can be relabelled
there is one reference and one region: everything.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from scipy.optimize import linear_sum_assignment

from lacunet.arrays import BoolArray, FloatArray
from lacunet.inference.symmetry import Symmetries
from lacunet.model.relabelling import Relabelling

JITTER = 0.05  # relative noise of a reference's profiles

Features: TypeAlias = Mapping[int, FloatArray]  # (k, …) of each variable that anything moves
Placing: TypeAlias = tuple[float, Relabelling]  # how well a sample fits if relabelled like this


class Regions:
    """Parts of the parameter space, one for each reference (and each labelling of it)."""

    def __init__(
        self,
        symmetries: Symmetries,
        exponents: Sequence[FloatArray],
        noise: FloatArray | None = None,
    ) -> None:
        """Take references by their exponents, each (size,).

        Two states that a reference has alike (both empty, say) must not tie: `noise` near 1.
        """
        self.symmetries = symmetries
        self.moving = [h for block in symmetries.blocks for h in block]
        if noise is None:
            normal = np.random.default_rng(0).standard_normal(symmetries.layout.size)
            noise = np.exp(JITTER * normal)
        self.profiles: list[Features] = [
            {
                h: np.log(np.hstack([t / t.sum() for t in symmetries.features(h, x * noise)]))
                for h in self.moving
            }
            for x in exponents
        ]

    def at_home(self, own: int, samples: FloatArray) -> BoolArray:
        """Which samples (chains, size), expected counts as θ and N give them, are in a region."""
        if not self.moving:
            return np.ones(len(samples), dtype=np.bool_)
        return np.array([self._is_home(own, x) for x in samples], dtype=np.bool_)

    def _is_home(self, own: int, x: FloatArray) -> bool:
        exchanged = self._exchanged(x)
        found = [self._best(exchanged, profiles) for profiles in self.profiles]
        best = max(range(len(found)), key=lambda m: found[m][0])
        return best == own and found[best][1].trivial

    def bring_home(self, x: FloatArray) -> Relabelling:
        """The relabelling after which a sample fits the first reference best."""
        return self._best(self._exchanged(x), self.profiles[0])[1]

    def _exchanged(self, x: FloatArray) -> list[tuple[Relabelling, Features]]:
        """A sample after each exchange of blocks."""
        return [
            (e, {h: np.hstack(self.symmetries.features(h, e.apply(x))) for h in self.moving})
            for e in self.symmetries.exchanges
        ]

    def _best(
        self, exchanged: Sequence[tuple[Relabelling, Features]], profiles: Features
    ) -> Placing:
        found = (self._within_blocks(e, features, profiles) for e, features in exchanged)
        return max(found, key=lambda placing: placing[0])

    def _within_blocks(
        self, exchange: Relabelling, features: Features, profiles: Features
    ) -> Placing:
        """Assign variables of a block to those of the reference, and their states to its states."""
        total, places, orders = 0.0, dict(exchange.places), {}
        for block in self.symmetries.blocks:
            found = [
                [self._states(h, features[other] @ profiles[h].T) for other in block] for h in block
            ]
            values = np.array([[value for value, _ in row] for row in found])
            for h, other in zip(*linear_sum_assignment(values, maximize=True), strict=True):
                value, order = found[h][other]
                total += value
                places[block[h]] = exchange.places[block[other]]
                orders[block[h]] = order
        return total, Relabelling(self.symmetries.layout, places, orders)

    def _states(self, h: int, agreement: FloatArray) -> tuple[float, list[int]]:
        """Assign states, (of the sample, of the reference); which is each of the reference."""
        states = np.arange(len(agreement))
        if h in self.symmetries.free:
            _, states = linear_sum_assignment(agreement, maximize=True)
        value = float(agreement[np.arange(len(states)), states].sum())
        return value, np.argsort(states).tolist()
