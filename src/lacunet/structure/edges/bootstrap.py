"""Shares of resamples whose learned graph has an edge: how stable the search's answer is."""

from functools import partial

import numpy as np

from lacunet.data.table import Table
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.structure.edges.certainty import EdgeCertainty, EdgesBy
from lacunet.structure.knowledge import Knowledge
from lacunet.structure.learning import find_graph
from lacunet.structure.searching import GraphSearch
from lacunet.structure.task import graph_task
from lacunet.summaries.bootstrap import check_replicates


def resample_edges(
    table: Table,
    alpha: float | str,
    knowledge: Knowledge,
    how: GraphSearch,
    resamples: int,
    executor: Executor = SERIAL,
) -> EdgeCertainty:
    """Learn the graph of so many resamples of the rows, and count.

    An edge that may point either way, by its independences and what is known, counts half for each.
    """
    check_replicates(table.counts, resamples)
    learn = partial(_arrows_of_resample, table, alpha, knowledge, how)
    drawn = np.array(executor.count(learn, range(resamples), "resample", first=0, total=resamples))
    arrows, edges = drawn.mean(axis=0), (drawn + drawn.swapaxes(1, 2)).mean(axis=0)
    spread = np.sqrt(drawn.var(axis=0) / resamples)
    # Of a share of 0 or 1 it is known that it is within about one resample of that.
    floor = np.where(np.eye(len(arrows), dtype=bool), 0.0, 1.0 / (1 + resamples))
    edges_spread = np.sqrt(edges * (1 - edges) / resamples)
    return EdgeCertainty(
        tuple(column.name for column in table.columns),
        arrows,
        np.maximum(spread, floor),
        np.maximum(edges_spread, floor),
        EdgesBy.BOOTSTRAP,
        resamples,
    )


def _arrows_of_resample(
    table: Table, alpha: float | str, knowledge: Knowledge, how: GraphSearch, resample: int
) -> FloatArray:
    """Give the graph of a resample, (n, n) at [child, parent]; half an edge each way, if either."""
    rng = np.random.default_rng([how.seed, resample])
    counts = rng.multinomial(int(table.weight), table.counts / table.weight)
    kept = counts > 0
    drawn = Table.from_codes(table.codes[kept], table.columns, counts[kept])
    found = knowledge.equivalence_class(find_graph(graph_task(drawn, alpha, how, knowledge)))
    place = {name: i for i, name in enumerate(found.names)}
    arrows = np.zeros((len(place), len(place)))
    for parent, child in found.compelled:
        arrows[place[child], place[parent]] = 1.0
    for one, other in found.reversible:
        arrows[place[one], place[other]] = arrows[place[other], place[one]] = 0.5
    return arrows
