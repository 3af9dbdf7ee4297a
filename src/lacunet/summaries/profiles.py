"""Profiles: the distribution of each observed variable by the states of a hidden variable.

`item_table` prints them as in papers: items by classes, standard errors in parentheses.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import rel_entr

from lacunet.errors import ModelError
from lacunet.inference.queries.answers import OF_LOGARITHM, in_units, mixture
from lacunet.inference.queries.query import blocks_of, marginal, spread_of
from lacunet.likelihoods import Likelihood, Segment
from lacunet.likelihoods.unit import Unit
from lacunet.models.latent_class import LatentClasses, find_classes, is_latent_class
from lacunet.models.network import Model, Network
from lacunet.models.surgery import table_of
from lacunet.runtime.arrays import FloatArray
from lacunet.summaries.intervals import Intervals, shown_states
from lacunet.tabular import Columns, Grid, Printable, Shown, measured, number, probability
from lacunet.tabular.export import csv_table

REACH = 4.0  # standard deviations around a mean covered by a density curve
POINTS = 41  # of a density curve, per configuration of the parents
MOST = 400  # most consecutive integers of a curve
AROUND = 121  # points of an ellipse, both ends included
RINGS = (1.0, 2.0)  # radii of ellipses, in standard deviations
MANY = 24  # most configurations (the most probable ones) that define the range of a curve


@dataclass(frozen=True, eq=False)
class NumberProfile:
    """The distribution of an observed number in each of K hidden states, and overall."""

    name: str
    titles: tuple[str, str]  # names of mean and spread
    mean: FloatArray  # (K + 1,) in the unit of the data; last: overall
    spread: FloatArray  # (K + 1,) standard deviation, or geometric standard deviation
    places: FloatArray  # (m,) grid of the curves, increasing, in coordinates of the family
    values: FloatArray  # (m,) the same in the unit of the data
    density: FloatArray  # (K + 1, m) density on the grid; for integers, probability
    whole: bool  # whether it is a count or an ordered answer
    information: float  # mutual information with the hidden variable, nats

    @property
    def of_logarithm(self) -> bool:
        """Whether mean and spread are back-transformed from logarithms."""
        return self.titles == OF_LOGARITHM

    def taken(self, x: ArrayLike) -> FloatArray:
        """Transform values of the data to the axis of a chart: identity or logarithm."""
        values = np.asarray(x, dtype=np.float64)
        return np.log(values) if self.of_logarithm else values

    def as_places(self, values: ArrayLike) -> FloatArray:
        """Transform values of the data to coordinates of the family."""
        return np.interp(self.taken(values), self.taken(self.values), self.places)

    def as_values(self, places: ArrayLike) -> FloatArray:
        """Transform coordinates of the family to values of the data."""
        coordinates = np.asarray(places, dtype=np.float64)
        values = np.interp(coordinates, self.places, self.taken(self.values))
        return np.exp(values) if self.of_logarithm else values

    @property
    def deviations(self) -> FloatArray:
        """(K + 1,) standard deviations in coordinates of the family."""
        step = float(np.ptp(self.places) / np.ptp(self.taken(self.values)))
        return step * self.taken(self.spread)

    @property
    def standing(self) -> FloatArray:
        """(K + 1,) differences from the overall mean, in overall standard deviations."""
        mean, spread = self.taken(self.mean), self.taken(self.spread)
        return np.asarray((mean - mean[-1]) / (spread[-1] if spread[-1] > 0 else 1.0))


def number_profile(model: Model, h: int, i: int, sizes: FloatArray) -> NumberProfile:
    """Compute the profile of number `i`, given the sizes of the states of `h`."""
    v = model.network.variables[i]
    given = _configurations(model, h, i, sizes)
    weights = np.vstack([given, sizes @ given])  # (K + 1, q)
    mean, variance = (x.reshape(-1) for x in model.moments(i))
    everybody = in_units(v, mixture(weights, mean, variance), np.full(len(weights), -1))
    places = _density_grid(v.family, mean, variance, weights[-1])
    family, theta = v.family.alone(table_of(model.network, model.theta, i))
    at = Segment.of_table(family, len(mean), theta.shape[-1])
    natural = family.natural(theta.reshape(-1), at).reshape(len(mean), -1)
    seen = places.tolist()
    log_p = natural @ family.statistics(seen).T + family.log_base(seen)
    density = weights @ np.exp(log_p)
    return NumberProfile(
        v.heading,
        everybody.titles,
        everybody.mean,
        everybody.spread,
        places,
        (v.unit or Unit()).values(places),
        density,
        v.family.whole,
        _information(places, density, sizes, whole=v.family.whole),
    )


def pair_rings(model: Model, one: NumberProfile, other: NumberProfile) -> FloatArray:
    """Compute points (K, 2, 121) at one standard deviation from the mean of two numbers, by class.

    Points are deviations from the mean, in coordinates of the families, and include covariances.
    """
    network = model.network
    pair = [network.index(n.name) for n in (one, other)]
    covariance = np.stack(
        [np.diag(x) for x in np.column_stack([one.deviations, other.deviations])[:-1] ** 2]
    )
    for block in blocks_of(network):
        if set(pair) <= set(block):
            places = np.array([block.index(i) for i in pair])
            covariance = spread_of(model, block).covariance[:, places[:, None], places]
    around = np.linspace(0.0, 2.0 * np.pi, AROUND)
    circle = np.stack([np.cos(around), np.sin(around)])
    return np.asarray(np.linalg.cholesky(covariance) @ circle, dtype=np.float64)


def pair_ellipses(model: Model, one: NumberProfile, other: NumberProfile) -> FloatArray:
    """Compute ellipses (K, rings, 2, 121) of two numbers by class, in coordinates of the families.

    They mark one and two standard deviations from the mean.
    """
    means = np.column_stack([n.as_places(n.mean[:-1]) for n in (one, other)])
    rings = np.array(RINGS)[:, None, None] * pair_rings(model, one, other)[:, None]
    return np.asarray(means[:, None, :, None] + rings)


def _configurations(model: Model, h: int, i: int, sizes: FloatArray) -> FloatArray:
    """Compute p(configuration of the parents | state of the hidden variable), (K, q)."""
    parents, states = model.network.parents[i], len(sizes)
    others = tuple(p for p in parents if p != h)
    given = _given(marginal(model, (h, *others)) if others else sizes)
    if h not in parents:
        return given.reshape(states, -1)
    full = np.zeros((states, *given.shape))
    full[np.arange(states), np.arange(states)] = given
    return np.moveaxis(full, 1, 1 + parents.index(h)).reshape(states, -1)


def _given(joint: FloatArray) -> FloatArray:
    """Compute p(others | state) from joint probabilities; empty states have the marginal."""
    sizes = joint.reshape(len(joint), -1).sum(axis=1).reshape(-1, *[1] * (joint.ndim - 1))
    return np.where(sizes > 0, joint / np.where(sizes > 0, sizes, 1.0), joint.sum(axis=0))


def _density_grid(
    family: Likelihood, mean: FloatArray, variance: FloatArray, weight: FloatArray
) -> FloatArray:
    """Choose a grid for the densities, fine enough for the narrowest of them."""
    used = np.argsort(-weight, kind="stable")[: min(MANY, int(np.sum(weight > 0)))]
    reach = REACH * np.sqrt(variance[used])
    low = max(float(np.min(mean[used] - reach)), family.ends[0])
    high = min(float(np.max(mean[used] + reach)), family.ends[1])
    if family.whole:
        step = max(1, int((high - low) / MOST))
        return np.arange(np.floor(low), np.ceil(high) + 1.0, step)
    around = mean[used, None] + reach[:, None] * np.linspace(-1.0, 1.0, POINTS)
    return np.unique(around)


def _information(
    places: FloatArray, density: FloatArray, sizes: FloatArray, *, whole: bool
) -> float:
    """Compute the mutual information of a number and the hidden state on the grid."""
    gains = sizes @ rel_entr(density[:-1], density[-1])
    total = gains.sum() if whole else np.trapezoid(gains, places)
    return max(float(total), 0.0)


MOST_INFERENCES = 150  # most profiles in a general network: each needs an inference


@dataclass(frozen=True, eq=False)
class Answers:
    """The distribution of an observed categorical variable in each hidden state."""

    name: str
    states: tuple[str, ...]  # r labels
    given: FloatArray  # (K, r) p(answer | hidden state)
    overall: FloatArray  # (r,) p(answer)
    information: float  # mutual information with the hidden variable, nats


@dataclass(frozen=True, eq=False)
class Profiles:
    """Profiles of the observed variables by the states of one hidden variable."""

    name: str
    states: tuple[str, ...]  # K labels
    sizes: FloatArray  # (K,) their probabilities
    answers: tuple[Answers, ...]  # categorical variables, by decreasing information
    numbers: tuple[NumberProfile, ...]  # numbers, by decreasing information
    left_out: int  # number of variables without a profile


def profiles(model: Model) -> list[Profiles]:
    """Compute the profiles of every hidden variable of a model."""
    return [profile(model, h) for h in model.network.hidden]


def profile(model: Model, h: int) -> Profiles:
    """Compute the profiles of a hidden variable.

    >>> from lacunet.api import random_model
    >>> [round(a.information, 3) for a in profile(random_model(2, 3, seed=1), 0).answers]
    [0.322, 0.141, 0.007]
    """
    network, shown, sizes = model.network, _profiled(model.network, h), sizes_of(model, h)
    answers, numbers = list[Answers](), list[NumberProfile]()
    for i in shown:
        if network.variables[i].family.tabular:
            answers.append(_answers(model, h, i))
        else:
            numbers.append(number_profile(model, h, i, sizes))
    answers.sort(key=lambda a: -a.information)
    numbers.sort(key=lambda n: -n.information)
    hidden, left_out = network.variables[h], len(network.observed) - len(shown)
    return Profiles(hidden.name, hidden.labels, sizes, tuple(answers), tuple(numbers), left_out)


TELLING, LEAST_TELLING = 3, 0.1  # answers of a description, at most; differences that are named


def total_variation(apart: float) -> float:
    """Total variation distance of two normal distributions whose means are so many sd apart."""
    return math.erf(abs(apart) / math.sqrt(8.0))


def class_description(profiles: Profiles, k: int) -> str:
    """Describe a class by the answers and numbers in which it differs most from the population.

    An answer differs by its probability, a number by the total variation distance of two normal
    distributions with these means.
    """
    differences = list[tuple[float, str]]()
    for a in profiles.answers:
        more = a.given[k] - a.overall
        best = int(more.argmax())
        words = f"{a.name} = {a.states[best]} ({100 * a.given[k, best]:.0f} %)"
        differences.append((float(more[best]), words))
    for n in profiles.numbers:
        apart = float(n.standing[k])
        side = "high" if apart > 0 else "low"
        mean = measured(float(n.mean[k]))
        words = f"{n.name} {side} ({n.titles[0]} {mean})"
        differences.append((total_variation(apart), words))
    telling = sorted(differences, key=lambda each: -each[0])[:TELLING]
    named = [words for difference, words in telling if difference >= LEAST_TELLING]
    return ", ".join(named) if named else "much like everyone"


def sizes_of(model: Model, h: int) -> FloatArray:
    """Compute the probabilities (K,) of the states of a hidden variable."""
    root = not model.network.parents[h]
    return model.network.layout.table(model.theta, h) if root else marginal(model, (h,))


def _profiled(network: Network, h: int) -> list[int]:
    """Select the observed variables; if too many, those in a table with the hidden variable."""
    observed = [i for i in network.shown if not network.variables[i].hidden]
    if is_latent_class(network) or len(observed) <= MOST_INFERENCES:
        return observed
    near = {v for family in network.layout.families if h in family for v in family}
    return [i for i in observed if i in near]


def _answers(model: Model, h: int, i: int) -> Answers:
    network, layout = model.network, model.network.layout
    if network.parents[i] == (h,) and not network.parents[h]:
        sizes, given = layout.table(model.theta, h), layout.table(model.theta, i)
        joint = sizes[:, None] * given
    else:
        joint = marginal(model, (h, i))
        sizes, given = joint.sum(axis=1), _given(joint)
    overall = joint.sum(axis=0)
    information = float(rel_entr(joint, np.outer(sizes, overall)).sum())
    variable = network.variables[i]
    return Answers(variable.heading, variable.labels, given, overall, max(information, 0.0))


SIZE = "class size"
WITHOUT = "–: no standard error: at 0 or 1, or not determined by the data."


class ItemLine(NamedTuple):
    """A row of the table: an answer to an item, or a summary of a number, in each class."""

    item: str
    answer: str  # state, or summary: mean, sd
    estimate: FloatArray  # (K,)
    stderr: FloatArray  # (K,) NaN if undefined
    share: bool  # whether it is a probability


def _cells(line: ItemLine) -> Iterator[Shown]:
    """Format each estimate, followed by its standard error."""
    write = probability if line.share else measured
    for estimate, stderr in zip(line.estimate.tolist(), line.stderr.tolist(), strict=True):
        if stderr == 0.0:  # a known value
            yield write(estimate)
        else:
            # As many decimals as the estimate.
            error = number(stderr) if math.isnan(stderr) else write(stderr)
            yield Shown(f"{write(estimate)} ({error})", estimate)


@dataclass(frozen=True, eq=False, repr=False)
class ItemTable(Printable):
    """Class sizes, then every item in every class, with standard errors."""

    intervals: Intervals
    classes: tuple[str, ...]  # K headings
    lines: tuple[ItemLine, ...]

    def tidy(self) -> Columns:
        """Return a row for each line of the table, with estimate and error of each class."""
        columns: dict[str, Sequence[object]] = {
            "item": [line.item for line in self.lines],
            "answer": [line.answer for line in self.lines],
        }
        for c, name in enumerate(self.classes):
            columns[name] = [float(line.estimate[c]) for line in self.lines]
            columns[f"{name} s.e."] = [float(line.stderr[c]) for line in self.lines]
        return columns

    def to_csv(self) -> str:
        """Write the table as CSV, with separate columns for standard errors."""
        columns = self.tidy()
        return csv_table(tuple(columns), zip(*columns.values(), strict=True))

    def grids(self) -> Sequence[Grid]:
        """Return the printed tables."""
        rows = tuple((line.item, line.answer, *_cells(line)) for line in self.lines)
        notes = ["In parentheses: standard errors.", self.intervals.method]
        if any(np.isnan(line.stderr).any() for line in self.lines):
            notes.append(WITHOUT)
        notes += [f"- {flag}" for flag in self.intervals.flags]
        header = ("item", "answer", *self.classes)
        return [Grid("Items by class", header, rows, frozenset({0, 1}), tuple(notes))]


def check_items(network: Network) -> LatentClasses:
    """Refuse a network without a table of items by classes."""
    classes = find_classes(network)
    if classes is None:
        raise ModelError(
            "only latent class models whose items depend on the class alone have a table of items "
            "by classes. For other models, --intervals prints every parameter."
        )
    return classes


def item_table(intervals: Intervals) -> ItemTable:
    """Build the table of a latent class model from its intervals."""
    classes = check_items(intervals.model.network)
    heads = tuple(f"{classes.variable.name} {label}" for label in classes.variable.labels)
    return ItemTable(intervals, heads, tuple(_lines(intervals, classes)))


def _lines(intervals: Intervals, classes: LatentClasses) -> Iterator[ItemLine]:
    network = intervals.model.network
    sizes = intervals.table(classes.variable.name)
    yield ItemLine(SIZE, "", sizes.estimate, sizes.stderr, share=True)
    for v in (network.variables[i] for i in network.shown if i in classes.leaves):
        if v.family.tabular:
            table = intervals.table(v.name)
            for k in shown_states(v):
                estimate, stderr = table.estimate[:, k], table.stderr[:, k]
                yield ItemLine(v.heading, v.labels[k], estimate, stderr, share=True)
        else:
            for title, summary in intervals.summaries(v.name).items():
                yield ItemLine(v.heading, title, summary.estimate, summary.stderr, share=False)
