"""Taking in cases of latent classes with numbers that vary together.

Given a particle, a case shows some numbers of a block: in each class they have a joint Student t
distribution. Once a class is drawn, the others are drawn given those that are shown, and the block
has one more case, whole. So every particle holds statistics of whole rows, whatever is missing.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from lacunet.arrays import CodeArray, FloatArray, IntArray
from lacunet.inference.kernels.taking_in import Swarm, effective
from lacunet.inference.problem import Problem
from lacunet.model.families import Family, Segment
from lacunet.model.families.block_places import joint_statistics
from lacunet.model.families.block_predictive import BlockSpread
from lacunet.model.joint import members
from lacunet.model.latent_class import classes_of
from lacunet.model.network import Variable


@dataclass(frozen=True, eq=False)
class Leaf:
    """One or several variables that have their parameters together, below the classes."""

    family: Family
    variables: tuple[Variable, ...]  # (d,)
    columns: IntArray  # (d,) of the codes of a row
    places: IntArray  # (K, width) positions of each class

    def hyper(self, A: FloatArray) -> FloatArray:
        """Hyperparameters of each class by itself, (particles, K, width)."""
        own = A[:, self.places.reshape(-1)]
        if not self.family.apart:
            at = Segment.of_table(self.family, *self.places.shape)
            own = self.family.by_configuration(own, at)
        return own.reshape(len(A), *self.places.shape)

    def log_predictive(self, A: FloatArray, codes: CodeArray) -> FloatArray:
        """Log probability of what a row shows, (particles, K)."""
        hyper = self.hyper(A)
        if len(self.variables) == 1:
            T = self.variables[0].statistics[codes[0]]
            return self.family.log_predictive(hyper, np.broadcast_to(T, hyper.shape))
        x, shown, _ = self._shown(codes)
        spread = BlockSpread.over(hyper.reshape(-1, hyper.shape[-1]), len(self.variables))
        return spread.log_density(x[None], shown).reshape(hyper.shape[:2])

    def statistics(
        self, A: FloatArray, codes: CodeArray, classes: IntArray, rng: Any
    ) -> FloatArray:
        """What a row adds to each particle, in the class that it has there, (particles, width)."""
        if len(self.variables) == 1:
            T = self.variables[0].statistics[codes[0]]
            return np.broadcast_to(T, (len(A), len(T)))
        x, shown, missing = self._shown(codes)
        whole = np.empty((len(A), len(self.variables)))
        whole[:, shown] = x
        if len(missing):
            own = self.hyper(A)[np.arange(len(A)), classes]
            spread = BlockSpread.over(own, len(self.variables))
            whole[:, missing] = spread.draw_given(x, shown, missing, rng)
        return joint_statistics(whole)

    def _shown(self, codes: CodeArray) -> tuple[FloatArray, IntArray, IntArray]:
        """Numbers that a row shows, which they are, and which others there are."""
        told = codes >= 0
        shown = np.flatnonzero(told)
        x = [float(self.variables[k].values_of(codes[k])) for k in shown]
        return np.array(x), shown, np.flatnonzero(~told)


class BlockCases:
    """The cases of a latent class model, as particles take them in."""

    def __init__(self, problem: Problem) -> None:
        network, classes = problem.network, classes_of(problem.network)
        self.problem, positions = problem, np.arange(problem.layout.size)
        self.root = problem.layout.table(positions, classes.root)
        self.leaves = [
            Leaf(
                network.variables[i].family,
                tuple(network.variables[j] for j in around),
                np.array([network.observed.index(j) for j in around]),
                problem.layout.table(positions, i),
            )
            for i in classes.leaves
            if (around := members(network, i))
        ]

    def take_in(self, rows: IntArray, cases: IntArray, swarm: Swarm, least: float, rng: Any) -> int:
        """Take in cases, of rows, until fewer than `least` particles count; return how many."""
        particle = np.arange(len(swarm.A))
        for n, row in enumerate(rows[cases].tolist()):
            codes, A = self.problem.codes[row], swarm.A
            log_p = np.log(A[:, self.root]) - np.log(A[:, self.root].sum(axis=1))[:, None]
            for leaf, own in self._shown_by(codes):
                log_p += leaf.log_predictive(A, own)
            total = logsumexp(log_p, axis=1)
            np.add(swarm.log_weights, total, out=swarm.log_weights)
            cumulative = np.cumsum(np.exp(log_p - total[:, None]), axis=1)
            u = rng.random(len(log_p)) * cumulative[:, -1]
            drawn = np.sum(u[:, None] >= cumulative, axis=1)
            added = [
                (leaf.places[drawn], leaf.statistics(A, own, drawn, rng))
                for leaf, own in self._shown_by(codes)
            ]
            A[particle, self.root[drawn]] += 1.0
            for places, T in added:
                A[particle[:, None], places] += T
            if effective(swarm.log_weights) < least:
                return n + 1
        return len(cases)

    def _shown_by(self, codes: CodeArray) -> Iterator[tuple[Leaf, CodeArray]]:
        """Leaves of which a row shows anything, and its codes there."""
        for leaf in self.leaves:
            own = codes[leaf.columns]
            if (own >= 0).any():
                yield leaf, own
