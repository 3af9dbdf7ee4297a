"""Rows taken apart once, that may then count as much or as little as one likes."""

import numpy as np

from lacunet.inference.plans.builder import Builder
from lacunet.inference.plans.compact import compact_cells
from lacunet.inference.plans.merging import totals
from lacunet.inference.plans.plan import Components
from lacunet.inference.problem import Problem
from lacunet.model.network import Network
from lacunet.runtime.arrays import CodeArray, FloatArray


class Weighable:
    """Makes problems that differ in the weights of their rows; a problem is built in no time."""

    def __init__(self, network: Network, codes: CodeArray) -> None:
        """Take (rows, observed variables), −1 = missing."""
        self.cells = compact_cells(network)
        builder = Builder(network, codes, np.ones(len(codes)), cells=self.cells, keep_rows=True)
        self.network, self.codes, self.plans = network, codes, builder.build().plans
        self.seen = [builder.seen_whole(c) for c in builder.collectors]

    def __call__(self, weights: FloatArray, alpha: FloatArray) -> Problem:
        """Let each row weigh so much, (rows,)."""
        seen = np.zeros(self.cells.layout.size)
        for rows, positions, worth in self.seen:
            seen += totals(positions, weights[rows] * worth, len(seen))
        plans = []
        for plan in self.plans:
            assert plan.rows is not None
            counts = totals(plan.rows.component, weights[plan.rows.rows], len(plan.counts))
            plans.append(plan.weighted(counts))
        used = np.flatnonzero(weights)
        components = Components(seen, tuple(plans), self.cells)
        return Problem(self.network, alpha, self.codes[used], weights[used], components)
