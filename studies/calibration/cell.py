"""What all kinds of cells have in common."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, Self

from lacunet.evidence.annealing import Goal


@dataclass(frozen=True)
class DrawSettings:
    """How the data sets of a study are drawn and worked on."""

    seed: int  # everything random follows from it, the name of the cell and the number of the data
    starts: int  # of EM
    goal: Goal  # of every evidence that is measured


class Cell(Protocol):
    """A point of the design: data sets of one kind."""

    @property
    def name(self) -> str:
        """What it is called by, and its part of every seed."""
        ...

    @property
    def datasets(self) -> int:
        """How many there are to draw."""
        ...

    @property
    def weight(self) -> float:
        """How long a data set takes, roughly."""
        ...

    def run(self, dataset: int, how: DrawSettings) -> dict[str, Any]:
        """Draw a data set and work on it; the result is a line of the ledger."""
        ...

    def repeated(self, datasets: int) -> Self:
        """Give the same with another number of data sets."""
        ...


@contextmanager
def timed(cpu: dict[str, float], name: str) -> Iterator[None]:
    """Keep the CPU seconds that a block takes on its thread."""
    began = time.thread_time()
    yield
    cpu[name] = time.thread_time() - began
