"""Conjugate families: what the values of a child say about its parameters, one file each."""

from lacunet.model.families.binomial import Binomial
from lacunet.model.families.categorical import CATEGORICAL
from lacunet.model.families.common import Common
from lacunet.model.families.family import Family, Segment
from lacunet.model.families.gaussian import GAUSSIAN, Gaussian
from lacunet.model.families.gaussian_block import GaussianBlock
from lacunet.model.families.given import Given
from lacunet.model.families.poisson import POISSON, Poisson
from lacunet.model.families.tied import Tied

__all__ = [
    "CATEGORICAL",
    "GAUSSIAN",
    "POISSON",
    "Binomial",
    "Common",
    "Family",
    "Gaussian",
    "GaussianBlock",
    "Given",
    "Poisson",
    "Segment",
    "Tied",
]
