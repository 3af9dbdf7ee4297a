"""Completions by what they leave behind: counts, in independent blocks of parameters.

A completion matters through the counts N_ijk and N_ij that it leaves, its "places", and the
evidence is a product over places. Components that have no place in common are independent.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from lacunet.arrays import BoolArray, FloatArray, IntArray
from lacunet.inference.plans.plan import Choice
from lacunet.inference.problem import Problem
from lacunet.inference.sums.choices import (
    compositions,
    log_multinomials,
    log_ways,
    ways,
)
from lacunet.model.families.categorical import log_rising


@dataclass(frozen=True, eq=False)
class Part:
    """A component as its block sees it."""

    count: int  # w, its cases
    cells: IntArray  # (K, P) 1 where a cell raises a place

    @cached_property
    def touched(self) -> BoolArray:
        """Which places it may raise, (P,)."""
        return np.asarray(self.cells.any(axis=0))

    @cached_property
    def differences(self) -> IntArray:
        """How its cells differ from the first, (K − 1, P)."""
        rows: IntArray = self.cells[1:] - self.cells[0]
        return rows

    @cached_property
    def ways(self) -> int:
        """Number of ways to complete it."""
        return ways(self.count, len(self.cells))

    @cached_property
    def log_ways(self) -> float:
        """Log of that number."""
        return log_ways(self.count, len(self.cells))

    def completions(self) -> tuple[IntArray, FloatArray]:
        """Counts that every way to complete it adds, (ways, P), and the log orders of each."""
        if self.count == 1:  # there may be very many cells
            return self.cells, np.zeros(len(self.cells))
        shares = compositions(self.count, len(self.cells))
        return shares @ self.cells, log_multinomials(shares)


@dataclass(frozen=True, eq=False)
class Block:
    """Components that share parameters, directly or through others. P places."""

    parts: tuple[Part, ...]
    tables: FloatArray  # (P, cases + 1) log factor of the evidence at each count of a place

    def most(self, parts: Sequence[Part]) -> IntArray:
        """Largest count that some of its components can give each place, (P,)."""
        counts = np.zeros(len(self.tables), dtype=np.int64)
        for part in parts:
            counts += part.count * part.touched
        return counts


class Places:
    """Everything that the evidence is a product over: Γ(α_ijk + N_ijk) and 1 / Γ(α_ij + N_ij)."""

    def __init__(self, problem: Problem, choices: Sequence[Choice]) -> None:
        layout, seen = problem.layout, problem.seen
        self.choices = choices
        self.sign = np.repeat([1.0, -1.0], [layout.size, layout.configurations])
        self.alpha = np.concatenate([problem.alpha, layout.sum_k(problem.alpha)])
        self.fixed = np.concatenate([seen, layout.sum_k(seen)])  # what every completion has
        self.varying: list[tuple[IntArray, IntArray]] = []  # cells and places of each component
        for choice in choices:
            places = np.column_stack([choice.cells, layout.size + layout.ij[choice.cells]])
            which, often = np.unique(places, return_counts=True)
            always = which[often == len(places)]
            self.fixed[always] += choice.count
            cell, column = np.nonzero(~np.isin(places, always))
            self.varying.append((cell, places[cell, column].astype(np.int64)))

    @property
    def constant(self) -> float:
        """Log evidence of what every completion has."""
        return float(np.sum(self.sign * log_rising(self.alpha, self.fixed)))

    def connected(self) -> Iterator[IntArray]:
        """Components that places connect; those that vary nowhere are in no group."""
        lengths = [len(place) for _, place in self.varying]
        component = np.repeat(np.arange(len(lengths)), lengths)
        if not len(component):
            return
        place = np.concatenate([place for _, place in self.varying])
        nodes = len(self.fixed) + len(lengths)
        edges = (np.ones(len(place)), (len(self.fixed) + component, place))
        _, label = connected_components(coo_array(edges, shape=(nodes, nodes)), directed=False)
        members = np.unique(component)
        label = label[len(self.fixed) + members]
        for group in np.unique(label):
            yield members[label == group]

    def extent(self, members: IntArray) -> int:
        """Numbers in the larger table of a block, before it is made."""
        places = np.unique(np.concatenate([self.varying[i][1] for i in members]))
        cells: int = sum(len(self.choices[i].cells) for i in members)
        cases: int = sum(self.choices[i].count for i in members)
        return max(cells, cases + 1) * len(places)

    def block(self, members: IntArray) -> Block:
        """Write a block out; places that always have the same count become one."""
        used = np.unique(np.concatenate([self.varying[i][1] for i in members]))
        counts = [self.choices[i].count for i in members]
        cells = [np.zeros((len(self.choices[i].cells), len(used)), np.int64) for i in members]
        for i, table in zip(members, cells, strict=True):
            cell, place = self.varying[i]
            table[cell, np.searchsorted(used, place)] = 1
        base = (self.alpha + self.fixed)[used, None]
        each = self.sign[used, None] * log_rising(base, np.arange(sum(counts) + 1.0))
        columns, which = np.unique(np.concatenate(cells), axis=1, return_inverse=True)
        tables = np.zeros((columns.shape[1], each.shape[1]))
        np.add.at(tables, which.reshape(-1), each)
        split = np.split(columns, np.cumsum([len(c) for c in cells])[:-1])
        return Block(tuple(Part(w, c) for w, c in zip(counts, split, strict=True)), tables)
