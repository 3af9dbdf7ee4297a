"""Conjugate families: what the values of a child say about its parameters, one file each."""

from lacunet.model.families.categorical import CATEGORICAL
from lacunet.model.families.family import Family, Segment
from lacunet.model.families.given import Given
from lacunet.model.families.tied import Tied

__all__ = ["CATEGORICAL", "Family", "Given", "Segment", "Tied"]
