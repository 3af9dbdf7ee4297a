"""Do the comparisons: one data set, its own number of states, every way up and every Hessian."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from lacunet.fitting.fit import Options, learn
from lacunet.fitting.maxima import MASS
from lacunet.fitting.objective import Estimate, Objective
from lacunet.inference.problem import Problem
from lacunet.models.conjugacy import random_theta
from lacunet.paper.experiments import Experimenter, Task
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.executor import Executor
from studies.alternatives import second_derivatives as by
from studies.alternatives.climbing import (
    Climber,
    climb,
    conjugate_gradients,
    em,
    quasi_newton,
)
from studies.alternatives.ratio_tests import ratio_tests

STARTS = 4  # random ones, each climbed from by every way
WAYS: Mapping[str, Climber] = {
    "em": em,
    "conjugate gradients": conjugate_gradients,
    "em, then quasi-Newton": quasi_newton,
}
EXACT, RATIOS = "Thiesson", "ratio tests"
HESSIANS: Mapping[str, by.Differentiate] = {
    EXACT: by.exact,
    "supplemented EM": by.supplemented_em,
    "finite differences": by.finite_differences,
}


@dataclass(frozen=True)
class Comparer:
    """Runs tasks; data sets are those of the paper's experiments."""

    experimenter: Experimenter

    def run(self, executor: Executor, task: Task) -> dict[str, Any]:
        """Do one task; the result is a line of the ledger."""
        table = self.experimenter.table(task)
        problem = self.experimenter.problem(table, task.states, task.epsilon)
        seed, starts = self.experimenter.seed, self.experimenter.starts
        options = Options(starts=starts, seed=seed)
        fit = learn(problem, options, executor=executor, ranks=MASS)
        # Uphill from wherever the search ended, for a Hessian is wanted at a maximum of g.
        top = learn(problem, start=fit.model)
        return {
            **asdict(task),
            "dimension": problem.network.dimension,
            "log_posterior": top.log_posterior,
            "smallest": float(top.model.theta.min()),  # probability at the maximum
            "ascents": [_ascents(problem, (seed, start)) for start in range(STARTS)],
            "hessians": _hessians(problem, top.model.theta, top.log_posterior),
        }


def _ascents(problem: Problem, seed: tuple[int, int]) -> dict[str, Any]:
    """Where each way ends that starts from the same random parameters."""
    start = random_theta(problem.layout, np.random.default_rng(seed))
    found = {name: climb(way, problem, start) for name, way in WAYS.items()}
    return {
        name: {
            "log_posterior": a.g,
            "converged": a.converged,
            "steps": a.steps,
            "near": a.near,
            "cpu": a.cpu,
        }
        for name, a in found.items()
    }


def _hessians(problem: Problem, theta: FloatArray, g: float) -> dict[str, Any]:
    """Log |A| and Laplace's approximation, with each Hessian."""
    objective = Objective.build(problem, Estimate.MAP)
    found = {name: way(objective, theta) for name, way in HESSIANS.items()}
    true = found[EXACT].A
    ratios = ratio_tests(problem, theta)
    rows: dict[str, Any] = {
        name: {
            "log_det": h.log_det,
            "difference": by.largest_difference(h.A, true),
            "asymmetry": h.asymmetry,
            "passes": h.passes,
            "cpu": h.cpu,
        }
        for name, h in found.items()
    }
    rows[RATIOS] = asdict(ratios) | {"difference": None, "asymmetry": None}
    constant = g + problem.network.dimension / 2 * math.log(2 * math.pi)
    for row in rows.values():
        row["laplace"] = None if row["log_det"] is None else constant - row["log_det"] / 2
    return rows


def weight(task: Task) -> float:
    """How long a task takes, roughly."""
    return 1.0 + (task.n * task.states / 50) ** 2
