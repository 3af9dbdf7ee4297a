"""Conjugate families: what the values of a child say about its parameters, one file each."""

from lacunet.model.families.categorical import CATEGORICAL
from lacunet.model.families.family import Family, Segment

__all__ = ["CATEGORICAL", "Family", "Segment"]
