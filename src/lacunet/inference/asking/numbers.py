"""What a model expects of numbers that a row does not show: mean and spread.

A number has no children, so all that a row says of it is said of its parents: it is a mixture over
their joint states, of what its family predicts in each.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lacunet.inference.asking.blocks import block_moments
from lacunet.inference.asking.ensemble import shares
from lacunet.inference.asking.query import posterior
from lacunet.likelihoods.unit import Unit
from lacunet.model.ensemble import Ensemble
from lacunet.model.network import Model, Variable
from lacunet.runtime.arrays import CodeArray, FloatArray

OF_LOGARITHM = ("geometric mean", "factor")  # what mean and spread of one are called


class Expected(NamedTuple):
    """A number in each row, in the unit of its family, (rows,) each; NaN if a row is impossible."""

    mean: FloatArray
    variance: FloatArray


class InUnits(NamedTuple):
    """The same in the unit of the data, (rows,) each."""

    best: FloatArray  # what to fill in: the mean; of whole numbers, the nearest one
    mean: FloatArray  # of logarithms the geometric mean: the mean need not exist
    spread: FloatArray  # standard deviation; of logarithms, the factor that is one of them
    titles: tuple[str, str]  # what mean and spread are called


def in_units(variable: Variable, expected: Expected, codes: CodeArray) -> InUnits:
    """Give a number as the data have it: what is expected, or what rows show (codes ≥ 0)."""
    unit, seen = variable.unit or Unit(), codes >= 0
    own = np.array(variable.states, dtype=np.float64)[codes]
    mean = np.where(seen, own, unit.values(expected.mean))
    spread = np.where(seen, 0.0, unit.size * np.sqrt(expected.variance))
    best = np.rint(mean) if variable.family.whole else mean
    if unit.log:
        return InUnits(best, mean, np.exp(spread), OF_LOGARITHM)
    return InUnits(best, mean, spread, ("mean", "sd"))


def expected_numbers(
    speaker: Model | Ensemble, codes: CodeArray, variables: Sequence[int]
) -> list[Expected]:
    """Give what is expected of numbers in each row that does not show them.

    `codes` are (rows, observed variables), −1 = missing. An ensemble is asked about its columns.
    """
    if isinstance(speaker, Model):
        return _by_model(speaker, codes, variables)
    each = []
    for member in speaker.members:
        observed = member.model.network.observed
        each.append(_by_model(member.model, codes, [observed[v] for v in variables]))
    share = shares(speaker, codes).T
    return [
        mixture(share, *(np.nan_to_num(np.stack(x, axis=1)) for x in zip(*own, strict=True)))
        for own in zip(*each, strict=True)
    ]


def _by_model(model: Model, codes: CodeArray, variables: Sequence[int]) -> list[Expected]:
    parents = model.network.parents
    groups = list(dict.fromkeys(parents[v] for v in variables))
    known = dict(zip(groups, posterior(model, codes, groups), strict=True))
    found = []
    for v in variables:
        p = known[parents[v]].reshape(len(codes), -1)
        if model.network.variables[v].family.stands_at is not None:
            found.append(mixture(p, *block_moments(model, codes, v)))
        else:
            found.append(mixture(p, *(x.reshape(-1) for x in model.moments(v))))
    return found


def mixture(p: FloatArray, mean: FloatArray, variance: FloatArray) -> Expected:
    """Mean and variance of a mixture: weights (rows, k), of components (k,) each or (rows, k)."""
    middle = np.sum(p * mean, axis=1)
    spread = np.sum(p * (variance + (mean - middle[:, None]) ** 2), axis=1)
    possible = p.sum(axis=1) > 0
    return Expected(np.where(possible, middle, np.nan), np.where(possible, spread, np.nan))
