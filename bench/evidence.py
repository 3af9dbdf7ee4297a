"""(t): the evidence itself: to a given error in a given time, and Gibbs sweeps against E steps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.peer import Peers
from bench.report import Line, faster
from bench.timing import alternate, clock
from lacunet.evidence.annealing import Goal
from lacunet.evidence.estimate import Method
from lacunet.evidence.measure import measure
from lacunet.evidence.smc import prepare_sampling
from lacunet.inference.classes import expect, safe_log
from lacunet.inference.problem import Problem
from lacunet.inference.sampling.particles import Draws
from lacunet.paper.experiments import PAPER, Experimenter, Task
from lacunet.runtime.executor import SERIAL, on_threads

# leaves, classes, standard error in nats, seconds
WANTED = ((16, 4, 0.05, 2.0), (64, 16, 0.3, 30.0), (64, 32, 0.5, 120.0))
ROWS = 400
CHAINS = 16
SWEEPS_AT_LEAST = 0.5  # of the rate of E steps


def run(_peers: Peers, quick: bool) -> Iterator[Line]:
    prepare_sampling(SERIAL)
    for leaves, classes, error, seconds in WANTED:
        yield _sweeps(leaves, classes, quick)
        yield _measured(leaves, classes, error, seconds)


def _problem(leaves: int, classes: int) -> tuple[Problem, np.ndarray]:
    experimenter = Experimenter(PAPER, 0, 64)
    task = Task("fit", leaves, classes, ROWS, 0, 0, classes, 0.0)
    problem = experimenter.problem(experimenter.table(task), classes, 0.0)
    return problem, experimenter.generator(leaves, classes, 0).theta


def _sweeps(leaves: int, classes: int, quick: bool) -> Line:
    """A sweep draws all hidden values and all parameters; one chain, one thread."""
    problem, theta = _problem(leaves, classes)
    draws = Draws(problem, np.random.default_rng(0))
    log_theta = np.tile(safe_log(theta), (CHAINS, 1))

    def sweep() -> None:
        draws.natural(problem.alpha + draws.hidden(log_theta))

    def e_steps() -> None:
        for _ in range(CHAINS):
            expect(problem, theta)

    sweep(), e_steps()
    times = alternate(
        {"sweep": lambda: clock(sweep), "E step": lambda: clock(e_steps)}, 10 if quick else 40
    )
    return faster(
        "t",
        f"Gibbs sweep against E step (both ours): n = {leaves}, {classes} classes, N = {ROWS}",
        min(times["sweep"]) / CHAINS,
        min(times["E step"]) / CHAINS,
        SWEEPS_AT_LEAST,
        sweeps=times["sweep"],
        e_steps=times["E step"],
    )


def _measured(leaves: int, classes: int, error: float, seconds: float) -> Line:
    """The whole of it on two threads, from the table to the error bar."""
    problem, _ = _problem(leaves, classes)
    with on_threads(2) as executor:
        found = measure(problem, Method.AUTO, Goal(error, seconds), executor=executor)
    return Line(
        "t",
        f"evidence: n = {leaves}, {classes} classes, N = {ROWS}, by {found.method}",
        f"{found.seconds:.1f} s",
        "",
        f"{found.error} nats, {found.verdict}".strip(),
        f"± {error:g} in {seconds:g} s, or a lower bound that says so",
        found.seconds <= 1.2 * seconds and (found.stderr is None or found.stderr <= error),
        {
            "seconds": found.seconds,
            "value": found.value,
            "stderr": found.stderr,
            "verdict": found.verdict.value,
            "method": found.method.value,
        },
    )
