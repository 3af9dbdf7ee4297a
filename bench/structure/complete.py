"""(r): graphs from complete data: BDeu of what is found, beside the true graph's and the peers'."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from bench.networks.alarm import columns, draw
from bench.peer import Peers
from bench.report import Line, faster, skipped, within
from bench.structure.shipped import shipped_network
from bench.timing import clock
from lacunet.data.table import Table
from lacunet.models.network import Model
from lacunet.models.surgery import sample_codes
from lacunet.paper.experiments import PAPER, Experimenter
from lacunet.structure.families import CompleteCounts
from lacunet.structure.knowledge import Knowledge
from lacunet.structure.learning import learn_structure

ALPHA = "bdeu:10"
ROWS, MANY = 5_000, 10_000
AT_MOST = 3.0  # seconds, of 5,000 rows
ALARM_AT_MOST = 0.5  # of 10,000 rows of ALARM: what one greedy climb took in version 0.1
SMALL_AT_MOST = 1.0
PGMPY_AT_MOST = 200.0  # seconds
PGMPY_PARENTS = 4  # its own limit: without one its scores overflow
WANTED = 10  # times as fast as pgmpy


def run(peers: Peers, quick: bool) -> Iterator[Line]:
    yield _small()
    for name in ("child", "insurance", "alarm"):
        model = shipped_network(peers, name)
        if isinstance(model, str):
            yield skipped("r", f"graphs: {name}", model)
            continue
        yield from _beside_pyagrum(peers, name, model)
        if name == "alarm":
            yield from _beside_pgmpy(peers, model, MANY // 10 if quick else MANY)


def _small() -> Line:
    model = Experimenter(PAPER, seed=0, starts=64).generator(12, 3, 0)
    table = Table.from_codes(sample_codes(model, 800, np.random.default_rng(0)))
    trials = [clock(lambda: learn_structure(table, ALPHA)) for _ in range(3)]
    return within("r", "graphs: 12 variables, 800 rows", min(trials), SMALL_AT_MOST, trials=trials)


def _score(table: Table, parents: Sequence[Sequence[int]]) -> float:
    counts, n = CompleteCounts(table, ALPHA), len(parents)
    sets = (np.isin(np.arange(n), list(pa)) for pa in parents)
    return float(sum(counts(v, pa)[v] for v, pa in enumerate(sets)))


def _score_edges(table: Table, names: list[str], edges: list[list[str]]) -> float:
    parents: list[list[int]] = [[] for _ in names]
    for u, v in edges:
        parents[names.index(v)].append(names.index(u))
    return _score(table, parents)


def _hand_over(peers: Peers, model: Model, codes: Any, label: str) -> Any:
    path = peers.folder / f"{label}.npz"
    variables = model.network.variables
    cards = [len(v.states) for v in variables]
    np.savez(path, codes=codes, names=[v.name for v in variables], cards=cards)
    return path


def _beside_pyagrum(peers: Peers, name: str, model: Model) -> Iterator[Line]:
    """Nats above the true graph, ours and the better of pyAgrum's two searches."""
    codes = draw(model, ROWS, 0.0)
    table = Table.from_codes(codes, columns(model.network))
    found = learn_structure(table, ALPHA)
    ours = min(clock(lambda: learn_structure(table, ALPHA)) for _ in range(3))
    yield within("r", f"graphs: {name}, {ROWS:,} complete rows, BDeu 10", ours, AT_MOST)
    true = _score(table, model.network.parents)
    title = f"  {name}: nats above the true graph; pyAgrum's greedy and tabu"
    answer = peers.pyagrum("graph", _hand_over(peers, model, codes, name), limit=120.0)
    if "skipped" in answer:
        yield skipped("r", title, answer["skipped"])
        return
    names = [v.name for v in model.network.variables]
    theirs = max(_score_edges(table, names, edges) for edges in answer["edges"])
    yield Line(
        "r",
        title,
        f"{found.log_bd - true:+.1f}",
        f"{theirs - true:+.1f}",
        f"{found.log_bd - theirs:+.1f} nats",
        "≥ 0 and theirs",
        found.log_bd >= max(true, theirs) - 1e-6,
        {"ours": found.log_bd, "true": true, "theirs": theirs, "seconds": answer["seconds"]},
    )


def _beside_pgmpy(peers: Peers, model: Model, rows: int) -> Iterator[Line]:
    codes = draw(model, rows, 0.0)
    table = Table.from_codes(codes, columns(model.network))
    ours = min(clock(lambda: learn_structure(table, ALPHA)) for _ in range(3))
    yield within("r", f"graphs: ALARM, {rows:,} complete rows", ours, ALARM_AT_MOST)
    true = _score(table, model.network.parents)
    above = learn_structure(table, ALPHA).log_bd - true
    yield Line(
        "r", "  nats above the true graph", f"{above:+.1f}", wanted="≥ 0", met=above >= -1e-6
    )
    title = f"graphs: ALARM, {rows:,} complete rows, four parents; pgmpy's hill climbing"
    known = Knowledge(max_parents=PGMPY_PARENTS)
    found = learn_structure(table, ALPHA, knowledge=known)
    ours = min(clock(lambda: learn_structure(table, ALPHA, knowledge=known)) for _ in range(3))
    answer = peers.pgmpy(_hand_over(peers, model, codes, "alarm-many"), limit=PGMPY_AT_MOST)
    if "skipped" in answer and "limit" not in answer:
        yield skipped("r", title, answer["skipped"], ours)
        return
    theirs = answer.get("seconds", PGMPY_AT_MOST)  # where it was stopped: at least that long
    yield faster("r", title, ours, theirs, WANTED, answer=json.dumps(answer)[:2000])
    if "edges" in answer:
        names = [v.name for v in model.network.variables]
        other = _score_edges(table, names, answer["edges"])
        yield Line(
            "r",
            "  log BD of the graph found, ours and theirs",
            f"{found.log_bd:.2f}",
            f"{other:.2f}",
            f"{found.log_bd - other:+.2f} nats",
            "≥ theirs",
            found.log_bd >= other - 1e-6,
            {"ours": found.log_bd, "theirs": other},
        )
