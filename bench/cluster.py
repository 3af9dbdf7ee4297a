"""`python -m bench.cluster [MILLIONS] [TURNS]`: E steps on threads, and on workers of Dask.

Rows are drawn with a fixed seed, all different: 20 columns of four states, of five classes. All
engines have their rows, then take an E step in turns, so that whatever else the machine does hits
all of them. Times are the median and the shortest of all turns; processor time is that of this
process and all workers together.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

import lacunet
from lacunet.data.table import Column, Table
from lacunet.inference.classes import expect
from lacunet.inference.problem import Problem, build_problem
from lacunet.models.conjugacy import random_theta
from lacunet.models.prior import dirichlet
from lacunet.runtime.connecting import Engine, on_cluster
from lacunet.runtime.executor import on_threads
from lacunet.selection.comparing import latent_classes

COLUMNS, STATES, CLASSES, SEED = 20, 4, 5, 15


@dataclass
class Timed:
    """An engine that has its rows, and how long its E steps took."""

    name: str
    problem: Problem
    engine: Engine
    workers_time: Callable[[], float]  # processor time of its workers so far
    seconds: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    log_lik: float = 0.0

    def turn(self) -> None:
        """Take an E step."""
        theta = random_theta(self.problem.layout, np.random.default_rng(0), self.problem.alpha)
        before = self.workers_time() + time.process_time()  # to ask workers is work here
        began = time.perf_counter()
        self.log_lik = expect(self.problem, theta, self.engine.executor).log_lik
        self.seconds.append(time.perf_counter() - began)
        self.processor.append(time.process_time() + self.workers_time() - before)

    def line(self) -> str:
        """Say how long they took; the first turn sends the rows."""
        seconds, processor = np.array(self.seconds[1:]), np.array(self.processor[1:])
        return (
            f"{self.name}: median {np.median(seconds):.3f} s, shortest {seconds.min():.3f} s, "
            f"processor {np.median(processor):.3f} s (least {processor.min():.3f} s), "
            f"log p(D|θ) = {self.log_lik!r}"
        )


def rows(number: int) -> Table:
    rng = np.random.default_rng(SEED)
    codes = rng.integers(0, STATES, (number, COLUMNS), dtype=np.int8)
    columns = tuple(Column(f"x{j}", tuple(range(STATES))) for j in range(COLUMNS))
    return Table(columns, codes, np.ones(number), number, 0, "bench")


def problem_of(table: Table, engine: Engine) -> Problem:
    (proposal,) = latent_classes(table, [CLASSES])
    held = replace(table, holder=engine.holder)
    return build_problem(held, proposal.network, dirichlet(proposal.network, 1.01))


def workers_time(engine: Engine) -> float:
    return float(sum(engine.executor.client.run(time.process_time).values()))  # type: ignore[attr-defined]


def main(millions: float, turns: int) -> None:
    table = rows(int(millions * 1e6))
    print(f"{table.distinct_rows:,} distinct rows, {COLUMNS} columns, {CLASSES} classes")
    with ExitStack() as stack:
        timed = []
        for threads in (1, 2):
            engine = Engine(stack.enter_context(on_threads(threads)))
            timed.append(Timed(f"{threads} threads", problem_of(table, engine), engine, float))
        for workers in (1, 2):
            engine = stack.enter_context(on_cluster(workers, lacunet.__version__))
            own = problem_of(table, engine)
            timed.append(Timed(f"{workers} workers", own, engine, partial(workers_time, engine)))
        for _ in range(turns + 1):
            for one in timed:
                one.turn()
        for one in timed:
            print(one.line(), flush=True)
        alone, both, worker, two = (np.array(one.seconds[1:]) for one in timed)
        print(
            f"medians of ratios: 2 workers are {np.median(worker / two):.2f} × 1 worker, 2 threads "
            f"{np.median(alone / both):.2f} × 1 thread; 1 worker takes "
            f"{np.median(worker / alone):.2f} of 1 thread, 2 workers {np.median(two / both):.2f} "
            "of 2 threads"
        )


if __name__ == "__main__":
    main(
        float(sys.argv[1]) if len(sys.argv) > 1 else 5.0,
        int(sys.argv[2]) if len(sys.argv) > 2 else 15,
    )
