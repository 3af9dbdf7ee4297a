"""How probable graphs are before the data are seen: a product with one factor for each family."""

from enum import StrEnum

import numpy as np
from scipy.special import gammaln

from lacunet.data.table import Table
from lacunet.runtime.arrays import FloatArray, IntArray


class GraphPrior(StrEnum):
    """A prior over graphs. Graphs with the same independences are equally probable under each."""

    FAIR = "fair"  # each number of parents of a variable is equally probable
    UNIFORM = "uniform"  # each graph is


AVERAGED = "bdeu:0.5-10"  # of learned graphs, with FAIR: chosen by bench/structure/defaults.py

MEANINGS = {
    GraphPrior.FAIR: "each number of parents is equally probable (fair)",
    GraphPrior.UNIFORM: "all are equally probable (uniform)",
}


def log_prior_of_sizes(prior: GraphPrior, candidates: IntArray, most: int) -> FloatArray:
    """Log p of one set of k parents of v, up to a constant, at [v, k]: (n, most + 1).

    `candidates`, (n,), are the variables that could be parents of each, whatever is known of edges.
    Fair: p ∝ 1 / (candidates over k), so that sets do not win by being many (Friedman & Koller
    2003; Eggeling, Viinikka, Vuoksenmaa & Koivisto 2019). Turning an edge between variables that
    share all other parents exchanges their numbers of parents, so equivalent graphs stay equal.

    >>> log_prior_of_sizes(GraphPrior.FAIR, np.array([3]), 3).round(2).tolist()
    [[0.0, -1.1, -1.1, 0.0]]
    """
    c, k = candidates[:, None].astype(np.float64), np.arange(most + 1)[None, :]
    if prior is GraphPrior.UNIFORM:
        return np.zeros((len(candidates), most + 1))
    k = np.minimum(k, c)  # more parents are only required ones that say nothing
    log_p: FloatArray = gammaln(k + 1.0) + gammaln(c - k + 1.0) - gammaln(c + 1.0)
    return log_p


def log_prior_over(table: Table, prior: GraphPrior) -> FloatArray:
    """Log p of a set of k parents of each column, at [v, k], up to a constant: (n, n).

    Parents can be categories with two states or more.
    """
    columns = table.columns
    able = np.array([len(c.states) > 1 and not c.kind.number for c in columns])
    return log_prior_of_sizes(prior, able.sum() - able, len(columns) - 1)
