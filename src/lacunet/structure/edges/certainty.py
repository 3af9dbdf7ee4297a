"""The probability of every edge: the result, and bootstrap frequencies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import partial
from itertools import combinations, permutations
from typing import Any

import numpy as np

from lacunet.data.table import Table
from lacunet.flags import Flag
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.structure.knowledge import Knowledge
from lacunet.structure.learning import find_graph
from lacunet.structure.searching import GraphSearch
from lacunet.structure.task import graph_task
from lacunet.summaries.bootstrap import check_replicates
from lacunet.tabular import Columns, Grid, Printable, chance, described, transposed

SHOWN = 0.02  # probability of an edge below which a pair is not printed


class EdgesBy(StrEnum):
    """The method for probabilities of edges."""

    EXACT = "exact"  # sum over all graphs
    SAMPLED = "sampled"  # graphs drawn from the posterior
    BOOTSTRAP = "bootstrap"  # graphs learned from resampled rows


MEANINGS = {
    EdgesBy.EXACT: "Posterior probabilities, exact: summed over all graphs.",
    EdgesBy.SAMPLED: "Posterior probabilities, from {draws:,} graphs of {chains} chains.",
    EdgesBy.BOOTSTRAP: "Shares of {draws:,} resamples of the rows whose learned graph has the edge "
    "(no posterior probabilities).",
}


@dataclass(frozen=True)
class Pair:
    """Two variables, the more probable parent first."""

    parent: str
    child: str
    edge: float  # p(an edge between them | D)
    edge_stderr: float
    forward: float  # p(parent → child | D)
    forward_stderr: float
    backward: float  # p(child → parent | D)
    backward_stderr: float


@dataclass(frozen=True, eq=False, repr=False)
class EdgeCertainty(Printable):
    """The probability of every edge between variables."""

    KEYS = "by draws chains flags"

    names: tuple[str, ...]
    arrows: FloatArray  # (n, n) p(u → v | D) at [v, u]
    arrows_stderr: FloatArray  # (n, n); 0 if exact
    edges_stderr: FloatArray  # (n, n) of p(an edge between u and v | D)
    by: EdgesBy
    draws: int = 0  # graphs drawn, or resamples
    chains: int = 0
    flags: tuple[Flag, ...] = ()

    @property
    def edges(self) -> FloatArray:
        """p(an edge between u and v, either way | D): (n, n)."""
        return self.arrows + self.arrows.T

    def by_edge(self) -> dict[tuple[str, str], float]:
        """p(an edge between them | D), by both names, in either order."""
        names, edges = self.names, np.minimum(self.edges, 1.0).tolist()
        return {(names[u], names[v]): edges[v][u] for u, v in permutations(range(len(names)), 2)}

    def pairs(self) -> list[Pair]:
        """List all pairs of variables, the most probable edges first."""
        pairs, edges = [], self.edges
        for u, v in combinations(range(len(self.names)), 2):
            a, b = (u, v) if self.arrows[v, u] >= self.arrows[u, v] else (v, u)
            edge = edges[a, b], self.edges_stderr[a, b]
            each = (x[at] for at in ((b, a), (a, b)) for x in (self.arrows, self.arrows_stderr))
            pairs.append(Pair(self.names[a], self.names[b], *map(float, (*edge, *each))))
        return sorted(pairs, key=lambda pair: -pair.edge)

    def tidy(self) -> Columns:
        """Return a row for each pair of variables, the most probable edges first."""
        names = [field.name for field in fields(Pair)]
        return transposed(names, ([getattr(pair, n) for n in names] for pair in self.pairs()))

    def to_dict(self) -> dict[str, Any]:
        """Give the document of `--json`: every pair, the more probable parent first."""
        return described(self, self.KEYS, pairs=self.pairs())

    def brief(self) -> str:
        """Summarise the result in one line."""
        return f"edges between {len(self.names)} variables, {self.by}"

    def grids(self) -> Sequence[Grid]:
        """Return the tables that `print` and notebooks show."""
        exact, pairs = self.by is EdgesBy.EXACT, self.pairs()
        shown = [pair for pair in pairs if pair.edge >= SHOWN]
        rows = tuple(
            (
                f"{pair.parent} – {pair.child}",
                chance(pair.edge, pair.edge_stderr or None, exact=exact),
                chance(pair.forward, pair.forward_stderr or None, exact=exact),
                chance(pair.backward, pair.backward_stderr or None, exact=exact),
            )
            for pair in shown
        )
        rest = len(pairs) - len(shown)
        notes = [MEANINGS[self.by].format(draws=self.draws, chains=self.chains)]
        if rest:
            are = " is" if rest == 1 else "s are"
            notes.append(f"{rest:,} pair{are} below {SHOWN:g}, and not shown.")
        notes += [f"- {flag}" for flag in self.flags]
        header = ("pair", "p(edge)", "p(→)", "p(←)")
        return [Grid("Edge probabilities", header, rows, frozenset({0}), tuple(notes))]


def resample_edges(
    table: Table,
    alpha: float | str,
    knowledge: Knowledge,
    options: GraphSearch,
    resamples: int,
    executor: Executor = SERIAL,
) -> EdgeCertainty:
    """Learn graphs from resamples of the rows, and average their edges.

    An edge that independences and constraints do not orient counts half in each direction.
    """
    check_replicates(table.counts, resamples)
    learn = partial(_arrows_of_resample, table, alpha, knowledge, options)
    drawn = np.array(executor.count(learn, range(resamples), "resample", first=0, total=resamples))
    arrows, edges = drawn.mean(axis=0), (drawn + drawn.swapaxes(1, 2)).mean(axis=0)
    spread = np.sqrt(drawn.var(axis=0) / resamples)
    # A share of 0 or 1 has an error of about one resample.
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
    table: Table, alpha: float | str, knowledge: Knowledge, options: GraphSearch, resample: int
) -> FloatArray:
    """Learn the graph of a resample: (n, n) at [child, parent], 0.5 both ways if undirected."""
    rng = np.random.default_rng([options.seed, resample])
    counts = rng.multinomial(int(table.weight), table.counts / table.weight)
    present = counts > 0
    drawn = Table.from_codes(table.codes[present], table.columns, counts[present])
    cpdag = knowledge.equivalence_class(find_graph(graph_task(drawn, alpha, options, knowledge)))
    place = {name: i for i, name in enumerate(cpdag.names)}
    arrows = np.zeros((len(place), len(place)))
    for parent, child in cpdag.compelled:
        arrows[place[child], place[parent]] = 1.0
    for one, other in cpdag.reversible:
        arrows[place[one], place[other]] = arrows[place[other], place[one]] = 0.5
    return arrows
