"""Chains over graphs, and over what fills the holes: draws from the posterior of both together.

Given the holes filled in, graphs are visited by their scores; given the graph, holes are filled in
anew. Each chain starts from noise, at a heat that lets it go anywhere, and cools down while it
walks; what it does until then does not count.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lacunet.errors import DataError
from lacunet.runtime.arrays import BoolArray, CodeArray, FloatArray, IntArray
from lacunet.structure.counting import Columns, Prior
from lacunet.structure.edges.family_book import FamilyBook, family_book, forget
from lacunet.structure.edges.known_families import KnownFamilies
from lacunet.structure.edges.refilling import draw_exponents, lay_out, nothing_impossible, redraw
from lacunet.structure.edges.reversing import Choices, reverse_edges
from lacunet.structure.edges.walking import Walker, first_walker, rescore, settle, walk
from lacunet.structure.moves import Limits
from lacunet.structure.zeros import possible_states

PASSES = 4
COOLING = 1000  # passes in which a chain cools down: in a hurry they freeze far from each other


@dataclass(frozen=True, eq=False)
class Cases:
    """A table, in columns: its holes are cells to be filled in."""

    codes: CodeArray  # (n, m), −1 = a hole
    counts: FloatArray  # (m,) weight of each row; 1 where it has holes
    cards: IntArray  # (n,) states of each variable
    prior: Prior
    known: KnownFamilies
    log_prior: FloatArray  # (n, n) of k parents of v, at [v, k]

    @property
    def columns(self) -> Columns:
        """The table, if nothing is missing."""
        return self._with(self.codes)

    @property
    def holes(self) -> IntArray:
        """(holes, 2) variable and row of each."""
        return np.argwhere(self.codes < 0)

    def filled(self, rng: np.random.Generator) -> Columns:
        """Fill each hole with what some other row shows in its column."""
        codes = self.codes.astype(np.int64)
        for column in codes:
            shown, number = column[column >= 0], int((column < 0).sum())
            column[column < 0] = rng.choice(shown, number) if len(shown) else 0
        return self._with(codes)

    def _with(self, codes: CodeArray) -> Columns:
        possible = possible_states(codes, self.cards, self.known.zeros)
        return Columns(codes, self.counts, self.cards, possible)


@dataclass(frozen=True, eq=False)
class Chain:
    """Where a chain is: its arrays change as it goes on."""

    walker: Walker
    book: FamilyBook
    holes: IntArray  # (holes, 2) variable and row
    limits: Limits
    known: KnownFamilies
    rng: np.random.Generator

    @property
    def passes(self) -> int:
        """How often every pair is changed before holes are filled in anew: then scores are new."""
        return PASSES if len(self.holes) else 1

    def sweep(self, heat: float = 1.0) -> None:
        """Fill the holes in anew, and propose changes of every pair of variables, on average."""
        if len(self.holes):
            columns, parents = self.book.columns, self.walker.graph.parents
            drawn = draw_exponents(columns, self.book.prior, parents, self.known, self.rng)
            counts = lay_out(columns, self.book.prior, drawn, parents, self.known)
            redraw(columns, self.holes, parents, counts, self.rng)
            columns.possible[:] = possible_states(columns.codes, columns.cards, self.known.zeros)
            forget(self.book)
            rescore(self.walker, self.book)
        n = len(self.walker.families)
        walk(self.walker, self.book, self.limits, heat, self.passes * n * (n - 1) // 2, self.rng)

    def check(self) -> None:
        """Refuse to go on from where nothing can be: draws that start there are worth nothing."""
        columns, parents = self.book.columns, self.walker.graph.parents
        first = np.zeros(len(parents), dtype=np.int64)
        counts = lay_out(columns, self.book.prior, first, parents, self.known)
        if not nothing_impossible(columns, counts):
            raise DataError(
                "no way was found to fill in the missing cells of all rows that zeros and fixed "
                "tables leave possible. Take away zeros, or give --resamples."
            )

    def reverse(self, choices: Choices) -> None:
        """Propose to turn as many edges as there are variables."""
        n = len(self.walker.families)
        reverse_edges(self.walker, self.book, self.limits, choices, n, self.rng)


def begin(cases: Cases, limits: Limits, seed: tuple[int, int]) -> Chain:
    """Start a chain, and let it cool down."""
    rng = np.random.default_rng(seed)
    book = family_book(cases.filled(rng), cases.prior, cases.log_prior)
    walker = first_walker(limits)
    settle(walker.graph, limits)
    rescore(walker, book)
    chain = Chain(walker, book, cases.holes, limits, cases.known, rng)
    sweeps = COOLING // chain.passes
    for sweep in range(sweeps):
        chain.sweep((sweep + 1) / sweeps)
    chain.check()
    return chain


def advance(chain: Chain, choices: Choices, sweeps: int, thin: int) -> tuple[Chain, BoolArray]:
    """Let a chain go on; give it, and its graph after every `thin` sweeps, (draws, n, n).

    The chain comes back, for this may have been done elsewhere, on a copy.
    """
    drawn = np.empty((sweeps // thin, *chain.walker.graph.parents.shape), dtype=np.bool_)
    for sweep in range(sweeps):
        chain.sweep()
        if sweep % chain.passes == 0:  # reversals ask for many scores, which holes make anew
            chain.reverse(choices)
        if sweep % thin == thin - 1:
            drawn[sweep // thin] = chain.walker.graph.parents
    return chain, drawn
