"""Statistics of partitions, in the layouts of models that have as many classes."""

import numpy as np

from lacunet.evidence.partitions.cases import told_rows
from lacunet.inference.classes import with_classes
from lacunet.inference.problem import Problem
from lacunet.models.latent_class import classes_of
from lacunet.runtime.arrays import FloatArray, IntArray


class Tally:
    """What each row adds to its class, and where the statistics of classes stand."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        network, (codes, _) = problem.network, told_rows(problem)
        leaves = [network.variables[i] for i in classes_of(network).leaves]
        told = [np.ones((len(codes), 1))]  # a case of its class
        for n, leaf in enumerate(leaves):
            own = np.zeros((len(codes), leaf.family.width(leaf.states)))
            shown = np.flatnonzero(codes[:, n] >= 0)
            if leaf.family.tabular:
                own[shown, codes[shown, n]] = 1.0
            else:
                own[shown] = leaf.statistics_of(codes[shown, n])
            told.append(own)
        self.told = np.hstack(told)  # (rows, width)
        self._places: dict[int, IntArray] = {}

    def of(self, row: IntArray, block: IntArray) -> FloatArray:
        """Statistics, (size,), of cases with these rows in these blocks, 0, 1, … without gaps."""
        used, rows = int(block.max()) + 1, len(self.told)
        cases = np.bincount(block * rows + row, minlength=used * rows).reshape(used, rows)
        N = np.empty(self.places(used).size)
        N[self.places(used)] = cases.astype(np.float64) @ self.told
        return N

    def places(self, used: int) -> IntArray:
        """Where each class has its statistics, (used, width)."""
        if used not in self._places:
            layout = with_classes(self.problem, used).layout
            classes, positions = classes_of(self.problem.network), np.arange(layout.size)
            tables = [layout.table(positions, i) for i in (classes.root, *classes.leaves)]
            self._places[used] = np.hstack([table.reshape(used, -1) for table in tables])
        return self._places[used]
