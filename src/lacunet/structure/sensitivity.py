"""How a graph depends on the prior: the same search with other exponents."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from lacunet.data.table import Table
from lacunet.flags import Flag, Kind
from lacunet.models.network import Model
from lacunet.models.prior import scale_alpha
from lacunet.runtime.arrays import BoolArray
from lacunet.structure.complete import is_exact, search_complete
from lacunet.structure.completing import Completer
from lacunet.structure.graph_prior import AVERAGED, GraphPrior
from lacunet.structure.task import GraphTask

FACTORS = (0.5, 2.0)
MOST_NAMED = 3  # edges that a sentence names
TOO_MANY = 1.5  # times the edges under the default prior, and
MORE = 5  # so many more, at least


@dataclass(frozen=True)
class Sensitivity:
    """Edges that depend on the prior: joined under one, not under another."""

    alphas: tuple[float | str, ...]  # half and twice the exponents, or the size
    differ: tuple[tuple[tuple[str, str], ...], ...]  # under each, the edges gained or lost
    completed: bool  # whether rows were completed first
    usual: int | None = None  # edges under the default prior, if this is another

    def __str__(self) -> str:
        rows = " on completed rows" if self.completed else ""
        which = dict.fromkeys(edge for edges in self.differ for edge in edges)
        named = ", ".join(f"{u} – {v}" for u, v in [*which][:MOST_NAMED])
        more = ", …" if len(which) > MOST_NAMED else ""
        numbers = " and ".join(str(len(edges)) for edges in self.differ)
        changed = f"{numbers} edges differ ({named}{more})" if which else "no edge differs"
        return f"With half and twice the prior's exponents{rows}: {changed}."

    def flags(self, edges: int) -> tuple[Flag, ...]:
        """Say so where there are far more edges than under the default prior."""
        if self.usual is None or edges < max(TOO_MANY * self.usual, self.usual + MORE):
            return ()
        return (Flag(Kind.MANY_EDGES, detail={"edges": edges, "usual": self.usual}),)


def sensitivity(task: GraphTask, parents: BoolArray, model: Model) -> Sensitivity:
    """Search again from a graph with half and twice the exponents.

    Where cells are missing, rows are completed once from the model, and the graph is searched under
    its own prior too, so that only the prior makes a difference.
    """
    table = task.table
    if not task.complete:
        table = Completer(table, np.random.default_rng([task.how.seed, 3]))(model)
    here = parents if task.complete else _again(task, table, parents, task.alpha)
    alphas = tuple(scale_alpha(task.alpha, factor) for factor in FACTORS)
    others = [_again(task, table, parents, alpha) for alpha in alphas]
    names = [column.name for column in table.columns]
    differ = tuple(
        tuple((names[u], names[v]) for v, u in np.argwhere(_joined(here) ^ _joined(other)))
        for other in others
    )
    return Sensitivity(alphas, differ, not task.complete, _usual_edges(task, table))


def _again(task: GraphTask, table: Table, start: BoolArray, alpha: float | str) -> BoolArray:
    """Climb from a graph on rows without missing cells, or find the best where that is quick."""
    sweeps = task.how.sweeps if is_exact(task) else 0
    how = replace(task.how, sweeps=sweeps, restarts=0)
    return search_complete(replace(task, table=table, alpha=alpha, how=how), [start]).parents


def _joined(parents: BoolArray) -> BoolArray:
    pairs: BoolArray = np.tril(parents | parents.T)
    return pairs


def _usual_edges(task: GraphTask, table: Table) -> int | None:
    """Count the edges under the default prior; None where it is the prior."""
    if task.alpha == AVERAGED and task.how.prior is GraphPrior.FAIR:
        return None
    usual = replace(task, how=replace(task.how, prior=GraphPrior.FAIR))
    return int(_again(usual, table, task.start, AVERAGED).sum())
