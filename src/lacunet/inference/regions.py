"""Partition the parameter space into regions, one for each equivalent labelling.

A sample lies in the region of a reference if the best-fitting symmetry (`symmetry.py`) is the
identity. Finding it is an assignment problem for each block of variables in each context. Each
region has the total mass over the number of symmetries, whether or not chains switch labels. With
several references (modes that are not relabellings of each other) the best fit partitions further.
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
    """Entries of a flat vector that distinguish the K states of a hidden variable in a context.

    They belong to the families of the variable, its own first; other hidden variables are summed
    out.
    """

    families: tuple[int, ...]
    tables: tuple[IntArray, ...]  # of each family, (K, numbers, terms): positions

    @cached_property
    def _positions(self) -> tuple[IntArray, IntArray | None]:
        """All positions, state by state; the start of each sum, unless all have one term."""
        K = len(self.tables[0])
        positions = np.hstack([table.reshape(K, -1) for table in self.tables]).reshape(-1)
        terms = np.concatenate([np.full(table.shape[1], table.shape[2]) for table in self.tables])
        terms = np.tile(terms, K)
        return positions, None if (terms == 1).all() else np.cumsum(terms) - terms

    def __call__(self, x: FloatArray) -> FloatArray:
        """Features of a flat vector, (K, f)."""
        positions, starts = self._positions
        features = x[positions]
        if starts is not None:
            features = np.add.reduceat(features, starts)
        return features.reshape(len(self.tables[0]), -1)

    def by_family(self, x: FloatArray) -> list[FloatArray]:
        """Features of a flat vector by family, (K, …) each."""
        return [x[table].sum(axis=-1) for table in self.tables]


def features_of(layout: Layout, h: int, within: Context, hidden: AbstractSet[int]) -> Features:
    """Positions of the features of h in a context."""
    around = [i for i, family in enumerate(layout.families) if h in family and layout.widths[i]]
    around.sort(key=lambda i: (i != h, i))
    tables = []
    for i in around:
        family = layout.families[i]
        where = tuple(within.get(v, slice(None)) for v in family)
        left = [v for v in family if v not in within]
        away = [v for v in left if v in hidden and v != h]
        remaining = sorted((v for v in left if v not in away), key=lambda v: (v != h, v == i, v))
        table = layout.table(np.arange(layout.size), i)[where]
        table = np.transpose(table, [left.index(v) for v in (*remaining, *away)])
        tables.append(table.reshape(len(table), -1, math.prod(table.shape[len(remaining) :])))
    return Features(tuple(around), tuple(tables))


JITTER = 0.05  # relative noise of a reference's profiles
ALONE = (np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64))
MOST_KNOWN = 256  # relabellings that are kept
NO_CASES = 0.01  # pseudo-count of known cells, which have neither cases nor exponents

Profile: TypeAlias = Mapping[int, FloatArray]  # (k, f) of each variable of a block, in a context
Profiles: TypeAlias = Sequence[Sequence[Profile]]  # of each block, in each of its contexts
Placing: TypeAlias = tuple[float, Relabellings]  # the fit of a sample after a relabelling


class Regions:
    """Regions of the parameter space, one for each labelling of each reference."""

    def __init__(
        self,
        symmetries: Symmetries,
        exponents: Sequence[FloatArray],
        noise: FloatArray | None = None,
    ) -> None:
        """Take references by their exponents, each (size,).

        `noise`, near 1, breaks ties between equal states of a reference (both empty, for example).
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
        self._known: dict[Hashable, Relabelling] = {}  # a cache: most samples share a labelling

    def in_region(self, reference: int, samples: FloatArray) -> BoolArray:
        """Which samples (chains, size), given as expected counts, lie in region `reference`."""
        if not self.symmetries.blocks:
            return np.ones(len(samples), dtype=np.bool_)
        inside = np.zeros(len(samples), dtype=np.bool_)
        for n, x in enumerate(samples):
            fits = [self._best(x, profiles) for profiles in self.profiles]
            best = max(range(len(fits)), key=lambda m: fits[m][0])
            inside[n] = best == reference and fits[best][1].trivial
        return inside

    def to_reference_region(self, x: FloatArray) -> Relabellings:
        """The relabelling that fits a sample to the first reference best."""
        return self._best(x, self.profiles[0])[1]

    def steps_in_region(self, samples: FloatArray) -> BoolArray:
        """Which steps of relabelling to the first reference are trivial, (chains, steps).

        A step is an exchange of blocks, or a permutation of one block in one context.
        """
        return np.array(
            [[step.trivial for step in self.to_reference_region(x).steps] for x in samples]
        )

    def nearest(self, samples: FloatArray) -> IntArray:
        """The reference, (chains,), that each sample fits best under any labelling."""
        fits = [[self._best(x, profiles)[0] for profiles in self.profiles] for x in samples]
        return np.asarray(np.argmax(fits, axis=1))

    def _profiles(self, x: FloatArray) -> Profiles:
        return [
            [{h: self._profile(of_h, x) for h, of_h in context.items()} for context in block]
            for block in self.features
        ]

    def _profile(self, features: Features, x: FloatArray) -> FloatArray:
        """Weights of the features in the fit: logs of shares, or natural parameters."""
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
        placings = (
            self._after(permutation, x, profiles) for permutation in self.symmetries.exchanges
        )
        return max(placings, key=lambda placing: placing[0])

    def _after(self, permutation: Relabelling, x: FloatArray, profiles: Profiles) -> Placing:
        """Fit block after block; relabel a block before the blocks that have it as a context."""
        now, total, steps = permutation.apply(x), 0.0, [permutation]
        for b, block in enumerate(self.symmetries.blocks):
            placed = [self._placed(b, n, now, profile) for n, profile in enumerate(profiles[b])]
            total += sum(value for value, _ in placed)
            relabelling = Relabellings(tuple(step for _, step in placed))
            steps += relabelling.steps
            if block.variables[0] not in self._contexts or relabelling.trivial:
                continue
            now = relabelling.apply(now)
        return total, Relabellings(tuple(steps))

    @cached_property
    def _contexts(self) -> frozenset[int]:
        """All variables of contexts."""
        return frozenset(v for b in self.symmetries.blocks for c in b.contexts for v in c)

    def _placed(self, b: int, n: int, x: FloatArray, profile: Profile) -> tuple[float, Relabelling]:
        """Match the variables of a block, and their states, to those of the reference."""
        block = self.symmetries.blocks[b]
        within, members = block.contexts[n], block.variables
        features, kinds = [self.features[b][n][h](x) for h in members], block.kinds[n]
        fits = [[_match_states(f @ profile[h].T, kinds) for f in features] for h in members]
        values = np.array([[value for value, _ in row] for row in fits])
        rows, columns = ALONE if len(values) == 1 else linear_sum_assignment(values, maximize=True)
        total, places, orders = 0.0, {}, {}
        for h, other in zip(rows, columns, strict=True):
            value, order = fits[h][other]
            total += value
            places[members[h]], orders[members[h]] = members[other], order
        named = (places, orders, within)
        key = tuple(str(sorted(names.items())) for names in named)
        if key not in self._known:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[key] = Relabelling(self.symmetries.layout, *named)
        return total, self._known[key]


def _match_states(agreement: FloatArray, kinds: Sequence[int]) -> tuple[float, list[int]]:
    """Best assignment of states, (sample, reference), within kinds: its value and the order."""
    states = np.arange(len(agreement))
    alike = set(kinds)
    for kind in alike:
        members = states if len(alike) == 1 else np.flatnonzero(np.equal(kinds, kind))
        if len(members) > 1:
            _, chosen = linear_sum_assignment(agreement[np.ix_(members, members)], maximize=True)
            states[members] = members[chosen]
    value = float(agreement[np.arange(len(states)), states].sum())
    return value, np.argsort(states).tolist()


def _near_expected(
    kind: ConjugatePrior, hyper: FloatArray, moves: FloatArray, at: Segment
) -> FloatArray:
    """E[η] given hyperparameters, shifted by `moves` standard deviations of φ."""
    theta = kind.parameters(kind.expected_natural(hyper, at), at)
    sharp = np.sqrt(kind.metric(theta, hyper, at))
    phi = np.divide(moves, sharp, out=np.zeros_like(moves), where=sharp > 0)
    return kind.natural(kind.moved(theta, phi, at), at)
