"""Equal labellings, added exactly: the parameter space cut into as many equal regions.

A sample belongs to the region in which everything hidden stands as in a reference: of all
relabellings that change nothing (`symmetry.py`) the one that fits the reference best, an assignment
problem for each block of variables in each context, is the identity. Mass inside that region is one
part in their number of the whole, exactly, whether or not chains change labels.

With several references (modes that are no relabellings of each other) the space is cut further, by
which of them fits best; masses of all parts add up to the whole. Where nothing can be relabelled
there is one reference and one region: everything.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TypeAlias

import numpy as np
from scipy.optimize import linear_sum_assignment

from lacunet.arrays import BoolArray, FloatArray, IntArray
from lacunet.inference.contexts import Context
from lacunet.inference.symmetry import Block, Symmetries
from lacunet.model.families import Segment
from lacunet.model.relabelling import Chain, Relabelling

JITTER = 0.05  # relative noise of a reference's profiles
NO_CASES = 0.01  # what cells count for that neither cases nor a prior have: they are known

Features: TypeAlias = Mapping[int, FloatArray]  # (k, …) of each variable of a block, in a context
Profiles: TypeAlias = Sequence[Sequence[Features]]  # of each block, in each of its contexts
Placing: TypeAlias = tuple[float, Chain]  # how well a sample fits if relabelled like this


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
        if noise is None:
            normal = np.random.default_rng(0).standard_normal(symmetries.layout.size)
            noise = np.exp(JITTER * normal)
        self.noise = noise
        self.profiles: list[Profiles] = [self._profiles(x) for x in exponents]

    def at_home(self, own: int, samples: FloatArray) -> BoolArray:
        """Which samples (chains, size), expected counts as θ and N give them, are in a region."""
        if not self.symmetries.blocks:
            return np.ones(len(samples), dtype=np.bool_)
        return np.array([self._is_home(own, x) for x in samples], dtype=np.bool_)

    def _is_home(self, own: int, x: FloatArray) -> bool:
        found = [self._best(x, profiles) for profiles in self.profiles]
        best = max(range(len(found)), key=lambda m: found[m][0])
        return best == own and found[best][1].trivial

    def bring_home(self, x: FloatArray) -> Chain:
        """The relabelling after which a sample fits the first reference best."""
        return self._best(x, self.profiles[0])[1]

    def steps_at_home(self, samples: FloatArray) -> BoolArray:
        """What of each sample stands as in the first reference, (chains, steps).

        A step is an exchange of blocks, or the order of one block in one context.
        """
        return np.array([[step.trivial for step in self.bring_home(x).steps] for x in samples])

    def nearest(self, samples: FloatArray) -> IntArray:
        """The reference, (chains,), that each sample fits best, whatever its labels."""
        fits = [[self._best(x, profiles)[0] for profiles in self.profiles] for x in samples]
        return np.asarray(np.argmax(fits, axis=1))

    def _profiles(self, x: FloatArray) -> Profiles:
        return [
            [{h: self._profile(h, x, within) for h in block.variables} for within in block.contexts]
            for block in self.symmetries.blocks
        ]

    def _profile(self, h: int, x: FloatArray, within: Context) -> FloatArray:
        """What the cases of a sample are multiplied by: logs of shares, or natural parameters."""
        layout, parts = self.symmetries.layout, []
        told = np.where(layout.in_tables & (x <= 0.0), NO_CASES, x)
        noisy = np.where(layout.in_tables, told * self.noise, told)
        tables = zip(self._of(h, noisy, within), self._of(h, self.noise, within), strict=True)
        for i, (table, noise) in zip(self.symmetries.around(h), tables, strict=True):
            kind, width = layout.kinds[i], layout.widths[i]
            if kind.tabular:
                parts.append(np.log(table / table.sum()))
                continue
            at = Segment.of_table(kind, table.size // width, width)
            moves = np.log(noise / noise.mean()).reshape(-1)
            parts.append(kind.near(table.reshape(-1), moves, at).reshape(table.shape))
        return np.hstack(parts)

    def _of(self, h: int, x: FloatArray, within: Context) -> list[FloatArray]:
        return self.symmetries.features(h, x, within)

    def _best(self, x: FloatArray, profiles: Profiles) -> Placing:
        found = (self._after(exchange, x, profiles) for exchange in self.symmetries.exchanges)
        return max(found, key=lambda placing: placing[0])

    def _after(self, exchange: Relabelling, x: FloatArray, profiles: Profiles) -> Placing:
        """Place block after block; what is a context must stand right before what depends on it."""
        now, total, steps = exchange.apply(x), 0.0, [exchange]
        for block, mine in zip(self.symmetries.blocks, profiles, strict=True):
            placed = [self._placed(block, n, now, profile) for n, profile in enumerate(mine)]
            total += sum(value for value, _ in placed)
            here = Chain(tuple(step for _, step in placed))
            steps += here.steps
            if block.variables[0] not in self._contexts or here.trivial:
                continue
            now = here.apply(now)
        return total, Chain(tuple(steps))

    @cached_property
    def _contexts(self) -> frozenset[int]:
        """All variables that are in a context."""
        return frozenset(v for b in self.symmetries.blocks for c in b.contexts for v in c)

    def _placed(
        self, block: Block, n: int, x: FloatArray, profiles: Features
    ) -> tuple[float, Relabelling]:
        """Assign variables of a block to those of the reference, and their states to its states."""
        within, members = block.contexts[n], block.variables
        features = {h: np.hstack(self._of(h, x, within)) for h in members}
        found = [
            [_states(features[other] @ profiles[h].T, block.kinds[n]) for other in members]
            for h in members
        ]
        values = np.array([[value for value, _ in row] for row in found])
        total, places, orders = 0.0, {}, {}
        for h, other in zip(*linear_sum_assignment(values, maximize=True), strict=True):
            value, order = found[h][other]
            total += value
            places[members[h]], orders[members[h]] = members[other], order
        return total, Relabelling(self.symmetries.layout, places, orders, within)


def _states(agreement: FloatArray, kinds: Sequence[int]) -> tuple[float, list[int]]:
    """Assign states, (of the sample, of the reference), kind by kind: which is each of these."""
    states = np.arange(len(agreement))
    for kind in set(kinds):
        own = np.flatnonzero(np.equal(kinds, kind))
        if len(own) > 1:
            _, chosen = linear_sum_assignment(agreement[np.ix_(own, own)], maximize=True)
            states[own] = own[chosen]
    value = float(agreement[np.arange(len(states)), states].sum())
    return value, np.argsort(states).tolist()
