"""What a model says of every row by itself: its log-likelihood, and its own expected counts."""

import numpy as np

from lacunet.arrays import CodeArray, FloatArray
from lacunet.inference.plans.builder import Builder
from lacunet.model.cells import Cells
from lacunet.model.network import Network


class ByRow:
    """Rows taken apart, each component with the rows that have it."""

    def __init__(self, network: Network, codes: CodeArray, cells: Cells | None = None) -> None:
        """Take (rows, observed variables), −1 = missing; without cells every value has its own."""
        self.builder = Builder(network, codes, np.ones(len(codes)), cells=cells, keep_rows=True)
        self.plans = self.builder.build().plans
        self.rows = len(codes)

    def log_lik(self, cells: FloatArray) -> FloatArray:
        """Log p(row), (rows,), given log weights of cells; −inf where a row is impossible."""
        return self.posterior(cells, 0, 0)[0]

    def posterior(self, cells: FloatArray, first: int, last: int) -> tuple[FloatArray, FloatArray]:
        """Log p(row), (rows,), and E[N | row] at positions first to last, (rows, last − first).

        Nothing is expected of a row that is impossible, whichever part of it is.
        """
        total, N = np.zeros(self.rows), np.zeros((self.rows, last - first))
        for collector in self.builder.collectors:
            rows, positions, worth = self.builder.seen_whole(collector)
            np.add.at(total, rows, worth * cells[positions])
            inside = (first <= positions) & (positions < last)
            np.add.at(N, (rows[inside], positions[inside] - first), worth[inside])
        for plan in self.plans:
            assert plan.rows is not None
            log_z, own = plan.posterior(cells, first, last)
            np.add.at(total, plan.rows.rows, log_z[plan.rows.component])
            np.add.at(N, plan.rows.rows, own[plan.rows.component])
        N[total == -np.inf] = 0.0
        return total, N
