"""The posterior over the candidates, measured as far as it matters.

Scores screen the candidates. Those that can matter are measured: numbers of classes all at once by
a walk over partitions, other networks one by one. What is large is not sampled, by rules on
numbers that are the same every time: there approximations are good, and sampling is dear.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

from lacunet.evidence.clock import Goal
from lacunet.evidence.partitions.walk import WalkGoal
from lacunet.evidence.partitions.weighted import can_walk, work_of_walks
from lacunet.flags import Flag, Kind
from lacunet.inference.plausible import FAILURES
from lacunet.inference.problem import Problem
from lacunet.inference.sampling.draws import touched_by_cases
from lacunet.runtime.checkpoint import FORGETFUL, Kept
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.selection.all_at_once import by_walk
from lacunet.selection.average import Label
from lacunet.selection.candidates import Selection
from lacunet.selection.certainty import How, about
from lacunet.selection.one_by_one import by_measurements, measure_each
from lacunet.selection.screening import may_matter
from lacunet.settings import OF_PROBABILITY

MOST_WALKED = 1e10  # numbers that a walk may touch: less than a minute;
MOST_DOUBTED = 4e10  # and one whose chains do not agree: they walk on
FEWEST_ROUNDS = 4  # of a walk, which must fit into that
MOST_MEASURED = 1e6  # numbers that one pass over the cases touches, times parameters, of a network


def measure_posterior(
    selection: Selection, *, goal: Goal, executor: Executor = SERIAL, kept: Kept = FORGETFUL
) -> Selection:
    """Measure the posterior over the candidates, as far as it matters and is worth its price.

    A score can be far too high, and then hides candidates that matter. So the others are looked at
    again when the best ones are measured.
    """
    labels = may_matter(selection)
    while True:
        found = _measured(selection, labels, goal, executor, kept)
        values = found.certainty.values
        known = {k: values[k] for k in found.certainty.measured if math.isfinite(values[k])}
        again = may_matter(selection, known)
        sampled = found.certainty.how in {How.MEASURED, How.UNSETTLED}
        if not sampled or {*again} <= {*labels}:
            return found
        labels = [c.label for c in selection.candidates if c.label in {*labels, *again}]


def _measured(
    selection: Selection, labels: Sequence[Label], goal: Goal, executor: Executor, kept: Kept
) -> Selection:
    """Measure some candidates, if they are several, and not too large."""
    problems = [c.problem for c in selection.candidates if c.label in labels]
    if len(problems) < 2 or selection.trusted.only_exact:
        return approximated(selection, how=How.CLEAR)
    numbers = [label for label in labels if isinstance(label, int)]
    if len(numbers) == len(labels) and can_walk(problems):
        rounds = rounds_worth(problems[-1], numbers, MOST_WALKED)
        if rounds < FEWEST_ROUNDS:
            work = work_of_walks(problems[-1], numbers, WalkGoal(rounds=FEWEST_ROUNDS))
            return approximated(selection, _too_large(work, MOST_WALKED))
        doubted = rounds_worth(problems[-1], numbers, MOST_DOUBTED)
        most = min(rounds, WalkGoal.rounds), min(doubted, WalkGoal.doubted)
        walk_goal = WalkGoal(OF_PROBABILITY * goal.target, *most)
        try:
            return by_walk(selection, numbers, goal=walk_goal, executor=executor, kept=kept)
        except FAILURES:
            failed = about(Kind.NOT_MEASURED, numbers, selection.unit)
            return approximated(selection, *failed)
    work = max(map(work_of_network, problems))
    if work > MOST_MEASURED:
        return approximated(selection, _too_large(work, MOST_MEASURED))
    return by_measurements(measure_each(selection, labels, goal=goal, executor=executor, kept=kept))


def work_of_network(problem: Problem) -> float:
    """What tells how dear it is to measure a network."""
    return touched_by_cases(problem) * problem.network.dimension


def approximated(selection: Selection, *notes: Flag, how: How = How.APPROXIMATED) -> Selection:
    """Leave the answer to the score to trust, and say why it is not measured."""
    found = selection.by_score(selection.trusted.name)
    if found.how is not How.EXACT:
        found = replace(found, how=how, notes=(*notes, *_unstable(selection)))
    return replace(selection, found=found)


def quick(selection: Selection) -> Selection:
    """Leave the answer to the score to trust, because that was asked for."""
    return approximated(selection, Flag(Kind.NOT_CALIBRATED), how=How.QUICK)


def rounds_worth(problem: Problem, numbers: Sequence[int], most: float | None = None) -> int:
    """Rounds of a walk that are worth a price (default: the usual one); below the fewest, none."""
    most = MOST_WALKED if most is None else most
    before, first = (work_of_walks(problem, numbers, WalkGoal(rounds=r)) for r in (0, 1))
    return int((most - before) // (first - before))


def _too_large(work: float, most: float) -> Flag:
    return Flag(Kind.TOO_LARGE, detail={"work": work, "most": most})


def _unstable(selection: Selection) -> list[Flag]:
    """Say which searches found their best optimum once only: a score elsewhere may be far off."""
    unsure = [c.label for c in selection.candidates if not c.fit.for_scores.stable]
    matter = [k for k in may_matter(selection) if k in unsure]
    return about(Kind.UNSTABLE_SEARCHES, matter, selection.unit)
