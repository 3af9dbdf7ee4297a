"""Do the experiments: fit, score, and measure the evidence itself."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from lacunet.evidence.ais import UsedClasses
from lacunet.evidence.annealing import Goal
from lacunet.evidence.estimate import Method
from lacunet.evidence.measure import measure
from lacunet.fitting.fit import Fit, Options, learn
from lacunet.fitting.maxima import BOTH
from lacunet.fitting.schedules import Schedule
from lacunet.models.network import Model
from lacunet.paper.experiments import Experimenter, Task, finite, scored
from lacunet.runtime.executor import Executor
from lacunet.scores import SCORES, Fitting
from lacunet.scores.evaluation import ScoredFit, ScoreRequest, Unfitted, score_fits


@dataclass(frozen=True)
class Measurer:
    """Runs tasks, those of one data set together: they share fits and parts of the evidence.

    Everything that is measured follows from one seed, as long as the budget does not cut it short.
    """

    experimenter: Experimenter
    goal: Goal
    executor: Executor

    def run(self, tasks: Sequence[Task]) -> Iterator[dict[str, Any]]:
        """Score the tasks of one data set, then measure each; the results are lines of the ledger.

        Each is done on all threads.
        """
        asked = [self._asked(task) for task in tasks]
        used = UsedClasses()
        for task, found in zip(tasks, score_fits(asked, self.executor), strict=True):
            if isinstance(found, Unfitted):
                raise found.error
            yield self._measured(task, found, used)

    def _asked(self, task: Task) -> ScoreRequest:
        table = self.experimenter.table(task)
        problem = self.experimenter.problem(table, task.states, task.epsilon)
        options = Options(starts=self.experimenter.starts, seed=self.experimenter.seed)
        return ScoreRequest(
            Fitting(problem, options), tuple(s for s in SCORES if s.applies(problem))
        )

    def _measured(self, task: Task, found: ScoredFit, used: UsedClasses) -> dict[str, Any]:
        fit, scores = found.fit, found.evidence
        seed = self.experimenter.seed
        truth = measure(
            fit.problem, Method.AUTO, self.goal, seed=seed, executor=self.executor, shared=used
        )
        return {
            **asdict(task),
            "dimension": fit.problem.network.dimension,
            "scores": {name: finite(e.value) for name, e in scores.items()},
            "log_posterior": fit.log_posterior,
            "truth": {
                "value": truth.value,
                "one_labelling": truth.one_labelling,
                "stderr": truth.stderr,
                "verdict": truth.verdict.value,
                "method": truth.method.value,
                "used": {str(m): share for m, share in truth.used.items()},
            },
            "starts": self._starts(task, fit),
            "seconds": {
                "em": fit.seconds,
                "evidence": truth.seconds,
                **{name: e.seconds for name, e in scores.items()},
            },
        }

    def _starts(self, task: Task, default: Fit) -> dict[str, Any]:
        """CS and log posterior where each way of starting EM ends."""
        problem, ways = default.problem, {"default": default.for_scores}
        paper, thorough = (
            learn(problem, replace(default.options, schedule=s), executor=self.executor, ranks=BOTH)
            for s in (Schedule.PAPER, Schedule.THOROUGH)
        )
        ways |= {"paper": paper, "thorough": thorough.for_scores, "highest": thorough}
        if task.states == task.c:
            truth = self.experimenter.generator(task.n, task.c, task.model)
            began = Model(problem.network, truth.theta, problem.alpha)
            ways["generating"] = learn(problem, executor=self.executor, start=began)
        return {
            name: {
                "log_posterior": fit.log_posterior,
                "scores": {n: finite(e.value) for n, e in scored(fit, ("cs", "laplace")).items()},
                "seconds": fit.seconds,
            }
            for name, fit in ways.items()
        }


def weight(task: Task) -> float:
    """How long a task takes, roughly."""
    return 1.0 + task.states * task.n * task.N / 20_000
