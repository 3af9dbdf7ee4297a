"""Which order of the classes parameters are nearest to: K! parts of the space, of equal mass."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.optimize import linear_sum_assignment

from lacunet.fitting.regression.fit import ClassFit
from lacunet.inference.regression.classes import ClassProblem
from lacunet.models.latent_class import classes_of
from lacunet.runtime.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class OwnOrder:
    """Tells whether classes stand as they do at a fit.

    Any measure of how unlike two classes are would do: parameters whose best order is σ are those
    whose best order is the fit's own, relabelled.
    """

    given: ClassProblem
    profiles: FloatArray  # (K, numbers) of the classes at the fit

    @classmethod
    def at(cls, fit: ClassFit) -> Self:
        """Take the classes of a fit."""
        return cls(fit.given, _profiles(fit.given, fit.point.theta))

    def __call__(self, theta: FloatArray) -> bool:
        """Whether the order that fits best is the fit's own."""
        own = _profiles(self.given, theta)
        apart = ((own[:, None, :] - self.profiles[None, :, :]) ** 2).sum(axis=2)
        _, order = linear_sum_assignment(apart)
        return bool((order == np.arange(len(order))).all())


def _profiles(given: ClassProblem, theta: FloatArray) -> FloatArray:
    """What tells classes apart: parameters of items, on a scale of roots."""
    tables = [
        given.layout.table(theta, i).reshape(given.states, -1)
        for i in classes_of(given.plain.network).leaves
    ]
    every = np.hstack(tables)
    return np.asarray(np.sign(every) * np.sqrt(np.abs(every)))
