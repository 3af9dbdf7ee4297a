"""Graphs with hidden variables in a journal: a search that was stopped has them again.

Their expected counts are kept, not only their edges: how a hidden variable's states differ is known
from there alone, and a fit from anywhere else may end elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from lacunet.fitting.variational import Variational
from lacunet.structure.hidden.fitting import Fitted, problem_of
from lacunet.structure.hidden.number_groups import numbers_of
from lacunet.structure.hidden.sketch import Sketch
from lacunet.structure.journal import FORGETFUL, Journal, edges_of_graph, graph_of_edges
from lacunet.structure.task import GraphTask


@dataclass(frozen=True, eq=False)
class Keeping:
    """A journal, and the chance that every piece of work draws from, one after the other."""

    task: GraphTask
    rng: np.random.Generator
    journal: Journal = FORGETFUL

    @cached_property
    def columns(self) -> Sketch:
        """The columns, without edges."""
        n, task = len(self.task.variables), self.task
        numbers = numbers_of(task.table, task.variables)
        return Sketch(task.table.columns, (), np.zeros((n, n), dtype=bool), task.known, numbers)

    def once(self, piece: str, work: Callable[[], Sequence[Fitted]]) -> Sequence[Fitted]:
        """Do a piece of work, or take what it led to when it was done before."""
        if stand := self.journal.get(piece):
            self.rng.bit_generator.state = stand["rng"]
            return [self._read(graph) for graph in stand["graphs"]]
        found = work()
        state = self.rng.bit_generator.state
        self.journal.put(piece, rng=state, graphs=[_written(one) for one in found])
        return found

    def _read(self, graph: dict[str, Any]) -> Fitted:
        sizes = tuple(graph["sizes"])
        parents = graph_of_edges(graph["edges"], self.columns.n + len(sizes))
        sketch = replace(self.columns, sizes=sizes, parents=parents)
        problem = problem_of(self.task.table, self.task.alpha, sketch)
        return Fitted(sketch, Variational(problem, np.array(graph["counts"]), graph["bound"]))


def _written(found: Fitted) -> dict[str, Any]:
    return {
        "sizes": found.sketch.sizes,
        "edges": edges_of_graph(found.sketch.parents),
        "counts": found.posterior.N.tolist(),
        "bound": found.posterior.bound,
    }
