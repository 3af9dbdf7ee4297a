"""Arguments that are refused before any work is done."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import index

from lacunet.errors import OptionError
from lacunet.executor import check_threads
from lacunet.learn.fit import DEFAULT_STARTS, Options
from lacunet.learn.objective import Estimate
from lacunet.learn.schedules import Schedule
from lacunet.model.prior import PAPER_ALPHA, Alpha, check_alpha
from lacunet.scores import Score, choose_scores, not_defined

DIMENSIONS = ("parameters", "rank")


def check_scores(scores: str | Sequence[str], states: Sequence[int]) -> tuple[Score, ...]:
    """Give the scores; refuse those that cannot compare the candidates."""
    chosen = choose_scores(scores)
    if all(s.only_exact for s in chosen) and any(k > 1 for k in states):
        raise not_defined(chosen)
    return chosen


def check_dimension(dimension: str) -> bool:
    """Whether d is the rank; refuse what is unknown."""
    if dimension not in DIMENSIONS:
        raise OptionError(
            f"dimension '{dimension}' is not known. Choose from {', '.join(DIMENSIONS)}."
        )
    return dimension == "rank"


def check_search(
    estimate: str = "map",
    alpha: Alpha = PAPER_ALPHA,
    starts: int = DEFAULT_STARTS,
    schedule: str = "default",
    seed: int = 0,
    threads: int | None = None,
) -> Options:
    """Give the options of learning; refuse, before any work is done, what is out of range."""
    for value, kind, name in (
        (estimate, Estimate, "estimate"),
        (schedule, Schedule, "schedule"),
    ):
        allowed = [member.value for member in kind]
        if value not in allowed:
            raise OptionError(f"{name} '{value}' is not known. Choose from {', '.join(allowed)}.")
    check_alpha(alpha)
    check_threads(threads)
    return Options(Estimate(estimate), Schedule(schedule), starts, seed)


def whole_numbers(states: int | Iterable[int]) -> list[int]:
    """Give numbers of states as a list."""
    given = [states] if isinstance(states, int) or not isinstance(states, Iterable) else states
    try:
        return [index(k) for k in given]
    except TypeError:
        raise OptionError(
            f"states {states!r} are not whole numbers. Give for example range(1, 9)."
        ) from None
