"""Writing out cases of latent classes with numbers that vary together.

Given a particle, a case shows some numbers of a block: in each class they have a joint Student t
distribution. Once a class is drawn, the others are drawn given those that are shown, and the block
has one more case, whole. So every particle holds statistics of whole rows, whatever is missing.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from lacunet.inference.plans.plan import Plan
from lacunet.inference.problem import Problem
from lacunet.inference.sampling.written_cases import Urn, Written, WrittenCases
from lacunet.likelihoods import Likelihood, Segment
from lacunet.likelihoods.joint_normal import BlockSpread, joint_statistics
from lacunet.model.joint import members
from lacunet.model.latent_class import classes_of
from lacunet.model.network import Variable
from lacunet.runtime.arrays import CodeArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Leaf:
    """One or several numbers that have their parameters together, below the classes."""

    family: Likelihood
    variables: tuple[Variable, ...]  # (d,)
    columns: IntArray  # (d,) of the codes of a row
    places: IntArray  # (K, width) positions of each class

    def hyper(self, A: FloatArray) -> FloatArray:
        """Hyperparameters of each class by itself, (particles, K, width)."""
        own = A[:, self.places.reshape(-1)]
        if not self.family.apart:
            at = Segment.of_table(self.family, *self.places.shape)
            own = self.family.by_configuration(own, at)
        return own.reshape(len(A), *self.places.shape)


@dataclass(frozen=True, eq=False)
class Shown:
    """What a row shows of a leaf."""

    leaf: Leaf
    codes: CodeArray  # (d,)

    def log_predictive(self, A: FloatArray) -> FloatArray:
        """Log density of what is shown, (particles, K)."""
        leaf, hyper = self.leaf, self.leaf.hyper(A)
        if len(leaf.variables) == 1:
            return leaf.family.log_predictive(hyper, np.broadcast_to(self._one, hyper.shape))
        x, shown, _ = self._values()
        spread = BlockSpread.over(hyper.reshape(-1, hyper.shape[-1]), len(leaf.variables))
        return spread.log_density(x[None], shown).reshape(hyper.shape[:2])

    def added(self, A: FloatArray, drawn: IntArray, rng: Any) -> tuple[IntArray, FloatArray]:
        """Positions and statistics in the class that the case has in each particle."""
        leaf = self.leaf
        places = leaf.places[drawn]
        if len(leaf.variables) == 1:
            return places, np.broadcast_to(self._one, places.shape)
        x, shown, missing = self._values()
        whole = np.empty((len(A), len(leaf.variables)))
        whole[:, shown] = x
        if len(missing):
            own = leaf.hyper(A)[np.arange(len(A)), drawn]
            spread = BlockSpread.over(own, len(leaf.variables))
            whole[:, missing] = spread.draw_given(x, shown, missing, rng)
        return places, joint_statistics(whole)

    @property
    def _one(self) -> FloatArray:
        own: FloatArray = self.leaf.variables[0].statistics[self.codes[0]]
        return own

    def _values(self) -> tuple[FloatArray, IntArray, IntArray]:
        """Numbers that the row shows, which they are, and which others there are."""
        told = self.codes >= 0
        shown = np.flatnonzero(told)
        x = [float(self.leaf.variables[k].values_of(self.codes[k])) for k in shown]
        return np.array(x), shown, np.flatnonzero(~told)


def block_cases(problem: Problem) -> Iterator[WrittenCases]:
    """One for each plan of a latent class model; its cases are rows."""
    rows = _Rows.of(problem)
    for plan in problem.components.plans:
        yield WrittenCases(problem.layout, partial(_write, rows, plan))


def _write(rows: "_Rows", plan: Plan, case: int) -> Written:
    assert plan.rows is not None
    return rows.written(int(plan.rows.rows[case]))


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows of a latent class model, as particles take them in."""

    problem: Problem
    root: IntArray  # (K,) positions of the class sizes
    tables: tuple[tuple[int, IntArray], ...]  # the column of each category, and (K, states) places
    leaves: tuple[Leaf, ...]

    @classmethod
    def of(cls, problem: Problem) -> "_Rows":
        network, classes = problem.network, classes_of(problem.network)
        positions = np.arange(problem.layout.size)
        tables, leaves = [], []
        for i in classes.leaves:
            family, places = network.variables[i].family, problem.layout.table(positions, i)
            around = members(network, i)
            columns = np.array([network.observed.index(j) for j in around])
            if family.tabular:
                tables.append((int(columns[0]), places))
            elif around:
                variables = tuple(network.variables[j] for j in around)
                leaves.append(Leaf(family, variables, columns, places))
        root = problem.layout.table(positions, classes.root)
        return cls(problem, root, tuple(tables), tuple(leaves))

    def written(self, row: int) -> Written:
        """Write out one row, a joint state for each class."""
        codes = self.problem.codes[row]
        shown = [places[:, codes[j]] for j, places in self.tables if codes[j] >= 0]
        urn = Urn.of(self.problem.layout, np.stack([self.root, *shown], axis=1))
        numbers = [Shown(leaf, codes[leaf.columns]) for leaf in self.leaves]
        return Written(urn, [one for one in numbers if (one.codes >= 0).any()])
