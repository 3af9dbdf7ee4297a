"""The results files of studies, and the work that fills them."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from lacunet.errors import OptionError
from lacunet.plots.door import load
from lacunet.runtime.checkpoint import Ledger, Sort
from lacunet.runtime.executor import Executor
from lacunet.runtime.files import check_folder

RESULTS = Sort(
    "lacunet-paper/1",
    "a results file of `lacunet paper`",
    "choose another folder with --out",
)

T = TypeVar("T")  # a task of a study


def finite(x: Any) -> Any:
    """Give what a line of JSON can hold: None in place of a number that is not finite."""
    return None if isinstance(x, float) and not math.isfinite(x) else x


def begin(
    out: str | Path, name: str, settings: Mapping[str, Any], kind: type[T], **counts: int
) -> Ledger[T]:
    """Check all that can be checked before the work, and open the results file of a folder."""
    for what, value in counts.items():
        if value < 1:
            raise OptionError(f"{value} {what}: there must be at least 1.")
    check_folder(out)
    load(extra="paper", what="a figure")
    return Ledger(Path(out) / name, RESULTS, settings, kind)


@dataclass(frozen=True)
class Work(Generic[T]):
    """How tasks of one kind are done, each by itself."""

    run: Callable[[T], dict[str, Any]]  # gives a line of the ledger
    weight: Callable[[T], float]  # how long one takes, roughly
    title: Callable[[T], str]  # as progress calls it


def run_all(todo: Sequence[T], work: Work[T], ledger: Ledger[T], executor: Executor) -> None:
    """Run every task that the ledger does not have; each result is kept as soon as it is there."""
    left = [task for task in todo if task not in ledger]
    total = sum(map(work.weight, todo))
    finished = total - sum(map(work.weight, left))
    for place, record in executor.results(work.run, left):
        ledger.add(record)
        finished += work.weight(left[place])
        executor.say(work.title(left[place]), finished / total)
