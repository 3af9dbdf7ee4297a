"""`python -m bench.cluster [MILLIONS]`: E steps on threads, and on one and two workers of Dask.

Rows are drawn with a fixed seed, all different: 20 columns of four states, of five classes.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace

import numpy as np

import lacunet
from lacunet.cluster.connecting import Engine, on_cluster
from lacunet.data.table import Column, Table
from lacunet.executor import on_threads
from lacunet.inference.expectation import expect
from lacunet.inference.problem import Problem, build_problem
from lacunet.model.conjugacy import random_theta
from lacunet.model.prior import dirichlet
from lacunet.search.proposals import latent_classes

COLUMNS, STATES, CLASSES, SEED, STEPS = 20, 4, 5, 15, 5


def rows(number: int) -> Table:
    rng = np.random.default_rng(SEED)
    codes = rng.integers(0, STATES, (number, COLUMNS), dtype=np.int8)
    columns = tuple(Column(f"x{j}", tuple(range(STATES))) for j in range(COLUMNS))
    return Table(columns, codes, np.ones(number), number, 0, "bench")


def problem_of(table: Table, engine: Engine) -> Problem:
    (proposal,) = latent_classes(table, [CLASSES])
    held = replace(table, holder=engine.holder)
    return build_problem(held, proposal.network, dirichlet(proposal.network, 1.01))


def seconds(problem: Problem, engine: Engine) -> tuple[float, float]:
    """The shortest of some E steps, and the log-likelihood that it gives."""
    theta = random_theta(problem.layout, np.random.default_rng(0), problem.alpha)
    found, shortest = expect(problem, theta, engine.executor), np.inf
    for _ in range(STEPS):
        began = time.perf_counter()
        found = expect(problem, theta, engine.executor)
        shortest = min(shortest, time.perf_counter() - began)
    return shortest, found.log_lik


def main(millions: float) -> None:
    table = rows(int(millions * 1e6))
    print(f"{table.distinct_rows:,} distinct rows, {COLUMNS} columns, {CLASSES} classes")
    for threads in (1, 2):
        with on_threads(threads) as executor:
            engine = Engine(executor)
            told = seconds(problem_of(table, engine), engine)
        print(f"{threads} threads: {told[0]:.3f} s, log p(D|θ) = {told[1]!r}", flush=True)
    for workers in (1, 2):
        with on_cluster(workers, lacunet.__version__) as engine:
            told = seconds(problem_of(table, engine), engine)
        print(f"{workers} workers: {told[0]:.3f} s, log p(D|θ) = {told[1]!r}", flush=True)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 5.0)
