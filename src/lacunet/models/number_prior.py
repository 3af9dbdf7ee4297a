"""Covariance structure of Gaussian columns within classes, and priors of numbers.

The prior is the same for every column and every number of classes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from lacunet.errors import OptionError, did_you_mean
from lacunet.likelihoods import joint_normal
from lacunet.likelihoods.gaussian import hyperparameters
from lacunet.runtime.arrays import FloatArray

DIAGONAL, FULL = "diagonal", "full"
COMMON = "common"


@dataclass(frozen=True)
class Covariance:
    """Blocks of columns with a joint distribution in each class; others are independent."""

    full: bool = False  # whether all Gaussian columns are one block
    named: tuple[tuple[str, ...], ...] = ()  # blocks, by the names of their columns
    common: bool = False  # whether all classes have the same variances and covariances

    def blocks(self, columns: Sequence[str]) -> list[tuple[str, ...]]:
        """Blocks of two or more Gaussian columns."""
        if self.full:
            return [tuple(columns)] if len(columns) > 1 else []
        for name in (name for block in self.named for name in block):
            if name not in columns:
                raise OptionError(
                    f"covariance: '{name}' is not a Gaussian column.{did_you_mean(name, columns)} "
                    f"They are {', '.join(columns) or 'none'}; declare them with --kinds."
                )
        return list(self.named)


def understand_covariance(text: str) -> Covariance:
    """Parse diagonal, full, or blocks as NAME+NAME,…; `common`: equal in all classes.

    >>> understand_covariance("height+weight,age+income").named
    (('height', 'weight'), ('age', 'income'))
    >>> understand_covariance("full-common") == Covariance(full=True, common=True)
    True
    """
    for form in (DIAGONAL, FULL):
        if text in (form, f"{form}-{COMMON}"):
            return Covariance(full=form == FULL, common=text != form)
    parts = [part.strip() for part in text.split(",")]
    blocks = tuple(tuple(n.strip() for n in part.split("+")) for part in parts if part != COMMON)
    names = [name for block in blocks for name in block]
    if not blocks or any(len(block) < 2 for block in blocks) or not all(names):
        raise OptionError(
            f"covariance: '{text}' is not understood. Give {DIAGONAL}, {FULL}, "
            f"{DIAGONAL}-{COMMON}, {FULL}-{COMMON}, or blocks of columns: NAME+NAME with commas "
            f"between, and {COMMON} among them if all classes have the same."
        )
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise OptionError(f"covariance: '{twice}' occurs twice. A column is in one block.")
    return Covariance(named=blocks, common=COMMON in parts)


AUTOCLASS = "autoclass"

# Largest weight of a prior in cases: integrals are differences of logs of this size.
MOST_CASES = 1e6
FARTHEST = 1e8  # largest weight × mean²/scale that keeps eight digits of the scale
LARGEST_SCALE = 1e12  # above it squares of the data are lost in rounding
FAINTEST = 1e-6  # below it weight and scale are lost in sums of squares of a class


class Extent(NamedTuple):
    """Range and resolution of a column, in its standard deviations."""

    range: float  # from its lowest to its highest value
    gap: float  # smallest difference of two values


@dataclass(frozen=True)
class NumberPrior:
    """The prior of means, variances and rates."""

    mean: float = 0.0  # m: expected mean, in standard deviations from the column's mean
    weight: float = 0.1  # κ₀: its weight in cases; chosen by bench/number_prior.py
    degrees: float = 3.0  # ν₀: degrees of freedom of a variance
    scale: float = 1.0  # its scale, in variances of the column or in residual variances
    shape: float = 1.01  # of the Gamma prior of a rate, whose mean is that of the column
    covariance: Covariance = field(default=Covariance())  # blocks of columns
    autoclass: bool = False  # whether all but `shape` follow from the column's extent

    def __post_init__(self) -> None:
        for name in ("weight", "degrees", "scale", "shape"):
            value = getattr(self, name)
            least = 2.0 if name == "degrees" else 0.0
            if not (np.isfinite(value) and value > least):
                raise OptionError(
                    f"number prior: {name} {value:g} is not allowed. It must be above {least:g}."
                )
            if name != "scale" and value > MOST_CASES:
                raise OptionError(
                    f"number prior: {name} {value:g} is not allowed. It is worth cases, and beside "
                    f"more than {MOST_CASES:g} of them those of the data are lost in rounding."
                )
        if not np.isfinite(self.mean):
            raise OptionError(f"number prior: mean {self.mean:g} is not a finite number.")
        if self.scale > LARGEST_SCALE:
            raise OptionError(
                f"number prior: scale {self.scale:g} is not allowed. It is in variances of a "
                f"column, and from {LARGEST_SCALE:g} of them on the data are lost in rounding."
            )
        farthest = float(np.sqrt(FARTHEST * self.scale / self.weight))
        if abs(self.mean) > farthest:
            raise OptionError(
                f"number prior: mean {self.mean:g} is not allowed. It is in standard deviations "
                f"from the mean of a column, and from {farthest:.3g} of them on, with weight "
                f"{self.weight:g}, the scale {self.scale:g} is lost in rounding beside its square."
            )
        if max(self.weight, self.scale) < FAINTEST:
            raise OptionError(
                f"number prior: weight {self.weight:g} and scale {self.scale:g} are not allowed "
                f"together: the variance of equal values would be lost in rounding. One of them "
                f"must be {FAINTEST:g} or more."
            )

    def of_gaussian(self, extent: Extent) -> tuple[float, ...]:
        """Hyperparameters of a standardised Gaussian column."""
        if not self.autoclass:
            return hyperparameters(self.mean, self.weight, self.degrees / 2.0, self.scale / 2.0)
        # AutoClass has σ log-uniform from a measurement error to half the range. An inverse gamma
        # approximates it: flat in log σ² above its scale, with a decay over 1/shape.
        largest = extent.range / 2.0
        smallest = min(extent.gap, largest / np.e)
        shape = 0.5 / float(np.log(largest / smallest))
        return hyperparameters(0.0, _mean_weight(extent), shape, smallest**2)

    def of_block(self, extents: Sequence[Extent], shape: FloatArray) -> tuple[float, ...]:
        """Hyperparameters of a block of d Gaussians, with one degree of freedom more for each.

        The expected covariance of a class is proportional to `shape`, (d, d). The factor grows with
        the degrees, so that the expected precision does not depend on d.
        """
        d = len(extents)
        if self.autoclass:
            weight = float(np.exp(np.mean([np.log(_mean_weight(extent)) for extent in extents])))
            return joint_normal.block_hyperparameters(d, 0.0, weight, float(d), 1.0)
        degrees = self.degrees + d - 1.0
        scale = self.scale * degrees / self.degrees * shape
        return joint_normal.block_hyperparameters(d, self.mean, self.weight, degrees, scale)

    def of_rate(self, mean: float) -> tuple[float, ...]:
        """Hyperparameters of a rate with this mean of the column."""
        return self.shape, self.shape / mean


def _mean_weight(extent: Extent) -> float:
    """Weight in cases of a prior of means whose standard deviation is half the range."""
    return (2.0 / extent.range) ** 2


USUAL_NUMBERS = "mean=0,weight=0.1,degrees=3,scale=1,shape=1.01"
GRAPH_NUMBERS = (
    "mean=0,weight=0.01,degrees=3,scale=1,shape=1.01"  # for graphs, stacks and imputation
)
NumberPriorLike: TypeAlias = NumberPrior | str | Mapping[str, float]


def understand_number_prior(prior: NumberPriorLike) -> NumberPrior:
    """Parse a prior, NAME=NUMBER,…; parameters that are not named have their defaults.

    >>> understand_number_prior("scale=0.25,weight=0.1").scale
    0.25
    """
    if isinstance(prior, NumberPrior):
        return prior
    if prior == AUTOCLASS:
        return NumberPrior(autoclass=True)
    given: dict[str, str | float]
    if isinstance(prior, Mapping):
        given = dict(prior)
    else:
        parts = [part.partition("=") for part in prior.split(",") if part.strip()]
        given = {name.strip(): text for name, _, text in parts}
    names = [f.name for f in fields(NumberPrior) if f.name not in ("covariance", AUTOCLASS)]
    numbers: dict[str, Any] = {}
    for name, value in given.items():
        if name not in names:
            raise OptionError(
                f"number prior: '{name}' is not known.{did_you_mean(name, names)} "
                f"Choose from {', '.join(names)}; or give {AUTOCLASS} alone."
            )
        try:
            numbers[name] = float(value)
        except ValueError:
            raise OptionError(
                f"number prior: {name} '{value}' is not a number. Give for example {name}=0.5."
            ) from None
    return replace(NumberPrior(), **numbers)


# Graphs need a smaller weight than class models: with 0.1, searches too often add a hidden variable
# to permuted columns that are not normal.
OF_GRAPHS = understand_number_prior(GRAPH_NUMBERS)
