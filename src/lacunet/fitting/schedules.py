"""The ways to look for the maximum: as the paper did, quickly to the end, or further."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import NamedTuple, TypeAlias

from lacunet.fitting import ascent
from lacunet.fitting.agglomerate import agglomerated
from lacunet.fitting.ascent import ONE_OF_MANY, Climb, Curvature, Outcome, ascend, em_while_fast
from lacunet.fitting.crossing import Crosser, cross_all
from lacunet.fitting.exchange import exchange
from lacunet.fitting.maxima import (
    ESTIMATE,
    HIGHEST,
    Rank,
    Ranks,
    agree,
    best_of,
    climb_all,
    distinct,
    is_better,
    leave_saddles,
    reached_by,
    unseen,
    value_of,
)
from lacunet.fitting.objective import Objective, Point, Round, halving, random_starts, wander
from lacunet.inference.problem import Problem
from lacunet.models.surgery import members

FINALISTS = 8  # most random starts that are brought to their maximum
RACED = 4  # starts raced for each of them
BATCHES = 8  # most batches of random starts after the first,
MORE = 5e8  # and most work in them: cells of rows times states, for every step;
OVERHEAD, OF_BLOCKS = (
    30_000,
    200_000,
)  # of a step, in the same unit; more where numbers vary together
RACE = 3  # steps of a race for each of its starts, about
UNSEEN = 0.05  # share of starts expected to end at maxima not seen, below which there are no more,
SURE = 3  # if so many reached the best;
CROSSED = 16  # most maxima that are crossed
MERGED = 12  # random starts for each start from merged rows, in a search that goes further
PAPER_ITERATIONS = 200  # CH96 §3
WALKERS = 8  # walks from the best maximum in a round,
ROUNDS = 12  # most rounds,
PATIENCE = 3  # rounds in a row without a better maximum, before the search ends
TASK = "EM"  # as progress calls it


class Schedule(StrEnum):
    """How far to search. Each but the paper's looks for the estimate, the highest maximum of g.

    Where scores of the evidence are wanted, it looks for the mode of largest mass as well: the
    maximum around which most of the posterior lies, as far as Cheeseman–Stutz tells, with every
    hidden state in use if that can be. Often both are the same.

    - default climbs from random starts, more of them as long as new maxima turn up, and from rows
      of the data that were merged into as many clusters as there are hidden states. It crosses what
      these led to, and exchanges states.
    - thorough starts from several such clusterings, and walks on from the best maximum to better
      ones near by. Takes some five times as long.
    - paper does what CH96 did, and ends where that ends.
    """

    DEFAULT = "default"
    THOROUGH = "thorough"
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
    merged: int = 0  # how many of the climbs, the last ones, are those from merged rows


# Of an objective, a number of starts, a seed, and ranks: what is best by each of them.
Searcher: TypeAlias = Callable[[Objective, int, int, Ranks], tuple[Search, ...]]
Say: TypeAlias = Callable[[str, float], None]


def ignored(_task: str, _done: float) -> None:
    """Say nothing."""


def search_paper(objective: Objective, starts: int, seed: int, ranks: Ranks) -> tuple[Search, ...]:
    """Follow CH96 §3: halve until one is left, then 200 iterations, whatever they bring."""
    points = random_starts(objective, starts, seed)
    for survivors, _ in halving(objective, points, finalists=1):
        points = survivors
        objective.executor.say(TASK, 0.5 * (1 - len(points) / starts))
    (point,) = points
    converged = False
    for _ in range(PAPER_ITERATIONS):
        before, point = point, objective.em_step(point)
        change = ascent.relative_change(before, point, objective.problem.log_base)
        converged |= change < ascent.PAPER_CHANGE
    outcome = Outcome.PAPER_CONVERGED if converged else Outcome.PAPER_STOPPED
    found = Search(Climb(point, PAPER_ITERATIONS, outcome), 1, 1, None)
    return (found,) * len(ranks)


def search(
    objective: Objective, starts: int, seed: int, ranks: Ranks, *, thorough: bool = False
) -> tuple[Search, ...]:
    """Climb from random starts and from merged rows, cross what was found, exchange states.

    All that was climbed is one pool; of it each rank takes its best.
    """
    merged = max(1, starts // MERGED) if thorough else 1
    started = climb_from_starts(objective, starts, seed, merged=merged, ranks=ranks)
    pool, winners = list(started.climbs), list[Climb]()
    # The highest last: the mode of largest mass may be it, and is in the pool then.
    for turn, rank in enumerate(sorted(ranks, key=lambda rank: rank == HIGHEST)):
        said = 0.5 + 0.4 * turn / len(ranks), 0.5 + 0.4 * (turn + 1) / len(ranks)
        budget = 0
        if rank == HIGHEST:
            budget = steps_worth(objective.problem) if starts > 1 else 0
            more, budget = climb_more(objective, started, starts, seed, budget)
            pool += more
        pool = crossed(objective, Started(pool, started.beaten), rank, seed)
        _, winner = best_of(objective, [*pool, *winners], rank)
        winner = exchanged(objective, pool, winner, rank, seed)
        if thorough or (budget > 0 and not is_sure(pool, winner, rank)):
            winner = walked(objective, pool, winner, rank, seed, said)
        winners.append(winner)
        pool += [] if reached_by(pool, winner) else [winner]
        objective.executor.say(TASK, said[1])
    return finish(objective, pool, winners, ranks)


def climb_more(
    objective: Objective, started: Started, starts: int, seed: int, budget: int
) -> tuple[list[Climb], int]:
    """Race and climb more random starts, as long as maxima turn up that no other start reached.

    A budget of steps says how many there may be: what climbs took, and what is left of it.
    """
    random = started.climbs[: len(started.climbs) - started.merged]
    more = list[Climb]()
    for batch in range(1, 1 + BATCHES):
        climbs = [*random, *more]
        top = max(climbs, key=lambda climb: climb.point.g)
        seen = unseen(climbs) <= UNSEEN and reached_by(climbs, top) >= SURE
        if seen or budget <= 0:
            break
        points, _ = raced(objective, starts, seed, first=batch * starts)
        found = climb_all(objective, points, ESTIMATE, top, ONE_OF_MANY)
        budget -= RACE * starts + sum(climb.steps for climb in found)
        more += found
    return more, budget


def steps_worth(problem: Problem) -> int:
    """Steps of EM that cost little: small tables have more of them."""
    network = problem.network
    states = max((problem.layout.cards[h] for h in network.hidden), default=1)
    blocks = any(len(members(network, i)) > 1 for i in network.observed)
    step = len(problem.counts) * problem.codes.shape[1] * states
    return int(MORE / (OVERHEAD + OF_BLOCKS * blocks + step))


def walked(
    objective: Objective,
    climbs: Sequence[Climb],
    winner: Climb,
    rank: Rank,
    seed: int,
    said: tuple[float, float],
) -> Climb:
    """Walk on from the best maximum as long as better ones turn up near by, and exchange again."""
    value, in_vain = rank(objective, winner.point), 0
    for turn in range(ROUNDS):
        walk = partial(wander, objective, winner.point, seed)
        ends = objective.executor.map(walk, range(turn * WALKERS, (turn + 1) * WALKERS))
        climbs_there = climb_all(objective, ends, (rank,), winner, ONE_OF_MANY)
        value_there, there = best_of(objective, climbs_there, rank)
        in_vain += 1
        if is_better(value_there, value):
            value, winner, in_vain = value_there, there, 0
        objective.executor.say(TASK, said[0] + (said[1] - said[0]) * (turn + 1) / ROUNDS)
        if in_vain == PATIENCE:
            break
    return exchanged(objective, climbs, winner, rank, seed)


def exchanged(
    objective: Objective, climbs: Sequence[Climb], winner: Climb, rank: Rank, seed: int
) -> Climb:
    """Exchange states of the winner, unless most starts agree on it, and climb to the end."""
    if is_sure(climbs, winner, rank):
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
    climbs, beaten = started.climbs, started.beaten
    _, winner = best_of(objective, climbs, rank)
    if is_sure(climbs, winner, rank):
        return climbs
    crosser = Crosser.build(objective, rank)
    if not crosser.variables:
        return climbs
    chosen = _to_cross(climbs)
    points = [*(climb.point for climb in chosen), *beaten]
    lines = objective.executor.map(crosser.line, points)
    halves = [cross_all(crosser, lines[i::2], seed, i) for i in range(2)]
    ends = climb_all(objective, [half[0].point for half in halves], (rank,), winner)
    # Where a half ends at what one of its own starts had reached, nothing was found.
    found = [end for i, end in enumerate(ends) if not reached_by(chosen[i::2], end)]
    if not reached_by(ends[:1], ends[1]):
        best, *_ = cross_all(crosser, [*halves[0], *halves[1]], seed, len(halves))
        end, *_ = climb_all(objective, [best.point], (rank,), winner)
        found += [] if reached_by([*chosen, *ends], end) else [end]
    return [*climbs, *found]


def climb_from_starts(
    objective: Objective, starts: int, seed: int, *, merged: int, ranks: Ranks
) -> Started:
    """Race random starts, and climb to the maximum with a handful and with those of merged rows."""
    executor = objective.executor
    points, beaten = raced(objective, starts, seed, say=executor.say)
    if not objective.problem.network.hidden:
        merged = 0
    points += executor.map(partial(merged_start, objective, seed), range(merged))
    executor.say(TASK, 0.4)
    climbs = climb_all(objective, points, ranks)
    executor.say(TASK, 0.5)
    return Started(climbs, beaten, merged)


def raced(
    objective: Objective, starts: int, seed: int, *, first: int = 0, say: Say = ignored
) -> Round:
    """Race random starts, of which `first` has the lowest number."""
    drawn = random_starts(objective, starts, seed, first)
    ended = Round(drawn, [])
    finalists = min(FINALISTS, max(starts // RACED, min(2, starts)))
    for turn in halving(objective, drawn, finalists=finalists):
        say(TASK, 0.3 * (1 - len(turn.survivors) / starts))
        ended = turn
    return ended


def merged_start(objective: Objective, seed: int, index: int) -> Point:
    """Start from merged rows."""
    return objective.at(agglomerated(objective.problem, seed, index))


def finish(
    objective: Objective, climbs: Sequence[Climb], winners: Sequence[Climb], ranks: Ranks
) -> tuple[Search, ...]:
    """Leave winners that are saddles, and see for each rank which climbs reached the best."""
    chosen = [_chosen(objective, winners, rank) for rank in ranks]
    ends = {id(winner): leave_saddles(objective, winner) for winner in chosen}
    return tuple(
        _found(objective, [c for c in climbs if c is not winner], *ends[id(winner)], rank)
        for winner, rank in zip(chosen, ranks, strict=True)
    )


def _chosen(objective: Objective, winners: Sequence[Climb], rank: Rank) -> Climb:
    """The best of the winners; of those that are the same maximum, the last, the estimate's own."""
    return best_of(objective, winners[::-1], rank)[1]


