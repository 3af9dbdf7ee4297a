"""(p): the paper's fits on two threads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.peer import Peers
from bench.report import Line, within
from bench.timing import clock
from lacunet.paper.experiments import EPSILON, PAPER, Experimenter, Ledger, Task, run_all, work_of
from lacunet.runtime.executor import SERIAL, on_threads

FITS_AT_MOST = 180.0  # seconds, on two cores


def run(_peers: Peers, quick: bool) -> Iterator[Line]:
    yield _fits(quick)


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
