"""The experiments of CH96 §4 and §5, and the results file of these and of other studies."""

import math
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar

import numpy as np

from lacunet.data.table import Table
from lacunet.errors import OptionError
from lacunet.fitting.fit import Fit, Options, learn
from lacunet.fitting.schedules import Schedule
from lacunet.inference.problem import Problem, build_problem
from lacunet.models.conjugacy import random_theta
from lacunet.models.latent_class import latent_class
from lacunet.models.network import Model
from lacunet.models.prior import uniform_alpha
from lacunet.models.surgery import sample_codes
from lacunet.runtime.checkpoint import Ledger, Sort
from lacunet.runtime.executor import Executor
from lacunet.runtime.files import check_folder
from lacunet.scores import SCORES, Evidence, ScoreInput
from lacunet.structure.learning import learn_structure
from lacunet.structure.searching import ONE_CLIMB

EPSILON = 0.01  # α = 1 + ε; CH96 §3
PAPER_SCORES = ("laplace", "cs", "mled", "draper", "bic")
RESULTS = Sort(
    "lacunet-paper/1",
    "a results file of `lacunet paper`",
    "choose another folder with --out",
)
T = TypeVar("T")  # a task of a study


def finite(x: Any) -> Any:
    """Return a value for JSON: None for a number that is not finite."""
    return None if isinstance(x, float) and not math.isfinite(x) else x


def begin(
    out: str | Path, name: str, settings: Mapping[str, Any], kind: type[T], **counts: int
) -> Ledger[T]:
    """Check the settings and the folder, and open its results file."""
    for what, value in counts.items():
        if value < 1:
            raise OptionError(f"{value} {what}: there must be at least 1.")
    check_folder(out)
    return Ledger(Path(out) / name, RESULTS, settings, kind)


@dataclass(frozen=True)
class Work(Generic[T]):
    """Functions that run, weigh and name the tasks of one kind."""

    run: Callable[[T], dict[str, Any]]  # computes a line of the ledger
    weight: Callable[[T], float]  # relative duration, roughly
    title: Callable[[T], str]  # in progress messages


def run_all(todo: Sequence[T], work: Work[T], ledger: Ledger[T], executor: Executor) -> None:
    """Run every task that the ledger does not have; each result is saved at once."""
    left = [task for task in todo if task not in ledger]
    total = sum(map(work.weight, todo))
    finished = total - sum(map(work.weight, left))
    for place, record in executor.results(work.run, left):
        ledger.add(record)
        finished += work.weight(left[place])
        executor.report(work.title(left[place]), finished / total)


Panel: TypeAlias = tuple[int, int, int]  # n leaves, c states of the generating root, N cases
States: TypeAlias = Mapping[int, Sequence[int]]  # states of the test models, by c


@dataclass(frozen=True)
class Task:
    """One line of the ledger: a fit, or a comparison of §5."""

    kind: str  # "fit" or "reality"; studies have other kinds
    n: int  # leaves
    c: int  # states of the generating root
    N: int  # cases
    model: int  # number of the generating model
    dataset: int  # number of the data set
    states: int  # states of the test model; 0 for a comparison
    epsilon: float


@dataclass(frozen=True)
class Design:
    """A set of experiments."""

    figures: Mapping[int, Sequence[Panel]]  # four panels each
    states: States
    timed: Panel  # the experiment of Table 2
    reality: Sequence[Panel]  # §5; the first is the paper's
    reality_states: Sequence[int]
    epsilon_panels: Sequence[Panel]  # repeated with every ε
    epsilons: Sequence[float]

    @property
    def panels(self) -> list[Panel]:
        """Every experiment once."""
        return list(dict.fromkeys(p for panels in self.figures.values() for p in panels))

    def tasks(self, models: int, datasets: int) -> Iterator[Task]:
        """Every task, all of model 0 first."""
        for m in range(models):
            yield from tasks_of("fit", self.panels, self.states, m, datasets, EPSILON)
            for (n, c, N), r in product(self.reality, range(datasets)):
                yield Task("reality", n, c, N, m, r, 0, EPSILON)
            for epsilon in self.epsilons:
                if epsilon != EPSILON:
                    yield from tasks_of(
                        "fit", self.epsilon_panels, self.states, m, datasets, epsilon
                    )


def tasks_of(
    kind: str, panels: Sequence[Panel], states: States, model: int, datasets: int, epsilon: float
) -> Iterator[Task]:
    """Every test model of every data set of one generating model."""
    for (n, c, N), r in product(panels, range(datasets)):
        yield from (Task(kind, n, c, N, model, r, k, epsilon) for k in states[c])


