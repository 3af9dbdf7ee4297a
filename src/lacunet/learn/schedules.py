"""The ways to look for the maximum: as the paper did, quickly to the end, or further."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from itertools import compress
from typing import NamedTuple

import numpy as np

from lacunet.learn import ascent
from lacunet.learn.agglomerate import agglomerated
from lacunet.learn.ascent import Climb, Outcome, ascend, em_while_fast
from lacunet.learn.crossing import Crosser, cross_all
from lacunet.learn.curvature import Curvature, least_curvature
from lacunet.learn.exchange import exchange
from lacunet.learn.objective import Estimate, Objective, Point
from lacunet.learn.ranks import HEAVIEST, HIGHEST, SAME_OPTIMUM, Rank, best_of, is_better
from lacunet.learn.starts import halving, random_starts
from lacunet.learn.wander import wander
from lacunet.model import conjugacy

FINALISTS = 8  # most random starts that are brought to their maximum
RACED = 4  # starts raced for each of them
MERGED = 12  # random starts for each start from merged rows, in a search that goes further
PAPER_ITERATIONS = 200  # CH96 §3
WALKERS = 8  # walks from the best maximum in a round,
ROUNDS = 12  # most rounds,
PATIENCE = 3  # rounds in a row without a better maximum, before the search ends
LEFT_BEHIND = 20.0  # nats of mass below the best, where EM slows down, to be given up;
TAIL = 100  # and what so many iterations might bring that pass the paper's test
KEPT = 3  # maxima besides the best that a search remembers
SADDLE = -1e-4  # least relative curvature below which a point is taken for a saddle
CLEAR = 0.1  # least curvature of a part of the rows that chance alone would not show at a saddle
ESCAPES = 20  # saddles to leave before giving up
TASK = "EM"  # as progress calls it


class Schedule(StrEnum):
    """How to search. Each but the paper's ends at a true maximum of g; of those that it reached,

    - default takes the heaviest: the one around which most of the posterior lies, as far as
      Cheeseman–Stutz tells, with every hidden state in use if that can be. It reaches them from
      random starts, from rows of the data that were merged into as many clusters as there are
      hidden states, by crossing what these led to, and by exchanging states.
    - thorough takes the heaviest as well, but starts from several such clusterings and walks on
      from the best maximum to better ones near by. Takes some five times as long.
    - highest goes the same ways as thorough, and takes the highest: the MAP. It may be a narrow
      peak; then scores of the evidence are nearer to the truth at the heaviest.

    Of the likelihood (ML) each takes the highest maximum.
    """

    DEFAULT = "default"
    THOROUGH = "thorough"
    HIGHEST = "highest"
    PAPER = "paper"


@dataclass(frozen=True, eq=False)
class Search:
    """What a schedule found."""

    climb: Climb
    finalists: int  # starts that were run to the end, and what was found from them by other ways
    reached: int  # how many of them reached the best optimum
    curvature: Curvature | None  # at the end; None where the schedule does not look
    doubt: float = 0.0  # value of the best optimum less that of the next, if reached only once
    others: tuple[Point, ...] = ()  # other maxima, the best first; no two are the same


class Started(NamedTuple):
    """What starts led to."""

    climbs: list[Climb]  # from the best random ones, and from merged rows
    beaten: list[Point]  # where the random ones are that lost the last round of their race


Searcher = Callable[[Objective, int, int], Search]  # of an objective, a number of starts, a seed


def rank_for(estimate: Estimate, schedule: Schedule) -> Rank:
    """What a schedule takes: of the likelihood, and where it is asked for, the highest maximum."""
    highest = estimate is Estimate.ML or schedule is Schedule.HIGHEST
    return HIGHEST if highest else HEAVIEST


def search_paper(objective: Objective, starts: int, seed: int) -> Search:
    """Follow CH96 §3: halve until one is left, then 200 iterations, whatever they bring."""
    points = random_starts(objective, starts, seed)
    for survivors, _ in halving(objective, points, finalists=1):
        points = survivors
        objective.executor.say(TASK, 0.5 * (1 - len(points) / starts))
    (point,) = points
    converged = False
    for _ in range(PAPER_ITERATIONS):
        before, point = point, objective.em_step(point)
        converged |= ascent.relative_change(before, point) < ascent.PAPER_CHANGE
    outcome = Outcome.PAPER_CONVERGED if converged else Outcome.PAPER_STOPPED
    return Search(Climb(point, PAPER_ITERATIONS, outcome), 1, 1, None)


def search_default(objective: Objective, starts: int, seed: int) -> Search:
    """Climb from random starts and from merged rows, cross what was found, exchange states."""
    rank = rank_for(objective.estimate, Schedule.DEFAULT)
    started = climb_from_starts(objective, starts, seed, merged=1, rank=rank)
    climbs = crossed(objective, started, rank, seed)
    winner = exchanged(objective, climbs, best_of(objective, climbs, rank)[1], rank, seed)
    return finish(objective, climbs, winner, rank)


def search_further(objective: Objective, starts: int, seed: int, *, schedule: Schedule) -> Search:
    """Do the same from more starts, and walk on from the best as long as better ones turn up."""
    rank = rank_for(objective.estimate, schedule)
    merged = max(1, starts // MERGED)
    started = climb_from_starts(objective, starts, seed, merged=merged, rank=rank)
    climbs = crossed(objective, started, rank, seed)
    winner = exchanged(objective, climbs, best_of(objective, climbs, rank)[1], rank, seed)
    value, in_vain = rank(objective, winner.point), 0
    for turn in range(ROUNDS):
        walk = partial(wander, objective, winner.point, seed)
        ends = objective.executor.map(walk, range(turn * WALKERS, (turn + 1) * WALKERS))
        walked = climb_all(objective, ends, rank, winner)
        value_there, there = best_of(objective, walked, rank)
        in_vain += 1
        if is_better(value_there, value):
            value, winner, in_vain = value_there, there, 0
        objective.executor.say(TASK, 0.5 + 0.3 * (turn + 1) / ROUNDS)
        if in_vain == PATIENCE:
            break
    winner = exchanged(objective, climbs, winner, rank, seed)
    return finish(objective, climbs, winner, rank)


def exchanged(
    objective: Objective, climbs: Sequence[Climb], winner: Climb, rank: Rank, seed: int
) -> Climb:
    """Exchange states of the winner, unless most starts agree on it, and climb to the end."""
    if agree(_reached(climbs, winner), len(climbs)):
        return winner
    found = exchange(objective, winner.point, rank, seed)
    if not found.made:
        return winner
    return ascend(objective, em_while_fast(objective, found.point))


def crossed(objective: Objective, started: Started, rank: Rank, seed: int) -> list[Climb]:
    """Cross what starts led to, unless most of them agree: all climbs, and those from there.

    First in two halves that know nothing of each other. If both end at the same maximum, that is
    a sign that there is no better one, and it was reached twice; else all are crossed.
    """
    climbs, beaten = started
    _, winner = best_of(objective, climbs, rank)
    if agree(_reached(climbs, winner), len(climbs)):
        return climbs
    crosser = Crosser.build(objective, rank)
    if not crosser.variables:
        return climbs
    points = [*(climb.point for climb in climbs), *beaten]
    lines = objective.executor.map(crosser.line, points)
    halves = [cross_all(crosser, lines[i::2], seed, i) for i in range(2)]
    ends = climb_all(objective, [half[0].point for half in halves], rank, winner)
    # Where a half ends at what one of its own starts had reached, nothing was found.
    found = [end for i, end in enumerate(ends) if not _reached(climbs[i::2], end)]
    if not _reached(ends[:1], ends[1]):
        best, *_ = cross_all(crosser, [*halves[0], *halves[1]], seed, len(halves))
        end, *_ = climb_all(objective, [best.point], rank, winner)
        found += [] if _reached([*climbs, *ends], end) else [end]
    return [*climbs, *found]


def climb_from_starts(
    objective: Objective, starts: int, seed: int, *, merged: int, rank: Rank
) -> Started:
    """Race random starts, and climb to the maximum with a handful and with those of merged rows."""
    executor = objective.executor
    points, beaten = random_starts(objective, starts, seed), list[Point]()
    finalists = min(FINALISTS, max(starts // RACED, min(2, starts)))
    for turn in halving(objective, points, finalists=finalists):
        points, beaten = turn
        executor.say(TASK, 0.3 * (1 - len(points) / starts))
    if objective.problem.network.hidden:
        points += executor.map(partial(merged_start, objective, seed), range(merged))
    executor.say(TASK, 0.4)
    climbs = climb_all(objective, points, rank)
    executor.say(TASK, 0.5)
    return Started(climbs, beaten)


def merged_start(objective: Objective, seed: int, index: int) -> Point:
    """Start from merged rows."""
    return objective.at(agglomerated(objective.problem, seed, index))


def climb_all(
    objective: Objective, points: Sequence[Point], rank: Rank, winner: Climb | None = None
) -> list[Climb]:
    """Bring points to their maxima, but for those that a better one leaves behind.

    `winner` is the best maximum so far.
    """
    climbs = objective.executor.map(partial(em_while_fast, objective), points)
    rivals = [*climbs, *([winner] if winner else [])]
    if rank is HIGHEST:
        rival = max(c.point.g for c in rivals)
        return objective.executor.map(partial(ascend, objective, rival=rival), climbs)
    values = objective.executor.map(partial(_value, objective, rank), rivals)
    best = max(values)
    least = best - LEFT_BEHIND - TAIL * ascent.PAPER_CHANGE * abs(best)
    hopes = [value > least for value in values[: len(climbs)]]
    ends = iter(objective.executor.map(partial(ascend, objective), compress(climbs, hopes)))
    return [
        next(ends) if hope else replace(climb, outcome=Outcome.ABANDONED)
        for climb, hope in zip(climbs, hopes, strict=True)
    ]


def _value(objective: Objective, rank: Rank, climb: Climb) -> float:
    return rank(objective, climb.point)


def finish(objective: Objective, climbs: Sequence[Climb], winner: Climb, rank: Rank) -> Search:
    """Leave the winner if it is a saddle, and see which starts reached the same maximum."""
    climb, curvature = leave_saddles(objective, winner)
    others = [c for c in climbs if c is not winner]
    reached = _reached(others, climb) + 1
    values = objective.executor.map(partial(_value, objective, rank), others)
    doubt = 0.0
    if others and reached == 1:
        doubt = max(rank(objective, climb.point) - max(values), 0.0)
    ranked = sorted(zip(values, others, strict=True), key=lambda v: -v[0])
    maxima = [c.point for _, c in ranked if c.outcome is Outcome.CONVERGED]
    return Search(climb, len(others) + 1, reached, curvature, doubt, distinct(climb.point, maxima))


def distinct(best: Point, others: Sequence[Point]) -> tuple[Point, ...]:
    """Give a few maxima besides the best; a relabelling of one has the same g, and is the same."""
    kept = [best]
    for point in others:
        if all(abs(point.g - known.g) > SAME_OPTIMUM for known in kept):
            kept.append(point)
    return tuple(kept[1 : 1 + KEPT])


def agree(reached: int, finalists: int) -> bool:
    """Whether most starts ended at the same maximum: then there is nothing to look for."""
    return reached > 1 and 2 * reached >= finalists


def _reached(climbs: Sequence[Climb], winner: Climb) -> int:
    """Count the climbs that ended at a maximum."""
    return sum(abs(c.point.g - winner.point.g) <= SAME_OPTIMUM for c in climbs)


def climb_from(objective: Objective, point: Point) -> tuple[Climb, Curvature]:
    """Climb to the maximum that is uphill from a point."""
    return leave_saddles(objective, ascend(objective, em_while_fast(objective, point)))


def leave_saddles(objective: Objective, climb: Climb) -> tuple[Climb, Curvature]:
    """Go on uphill from a saddle until the point is a maximum."""
    for _ in range(ESCAPES):
        curvature = _least(objective, climb.point)
        if curvature.least >= SADDLE:
            break
        if (higher := _along(objective, climb.point, curvature)) is None:
            break
        climb = ascend(objective, Climb(higher, climb.steps, climb.outcome))
    return climb, curvature


def _least(objective: Objective, point: Point) -> Curvature:
    """The least curvature; where a part of very many rows shows that there is enough, its own."""
    part = objective.problem.part
    if part is not None:
        there = Objective.build(part, objective.estimate, objective.executor)
        seen = least_curvature(there, there.at(point.theta))
        if seen.least > CLEAR:
            return seen
    return least_curvature(objective, point)


def _along(objective: Objective, point: Point, curvature: Curvature) -> Point | None:
    """Walk both ways along a direction, ever longer while it rises; None if it never does."""
    direction = curvature.direction / np.abs(curvature.direction).max()
    layout = objective.problem.layout
    highest = point
    for sign in (1.0, -1.0):
        length = 0.25
        while length < 64:
            there = objective.at(conjugacy.moved(point.theta, sign * length * direction, layout))
            if not there.g > highest.g:
                break
            highest, length = there, 2 * length
    return highest if highest is not point else None


SEARCHERS: Mapping[Schedule, Searcher] = {
    Schedule.DEFAULT: search_default,
    Schedule.THOROUGH: partial(search_further, schedule=Schedule.THOROUGH),
    Schedule.HIGHEST: partial(search_further, schedule=Schedule.HIGHEST),
    Schedule.PAPER: search_paper,
}
