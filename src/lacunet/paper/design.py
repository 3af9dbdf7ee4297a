"""The experiments of CH96 §4 and §5."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias

EPSILON = 0.01  # α = 1 + ε; CH96 §3

Panel: TypeAlias = tuple[int, int, int]  # n leaves, c states of the generating root, N cases
States: TypeAlias = Mapping[int, Sequence[int]]  # states of the test models, by c


@dataclass(frozen=True)
class Task:
    """One line of the ledger: a fit, a comparison of §5 or of alternatives, a measured evidence."""

    kind: str  # "fit", "reality", "truth" or "alternatives"
    n: int  # leaves
    c: int  # states of the generating root
    N: int  # cases
    model: int  # number of the generating model
    dataset: int  # number of the data set
    states: int  # states of the test model; 0 for a comparison
    epsilon: float


@dataclass(frozen=True)
class Design:
    """Which experiments there are."""

    figures: Mapping[int, Sequence[Panel]]  # four panels each
    states: States
    timed: Panel  # the experiment of Table 2
    reality: Sequence[Panel]  # §5; the first is the paper's
    reality_states: Sequence[int]
    epsilon_panels: Sequence[Panel]  # repeated with every ε
    epsilons: Sequence[float]
    truth_states: States  # of those whose evidence is measured
    alternative_panels: Sequence[Panel]  # on which other ways up, and to the Hessian, are compared

    @property
    def panels(self) -> list[Panel]:
        """Every experiment once."""
        return list(dict.fromkeys(p for panels in self.figures.values() for p in panels))

    def tasks(self, models: int, datasets: int) -> Iterator[Task]:
        """Every task, all of model 0 first."""
        for m in range(models):
            yield from _tests("fit", self.panels, self.states, m, datasets, EPSILON)
            for (n, c, N), r in product(self.reality, range(datasets)):
                yield Task("reality", n, c, N, m, r, 0, EPSILON)
            for epsilon in self.epsilons:
                if epsilon != EPSILON:
                    yield from _tests("fit", self.epsilon_panels, self.states, m, datasets, epsilon)

    def truth_tasks(self, models: int, datasets: int) -> Iterator[Task]:
        """Every evidence to measure, those of one data set together."""
        for m in range(models):
            yield from _tests("truth", self.panels, self.truth_states, m, datasets, EPSILON)

    def alternative_tasks(self, models: int, datasets: int) -> Iterator[Task]:
        """Every data set on which alternatives are compared, with its own number of states."""
        for m, (n, c, N), r in product(range(models), self.alternative_panels, range(datasets)):
            yield Task("alternatives", n, c, N, m, r, c, EPSILON)


def _tests(
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
    truth_states={
        4: range(2, 9),
        8: (3, 4, 5, 6, 7, 8, 9, 10, 12, 14),
        16: (6, 8, 10, 12, 13, 14, 15, 16, 17, 18, 20, 24),
        32: (8, 12, 16, 20, 24, 26, 28, 30, 32, 34, 36, 40),
    },
    alternative_panels=(
        *((n, 4, 400) for n in (8, 16, 32, 64)),
        *((32, 4, N) for N in (100, 800)),
        *((64, c, 400) for c in (8, 16)),
    ),
)
