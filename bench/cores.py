"""`python -m bench.cores`: one large fit on 1, 2, 4, … cores of a machine.

It asks for no other package than NumPy, SciPy and Numba. Results stand in the documentation.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from bench.cases import Case
from bench.gpu import median, problem_of
from lacunet.fitting.fit import Options, learn
from lacunet.fitting.objective import Estimate, Objective
from lacunet.inference.problem import Problem
from lacunet.runtime.executor import cores, on_threads

CASES = (
    Case("four states", leaves=50, states=4, classes=10, rows=500_000),
    Case("two states", leaves=30, states=2, classes=4, rows=500_000),
)


def iteration(problem: Problem, start: np.ndarray, threads: int) -> float:
    """Seconds of an EM iteration."""
    with on_threads(threads) as executor:
        objective = Objective.build(problem, Estimate.MAP, executor)
        point = objective.at(start)
        return median(lambda: objective.em_step(point), 15)


def main() -> None:
    numbers = [n for n in (1, 2, 4, 8, 16, 32, 64) if n <= cores()]
    for case in CASES:
        problem = problem_of(case)
        start = problem.layout.flat([case.weights, *case.tables])
        one = iteration(problem, start, 1)
        print(f"{case.title}: {len(problem.counts)} distinct rows")
        for threads in numbers:
            seconds = iteration(problem, start, threads)
            print(f"  {threads} cores: {1e3 * seconds:.2f} ms an iteration, {one / seconds:.2f} ×")
            sys.stdout.flush()
    for threads in (1, numbers[-1]):
        began = time.perf_counter()
        with on_threads(threads) as executor:
            found = learn(problem, Options(starts=4), executor=executor)
        seconds = time.perf_counter() - began
        print(f"a fit from 4 starts, {threads} cores: {seconds:.1f} s, {found.log_lik:.6f}")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
