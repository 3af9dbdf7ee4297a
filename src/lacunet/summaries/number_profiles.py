"""How the states of a hidden variable differ in a number that can be seen: means and densities."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import rel_entr

from lacunet.inference.queries.answers import OF_LOGARITHM, in_units, mixture
from lacunet.inference.queries.query import blocks_of, marginal, spread_of
from lacunet.likelihoods import Likelihood, Segment
from lacunet.likelihoods.unit import Unit
from lacunet.models.joint import table_of
from lacunet.models.network import Model
from lacunet.runtime.arrays import FloatArray

REACH = 4.0  # standard deviations around a mean that a curve shows
POINTS = 41  # of a curve, for each configuration of the parents
MOST = 400  # whole numbers that a curve shows one by one
AROUND = 121  # points of a ring, both ends included
MANY = 24  # configurations that say where a curve is looked at; of more, the most probable


@dataclass(frozen=True, eq=False)
class NumberProfile:
    """One number that can be seen, in each of K states of a hidden variable, and in all."""

    name: str
    titles: tuple[str, str]  # what mean and spread are called
    mean: FloatArray  # (K + 1,) in the unit of the data; everybody last
    spread: FloatArray  # (K + 1,) standard deviation, or the factor that is one of a logarithm
    places: FloatArray  # (m,) where the curves are known, in order, as the family sees numbers
    values: FloatArray  # (m,) the same in the unit of the data
    density: FloatArray  # (K + 1, m) of the number at these places; of whole ones, probability
    whole: bool  # whether it is a count or an ordered answer
    information: float  # mutual information with the hidden variable, nats

    @property
    def of_logarithm(self) -> bool:
        """Whether mean and spread are those of a logarithm, brought back."""
        return self.titles == OF_LOGARITHM

    def taken(self, x: ArrayLike) -> FloatArray:
        """Numbers of the data, or their logarithms: what is even along the axis of a chart."""
        values = np.asarray(x, dtype=np.float64)
        return np.log(values) if self.of_logarithm else values

    def as_places(self, values: ArrayLike) -> FloatArray:
        """Where numbers of the data are, as the family sees them."""
        return np.interp(self.taken(values), self.taken(self.values), self.places)

    def as_values(self, places: ArrayLike) -> FloatArray:
        """The numbers of the data that the family sees so."""
        there = np.asarray(places, dtype=np.float64)
        found = np.interp(there, self.places, self.taken(self.values))
        return np.exp(found) if self.of_logarithm else found

    @property
    def deviations(self) -> FloatArray:
        """(K + 1,) standard deviations as the family sees numbers."""
        step = float(np.ptp(self.places) / np.ptp(self.taken(self.values)))
        return step * self.taken(self.spread)

    @property
    def standing(self) -> FloatArray:
        """(K + 1,) how far each mean is above that of everybody, in their standard deviations."""
        mean, spread = self.taken(self.mean), self.taken(self.spread)
        return np.asarray((mean - mean[-1]) / (spread[-1] if spread[-1] > 0 else 1.0))


def number_profile(model: Model, h: int, i: int, sizes: FloatArray) -> NumberProfile:
    """Give the profile of number `i`, where the states of hidden variable `h` have these sizes."""
    v = model.network.variables[i]
    given = _configurations(model, h, i, sizes)
    weights = np.vstack([given, sizes @ given])  # (K + 1, q)
    mean, variance = (x.reshape(-1) for x in model.moments(i))
    told = in_units(v, mixture(weights, mean, variance), np.full(len(weights), -1))
    places = _places(v.family, mean, variance, weights[-1])
    family, theta = v.family.alone(table_of(model.network, model.theta, i))
    at = Segment.of_table(family, len(mean), theta.shape[-1])
    natural = family.natural(theta.reshape(-1), at).reshape(len(mean), -1)
    seen = places.tolist()
    log_p = natural @ family.statistics(seen).T + family.log_base(seen)
    density = weights @ np.exp(log_p)
    return NumberProfile(
        v.heading,
        told.titles,
        told.mean,
        told.spread,
        places,
        (v.unit or Unit()).values(places),
        density,
        v.family.whole,
        _information(places, density, sizes, whole=v.family.whole),
    )


def pair_rings(model: Model, one: NumberProfile, other: NumberProfile) -> FloatArray:
    """(K, 2, 121) points one standard deviation around the mean of two numbers, in each class.

    As steps from the mean, as the families see numbers; of a block they lean.
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


def _configurations(model: Model, h: int, i: int, sizes: FloatArray) -> FloatArray:
    """p(configuration of the parents | state of the hidden variable), (K, q)."""
    parents, states = model.network.parents[i], len(sizes)
    others = tuple(p for p in parents if p != h)
    joint = marginal(model, (h, *others)) if others else sizes
    members = np.where(sizes > 0, sizes, 1.0).reshape(-1, *[1] * len(others))
    # A state that nobody is in tells nothing: it is as everybody is.
    given = np.where(sizes.reshape(members.shape) > 0, joint / members, joint.sum(axis=0))
    if h not in parents:
        return given.reshape(states, -1)
    own = np.zeros((states, *given.shape))
    own[np.arange(states), np.arange(states)] = given
    return np.moveaxis(own, 1, 1 + parents.index(h)).reshape(states, -1)


def _places(
    family: Likelihood, mean: FloatArray, variance: FloatArray, weight: FloatArray
) -> FloatArray:
    """Where to look at densities: close enough together for the narrowest of them."""
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
    """Mutual information of a number and the hidden state, by a sum over its places."""
    gains = sizes @ rel_entr(density[:-1], density[-1])
    total = gains.sum() if whole else np.trapezoid(gains, places)
    return max(float(total), 0.0)
