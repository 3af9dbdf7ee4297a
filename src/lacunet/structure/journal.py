"""The checkpoint of a search for a graph, and graphs as lists of edges for JSON.

Every piece of a search (a climb with its perturbations, the rounds with missing values) has a name
and a random generator, so an interrupted search resumes with identical results.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lacunet.runtime.arrays import BoolArray
from lacunet.runtime.checkpoint import FORGETFUL
from lacunet.runtime.checkpoint import Kept as Journal

__all__ = ["FORGETFUL", "Journal", "edges_of_graph", "graph_of_edges"]


def edges_of_graph(parents: BoolArray) -> list[list[int]]:
    """List the edges of a graph as pairs (child, parent)."""
    return np.argwhere(parents).tolist()


def graph_of_edges(edges: Sequence[Sequence[int]], n: int) -> BoolArray:
    """Make the graph over n variables with these pairs (child, parent)."""
    parents = np.zeros((n, n), dtype=np.bool_)
    for child, parent in edges:
        parents[child, parent] = True
    return parents
