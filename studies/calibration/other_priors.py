"""Data sets whose classes come from priors that are not the analyst's.

Nothing here uses a prior of the package: class weights follow a power law, and classes differ from
a common profile by a stated amount.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Self, TypeAlias

import numpy as np

from lacunet.api import select
from lacunet.paper.experiments import finite
from lacunet.runtime.arrays import FloatArray, IntArray
from lacunet.selection.result import Selection
from lacunet.selection.sentences import limits
from studies.calibration.cell import DrawSettings, timed

Data: TypeAlias = Mapping[str, list[Any]]  # columns by name, None = missing

POWERS = (0.0, 1.0, 2.0)  # class j has a weight in proportion to 1/j^power: even to uneven
MOST = 4  # classes: 1 to so many, equally often
DEPENDS = "depends on the prior"  # in a first line
REMARKS: Mapping[str, str] = {  # that limit an answer
    "prior": "the answer depends on the prior",
    "misfit": "classes may stand for something else",
    "at least": "at least so many classes",
}


@dataclass(frozen=True)
class Profile:
    """How far classes are apart."""

    share: tuple[float, float]  # of a class's own category, beside the common distribution: range
    step: float  # between centres of neighbouring classes on a number, in standard deviations


PROFILES: Mapping[str, Profile] = {
    "separated": Profile((0.6, 0.8), 2.0),
    "vague": Profile((0.2, 0.35), 0.75),
}


@dataclass(frozen=True)
class OtherCell:
    """Data sets of one kind, asked of `select` without options.

    Numbers of classes, class weights and profiles take turns: 24 data sets have all combinations.
    """

    name: str
    rows: int
    levels: tuple[int, ...] = ()  # of each column of categories
    numbers: int = 0  # columns of numbers
    missing: float = 0.0  # share of missing cells
    noise: str = "normal"  # of numbers: one of NOISES
    datasets: int = 120

    @property
    def weight(self) -> float:
        """How long a data set takes, roughly."""
        return 1.0 + (len(self.levels) + 10 * self.numbers) * self.rows / 1000

    def repeated(self, datasets: int) -> Self:
        """Give the same with another number of data sets."""
        return replace(self, datasets=datasets)

    def run(self, dataset: int, how: DrawSettings) -> dict[str, Any]:
        """Draw a data set, and keep what the default answer says of it."""
        made, data = draw_other(self, dataset, how.seed)
        cpu = dict[str, float]()
        with timed(cpu, "select"):
            found = select(data, starts=how.starts, seed=dataset, threads=1)
        return {**asdict(made), "select": _answer(found), "cpu": cpu}


def _answer(found: Selection) -> dict[str, Any]:
    """Probabilities that were stated, and what the first lines say of them."""
    sure = found.certainty
    return {
        "choice": sure.choice,
        "how": sure.basis.value,
        "states": list(sure.probabilities),
        "probabilities": [finite(p) for p in sure.probabilities.values()],
        "says": [found.brief(), *limits(found)],
        "remarks": [name for name, there in _remarks(found).items() if there],
        "sensitivity": [[s.factor, s.choice, s.probabilities[s.choice]] for s in found.sensitivity],
    }


def _remarks(found: Selection) -> Mapping[str, bool]:
    """What limits an answer, by the names of REMARKS."""
    lines, misfit = [found.brief(), *limits(found)], found.misfit
    return {
        "prior": any(DEPENDS in line for line in lines),
        "misfit": misfit is not None and bool(misfit.warning(found.best.title)),
        "at least": found.at_least,
    }


@dataclass(frozen=True)
class Made:
    """What a data set was made from."""

    classes: int
    power: float  # one of POWERS
    profile: str  # one of PROFILES


def made_from(dataset: int) -> Made:
    """Give the next combination: neighbours differ, and 24 are all there are."""
    names = list(PROFILES)
    power, profile = POWERS[dataset % len(POWERS)], names[dataset // MOST % len(names)]
    return Made(1 + dataset % MOST, power, profile)


def draw_other(cell: OtherCell, dataset: int, seed: int) -> tuple[Made, Data]:
    """Draw rows of 1 to MOST classes."""
    rng = np.random.default_rng([seed, *cell.name.encode(), dataset])
    made = made_from(dataset)
    k, profile = made.classes, PROFILES[made.profile]
    z = rng.choice(k, size=cell.rows, p=weights(k, made.power))
    columns = dict[str, list[Any]]()
    for n, levels in enumerate(cell.levels, start=1):
        codes = categories(levels, k, profile, z, rng)
        columns[f"c{n}"] = ["abcdefgh"[code] for code in codes]
    for n in range(1, cell.numbers + 1):
        columns[f"x{n}"] = measurements(k, profile, cell.noise, z, rng).tolist()
    if cell.missing:
        columns = {
            name: with_missing_values(column, cell.missing, rng) for name, column in columns.items()
        }
    return made, columns


def weights(k: int, power: float) -> FloatArray:
    """Give class weights in proportion to 1/j^power."""
    raw = np.arange(1.0, k + 1) ** -power
    normal: FloatArray = raw / raw.sum()
    return normal


def categories(
    levels: int, k: int, profile: Profile, z: IntArray, rng: np.random.Generator
) -> IntArray:
    """Draw categories: from a distribution common to all classes, or a class's own category."""
    common = rng.uniform(0.5, 1.5, size=levels)
    own, share = rng.integers(levels, size=k), rng.uniform(*profile.share, size=k)
    drawn = rng.choice(levels, size=len(z), p=common / common.sum())
    codes: IntArray = np.where(rng.uniform(size=len(z)) < share[z], own[z], drawn)
    return codes


