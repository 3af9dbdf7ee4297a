"""Do the experiments: fit, score, and measure the evidence itself."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from lacunet.evidence.ais import UsedClasses
from lacunet.evidence.clock import Goal
from lacunet.evidence.measure import Method, measure
from lacunet.executor import Executor
from lacunet.inference.problem import Problem
from lacunet.learn.fit import Fit, Options, learn
from lacunet.learn.schedules import Schedule
from lacunet.model.network import Model
from lacunet.paper.design import Design, Task
from lacunet.paper.experiments import Experimenter, finite
from lacunet.scores import SCORES, Evidence, Score, ScoreInput
from lacunet.scoring.once import Once
from lacunet.scoring.score_input import fitted

KIND = "truth"
LARGEST_WBIC = 200  # parameters beyond which the chains of WBIC are not run: minutes for each


class Measurer:
    """Runs tasks one after the other, each on all threads.

    Everything that is measured follows from one seed, as long as the budget does not cut it short.
    """

    def __init__(
        self, design: Design, seed: int, starts: int, goal: Goal, executor: Executor
    ) -> None:
        self.experimenter = Experimenter(design, seed, starts)
        self.seed, self.starts, self.goal, self.executor = seed, starts, goal, executor
        self.dataset: tuple[int, ...] = ()
        self.shared, self.used = Once(), UsedClasses()

    def run(self, task: Task) -> dict[str, Any]:
        """Do one task; the result is a line of the ledger."""
        dataset = (task.n, task.c, task.N, task.model, task.dataset)
        if dataset != self.dataset:  # candidates for one data set share fits and parts
            self.dataset, self.shared, self.used = dataset, Once(), UsedClasses()
        table = self.experimenter.table(task)
        problem = self.experimenter.problem(table, task.states, task.epsilon)
        options = Options(starts=self.starts, seed=self.seed)
        done = fitted(problem, options, rank=False, shared=self.shared, executor=self.executor)
        scores = {s.name: done.at.evidence(s) for s in SCORES if _wanted(s, problem)}
        truth = measure(
            problem,
            Method.AUTO,
            Goal(self.goal.target, self.goal.budget),
            seed=self.seed,
            executor=self.executor,
            shared=self.used,
        )
        return {
            **asdict(task),
            "dimension": problem.network.dimension,
            "scores": {name: finite(e) for name, e in scores.items()},
            "log_posterior": done.fit.log_posterior,
            "truth": {
                "value": truth.value,
                "one_labelling": truth.one_labelling,
                "stderr": truth.stderr,
                "verdict": truth.verdict.value,
                "method": truth.method.value,
                "used": {str(m): share for m, share in truth.used.items()},
            },
            "starts": self._starts(problem, task, done.fit),
            "seconds": {
                "em": done.fit.seconds,
                "evidence": truth.seconds,
                **{name: e.seconds for name, e in scores.items()},
            },
        }

    def _starts(self, problem: Problem, task: Task, default: Fit) -> dict[str, Any]:
        """CS and log posterior where each way of starting EM ends."""
        truth = self.experimenter.generator(task.n, task.c, task.model)
        ways: dict[str, Fit] = {"default": default}
        for schedule in (Schedule.PAPER, Schedule.THOROUGH, Schedule.MASS):
            options = Options(schedule=schedule, starts=self.starts, seed=self.seed)
            ways[schedule.value] = learn(problem, options, executor=self.executor)
        if task.states == task.c:
            began = Model(problem.network, truth.theta, problem.alpha)
            ways["generating"] = learn(problem, executor=self.executor, start=began)
        return {
            name: {
                "log_posterior": fit.log_posterior,
                "scores": {n: finite(e) for n, e in _two_scores(problem, fit).items()},
                "seconds": fit.seconds,
            }
            for name, fit in ways.items()
        }


def _two_scores(problem: Problem, fit: Fit) -> dict[str, Evidence]:
    at = ScoreInput(problem, fit.model.theta)
    return {s.name: s(at) for s in SCORES if s.name in ("cs", "laplace")}


def _wanted(score: Score, problem: Problem) -> bool:
    small = score.name != "wbic" or problem.network.dimension <= LARGEST_WBIC
    return score.applies(problem) and small


def weight(task: Task) -> float:
    """How long a task takes, roughly."""
    return 1.0 + task.states * task.n * task.N / 20_000
