"""What clusters of rows have of measurements that depend on one hidden variable alone."""

from dataclasses import dataclass
from typing import Self, TypeVar

import numpy as np
from scipy.special import gammaln

from lacunet.inference.kernels.merging import MeasuredClusters
from lacunet.inference.problem import Problem
from lacunet.models import conjugacy
from lacunet.models.joint import table_of
from lacunet.runtime.arrays import BoolArray, FloatArray, IndexArray, IntArray

Numbers = TypeVar("Numbers", FloatArray, IndexArray)


@dataclass(frozen=True, eq=False)
class NumbersAround:
    """Measurements of m rows, D columns."""

    x: FloatArray  # (m, D) as families see them; NaN where one is missing
    prior: FloatArray  # (D, 4) hyperparameters of a normal distribution of each, by itself

    @classmethod
    def of(cls, problem: Problem, codes: IntArray, h: int) -> Self:
        """Those whose only parent is h, of rows of codes, (m, variables)."""
        network = problem.network
        alpha = conjugacy.by_configuration(problem.alpha, problem.layout)
        columns, priors = [], []
        for i, v in enumerate(network.variables):
            if network.parents[i] != (h,):
                continue
            # States of h may have priors of their own; which of them a cluster becomes is open.
            prior = v.family.measured(table_of(network, alpha, i).mean(axis=0))
            if prior is not None:
                columns.append(np.where(codes[:, i] >= 0, v.values_of(codes[:, i]), np.nan))
                priors.append(prior)
        x = np.array(columns).reshape(len(columns), len(codes)).T
        return cls(x, np.array(priors).reshape(len(priors), 4))

    def beside(self, seen: BoolArray) -> BoolArray | FloatArray:
        """What tells rows apart: what is seen of them elsewhere, (m, P), and their numbers."""
        if not self.x.shape[1]:
            return seen
        return np.column_stack([seen, np.nan_to_num(self.x), np.isnan(self.x)])

    def clusters(self, cases: IndexArray, cluster: IntArray) -> MeasuredClusters:
        """What clusters have of them; each row stands for so many cases of one of them, (m,)."""
        told = ~np.isnan(self.x)
        x, n = np.where(told, self.x, 0.0), np.where(told, cases[:, None], 0)
        first, kappa, second, degrees = self.prior.T
        shape = (degrees - 1.0) / 2.0
        often = np.arange(int(cases.sum()) + 1.0)
        table = gammaln(shape[:, None] + often / 2.0) - 0.5 * np.log(kappa[:, None] + often)
        prior = np.stack([first, kappa, second, shape], axis=1)
        sums, squares = added_up(n * x, cluster), added_up(n * x * x, cluster)
        return MeasuredClusters(added_up(n, cluster).astype(np.int32), sums, squares, prior, table)


def added_up(x: Numbers, cluster: IntArray) -> Numbers:
    """Add up what rows have, (m, …), in each cluster; none is empty."""
    order = np.argsort(cluster, kind="stable")
    first = np.searchsorted(cluster[order], np.arange(cluster[order[-1]] + 1))
    return np.add.reduceat(x[order], first, axis=0)
