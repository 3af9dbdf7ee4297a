"""What is known of the evidence of graphs, and which of several that are close is the answer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from lacunet.evidence.clock import Goal
from lacunet.evidence.measure import measure
from lacunet.evidence.measurement import Measurement
from lacunet.evidence.prepare_sampling import prepare_sampling
from lacunet.runtime.executor import Executor
from lacunet.scores import ScoreInput
from lacunet.scores.csl import csl
from lacunet.structure.incomplete import Fitted

MOST_PARAMETERS = 3_000  # for CSL: it takes the determinant of so large a matrix


@dataclass(frozen=True, eq=False)
class Weighed:
    """A graph, and its evidence by what was found out about it."""

    fitted: Fitted
    csl: float | None = None  # an approximation; None where it does not exist or would not fit
    measured: Measurement | None = None

    def rank(self, *, without_csl: bool) -> float:
        """What decides, with log p(S): measured evidence, if there is; else CSL; else the bound."""
        known = self.fitted.posterior.bound if without_csl or self.csl is None else self.csl
        if self.measured is not None:
            known = self.measured.value
        return known + self.fitted.averaging + self.fitted.log_prior


def weigh(
    finalists: Sequence[Fitted], goal: Goal | None, seed: int, executor: Executor
) -> list[Weighed]:
    """Weigh graphs, the best first; with a goal, their evidence is measured."""
    titles = [f"evidence of graph {k + 1} of {len(finalists)}" for k in range(len(finalists))]
    parts = executor.beside(titles, [1.0] * len(finalists))
    each = partial(_weigh_one, goal, seed)
    found = executor.map(each, list(zip(finalists, parts, strict=True)))
    without = any(one.csl is None for one in found)  # then it cannot decide
    return sorted(found, key=lambda one: one.rank(without_csl=without), reverse=True)


def _weigh_one(goal: Goal | None, seed: int, task: tuple[Fitted, Executor]) -> Weighed:
    one, executor = task
    problem = one.posterior.problem
    found = Weighed(one, approximate(one, executor))
    if goal is None:
        return found
    prepare_sampling(executor, problem.network)
    measured = measure(problem, goal=goal, seed=seed, executor=executor)
    return replace(found, measured=measured)


def approximate(one: Fitted, executor: Executor) -> float | None:
    """CSL, from the expected parameters uphill."""
    problem = one.posterior.problem
    if problem.network.dimension > MOST_PARAMETERS:
        return None
    value = csl(ScoreInput(problem, one.model.theta, executor=executor)).value
    return value if math.isfinite(value) else None
