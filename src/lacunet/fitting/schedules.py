"""Schedules of the search for the maximum: default, thorough, or that of CH96."""

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

FINALISTS = 8  # most random starts run to convergence
RACED = 4  # starts raced for each of them
BATCHES = 8  # most batches of random starts after the first,
MORE = 5e8  # and most work in them: cells of rows times states, summed over steps
OVERHEAD = 30_000  # of a step, in the same unit
OF_BLOCKS = 200_000  # additional overhead with covariances between numbers
RACE = 3  # steps of a race for each start, about
UNSEEN = 0.05  # expected share of starts with unseen maxima below which batches end,
SURE = 3  # if so many reached the best
MOST_RECOMBINED = 16  # most maxima that are recombined
MERGED = 12  # random starts for each start from merged rows, in a thorough search
PAPER_ITERATIONS = 200  # CH96 §3
WALKERS = 8  # perturbations of the best maximum in a round
ROUNDS = 12  # most rounds
PATIENCE = 3  # rounds in a row without a better maximum before the search ends
SEARCHED = 0.3  # share of the search on a part of the rows in the progress of a fit
TASK = "EM"  # name in progress messages


class Schedule(StrEnum):
    """The effort of the search for the estimate, the highest maximum of g.

    For scores of the evidence it also searches for the mode of largest mass by Cheeseman–Stutz,
    with every hidden state in use if possible. Often both modes are the same.

    - default climbs from random starts, with more batches as long as new maxima occur, and from
      rows clustered into as many groups as hidden states. It recombines the maxima, and splits and
      merges states.
    - thorough starts from several clusterings, and perturbs the best maximum. It takes some five
      times as long.
    - paper repeats the search of CH96, without any other step.
    """

    DEFAULT = "default"
    THOROUGH = "thorough"
    PAPER = "paper"


@dataclass(frozen=True, eq=False)
class Search:
    """The result of a schedule."""

    climb: Climb
    finalists: int  # starts run to convergence, and recombinations of them
    reached: int  # number of them that reached the best optimum
    curvature: Curvature | None  # at the end; None if not computed
    margin: float = 0.0  # value of the best optimum minus the next, if reached only once
    others: tuple[Point, ...] = ()  # other distinct maxima, the best first
    further: str = ""  # what searches on; "": by the schedule


class StartResults(NamedTuple):
    """The results of starts."""

    climbs: list[Climb]  # from the best random starts, and last from merged rows
    beaten: list[Point]  # losers of the last round of the race
    merged: int = 0  # number of climbs from merged rows


# A function of an objective, a number of starts, a seed and ranks: the best result by each rank.
Searcher: TypeAlias = Callable[[Objective, int, int, Ranks], tuple[Search, ...]]