PAPER = Design(
    figures={
        1: ((8, 4, 400), (16, 4, 400), (32, 4, 400), (64, 4, 400)),
        2: ((64, 32, 400), (64, 16, 400), (64, 8, 400), (64, 4, 400)),
        3: ((32, 4, 100), (32, 4, 200), (32, 4, 400), (32, 4, 800)),
    },
    states={4: range(2, 9), 8: range(3, 15), 16: range(6, 25), 32: range(8, 41)},
    timed=(64, 32, 400),
    reality=((12, 3, 800), (16, 4, 800), (24, 4, 800)),
    reality_states=range(1, 7),
    epsilon_panels=((16, 4, 400), (32, 4, 400)),
    epsilons=(0.001, 0.01, 0.1),  # the range in which the paper's conclusions did not change
)


@dataclass(frozen=True)
class Experimenter:
    """Runs tasks; all randomness depends on one seed and the numbers of the task."""

    design: Design
    seed: int
    starts: int

    def generator(self, n: int, c: int, model: int) -> Model:
        """Draw the generating model: uniform Dirichlet parameters. CH96 §4."""
        network = latent_class([(f"x{i}", (0, 1)) for i in range(n)], c)
        rng = np.random.default_rng([self.seed, 0, n, c, model])
        return Model(network, random_theta(network.layout, rng), np.ones(network.layout.size))

    def table(self, task: Task) -> Table:
        """Draw the data set of a task."""
        model = self.generator(task.n, task.c, task.model)
        place = (task.n, task.c, task.N, task.model, task.dataset)
        rng = np.random.default_rng([self.seed, 1, *place])
        return Table.from_codes(sample_codes(model, task.N, rng))

    def problem(self, table: Table, states: int, epsilon: float) -> Problem:
        """Join a data set and a test model."""
        network = latent_class([(c.name, c.states) for c in table.columns], states)
        return build_problem(table, network, uniform_alpha(network.layout, 1.0 + epsilon))

    def run(self, executor: Executor, task: Task) -> dict[str, Any]:
        """Run one task; the result is a line of the ledger."""
        work = self._reality if task.kind == "reality" else self._fit
        return {**asdict(task), **work(task, executor)}

    def _learned(self, problem: Problem, executor: Executor) -> Fit:
        options = Options(schedule=Schedule.PAPER, starts=self.starts, seed=self.seed)
        return learn(problem, options, executor=executor)

    def _fit(self, task: Task, executor: Executor) -> dict[str, Any]:
        problem = self.problem(self.table(task), task.states, task.epsilon)
        fit = self._learned(problem, executor)
        scores = scored(fit, PAPER_SCORES)
        # The distance from a true maximum.
        onward = learn(problem, executor=executor, start=fit.model)
        return {
            "dimension": problem.network.dimension,
            "scores": {name: finite(e.value) for name, e in scores.items()},
            "log_posterior": fit.log_posterior,
            "converged": fit.status.value,
            "scaled_gradient": fit.gradient,
            "gap": onward.log_posterior - fit.log_posterior,
            "seconds": {"em": fit.seconds, **{name: e.seconds for name, e in scores.items()}},
        }

    def _reality(self, task: Task, executor: Executor) -> dict[str, Any]:
        """§5: the hidden-root model against the best graph without hidden variables."""
        table = self.table(task)
        began = time.perf_counter()
        best, states = -math.inf, 0
        for k in self.design.reality_states:
            problem = self.problem(table, k, EPSILON)
            fit = self._learned(problem, executor)
            value = scored(fit, ("laplace",))["laplace"].value
            if value > best:
                best, states = value, k
        graph = learn_structure(table, 1.0, ONE_CLIMB)  # as the paper does
        return {
            "hidden_states": states,
            "laplace": best,
            "log_bd": graph.log_bd,
            "edges": sum(len(p) for p in graph.network.parents),
            "difference": best - graph.log_bd,
            "seconds": {"all": time.perf_counter() - began},
        }


def scored(fit: Fit, names: Collection[str]) -> dict[str, Evidence]:
    """Compute some scores, each from the parameters alone, so that its time is complete."""
    theta = fit.model.theta
    return {s.name: s(ScoreInput(fit.problem, theta)) for s in SCORES if s.name in names}


def work_of(experimenter: Experimenter, executor: Executor) -> Work[Task]:
    """Return the functions that run, weigh and name tasks."""
    return Work(partial(Experimenter.run, experimenter, executor.silent()), _weight, _title)


def _title(task: Task) -> str:
    name = "§5" if task.kind == "reality" else f"{task.states} states"
    return f"n={task.n} c={task.c} N={task.N}, {name}"


def _weight(task: Task) -> float:
    """Relative duration of a task, roughly: EM, and the cube of the dimension for Laplace."""
    d = task.states * task.n if task.kind == "fit" else 6 * task.n * 3
    return 20_000 + 200.0 * d * task.N / 400 + (d / 10) ** 3 / 100
