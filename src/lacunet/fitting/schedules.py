"""Schedules of the search for the maximum: as the paper did, quickly to the end, or further."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import NamedTuple, TypeAlias

from lacunet.fitting.agglomerate import agglomerated
from lacunet.fitting.ascent import (
    ONE_OF_MANY,
    PAPER_CHANGE,
    Climb,
    Convergence,
    Curvature,
    ascend,
    em_while_fast,
    leave_saddles,
    relative_change,
)
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
    reached_by,
    unseen,
)
from lacunet.fitting.objective import Objective, Point, halving, perturbed, random_starts
from lacunet.fitting.recombination import Recombiner, recombine_all
from lacunet.fitting.split_merge import split_and_merge
from lacunet.inference.problem import Problem
from lacunet.models.surgery import members

FINALISTS = 8  # most random starts that are brought to their maximum
RACED = 4  # starts raced for each of them
BATCHES = 8  # most batches of random starts after the first,
MORE = 5e8  # and most work in them: cells of rows times states, for every step;
OVERHEAD = 30_000  # of a step, in the same unit;
OF_BLOCKS = 200_000  # more where numbers vary together
RACE = 3  # steps of a race for each of its starts, about
UNSEEN = 0.05  # share of starts expected to end at maxima not seen, below which there are no more,
SURE = 3  # if so many reached the best;
CROSSED = 16  # most maxima that are recombined
MERGED = 12  # random starts for each start from merged rows, in a search that goes further
PAPER_ITERATIONS = 200  # CH96 §3
WALKERS = 8  # perturbations of the best maximum in a round,
ROUNDS = 12  # most rounds,
PATIENCE = 3  # rounds in a row without a better maximum, before the search ends
SEARCHED = 0.3  # of the progress of a fit, when a part of very many rows is searched
TASK = "EM"  # as progress calls it


class Schedule(StrEnum):
    """How far to search. Each but the paper's looks for the estimate, the highest maximum of g.

    Where scores of the evidence are wanted, it looks for the mode of largest mass as well: the
    maximum around which most of the posterior lies, as far as Cheeseman–Stutz tells, with every
    hidden state in use if that can be. Often both are the same.

    - default climbs from random starts, more of them as long as new maxima turn up, and from rows
      of the data that were merged into as many clusters as there are hidden states. It recombines
      what these led to, and splits and merges states.
    - thorough starts from several such clusterings, and perturbs the best maximum to find better
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
        converged |= relative_change(before, point, objective.problem.log_base) < PAPER_CHANGE
    outcome = Convergence.PAPER_CONVERGED if converged else Convergence.PAPER_STOPPED
    return (Search(Climb(point, PAPER_ITERATIONS, outcome), 1, 1, None),) * len(ranks)


