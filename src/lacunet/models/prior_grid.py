"""Priors to average over, and priors to compare the answer with: one grid for both.

A variant changes what a prior says of profiles (Dirichlet exponents), of class weights, and of how
wide numbers are expected to be. The answer averages the evidence over variants by weights; how far
it depends on the prior is the same average with other weights.
"""

from dataclasses import dataclass

import numpy as np

from lacunet.models import conjugacy
from lacunet.models.network import Network
from lacunet.models.prior import AVERAGE, Alpha
from lacunet.runtime.arrays import FloatArray

SCALES = (0.25, 4.0)  # of the variances that classes are expected to have


@dataclass(frozen=True)
class PriorVariant:
    """The usual prior with factors."""

    profiles: float = 1.0  # of the exponents of variables that columns show
    classes: float = 1.0  # of those of hidden variables: the weights of classes
    scale: float = 1.0  # of the variances that numbers are expected to have

    def of(self, network: Network, alpha: FloatArray) -> FloatArray:
        """Hyperparameters; what is known, and what has a prior of its own, stays."""
        layout, factors = network.layout, np.ones(network.layout.size)
        for i, v in enumerate(network.variables):
            if v.family.tabular and not v.prior:
                layout.table(factors, i)[...] = self.classes if v.hidden else self.profiles
        changed = np.where(layout.learned, alpha * factors, alpha)
        return changed if self.scale == 1.0 else conjugacy.widened(changed, self.scale, layout)


@dataclass(frozen=True)
class Shift:
    """The same answer with a prior that says more or less: other weights of the variants."""

    what: str  # "strength" or "scale"
    factor: float
    weights: tuple[float, ...]  # (S,)


@dataclass(frozen=True)
class PriorGrid:
    """Variants of a prior, and how much each counts. S variants; `PriorVariant()` is one."""

    variants: tuple[PriorVariant, ...]
    weights: tuple[float, ...]  # (S,) in the answer, adding up to 1
    shifts: tuple[Shift, ...]

    @property
    def base(self) -> int:
        """The place of the prior under which models are fitted and scored."""
        return self.variants.index(PriorVariant())

    @property
    def averages(self) -> bool:
        """Whether the answer is more than that of the base."""
        return self.weights[self.base] < 1.0

    @property
    def log_weights(self) -> FloatArray:
        """Log of the weights, (S,)."""
        return log_of(self.weights)

    def of(self, network: Network, alpha: FloatArray) -> tuple[FloatArray, ...]:
        """Hyperparameters of each variant."""
        return tuple(variant.of(network, alpha) for variant in self.variants)


def log_of(weights: tuple[float, ...]) -> FloatArray:
    """Logs; −inf of 0."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(np.array(weights)))


def prior_grid(alpha: Alpha, network: Network) -> PriorGrid:
    """Give the grid of a prior: averaged over two strengths, or one with all exponents as given.

    Either is compared with half and twice its strength; numbers, with other variances besides.
    """
    half: tuple[float, ...]
    own: tuple[float, ...]
    twice: tuple[float, ...]
    if alpha == AVERAGE:
        variants = [PriorVariant(profiles=s) for s in (0.25, 0.5, 1.0, 2.0)]
        half, own, twice = (0.5, 0.5, 0.0, 0.0), (0.0, 0.5, 0.5, 0.0), (0.0, 0.0, 0.5, 0.5)
    else:
        variants = [PriorVariant(s, s) for s in (0.5, 1.0, 2.0)]
        half, own, twice = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    numbers = any(not v.family.tabular for v in network.variables)
    variants += [PriorVariant(scale=s) for s in SCALES if numbers]
    size = len(variants)

    def full(weights: tuple[float, ...]) -> tuple[float, ...]:
        return (*weights, *[0.0] * (size - len(weights)))

    shifts = [Shift("strength", 0.5, full(half)), Shift("strength", 2.0, full(twice))]
    for n, s in enumerate(SCALES if numbers else ()):
        alone = [0.0] * size
        alone[size - len(SCALES) + n] = 1.0
        shifts.append(Shift("scale", s, tuple(alone)))
    return PriorGrid(tuple(variants), full(own), tuple(shifts))
