"""What a model says of every row by itself: its log-likelihood, and its own expected counts."""

from functools import cached_property

import numpy as np

from lacunet.inference.plans.builder import Builder, Collector
from lacunet.model.cells import Cells
from lacunet.model.network import Network
from lacunet.runtime.arrays import CodeArray, FloatArray


class ByRow:
    """Rows taken apart, each component with the rows that have it."""

    def __init__(self, network: Network, codes: CodeArray, cells: Cells | None = None) -> None:
        """Take (rows, observed variables), −1 = missing; without cells every value has its own."""
        self.builder = Builder(network, codes, np.ones(len(codes)), cells=cells, keep_rows=True)
        self.plans = self.builder.build().plans
        self.rows = len(codes)

    @cached_property
    def seen(self) -> list[Collector]:
        """Those that some rows show whole."""
        builder = self.builder
        return [c for c in builder.collectors if len(builder.seen_whole(c).rows)]

    @cached_property
    def once(self) -> list[bool]:
        """Of each plan, whether no row has two of its components."""
        held = [plan.rows.rows for plan in self.plans if plan.rows is not None]
        return [len(np.unique(rows)) == len(rows) for rows in held]

    def log_lik(self, cells: FloatArray) -> FloatArray:
        """Log p(row), (rows,), given log weights of cells; −inf where a row is impossible."""
        return self.posterior(cells, 0, 0)[0]

    def posterior(self, cells: FloatArray, first: int, last: int) -> tuple[FloatArray, FloatArray]:
        """Log p(row), (rows,), and E[N | row] at positions first to last, (rows, last − first).

        Nothing is expected of a row that is impossible, whichever part of it is.
        """
        total, N = np.zeros(self.rows), np.zeros((self.rows, last - first))
        for collector in self.seen:
            rows, positions, worth = self.builder.seen_whole(collector)
            np.add.at(total, rows, worth * cells[positions])
            inside = (first <= positions) & (positions < last)
            np.add.at(N, (rows[inside], positions[inside] - first), worth[inside])
        for plan, once in zip(self.plans, self.once, strict=True):
            assert plan.rows is not None
            log_z, own = plan.posterior(cells, first, last)
            rows, component = plan.rows.rows, plan.rows.component
            if once:
                total[rows] += log_z[component]
                N[rows] += own[component]
            else:
                np.add.at(total, rows, log_z[component])
                np.add.at(N, rows, own[component])
        N[total == -np.inf] = 0.0
        return total, N