def search(
    objective: Objective, starts: int, seed: int, ranks: Ranks, *, thorough: bool = False
) -> tuple[Search, ...]:
    """Climb from random starts and from merged rows, recombine what was found, split and merge.

    All that was climbed is one pool; of it each rank takes its best.
    """
    merged = max(1, starts // MERGED) if thorough else 1
    started = climb_from_starts(objective, starts, seed, merged=merged, ranks=ranks)
    pool, winners = list(started.climbs), list[Climb]()
    # The highest last: the mode of largest mass may be it, and is in the pool then.
    for turn, rank in enumerate(sorted(ranks, key=lambda rank: rank == HIGHEST)):
        progress = 0.5 + 0.4 * turn / len(ranks), 0.5 + 0.4 * (turn + 1) / len(ranks)
        budget = 0
        if rank == HIGHEST:
            budget = _steps_worth(objective.problem) if starts > 1 else 0
            more, budget = _climb_more(objective, started, starts, seed, budget)
            pool += more
        pool = crossed(objective, Started(pool, started.beaten), rank, seed)
        _, winner = best_of(objective, [*pool, *winners], rank)
        winner = _split_and_merged(objective, pool, winner, rank, seed)
        if thorough or (budget > 0 and not _is_sure(pool, winner, rank)):
            winner = _perturbed_on(objective, winner, rank, seed, progress)
            winner = _split_and_merged(objective, pool, winner, rank, seed)
        winners.append(winner)
        pool += [] if reached_by(pool, winner) else [winner]
        objective.executor.say(TASK, progress[1])
    return finish(objective, pool, winners, ranks)


def climb_from_starts(
    objective: Objective, starts: int, seed: int, *, merged: int, ranks: Ranks
) -> Started:
    """Race random starts, and climb to the maximum with a handful and with those of merged rows."""
    executor = objective.executor
    points, beaten = _raced(objective, starts, seed)
    if not objective.problem.network.hidden:
        merged = 0
    points += executor.map(partial(merged_start, objective, seed), range(merged))
    executor.say(TASK, 0.4)
    climbs = climb_all(objective, points, ranks)
    executor.say(TASK, 0.5)
    return Started(climbs, beaten, merged)


def merged_start(objective: Objective, seed: int, index: int) -> Point:
    """Start from merged rows."""
    return objective.at(agglomerated(objective.problem, seed, index))


def _raced(
    objective: Objective, starts: int, seed: int, first: int = 0
) -> tuple[list[Point], list[Point]]:
    """Race random starts, of which `first` has the lowest number: winners, and the last losers."""
    drawn = random_starts(objective, starts, seed, first)
    ended = drawn, list[Point]()
    finalists = min(FINALISTS, max(starts // RACED, min(2, starts)))
    for ended in halving(objective, drawn, finalists=finalists):
        if not first:
            objective.executor.say(TASK, 0.3 * (1 - len(ended[0]) / starts))
    return ended


def _steps_worth(problem: Problem) -> int:
    """Steps of EM that cost little: small tables have more of them."""
    network = problem.network
    states = max((problem.layout.cards[h] for h in network.hidden), default=1)
    blocks = any(len(members(network, i)) > 1 for i in network.observed)
    step = len(problem.counts) * problem.codes.shape[1] * states
    return int(MORE / (OVERHEAD + OF_BLOCKS * blocks + step))


def _climb_more(
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
        if budget <= 0 or (unseen(climbs) <= UNSEEN and reached_by(climbs, top) >= SURE):
            break
        points, _ = _raced(objective, starts, seed, first=batch * starts)
        found = climb_all(objective, points, ESTIMATE, top, ONE_OF_MANY)
        budget -= RACE * starts + sum(climb.steps for climb in found)
        more += found
    return more, budget


def _perturbed_on(
    objective: Objective, winner: Climb, rank: Rank, seed: int, progress: tuple[float, float]
) -> Climb:
    """Perturb the best maximum as long as better ones turn up near by."""
    value, in_vain = rank(objective, winner.point), 0
    for turn in range(ROUNDS):
        move = partial(perturbed, objective, winner.point, seed)
        ends = objective.executor.map(move, range(turn * WALKERS, (turn + 1) * WALKERS))
        climbs = climb_all(objective, ends, (rank,), winner, ONE_OF_MANY)
        value_there, there = best_of(objective, climbs, rank)
        in_vain += 1
        if is_better(value_there, value):
            value, winner, in_vain = value_there, there, 0
        part = (turn + 1) / ROUNDS
        objective.executor.say(TASK, progress[0] + (progress[1] - progress[0]) * part)
        if in_vain == PATIENCE:
            break
    return winner


def _split_and_merged(
    objective: Objective, climbs: Sequence[Climb], winner: Climb, rank: Rank, seed: int
) -> Climb:
    """Split and merge states of the winner, unless starts agree on it, and climb to the end."""
    if _is_sure(climbs, winner, rank):
        return winner
    point, made = split_and_merge(objective, winner.point, rank, seed)
    return ascend(objective, em_while_fast(objective, point)) if made else winner


def crossed(objective: Objective, started: Started, rank: Rank, seed: int) -> list[Climb]:
    """Recombine what starts led to, unless most of them agree: all climbs, and those from there.

    First in two halves by themselves. If both end at the same maximum, that is a sign that there is
    no better one, and it was reached twice; else all are recombined.
    """
    climbs = started.climbs
    _, winner = best_of(objective, climbs, rank)
    if _is_sure(climbs, winner, rank):
        return climbs
    recombiner = Recombiner.build(objective, rank)
    if not recombiner.variables:
        return climbs
    chosen = climbs
    if len(climbs) > CROSSED:  # the highest, each maximum once
        chosen = []
        for climb in sorted(climbs, key=lambda climb: -climb.point.g):
            if len(chosen) < CROSSED and not reached_by(chosen, climb):
                chosen.append(climb)
    points = [*(climb.point for climb in chosen), *started.beaten]
    population = objective.executor.map(recombiner.individual, points)
    halves = [recombine_all(recombiner, population[i::2], seed, i) for i in range(2)]
    ends = climb_all(objective, [half[0].point for half in halves], (rank,), winner)
    # Where a half ends at what one of its own starts had reached, nothing was found.
    found = [end for i, end in enumerate(ends) if not reached_by(chosen[i::2], end)]
    if not reached_by(ends[:1], ends[1]):
        best, *_ = recombine_all(recombiner, [*halves[0], *halves[1]], seed, len(halves))
        end, *_ = climb_all(objective, [best.point], (rank,), winner)
        found += [] if reached_by([*chosen, *ends], end) else [end]
    return [*climbs, *found]


def _is_sure(climbs: Sequence[Climb], winner: Climb, rank: Rank) -> bool:
    """Whether there is nothing to look for: climbs agree, or have seen all maxima."""
    reached = reached_by(climbs, winner)
    all_seen = rank == HIGHEST and reached >= SURE and unseen(climbs) <= UNSEEN
    return all_seen or agree(reached, len(climbs))


def finish(
    objective: Objective, climbs: Sequence[Climb], winners: Sequence[Climb], ranks: Ranks
) -> tuple[Search, ...]:
    """Leave winners that are saddles, and see for each rank which climbs reached the best."""
    # Of winners that are the same maximum the last counts, the estimate's own.
    chosen = [best_of(objective, winners[::-1], rank)[1] for rank in ranks]
    ends = {id(winner): leave_saddles(objective, winner) for winner in chosen}
    searches = []
    for winner, rank in zip(chosen, ranks, strict=True):
        climb, curvature = ends[id(winner)]
        others = [c for c in climbs if c is not winner]
        reached = reached_by(others, climb) + 1
        values = objective.executor.map(partial(rank, objective), [c.point for c in others])
        doubt = 0.0
        if others and reached == 1:
            doubt = max(rank(objective, climb.point) - max(values), 0.0)
        ranked = sorted(zip(values, others, strict=True), key=lambda v: -v[0])
        maxima = [c.point for _, c in ranked if c.outcome is Convergence.CONVERGED]
        known = distinct(climb.point, maxima)
        searches.append(Search(climb, len(others) + 1, reached, curvature, doubt, known))
    return tuple(searches)


SEARCHERS: Mapping[Schedule, Searcher] = {
    Schedule.DEFAULT: search,
    Schedule.THOROUGH: partial(search, thorough=True),
    Schedule.PAPER: search_paper,
}


def search_part_first(
    objective: Objective,
    part: Objective,
    search_part: Callable[[Objective], tuple[Search, ...]],
    ranks: Ranks,
) -> tuple[Search, ...]:
    """Search a part of very many rows, then climb from what was found there with all of them.

    A search takes hundreds of E steps. A maximum that a hundred thousand rows show is near to one
    of all of them, so only the few maxima found on the part are climbed with all rows.
    """
    executor = objective.executor
    found = search_part(replace(part, executor=part.executor.part(0.0, SEARCHED)))
    points = {one.climb.point.g: one.climb.point for one in found}  # often one for all ranks
    points |= {p.g: p for one in found for p in one.others}
    climbs = climb_all(objective, objective.at_all([p.theta for p in points.values()]), ranks)
    by_top = dict(zip(points, climbs, strict=True))
    winners = [best_of(objective, climbs, rank)[1] for rank in ranks]
    whole = replace(objective, executor=executor.part(SEARCHED, 1.0))
    searches = []
    for own, there, winner in zip(
        finish(whole, climbs, winners, ranks), found, winners, strict=True
    ):
        # What ended where the part is best would have ended here, with all rows.
        at_top = winner is by_top[there.climb.point.g]
        reached = own.reached + there.reached - 1 if at_top else own.reached
        doubt = own.doubt if len(climbs) > 1 else there.doubt
        finalists = max(there.finalists, reached)
        doubt = doubt if reached == 1 else 0.0
        searches.append(replace(own, finalists=finalists, reached=reached, doubt=doubt))
    return tuple(searches)
