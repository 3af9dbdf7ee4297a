"""(p): the paper's fits on two threads, and the greedy search beside pgmpy's hill climbing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from bench.networks.alarm import alarm, columns, draw
from bench.peer import Peers
from bench.report import Line, faster, skipped, within
from bench.timing import clock
from lacunet.data.table import Table
from lacunet.executor import SERIAL, on_threads
from lacunet.model.sampling import sample_codes
from lacunet.paper.design import EPSILON, PAPER, Task
from lacunet.paper.experiments import Experimenter, work_of
from lacunet.paper.ledger import Ledger, run_all
from lacunet.search.families import CompleteCounts, FamilyScores
from lacunet.search.greedy import GreedySearch, learn_structure

FITS_AT_MOST = 180.0  # seconds, on two cores
SEARCH_AT_MOST = 1.0
WANTED = 10  # times as fast as pgmpy
ALARM_ROWS = 10_000
PGMPY_AT_MOST = 200.0  # seconds
ALPHA, SETTINGS = "bdeu:10", GreedySearch(max_parents=4, tabu=10)  # it has a tabu list too


def run(peers: Peers, quick: bool) -> Iterator[Line]:
    yield _fits(quick)
    yield _small()
    yield from _alarm(peers, quick)


def _fits(quick: bool) -> Line:
    """Starts, 200 iterations and all five scores with the Hessian, for every test model."""
    todo = [t for t in PAPER.tasks(1, 5) if t.kind == "fit" and t.epsilon == EPSILON]
    if quick:
        todo = todo[::10]
    experimenter = Experimenter(PAPER, seed=0, starts=64)
    experimenter.run(SERIAL, todo[0])
    with TemporaryDirectory() as folder, on_threads(2) as executor:
        ledger = Ledger(Path(folder) / "results.jsonl", {}, Task)
        elapsed = clock(lambda: run_all(todo, work_of(experimenter, executor), ledger, executor))
    title = f"the paper's fits with all five scores, two threads: {len(todo)} fits"
    return within("p", title, elapsed, None if quick else FITS_AT_MOST, fits=len(todo))


def _small() -> Line:
    model = Experimenter(PAPER, seed=0, starts=64).generator(12, 3, 0)
    table = Table.from_codes(sample_codes(model, 800, np.random.default_rng(0)))
    trials = [clock(lambda: learn_structure(table)) for _ in range(3)]
    title = "greedy search: 12 variables, 800 rows"
    return within("p", title, min(trials), SEARCH_AT_MOST, trials=trials)


def _alarm(peers: Peers, quick: bool) -> Iterator[Line]:
    rows = ALARM_ROWS // 10 if quick else ALARM_ROWS
    title = f"greedy search: ALARM, {rows:,} complete rows, BDeu; pgmpy's hill climbing"
    model = alarm(peers)
    if isinstance(model, str):
        yield skipped("p", title, model)
        return
    codes = draw(model, rows, 0.0)
    table = Table.from_codes(codes, columns(model.network))
    found = learn_structure(table, ALPHA, SETTINGS)
    ours = min(clock(lambda: learn_structure(table, ALPHA, SETTINGS)) for _ in range(3))
    names = [v.name for v in model.network.variables]
    path = peers.folder / "alarm-complete.npz"
    np.savez(path, codes=codes, names=names)
    answer = peers.pgmpy(path, limit=PGMPY_AT_MOST)
    if "skipped" in answer and "limit" not in answer:
        yield skipped("p", title, answer["skipped"], ours)
        return
    theirs = answer.get("seconds", PGMPY_AT_MOST)  # where it was stopped: at least that long
    yield faster("p", title, ours, theirs, WANTED, answer=json.dumps(answer)[:2000])
    if "edges" in answer:
        score = FamilyScores(CompleteCounts(table), ALPHA)
        parents = [0] * len(names)
        for u, v in answer["edges"]:
            parents[names.index(v)] |= 1 << names.index(u)
        other = sum(score(v, p) for v, p in enumerate(parents))
        yield Line(
            "p",
            "  log BD of the graph found, ours and theirs",
            f"{found.log_bd:.2f}",
            f"{other:.2f}",
            f"{found.log_bd - other:+.2f} nats",
            "≥ theirs",
            found.log_bd >= other - 1e-6,
            {"ours": found.log_bd, "theirs": other},
        )
