"""Measured evidence before its judge, on data whose parameters were drawn from the prior."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import numpy as np

from lacunet.evidence.annealing import Goal
from lacunet.evidence.estimate import Measurement, Method
from lacunet.evidence.measure import measure
from lacunet.evidence.smc import prepare_sampling
from lacunet.inference.problem import Problem, problem_of_codes
from lacunet.models.conjugacy import draw_theta
from lacunet.models.network import Model
from lacunet.models.prior import uniform_alpha
from lacunet.models.surgery import sample_codes
from lacunet.paper.experiments import finite
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.executor import SERIAL
from studies.calibration.best_known import best_known
from studies.calibration.cell import DrawSettings
from studies.calibration.shapes import Range, Shape, between

ALPHAS = (0.05, 0.2, 0.5, 1.0, 2.0, 10.0)  # Dirichlet exponents
MISSING = (0.0, 0.0, 0.1, 0.3)  # shares of missing cells


@dataclass(frozen=True)
class VerdictCell:
    """Problems of one shape, parameters from the prior: measured evidence against a reference."""

    name: str
    shape: Shape
    rows: Range
    datasets: int
    weight: float  # how long a problem takes, roughly
    alphas: Sequence[float] = ALPHAS
    missing: Sequence[float] = MISSING

    def repeated(self, datasets: int) -> Self:
        """Give the same with another number of problems."""
        return replace(self, datasets=datasets)

    def run(self, dataset: int, how: DrawSettings) -> dict[str, Any]:
        """Draw a problem, find out the truth, and measure it as a user would."""
        began = time.thread_time()
        rng = np.random.default_rng([how.seed, *self.name.encode(), dataset])
        problem, theta, told = _draw(self, rng)
        prepare_sampling(SERIAL, problem.network)
        own, judges = (int(x) for x in rng.integers(2**31, size=2))  # seeds: they share no luck
        truth = best_known(problem, theta, how.goal, judges)
        known = {name: finite(x) for name, x in asdict(truth).items()}
        meanwhile = time.thread_time()
        measured = [
            {"asked": asked.value, **_told(m)}
            for asked, m in _measured(problem, how.goal, own, exact=truth.by == "exact")
        ]
        cpu = {"truth": meanwhile - began, "evidence": time.thread_time() - meanwhile}
        return {**told, "truth": known, "measured": measured, "cpu": cpu}


def _draw(
    cell: VerdictCell, rng: np.random.Generator
) -> tuple[Problem, FloatArray, dict[str, Any]]:
    """Draw a network, its parameters, and rows with missing values."""
    network = cell.shape(rng)
    a, holes = float(rng.choice(cell.alphas)), float(rng.choice(cell.missing))
    alpha, rows = uniform_alpha(network.layout, a), between(cell.rows, rng)
    # A probability may be too small for a computer; but none that is drawn is 0.
    theta = np.maximum(draw_theta(alpha, network.layout, rng), np.finfo(float).tiny)
    codes = sample_codes(Model(network, theta, alpha), rows, rng, holes)
    problem = problem_of_codes(codes.astype(np.int8), np.ones(rows), network, alpha)
    hidden = list(network.hidden_sizes.values())
    sizes = {"variables": len(network.variables), "hidden": hidden}
    told = {**sizes, "dimension": network.dimension, "alpha": a, "rows": rows, "holes": holes}
    return problem, theta, told


def _measured(
    problem: Problem, goal: Goal, seed: int, *, exact: bool
) -> Iterator[tuple[Method, Measurement]]:
    """As a user gets it; where that might be exact, by each way of sampling."""
    for method in (Method.SMC, Method.AIS) if exact else (Method.AUTO,):
        yield method, measure(problem, method, goal, seed=seed)


def _told(m: Measurement) -> dict[str, Any]:
    return {
        "method": m.method.value,
        "verdict": m.verdict.value,
        "value": finite(m.value),
        "stderr": m.stderr,
        "seconds": m.seconds,
    }
