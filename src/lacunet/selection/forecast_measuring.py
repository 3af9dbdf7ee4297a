"""What measuring the evidence would take, by the rules that decide whether it is done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lacunet.evidence.partitions.walk import WalkGoal
from lacunet.evidence.partitions.weighted import can_walk, work_of_walks
from lacunet.inference.problem import Problem
from lacunet.selection.average import Label
from lacunet.selection.measuring import (
    FEWEST_ROUNDS,
    MOST_MEASURED,
    rounds_worth,
    work_of_network,
)

# Numbers a second of the work that a walk may be, on one core: three walks of 300 to 1,000 rows did
# 1.2 to 3.9 · 10⁹, for most end before their last round.
PACE = 1e9


@dataclass(frozen=True)
class Measuring:
    """What is measured when fits and scores are there."""

    what: str  # in words
    seconds: float  # at most


def forecast_measuring(
    problems: Sequence[Problem],
    labels: Sequence[Label],
    *,
    each: bool,
    budget: float,
    workers: int,
) -> Measuring:
    """Say what is measured of candidates: each by itself if that is asked for, else by the rules.

    Which of them can matter is known when they have scores: these are the most.
    """
    hidden = [problem for problem in problems if not problem.exact]
    if each or len(problems) == 1:
        return Measuring("the evidence of each, for its budget", budget * len(hidden))
    numbers = [label for label in labels if isinstance(label, int)]
    if any(problem.held is not None for problem in problems):
        return Measuring("nothing: rows that are held in parts are not sampled", 0.0)
    if len(numbers) == len(labels) and can_walk(problems):
        rounds = rounds_worth(problems[-1], numbers)
        if rounds < FEWEST_ROUNDS:
            return Measuring("nothing: the table is so large that scores decide", 0.0)
        goal = WalkGoal(rounds=min(rounds, WalkGoal.rounds))  # more only where chains disagree
        work = work_of_walks(problems[-1], numbers, goal)
        return Measuring("a walk over partitions, all numbers at once", work / PACE / workers)
    if max(map(work_of_network, problems)) > MOST_MEASURED:
        return Measuring("nothing: the networks are so large that scores decide", 0.0)
    return Measuring("the evidence of those that can matter, for its budget", budget * len(hidden))
