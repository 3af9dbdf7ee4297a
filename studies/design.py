"""The data sets of CH96 on which the studies of truth and of alternatives work."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from lacunet.paper.experiments import EPSILON, PAPER, Design, Panel, States, Task, tasks_of


@dataclass(frozen=True, kw_only=True)
class StudyDesign(Design):
    """The experiments of the paper, and which of them the studies repeat."""

    truth_states: States  # test models whose evidence is measured, by c
    alternative_panels: Sequence[Panel]  # on which other ways up, and to the Hessian, are compared

    def truth_tasks(self, models: int, datasets: int) -> Iterator[Task]:
        """Every evidence to measure, those of one data set together."""
        for m in range(models):
            yield from tasks_of("truth", self.panels, self.truth_states, m, datasets, EPSILON)

    def alternative_tasks(self, models: int, datasets: int) -> Iterator[Task]:
        """Every data set on which alternatives are compared, with its own number of states."""
        for m, (n, c, N), r in product(range(models), self.alternative_panels, range(datasets)):
            yield Task("alternatives", n, c, N, m, r, c, EPSILON)


STUDIES = StudyDesign(
    **vars(PAPER),
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
