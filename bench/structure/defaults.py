"""The default prior of `learn`: graphs recovered, and probabilities of edges, by several priors.

`python -m bench.structure.defaults LEDGER --networks FOLDER --names sachs,random-9-2-0.5-4-8`
draws tables, searches each under every prior, and prints two tables. FOLDER has networks as .bif
files. A random network is named by its variables, most parents, concentration of the Dirichlet
distribution that each row of a table is drawn from, most states, and a seed. Each table that is
done is a line of LEDGER; `--summary` prints the tables of what is there.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lacunet.data.table import Column, Table
from lacunet.inference.kernels.merging import renumber
from lacunet.models.equivalence import equivalence_class, structural_hamming_distance
from lacunet.models.formats import read_network
from lacunet.models.network import Model, Network, Variable
from lacunet.models.surgery import sample_codes
from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray
from lacunet.runtime.jit import kernel
from lacunet.structure.counting import AIR, Child, Columns, child_of, split_rows
from lacunet.structure.edges.certainty import EdgeCertainty
from lacunet.structure.edges.posterior import EdgeSampling, find_edges
from lacunet.structure.families import (
    AVERAGED,
    FamilyScores,
    GraphPrior,
    columns_of,
    log_prior_over,
)
from lacunet.structure.knowledge import Knowledge
from lacunet.structure.learning import learn_structure
from lacunet.structure.searching import GraphSearch, search

SIZES = np.geomspace(0.5, 10.0, 5)  # equivalent sample sizes, and a grid to average over
BY_SIZE = [f"bdeu:{size:.2g}" for size in SIZES]
SCORES = (*BY_SIZE, *(f"bds:{size:.2g}" for size in SIZES), "bic", "0.5", "k2")
CANDIDATES = [(score, prior) for prior in GraphPrior for score in (*SCORES, AVERAGED)]
# What the package has: with missing values, and of edges.
OFFERED = [
    (AVERAGED, "fair"),
    (AVERAGED, "uniform"),
    ("0.5", "fair"),
    ("bdeu:1", "uniform"),
    ("bdeu:10", "uniform"),
]
SHORT = EdgeSampling(target=0.05, chains=2, rounds=2)
BANDS = ((0.0, 0.1), (0.1, 0.5), (0.5, 0.9), (0.9, 1.01))


class Draw(NamedTuple):
    """A table of the study."""

    network: str
    rows: int
    seed: int
    missing: float  # share of the cells


@kernel
def score_family(
    child: Child, j: IntArray, q: int, cells: float, sizes: FloatArray, out: FloatArray
) -> None:
    """Write the scores of one family, in the order of SCORES; one count serves all."""
    r, cases = child.r, child.counts.sum()
    key, N_j = np.empty(j.shape[0], dtype=np.int64), np.zeros(q)
    for row in range(j.shape[0]):
        key[row] = j[row] * r + child.x[row]
        N_j[j[row]] += child.counts[row]
    k = renumber(key) if q * r > AIR * j.shape[0] else q * r
    N = np.zeros(k)
    for row in range(j.shape[0]):
        N[key[row]] += child.counts[row]
    shown, s = (N_j > 0.0).sum(), sizes.shape[0]
    for c in range(2 * s + 3):
        if c < s:
            a = sizes[c] / cells
        elif c < 2 * s:  # BDs (Scutari 2018): only parent configurations that occur have a share
            a = sizes[c - s] / (r * shown)
        else:
            a = 0.5 if c == 2 * s + 1 else 1.0
        out[c] = 0.0
        for n in N:
            if n > 0.0:
                out[c] += n * math.log(n) if c == 2 * s else math.lgamma(a + n) - math.lgamma(a)
        for n in N_j:
            if n > 0.0:
                bd = math.lgamma(r * a + n) - math.lgamma(r * a)
                out[c] -= n * math.log(n) if c == 2 * s else bd
    out[2 * s] -= 0.5 * math.log(cases) * (cells / r) * (r - 1)


@kernel
def score_changes(columns: Columns, v: int, parents: BoolArray, sizes: FloatArray) -> FloatArray:
    """Score a family and all that differ by one parent, under every score: (n, scores)."""
    n, m = columns.codes.shape
    out, chosen, j = np.zeros((n, 2 * sizes.shape[0] + 3)), parents.copy(), np.empty(m, np.int64)
    for u in range(n):
        chosen[u] ^= u != v
        among, cells = np.flatnonzero(chosen), float(columns.cards[v])
        for p in among:
            cells *= columns.cards[p]
        q = split_rows(columns, among, -1, j)
        score_family(child_of(columns, v), j, q, cells, sizes, out[u])
        chosen[u] ^= u != v
    return out


class Counted:
    """Families under all scores at once, each counted once."""

    def __init__(self, table: Table) -> None:
        self.columns, self.cases = columns_of(table), table.weight
        self.cards = self.columns.cards.astype(np.float64)
        self.known: dict[tuple[int, bytes], FloatArray] = {}

    def __call__(self, child: int, parents: BoolArray) -> FloatArray:
        key = (child, parents.tobytes())
        if key not in self.known:
            self.known[key] = score_changes(self.columns, child, parents, SIZES)
        return self.known[key]


class ByScore:
    """One score of them."""

    def __init__(self, counted: Counted, score: str) -> None:
        self.counted, self.score = counted, score
        self.cards, self.cases = counted.cards, counted.cases

    def __call__(self, child: int, parents: BoolArray) -> FloatArray:
        scores = self.counted(child, parents)
        if self.score != AVERAGED:
            one: FloatArray = scores[:, SCORES.index(self.score)]
            return one
        by_size = scores[:, : len(SIZES)]
        mean: FloatArray = np.logaddexp.reduce(by_size, axis=1) - math.log(len(SIZES))
        return mean


def network_named(name: str, folder: Path) -> Model:
    """Read a network, or draw it."""
    if not name.startswith("random-"):
        return read_network(folder / f"{name}.bif")
    n, most, concentration, states, seed = (float(part) for part in name.split("-")[1:])
    rng, variables = np.random.default_rng(int(seed)), int(n)
    order = rng.permutation(variables)
    parents: list[list[int]] = [[] for _ in order]
    for place, v in enumerate(order.tolist()):
        number = min(place, int(most), int(rng.poisson(1.3)))
        parents[v] = sorted(rng.choice(order[:place], number, replace=False).tolist())
    cards = rng.integers(2, int(states) + 1, variables)
    of = [Variable(f"v{i:02d}", tuple(range(int(r)))) for i, r in enumerate(cards)]
    rows = [int(np.prod(cards[pa])) for pa in parents]
    tables = [
        rng.dirichlet(np.full(r, concentration), q).reshape(-1)
        for r, q in zip(cards, rows, strict=True)
    ]
    theta = np.concatenate(tables)
    return Model(Network.build(of, parents), theta, np.ones_like(theta))


def table_of(model: Model, draw: Draw) -> Table:
    """Draw rows; two thirds of the columns lose cells, by what a column that loses none shows."""
    rng = np.random.default_rng([draw.seed, draw.rows, 1])
    codes = sample_codes(model, draw.rows, rng).astype(np.int64)
    n, holed = codes.shape[1], np.zeros(codes.shape[1], dtype=bool)
    holed[rng.permutation(n)[: round(n * 2 / 3)]] = draw.missing > 0
    seen = np.flatnonzero(~holed)
    for v in np.flatnonzero(holed):
        by = codes[:, rng.choice(seen)]
        share = rng.uniform(0.5, 1.5, by.max() + 1)
        lost = 1.5 * draw.missing * share / share[by].mean()
        codes[:, v] = np.where(rng.random(draw.rows) < lost[by], -1, codes[:, v])
    return Table.from_codes(codes, [Column(v.name, v.states) for v in model.network.variables])


def record(model: Model, draw: Draw, *, edges: bool) -> dict[str, Any]:
    """Search one table under each prior, and state its edges."""
    table, true = table_of(model, draw), equivalence_class(model.network)
    joined = {frozenset(edge) for edge in (*true.compelled, *true.reversible)}
    searched = _by_counts(table) if table.complete else _by_learning(table)
    found = {
        f"{score}, {prior}": structural_hamming_distance(equivalence_class(graph), true)
        for (score, prior), graph in searched
    }
    stated = {
        f"{score}, {prior}": [
            [round(min(pair.edge, 1.0), 4), frozenset((pair.parent, pair.child)) in joined]
            for pair in _edges(table, score, prior).pairs()
        ]
        for score, prior in (OFFERED if edges else ())
    }
    return {**draw._asdict(), "true": len(joined), "shd": found, "edges": stated}


def _by_counts(table: Table) -> Iterator[tuple[tuple[str, str], Network]]:
    names = [column.name for column in table.columns]
    variables, n = [Variable(c.name, c.states) for c in table.columns], len(names)
    counted, limits = Counted(table), Knowledge().limits(names)
    for score, prior in CANDIDATES:
        scores = FamilyScores(ByScore(counted, score), log_prior_over(table, GraphPrior(prior)))
        graph = search([np.zeros((n, n), dtype=bool)], scores, limits, GraphSearch(restarts=0))
        parents = [np.flatnonzero(own).tolist() for own in graph.parents]
        yield (score, prior), Network.build(variables, parents)


def _by_learning(table: Table) -> Iterator[tuple[tuple[str, str], Network]]:
    for score, prior in OFFERED:
        yield (
            (score, prior),
            learn_structure(table, score, GraphSearch(prior=GraphPrior(prior))).network,
        )


def _edges(table: Table, score: str, prior: str) -> EdgeCertainty:
    return find_edges(table, score, Knowledge(), replace(SHORT, prior=GraphPrior(prior)))


def summary(lines: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Give two tables: mean SHD for each true edge; and how often stated pairs are right."""
    shares: dict[tuple[str, int], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    stated: dict[str, list[tuple[float, bool]]] = defaultdict(list)
    for line in lines:
        for name, distance in line["shd"].items():
            shares[name, line["rows"]][line["network"]].append(distance / line["true"])
        for name, pairs in line["edges"].items():
            stated[name] += [(p, right) for p, right in pairs]
    mean = {key: np.mean([np.mean(x) for x in by.values()]) for key, by in shares.items()}
    rows = sorted({rows for _, rows in mean})
    names = {name: np.mean([mean[name, r] for r in rows]) for name, _ in mean}
    yield f"{len(lines)} tables; SHD for each true edge with {rows} rows, and the mean"
    for name in sorted(names, key=lambda name: names[name]):
        cells = "  ".join(f"{mean[name, r]:.3f}" for r in rows)
        yield f"{name:20}  {cells}  {names[name]:.3f}"
    yield "pairs by the probability stated: pairs, mean stated → share right"
    for name, pairs in stated.items():
        p, right = (np.array(x) for x in zip(*pairs, strict=True))
        bands = [(p >= low) & (p < high) for low, high in BANDS]
        told = (f"{b.sum():6d} {p[b].mean():.2f} → {right[b].mean():.2f}" for b in bands if b.any())
        yield f"{name:20}  {'  '.join(told)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ledger", type=Path)
    parser.add_argument("--networks", type=Path, default=Path())
    parser.add_argument("--names", default="")
    parser.add_argument("--rows", default="500,2000,5000")
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 2), help="first, and behind last")
    parser.add_argument("--missing", type=float, default=0.0)
    parser.add_argument("--edges", action="store_true", help="state the edges too: minutes")
    parser.add_argument("--summary", action="store_true")
    options = parser.parse_args()
    if not options.summary:
        draws = [
            Draw(name, int(rows), seed, options.missing)
            for name in options.names.split(",")
            for rows in options.rows.split(",")
            for seed in range(*options.seeds)
        ]
        for draw in draws:
            line = record(network_named(draw.network, options.networks), draw, edges=options.edges)
            with options.ledger.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
    lines = [json.loads(x) for x in options.ledger.read_text(encoding="utf-8").splitlines()]
    print("\n".join(summary(lines)))


if __name__ == "__main__":
    main()
