"""The graph with the largest exact evidence of complete data."""

import math

import numpy as np

from lacunet.data.table import Table
from lacunet.executor import SERIAL, Executor
from lacunet.graphs.exact import check_size, search_exactly
from lacunet.graphs.families import CompleteCounts, FamilyScores
from lacunet.graphs.knowledge import Knowledge
from lacunet.graphs.learned import Learned
from lacunet.graphs.searching import GraphSearch, search
from lacunet.model.network import Network, Variable, check_table_sizes

FEW = 6_000  # families: a search scores as many, so that the best of all graphs costs no more
NOTHING = Knowledge()
DEFAULT = GraphSearch()


def learn_structure(
    table: Table,
    alpha: float | str,
    how: GraphSearch = DEFAULT,
    knowledge: Knowledge = NOTHING,
    executor: Executor = SERIAL,
) -> Learned:
    """Search for the graph with the largest exact evidence that keeps to what is known."""
    names = [column.name for column in table.columns]
    limits, start = knowledge.limits(names), knowledge.first_graph(names)
    cards = [len(column.states) for column in table.columns]
    check_table_sizes(names, cards, [np.flatnonzero(pa).tolist() for pa in start])
    if how.exact:
        check_size(len(names))
    exact = how.exact or (how.sweeps > 0 and len(names) << (len(names) - 1) <= FEW)
    counts = CompleteCounts(table, alpha)
    if exact:
        found = search_exactly(counts, limits, executor)
    else:
        found = search(start, FamilyScores(counts), limits, how, executor)
    parents = [np.flatnonzero(pa).tolist() for pa in found.parents]
    network = Network.build([Variable(c.name, c.states) for c in table.columns], parents)
    families = tuple(found.families.tolist())
    told = (found.steps, found.scored, exact)
    return Learned(network, alpha, math.fsum(families), families, *told)
