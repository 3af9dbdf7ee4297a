"""Long work tells how far it is; only the command line draws it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True)
class Progress:
    """One event."""

    task: str  # what is being done now, for a person
    done: float  # work done so far, 0 to 1


Listener: TypeAlias = Callable[[Progress], None]


def ignore(event: Progress) -> None:
    """Listen to nothing."""
