"""Learn a graph from complete data."""

from __future__ import annotations

from typing import Any

from lacunet.api.inputs import (
    as_table,
)
from lacunet.data import Table
from lacunet.executor import Serial
from lacunet.inference.problem import build_problem
from lacunet.model.network import Model, Network
from lacunet.model.prior import Alpha, dirichlet
from lacunet.progress import Listener, ignore
from lacunet.search.greedy import Learned, Settings
from lacunet.search.greedy import learn_structure as search_structure


def learn_structure(
    data: object,
    *,
    alpha: float | str = "k2",
    max_parents: int | None = None,
    restarts: int = 0,
    tabu: int = 0,
    seed: int = 0,
    listener: Listener = ignore,
    **reading: Any,
) -> Learned:
    """Learn the graph over the columns of a complete table: greedy search for the largest BD.

    Parameters
    ----------
    data
        A table, or anything that `read_table` reads.
    alpha
        Prior: a Dirichlet exponent, 'k2' (uniform, as in the paper) or 'bdeu:SIZE'.
    max_parents
        Most parents of a variable (default: any number).
    restarts, tabu
        More climbs from the best graph, shaken; length of the tabu list.
    seed
        For ties and restarts.
    listener
        Gets progress events.
    **reading
        `missing`, `weights`, `columns`, `exclude`, as for `read_table`.
    """
    settings = Settings(max_parents, restarts, tabu, seed)
    return search_structure(as_table(data, **reading), alpha, settings, Serial(listener))


def with_parameters(network: Network, table: Table, alpha: Alpha) -> Model:
    """Give a network without hidden variables its expected parameters, from complete data."""
    exponents = dirichlet(network, alpha)
    layout = network.layout
    N = build_problem(table, network, exponents).components.seen + exponents
    return Model(network, N / layout.spread(layout.sum_k(N)), exponents)
