"""Free coordinates: which positions of a flat vector vary, and what makes up for each.

θ basis: θ_ijk without one reference state per parent configuration. The most probable state is
eliminated: log |A| does not depend on the choice, its rounding errors do. φ basis: the same
positions, with φ of the reference held.
"""

from dataclasses import dataclass

from lacunet.models import conjugacy
from lacunet.models.layout import Layout
from lacunet.runtime.arrays import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class FreeCoordinates:
    """Which positions of a flat vector are free, and what each is measured against."""

    free: IntArray  # (d,) positions that vary, ordered by parent configuration
    reference: IntArray  # (d,) for each, the position that makes up for it: θ_ref = 1 − Σ others


def free_coordinates(layout: Layout, theta: FloatArray) -> FreeCoordinates:
    """Ask every family which of its parameters are free at θ."""
    return FreeCoordinates(*conjugacy.free(theta, layout))