def search_paper(objective: Objective, starts: int, seed: int, ranks: Ranks) -> tuple[Search, ...]:
    """Search as CH96 §3: halve the starts until one is left, then run 200 iterations."""
    points = random_starts(objective, starts, seed)
    for survivors, _ in halving(objective, points, finalists=1):
        points = survivors
        objective.executor.report(TASK, 0.5 * (1 - len(points) / starts))
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
    """Climb from random starts and merged rows, recombine maxima, and split and merge states.

    All climbs form one pool, from which each rank selects its best.
    """
    merged = max(1, starts // MERGED) if thorough else 1
    started = climb_from_starts(objective, starts, seed, merged=merged, ranks=ranks)
    pool, winners = list(started.climbs), list[Climb]()
    # HIGHEST comes last, so that the mode of largest mass is in its pool.
    for turn, rank in enumerate(sorted(ranks, key=lambda rank: rank == HIGHEST)):
        progress = 0.5 + 0.4 * turn / len(ranks), 0.5 + 0.4 * (turn + 1) / len(ranks)
        budget = 0
        if rank == HIGHEST:
            budget = _steps_worth(objective.problem) if starts > 1 else 0
            more, budget = _climb_more(objective, started, starts, seed, budget)
            pool += more
        pool = recombined(objective, StartResults(pool, started.beaten), rank, seed)
        _, winner = best_of(objective, [*pool, *winners], rank)
        winner = _split_and_merged(objective, pool, winner, rank, seed)
        if thorough or (budget > 0 and not _is_sure(pool, winner, rank)):
            winner = _perturbed_on(objective, winner, rank, seed, progress)
            winner = _split_and_merged(objective, pool, winner, rank, seed)
        winners.append(winner)
        pool += [] if reached_by(pool, winner) else [winner]
        objective.executor.report(TASK, progress[1])
    return finish(objective, pool, winners, ranks)


def climb_from_starts(
    objective: Objective, starts: int, seed: int, *, merged: int, ranks: Ranks
) -> StartResults:
    """Race random starts, and climb from the best of them and from merged rows."""
    executor = objective.executor
    points, beaten = _raced(objective, starts, seed)
    if not objective.problem.network.hidden:
        merged = 0
    points += executor.map(partial(merged_start, objective, seed), range(merged))
    executor.report(TASK, 0.4)
    climbs = climb_all(objective, points, ranks)
    executor.report(TASK, 0.5)
    return StartResults(climbs, beaten, merged)


def merged_start(objective: Objective, seed: int, index: int) -> Point:
    """Make a start from merged rows."""
    return objective.at(agglomerated(objective.problem, seed, index))


def _raced(
    objective: Objective, starts: int, seed: int, first: int = 0
) -> tuple[list[Point], list[Point]]:
    """Race random starts numbered from `first`; return the winners, and the last losers."""
    drawn = random_starts(objective, starts, seed, first)
    ended = drawn, list[Point]()
    finalists = min(FINALISTS, max(starts // RACED, min(2, starts)))
    for ended in halving(objective, drawn, finalists=finalists):
        if not first:
            objective.executor.report(TASK, 0.3 * (1 - len(ended[0]) / starts))
    return ended


def _steps_worth(problem: Problem) -> int:
    """Compute the number of EM steps within the budget of work."""
    network = problem.network
    states = max((problem.layout.cards[h] for h in network.hidden), default=1)
    blocks = any(len(members(network, i)) > 1 for i in network.observed)
    step = len(problem.counts) * problem.codes.shape[1] * states
    return int(MORE / (OVERHEAD + OF_BLOCKS * blocks + step))


def _climb_more(
    objective: Objective, started: StartResults, starts: int, seed: int, budget: int
) -> tuple[list[Climb], int]:
    """Race and climb batches of random starts until no new maxima are expected.

    Return the climbs, and the rest of the budget of steps.
    """
    random = started.climbs[: len(started.climbs) - started.merged]
    more = list[Climb]()
    for batch in range(1, 1 + BATCHES):
        climbs = [*random, *more]
        top = max(climbs, key=lambda climb: climb.point.g)
        if budget <= 0 or (unseen(climbs) <= UNSEEN and reached_by(climbs, top) >= SURE):
            break
        points, _ = _raced(objective, starts, seed, first=batch * starts)
        batch_climbs = climb_all(objective, points, ESTIMATE, top, ONE_OF_MANY)
        budget -= RACE * starts + sum(climb.steps for climb in batch_climbs)
        more += batch_climbs
    return more, budget


def _perturbed_on(
    objective: Objective, winner: Climb, rank: Rank, seed: int, progress: tuple[float, float]
) -> Climb:
    """Perturb the best maximum until several rounds find no better one."""
    value, in_vain = rank(objective, winner.point), 0
    for turn in range(ROUNDS):
        move = partial(perturbed, objective, winner.point, seed)
        ends = objective.executor.map(move, range(turn * WALKERS, (turn + 1) * WALKERS))
        climbs = climb_all(objective, ends, (rank,), winner, ONE_OF_MANY)
        candidate_value, candidate = best_of(objective, climbs, rank)
        in_vain += 1
        if is_better(candidate_value, value):
            value, winner, in_vain = candidate_value, candidate, 0
        part = (turn + 1) / ROUNDS
        objective.executor.report(TASK, progress[0] + (progress[1] - progress[0]) * part)
        if in_vain == PATIENCE:
            break
    return winner


def _split_and_merged(
    objective: Objective, climbs: Sequence[Climb], winner: Climb, rank: Rank, seed: int
) -> Climb:
    """Split and merge states of the winner, unless starts agree on it, and climb."""
    if _is_sure(climbs, winner, rank):
        return winner
    point, made = split_and_merge(objective, winner.point, rank, seed)
    return ascend(objective, em_while_fast(objective, point)) if made else winner


def recombined(objective: Objective, started: StartResults, rank: Rank, seed: int) -> list[Climb]:
    """Recombine maxima, unless most of them agree; return all climbs, old and new.

    Two halves are recombined separately. If both end at the same maximum, it was reached twice, and
    a better one is unlikely; else all are recombined.
    """
    climbs = started.climbs
    _, winner = best_of(objective, climbs, rank)
    if _is_sure(climbs, winner, rank):
        return climbs
    recombiner = Recombiner.build(objective, rank)
    if not recombiner.variables:
        return climbs
    chosen = climbs
    if len(climbs) > MOST_RECOMBINED:  # the highest, each maximum once
        chosen = []
        for climb in sorted(climbs, key=lambda climb: -climb.point.g):
            if len(chosen) < MOST_RECOMBINED and not reached_by(chosen, climb):
                chosen.append(climb)
    points = [*(climb.point for climb in chosen), *started.beaten]
    population = objective.executor.map(recombiner.individual, points)
    halves = [recombine_all(recombiner, population[i::2], seed, i) for i in range(2)]
    ends = climb_all(objective, [half[0].point for half in halves], (rank,), winner)
    # A half that ends at a maximum of one of its members adds nothing.
    new = [end for i, end in enumerate(ends) if not reached_by(chosen[i::2], end)]
    if not reached_by(ends[:1], ends[1]):
        best, *_ = recombine_all(recombiner, [*halves[0], *halves[1]], seed, len(halves))
        end, *_ = climb_all(objective, [best.point], (rank,), winner)
        new += [] if reached_by([*chosen, *ends], end) else [end]
    return [*climbs, *new]


def _is_sure(climbs: Sequence[Climb], winner: Climb, rank: Rank) -> bool:
    """Whether the search can end: climbs agree, or no new maxima are expected."""
    reached = reached_by(climbs, winner)
    all_seen = rank == HIGHEST and reached >= SURE and unseen(climbs) <= UNSEEN
    return all_seen or agree(reached, len(climbs))


def finish(
    objective: Objective, climbs: Sequence[Climb], winners: Sequence[Climb], ranks: Ranks
) -> tuple[Search, ...]:
    """Leave saddles, and count for each rank which climbs reached the best."""
    # Among equal winners the last one counts, that of the estimate.
    chosen = [best_of(objective, winners[::-1], rank)[1] for rank in ranks]
    ends = {id(winner): leave_saddles(objective, winner) for winner in chosen}
    searches = []
    for winner, rank in zip(chosen, ranks, strict=True):
        climb, curvature = ends[id(winner)]
        others = [c for c in climbs if c is not winner]
        reached = reached_by(others, climb) + 1
        values = objective.executor.map(partial(rank, objective), [c.point for c in others])
        margin = 0.0
        if others and reached == 1:
            margin = max(rank(objective, climb.point) - max(values), 0.0)
        ranked = sorted(zip(values, others, strict=True), key=lambda v: -v[0])
        maxima = [c.point for _, c in ranked if c.outcome is Convergence.CONVERGED]
        known = distinct(climb.point, maxima)
        searches.append(Search(climb, len(others) + 1, reached, curvature, margin, known))
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
    """Search on a part of very many rows, then climb from its maxima with all rows.

    A search takes hundreds of E steps, and maxima of a hundred thousand rows are close to those of
    all rows. So only the few maxima of the part are climbed with all rows.
    """
    executor = objective.executor
    part_searches = search_part(replace(part, executor=part.executor.part(0.0, SEARCHED)))
    points = {
        one.climb.point.g: one.climb.point for one in part_searches
    }  # often the same for all ranks
    points |= {p.g: p for one in part_searches for p in one.others}
    climbs = climb_all(objective, objective.at_all([p.theta for p in points.values()]), ranks)
    by_top = dict(zip(points, climbs, strict=True))
    winners = [best_of(objective, climbs, rank)[1] for rank in ranks]
    whole = replace(objective, executor=executor.part(SEARCHED, 1.0))
    searches = []
    for on_all, on_part, winner in zip(
        finish(whole, climbs, winners, ranks), part_searches, winners, strict=True
    ):
        # Starts that reached the best maximum of the part count here, too.
        at_top = winner is by_top[on_part.climb.point.g]
        reached = on_all.reached + on_part.reached - 1 if at_top else on_all.reached
        margin = on_all.margin if len(climbs) > 1 else on_part.margin
        finalists = max(on_part.finalists, reached)
        margin = margin if reached == 1 else 0.0
        searches.append(replace(on_all, finalists=finalists, reached=reached, margin=margin))
    return tuple(searches)