def _found(
    objective: Objective, others: Sequence[Climb], climb: Climb, curvature: Curvature, rank: Rank
) -> Search:
    reached = reached_by(others, climb) + 1
    values = objective.executor.map(partial(value_of, objective, rank), others)
    doubt = 0.0
    if others and reached == 1:
        doubt = max(rank(objective, climb.point) - max(values), 0.0)
    ranked = sorted(zip(values, others, strict=True), key=lambda v: -v[0])
    maxima = [c.point for _, c in ranked if c.outcome is Outcome.CONVERGED]
    return Search(climb, len(others) + 1, reached, curvature, doubt, distinct(climb.point, maxima))


def is_sure(climbs: Sequence[Climb], winner: Climb, rank: Rank) -> bool:
    """Whether there is nothing to look for: climbs agree, or have seen all maxima."""
    reached = reached_by(climbs, winner)
    all_seen = rank == HIGHEST and reached >= SURE and unseen(climbs) <= UNSEEN
    return all_seen or agree(reached, len(climbs))


def _to_cross(climbs: Sequence[Climb]) -> list[Climb]:
    """Take all climbs; of many the highest, each maximum once."""
    if len(climbs) <= CROSSED:
        return list(climbs)
    kept = list[Climb]()
    for climb in sorted(climbs, key=lambda climb: -climb.point.g):
        if len(kept) < CROSSED and not reached_by(kept, climb):
            kept.append(climb)
    return kept


SEARCHERS: Mapping[Schedule, Searcher] = {
    Schedule.DEFAULT: search,
    Schedule.THOROUGH: partial(search, thorough=True),
    Schedule.PAPER: search_paper,
}
