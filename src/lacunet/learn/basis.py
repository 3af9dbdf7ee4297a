"""Coordinates in which the quasi-Newton ascent moves; θ is what they say, normalised.

φ = log θ suits the MAP: the prior's (α − 1) log θ is linear there, so probabilities that only the
prior keeps off zero are no obstacle. η = √θ suits the ML, whose probabilities do go to zero: there
φ runs off to −∞, while η arrives, with finite curvature (complete data have the same curvature
4 N_ij in every direction of η).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from lacunet.arrays import FloatArray
from lacunet.learn.objective import Objective, Point
from lacunet.model.layout import Layout


class Basis(Protocol):
    """One choice of coordinates."""

    longest_move: float  # of any coordinate in one step; beyond it a quadratic model says nothing

    def slope(self, gradient: FloatArray, theta: FloatArray) -> FloatArray:
        """Turn the φ gradient into the gradient in these coordinates."""

    def complete_curvature(self, objective: Objective, point: Point) -> FloatArray:
        """Diagonal of the curvature that complete data would have."""

    def moved(self, theta: FloatArray, move: FloatArray, layout: Layout) -> FloatArray:
        """Move the coordinates, and give the θ that they then say."""

    def between(self, old: FloatArray, new: FloatArray) -> FloatArray:
        """Give the move from one θ to another."""


class LogBasis:
    """φ = log θ."""

    longest_move = 4.0

    def slope(self, gradient: FloatArray, theta: FloatArray) -> FloatArray:  # noqa: ARG002
        """See Basis."""
        return gradient

    def complete_curvature(self, objective: Objective, point: Point) -> FloatArray:
        """Give θ_ijk Ñ_ij."""
        return point.theta * _cases(objective, point)

    def moved(self, theta: FloatArray, move: FloatArray, layout: Layout) -> FloatArray:
        """See Basis."""
        return _normalised(theta * np.exp(move), layout)

    def between(self, old: FloatArray, new: FloatArray) -> FloatArray:
        """See Basis."""
        move = np.zeros_like(old)
        alive = (old > 0) & (new > 0)
        move[alive] = np.log(new[alive] / old[alive])
        return move


class RootBasis:
    """η = √θ."""

    longest_move = 0.5

    def slope(self, gradient: FloatArray, theta: FloatArray) -> FloatArray:
        """See Basis; dφ/dη = 2/η."""
        slope = np.zeros_like(gradient)
        np.divide(2.0 * gradient, np.sqrt(theta), out=slope, where=theta > 0)
        return slope

    def complete_curvature(self, objective: Objective, point: Point) -> FloatArray:
        """Give 4 Ñ_ij."""
        return np.where(point.theta > 0, 4.0 * _cases(objective, point), 0.0)

    def moved(self, theta: FloatArray, move: FloatArray, layout: Layout) -> FloatArray:
        """See Basis; a step across zero counts by its size."""
        return _normalised((np.sqrt(theta) + move) ** 2, layout)

    def between(self, old: FloatArray, new: FloatArray) -> FloatArray:
        """See Basis."""
        return np.sqrt(new) - np.sqrt(old)


def basis_for(objective: Objective) -> Basis:
    """Take logs when the prior keeps every probability off zero, roots otherwise."""
    return LogBasis() if (objective.pseudo > 0).all() else RootBasis()


def _cases(objective: Objective, point: Point) -> FloatArray:
    layout = objective.problem.layout
    return layout.spread(layout.sum_k(point.N + objective.pseudo))


def _normalised(x: FloatArray, layout: Layout) -> FloatArray:
    return x / layout.spread(layout.sum_k(x))
