"""Regions of the parameter space, one for each equal labelling, whose masses add up exactly.

A sample belongs to the region in which all hidden variables are labelled as in a reference: of all
symmetries (`symmetry.py`) the one that fits the reference best, an assignment problem for each
block of variables in each context, is the identity. The mass of that region is the whole over their
number, whether or not chains change labels. With several references (modes that are no relabellings
of each other) the space is cut further, by which of them fits best.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
from scipy.optimize import linear_sum_assignment

from lacunet.inference.symmetry import Context, Symmetries
from lacunet.likelihoods import ConjugatePrior, Segment, with_prior
from lacunet.models.known import Relabelling, Relabellings
from lacunet.models.layout import Layout
from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Features:
    """Numbers of a flat vector that tell the K states of a hidden variable apart in a context.

    They are those of the families around it, its own first; other hidden variables are summed out.
    """

    families: tuple[int, ...]
    tables: tuple[IntArray, ...]  # of each family, (K, numbers, terms): positions

    @cached_property
    def _positions(self) -> tuple[IntArray, IntArray | None]:
        """All positions, state by state; where the terms of each number begin, if some have two."""
        K = len(self.tables[0])
        positions = np.hstack([table.reshape(K, -1) for table in self.tables]).reshape(-1)
        terms = np.concatenate([np.full(table.shape[1], table.shape[2]) for table in self.tables])
        terms = np.tile(terms, K)
        return positions, None if (terms == 1).all() else np.cumsum(terms) - terms

    def __call__(self, x: FloatArray) -> FloatArray:
        """Gather them from a flat vector, (K, f)."""
        positions, starts = self._positions
        found = x[positions]
        if starts is not None:
            found = np.add.reduceat(found, starts)
        return found.reshape(len(self.tables[0]), -1)

    def by_family(self, x: FloatArray) -> list[FloatArray]:
        """Do the same family by family, (K, …) each."""
        return [x[table].sum(axis=-1) for table in self.tables]


def features_of(layout: Layout, h: int, within: Context, hidden: AbstractSet[int]) -> Features:
    """Find where the numbers stand that tell the states of h apart in a context."""
    around = [i for i, family in enumerate(layout.families) if h in family and layout.widths[i]]
    around.sort(key=lambda i: (i != h, i))
    tables = []
    for i in around:
        family = layout.families[i]
        where = tuple(within.get(v, slice(None)) for v in family)
        left = [v for v in family if v not in within]
        away = [v for v in left if v in hidden and v != h]
        kept = sorted((v for v in left if v not in away), key=lambda v: (v != h, v == i, v))
        table = layout.table(np.arange(layout.size), i)[where]
        table = np.transpose(table, [left.index(v) for v in (*kept, *away)])
        tables.append(table.reshape(len(table), -1, math.prod(table.shape[len(kept) :])))
    return Features(tuple(around), tuple(tables))


JITTER = 0.05  # relative noise of a reference's profiles
ALONE = (np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64))
MOST_KNOWN = 256  # relabellings that are kept
NO_CASES = 0.01  # what cells count for that neither cases nor a prior have: they are known

Profile: TypeAlias = Mapping[int, FloatArray]  # (k, f) of each variable of a block, in a context
Profiles: TypeAlias = Sequence[Sequence[Profile]]  # of each block, in each of its contexts
Placing: TypeAlias = tuple[float, Relabellings]  # how well a sample fits if relabelled like this


class Regions:
    """Parts of the parameter space, one for each reference (and each labelling of it)."""

    def __init__(
        self,
        symmetries: Symmetries,
        exponents: Sequence[FloatArray],
        noise: FloatArray | None = None,
    ) -> None:
        """Take references by their exponents, each (size,).

        `noise`, near 1, keeps two states that a reference has alike (both empty, say) from tying.
        """
        self.symmetries = symmetries
        if noise is None:
            normal = np.random.default_rng(0).standard_normal(symmetries.layout.size)
            noise = np.exp(JITTER * normal)
        self.noise = noise
        layout, hidden = symmetries.layout, symmetries.hidden
        self.features = [
            [
                {h: features_of(layout, h, within, hidden) for h in block.variables}
                for within in block.contexts
            ]
            for block in symmetries.blocks
        ]
        self.profiles: list[Profiles] = [self._profiles(x) for x in exponents]
        self._known: dict[Hashable, Relabelling] = {}  # of samples before: most are labelled alike

    def at_home(self, own: int, samples: FloatArray) -> BoolArray:
        """Which samples (chains, size), expected counts as θ and N give them, are in a region."""
        if not self.symmetries.blocks:
            return np.ones(len(samples), dtype=np.bool_)
        home = np.zeros(len(samples), dtype=np.bool_)
        for n, x in enumerate(samples):
            found = [self._best(x, profiles) for profiles in self.profiles]
            best = max(range(len(found)), key=lambda m: found[m][0])
            home[n] = best == own and found[best][1].trivial
        return home

    def bring_home(self, x: FloatArray) -> Relabellings:
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
            [{h: self._profile(own, x) for h, own in here.items()} for here in block]
            for block in self.features
        ]

    def _profile(self, features: Features, x: FloatArray) -> FloatArray:
        """What the cases of a sample are multiplied by: logs of shares, or natural parameters."""
        layout, parts = self.symmetries.layout, []
        counts = np.where(layout.in_tables & (x <= 0.0), NO_CASES, x)
        noisy = np.where(layout.in_tables, counts * self.noise, counts)
        tables = zip(features.by_family(noisy), features.by_family(self.noise), strict=True)
        for i, (table, noise) in zip(features.families, tables, strict=True):
            kind, width = layout.kinds[i], layout.widths[i]
            if kind.tabular:
                parts.append(np.log(table / table.sum()))
                continue
            at = Segment.of_table(kind, table.size // width, width)
            moves = np.log(noise / noise.mean()).reshape(-1)
            near = _near_expected(with_prior(kind), table.reshape(-1), moves, at)
            parts.append(near.reshape(table.shape))
        return np.hstack(parts)

    def _best(self, x: FloatArray, profiles: Profiles) -> Placing:
        found = (self._after(exchange, x, profiles) for exchange in self.symmetries.exchanges)
        return max(found, key=lambda placing: placing[0])

    def _after(self, exchange: Relabelling, x: FloatArray, profiles: Profiles) -> Placing:
        """Place block after block; what is a context must stand right before what depends on it."""
        now, total, steps = exchange.apply(x), 0.0, [exchange]
        for b, block in enumerate(self.symmetries.blocks):
            placed = [self._placed(b, n, now, profile) for n, profile in enumerate(profiles[b])]
            total += sum(value for value, _ in placed)
            here = Relabellings(tuple(step for _, step in placed))
            steps += here.steps
            if block.variables[0] not in self._contexts or here.trivial:
                continue
            now = here.apply(now)
        return total, Relabellings(tuple(steps))

    @cached_property
    def _contexts(self) -> frozenset[int]:
        """All variables that are in a context."""
        return frozenset(v for b in self.symmetries.blocks for c in b.contexts for v in c)

    def _placed(self, b: int, n: int, x: FloatArray, profile: Profile) -> tuple[float, Relabelling]:
        """Assign variables of a block to those of the reference, and their states to its states."""
        block = self.symmetries.blocks[b]
        within, members = block.contexts[n], block.variables
        features = [self.features[b][n][h](x) for h in members]
        found = [[_states(own @ profile[h].T, block.kinds[n]) for own in features] for h in members]
        values = np.array([[value for value, _ in row] for row in found])
        rows, columns = ALONE if len(values) == 1 else linear_sum_assignment(values, maximize=True)
        total, places, orders = 0.0, {}, {}
        for h, other in zip(rows, columns, strict=True):
            value, order = found[h][other]
            total += value
            places[members[h]], orders[members[h]] = members[other], order
        named = (places, orders, within)
        key = tuple(str(sorted(names.items())) for names in named)
        if key not in self._known:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[key] = Relabelling(self.symmetries.layout, *named)
        return total, self._known[key]


def _states(agreement: FloatArray, kinds: Sequence[int]) -> tuple[float, list[int]]:
    """Assign states, (of the sample, of the reference), kind by kind: which is each of these."""
    states = np.arange(len(agreement))
    alike = set(kinds)
    for kind in alike:
        own = states if len(alike) == 1 else np.flatnonzero(np.equal(kinds, kind))
        if len(own) > 1:
            _, chosen = linear_sum_assignment(agreement[np.ix_(own, own)], maximize=True)
            states[own] = own[chosen]
    value = float(agreement[np.arange(len(states)), states].sum())
    return value, np.argsort(states).tolist()


def _near_expected(
    kind: ConjugatePrior, hyper: FloatArray, moves: FloatArray, at: Segment
) -> FloatArray:
    """η near what is expected given hyperparameters, moves away in standard deviations of φ."""
    theta = kind.parameters(kind.expected_natural(hyper, at), at)
    sharp = np.sqrt(kind.metric(theta, hyper, at))
    phi = np.divide(moves, sharp, out=np.zeros_like(moves), where=sharp > 0)
    return kind.natural(kind.moved(theta, phi, at), at)