def measurements(
    k: int, profile: Profile, noise: str, z: IntArray, rng: np.random.Generator
) -> FloatArray:
    """Draw numbers around equally spaced centres, in an order of its own for each column."""
    centres = profile.step * rng.permutation(k)
    deviations = rng.uniform(0.7, 1.4, size=k)
    unit, origin = 10.0 ** rng.uniform(-2, 3), rng.normal()
    values = centres[z] + deviations[z] * NOISES[noise](rng, len(z)) + origin
    scaled: FloatArray = unit * values
    return scaled


def with_missing_values(column: list[Any], share: float, rng: np.random.Generator) -> list[Any]:
    """Lose cells completely at random."""
    lost = rng.uniform(size=len(column)) < share
    return [None if gone else value for value, gone in zip(column, lost, strict=True)]


def _normal(rng: np.random.Generator, size: int) -> FloatArray:
    return rng.standard_normal(size)


def _skewed(rng: np.random.Generator, size: int) -> FloatArray:
    """Gamma of shape 2: skewness √2."""
    values: FloatArray = (rng.gamma(2.0, size=size) - 2.0) / math.sqrt(2.0)
    return values


def _heavy(rng: np.random.Generator, size: int) -> FloatArray:
    """Student's t with 3 degrees of freedom, whose variance is 3."""
    values: FloatArray = rng.standard_t(3.0, size=size) / math.sqrt(3.0)
    return values


NOISES = {"normal": _normal, "skewed": _skewed, "heavy": _heavy}  # of mean 0 and variance 1

OTHERS = tuple(
    cell
    for rows in (50, 500)
    for cell in (
        OtherCell(f"binary-{rows}", rows, levels=(2,) * 8),
        OtherCell(f"five-{rows}", rows, levels=(5,) * 8),
        OtherCell(f"gaussian-{rows}", rows, numbers=3),
        OtherCell(f"mixed-{rows}", rows, levels=(2, 2, 5, 5), numbers=3, missing=0.15),
        OtherCell(f"skewed-{rows}", rows, numbers=3, noise="skewed"),
        OtherCell(f"heavy-{rows}", rows, numbers=3, noise="heavy"),
    )
)
