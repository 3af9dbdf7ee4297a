"""Learn a graph from complete data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Unpack

from lacunet.api.inputs import as_table
from lacunet.api.options import GraphOptions, divide, with_options
from lacunet.data import Table
from lacunet.errors import OptionError
from lacunet.executor import Serial
from lacunet.inference.problem import build_problem
from lacunet.model.network import Model, Network
from lacunet.model.prior import Alpha, dirichlet
from lacunet.progress import Listener, ignore
from lacunet.search.greedy import GreedySearch, Learned
from lacunet.search.greedy import learn_structure as search_structure
from lacunet.settings import Settings

K2 = Settings(alpha="k2")  # as CH96 §5


@with_options
def learn_structure(
    data: object,
    *,
    max_parents: int | None = None,
    restarts: int = 0,
    tabu: int = 0,
    settings: Settings = K2,
    listener: Listener = ignore,
    **options: Unpack[GraphOptions],
) -> Learned:
    """Learn the graph over the columns of a complete table: greedy search for the largest BD.

    Parameters
    ----------
    **data
    max_parents
        Most parents of a variable (default: any number).
    restarts, tabu
        More climbs from the best graph, shaken; length of the tabu list.
    **options
    """
    settings, reading = divide(settings, options)
    alpha, search = settings.alpha, GreedySearch(max_parents, restarts, tabu, settings.seed)
    if isinstance(alpha, Mapping):
        raise OptionError("a prior for each family needs a graph. Give a number, k2 or bdeu:SIZE.")
    return search_structure(as_table(data, reading), alpha, search, Serial(listener))


def with_parameters(network: Network, table: Table, alpha: Alpha) -> Model:
    """Give a network without hidden variables its expected parameters, from complete data."""
    exponents = dirichlet(network, alpha)
    layout = network.layout
    N = build_problem(table, network, exponents).seen + exponents
    return Model(network, N / layout.spread(layout.sum_k(N)), exponents, N)
