"""Priors of numbers, the same for every column and every number of classes.

Of a Gaussian column they are said in its own terms, from its mean in its standard deviations: so an
answer does not depend on the unit that a column is written in. Rates of counts are around the mean
of their column. Exponents of ordered answers are those of categories.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeAlias

import numpy as np

from lacunet.errors import OptionError, did_you_mean
from lacunet.model.covariance import Covariance
from lacunet.model.families import block_places
from lacunet.model.families.gaussian import hyperparameters


@dataclass(frozen=True)
class NumberPrior:
    """What is thought of means, variances and rates before any data."""

    mean: float = 0.0  # m: where means are expected, in standard deviations from the column's
    weight: float = 0.01  # κ₀: cases that this is worth
    degrees: float = 3.0  # ν₀: degrees of freedom of a variance
    scale: float = 1.0  # its scale matrix, in variances of the column: mean scale/(ν₀ − 2)
    shape: float = 1.01  # of the Gamma distribution of a rate, whose mean is that of the column
    covariance: Covariance = field(default=Covariance())  # which columns vary together

    def __post_init__(self) -> None:
        for name in ("weight", "degrees", "scale", "shape"):
            value = getattr(self, name)
            least = 2.0 if name == "degrees" else 0.0
            if not (np.isfinite(value) and value > least):
                raise OptionError(
                    f"number prior: {name} {value:g} is not allowed. It must be above {least:g}."
                )
        if not np.isfinite(self.mean):
            raise OptionError(f"number prior: mean {self.mean:g} is not a finite number.")

    @property
    def of_gaussian(self) -> tuple[float, ...]:
        """Hyperparameters of a Gaussian whose unit is its column's standard deviation."""
        return hyperparameters(self.mean, self.weight, self.degrees / 2.0, self.scale / 2.0)

    def of_block(self, d: int) -> tuple[float, ...]:
        """The same of d Gaussians together: as many degrees more as they are more."""
        degrees = self.degrees + d - 1.0
        return block_places.hyperparameters(d, self.mean, self.weight, degrees, self.scale)

    def of_rate(self, mean: float) -> tuple[float, ...]:
        """Hyperparameters of a rate, of a column with this mean."""
        return self.shape, self.shape / mean


USUAL_NUMBERS = "mean=0,weight=0.01,degrees=3,scale=1,shape=1.01"
NumberPriorLike: TypeAlias = NumberPrior | str | Mapping[str, float]


def understand_number_prior(prior: NumberPriorLike) -> NumberPrior:
    """Read a prior: NAME=NUMBER with commas between; what is not named is as usual.

    >>> understand_number_prior("scale=0.25,weight=0.1").scale
    0.25
    """
    if isinstance(prior, NumberPrior):
        return prior
    given: dict[str, str | float]
    if isinstance(prior, Mapping):
        given = dict(prior)
    else:
        parts = [part.partition("=") for part in prior.split(",") if part.strip()]
        given = {name.strip(): text for name, _, text in parts}
    names = [f.name for f in fields(NumberPrior) if f.name != "covariance"]
    numbers: dict[str, Any] = {}
    for name, value in given.items():
        if name not in names:
            raise OptionError(
                f"number prior: '{name}' is not known.{did_you_mean(name, names)} "
                f"Choose from {', '.join(names)}."
            )
        try:
            numbers[name] = float(value)
        except ValueError:
            raise OptionError(
                f"number prior: {name} '{value}' is not a number. Give for example {name}=0.5."
            ) from None
    return replace(NumberPrior(), **numbers)
