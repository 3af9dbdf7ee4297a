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
    """One line of the ledger: a fit, or a comparison of §5."""

    kind: str  # "fit" or "reality"; those of studies have names of their own
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
