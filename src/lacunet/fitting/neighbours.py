"""Candidates learn from their neighbours: fits that differ in one hidden variable's states.

What one of them found, its neighbours can use: with a state left out, two put together, one split
or an empty one added it is a start for them, near to where they should be; and crossed with what
they found themselves (`crossing.py`) it may be a better one. So fits hand on what they found, up
the range of numbers of states and down again. With one state more nothing can fit worse: an empty
one can be added. A fit that is worse than its neighbour with fewer states takes over that one,
therefore, if it finds nothing better.

Starts that another model gives: climbed from beside the own search, or in place of one.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from lacunet.fitting.ascent import em_while_fast
from lacunet.fitting.crossing import Crosser
from lacunet.fitting.exchange import SHORT, WORTH, Halver, exchange, find_splits
from lacunet.fitting.fit import Fit, Options, PackedFit, fit_of
from lacunet.fitting.maxima import HEAVIEST, HIGHEST, Rank, agree, climb_from, distinct, is_better
from lacunet.fitting.objective import Objective, Point, em
from lacunet.fitting.regroup import Places, ways_to_free
from lacunet.fitting.schedules import Schedule, Search
from lacunet.inference.problem import Problem
from lacunet.models.network import Network
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.checkpoint import FORGETFUL, Kept, Packing
from lacunet.runtime.executor import SERIAL, Executor

SWEEPS = 4  # passes over the range: up, down, up, down
TRIED = 2  # starts that a neighbour gives
FALL = 0.1  # nats of log-likelihood; less is what the prior takes for a state without cases


@dataclass(frozen=True, eq=False)
class Step:
    """From a fit to one with more or fewer states of one hidden variable."""

    source: int  # place of the fit that has something to give
    target: int  # place of the one that takes it
    h: int  # the variable


def learn_from_neighbours(
    fits: Sequence[Fit], executor: Executor = SERIAL, kept: Kept = FORGETFUL
) -> list[Fit]:
    """Let fits to the same data, searched for in the same way, learn from each other.

    Estimates learn from estimates, and modes of largest mass from such modes.
    """
    found = list(fits)
    heavy = [i for i, fit in enumerate(fits) if fit.for_scores.rank == HEAVIEST]
    modes = [fits[i].for_scores for i in heavy]
    learnt = _learn_from_neighbours(modes, executor, kept)
    for i, before, mode in zip(heavy, modes, learnt, strict=True):
        if mode is not before:
            found[i] = mode if before is fits[i] else _with_mode(fits[i], mode)
    tops = [i for i, fit in enumerate(found) if fit.rank == HIGHEST]
    learnt = _learn_from_neighbours([found[i] for i in tops], executor, kept)
    for i, better in zip(tops, learnt, strict=True):
        if better is not found[i]:
            found[i] = replace(better, heaviest=found[i].heaviest)
    return found


def _with_mode(fit: Fit, mode: Fit) -> Fit:
    """Give a fit another mode of largest mass; the estimate is that, should it be higher."""
    top = replace(mode, rank=HIGHEST) if is_better(mode.point.g, fit.point.g) else fit
    return replace(top, heaviest=mode)


def _learn_from_neighbours(fits: Sequence[Fit], executor: Executor, kept: Kept) -> list[Fit]:
    found = list(fits)

    def kept_same(step: Step, fit: Fit) -> PackedFit | bool:
        return fit is not found[step.target] and PackedFit.of(fit)

    def as_it_was(step: Step, told: PackedFit | bool) -> Fit:
        fit = found[step.target]
        return told.unpack(fit.problem) if isinstance(told, PackedFit) else fit

    # What is the same stays the same object: by that it is known whether a step was tried.
    packing = Packing(kept_same, as_it_was)
    up = steps_up(found)
    down = [Step(step.target, step.source, step.h) for step in reversed(up)]
    done: set[tuple[int, Fit, Fit]] = set()  # what was tried need not be again
    for sweep in range(SWEEPS):
        for step in down if sweep % 2 else up:
            trial = step.target, found[step.source], found[step.target]
            target = found[step.target]
            if trial not in done and not agree(target.reached, target.finalists):
                better = partial(_better, found, up, executor)
                (found[step.target],) = kept.map(better, [step], executor, packing=packing)
                done |= {trial, (*trial[:2], found[step.target])}
    for step in up:
        not_below = partial(_not_below, found, executor)
        (found[step.target],) = kept.map(not_below, [step], executor, packing=packing)
    return found


def steps_up(fits: Sequence[Fit]) -> list[Step]:
    """From each fit to its neighbours with one more state or the next more, smaller ones first.

    Of several with as many states, those with the same prior of a state are nearest.
    """
    learnt = [i for i, fit in enumerate(fits) if _learns(fit)]
    learnt.sort(key=lambda i: fits[i].problem.network.dimension)
    nearest: dict[tuple[int, int], Step] = {}  # by target and variable
    for target in learnt:
        rated: dict[int, tuple[tuple[int, bool], int]] = {}
        for source in learnt:
            small, large = fits[source].problem, fits[target].problem
            h = more_states_of(small.network, large.network)
            if h is not None:
                rating = small.layout.cards[h], _same_prior(small, large, h)
                rated[h] = max(rated.get(h, (rating, source)), (rating, source))
        nearest |= {(target, h): Step(source, target, h) for h, (_, source) in rated.items()}
    return list(nearest.values())


def _same_prior(small: Problem, large: Problem, h: int) -> bool:
    places, wide = Places.build(small.layout, h), Places.build(large.layout, h)
    return bool((small.alpha[places.states[0]] == large.alpha[wide.states[0]]).all())


def _learns(fit: Fit) -> bool:
    """Whether a fit was searched for; the paper's schedule is what it is."""
    return not fit.problem.exact and fit.options.schedule is not Schedule.PAPER


def more_states_of(small: Network, large: Network) -> int | None:
    """The one hidden variable of which the second network has more states, if all else is alike."""
    if small.parents != large.parents or small.hidden != large.hidden:
        return None
    pairs = list(zip(small.variables, large.variables, strict=True))
    if any(replace(one, states=()) != replace(other, states=()) for one, other in pairs):
        return None
    different = [i for i, (one, other) in enumerate(pairs) if one.states != other.states]
    if len(different) != 1 or not pairs[different[0]][0].hidden:
        return None
    (h,) = different
    return h if len(small.variables[h].states) < len(large.variables[h].states) else None


def _better(fits: Sequence[Fit], up: Sequence[Step], executor: Executor, step: Step) -> Fit:
    """Climb from what a neighbour gives; take where it leads, if that is better."""
    fit, rank = fits[step.target], fits[step.target].rank
    objective = Objective.build(fit.problem, fit.options.estimate, executor)
    source = fits[step.source]
    given = [*starts_from(source, objective, step.h, rank), *_crossed(source, fit, objective, rank)]
    ends = executor.map(partial(_climbed_a_little, objective), given)
    values = executor.map(partial(rank, objective), ends)
    value, best = max(zip(values, ends, strict=True), key=lambda end: end[0])
    least = rank(objective, fit.point) + WORTH
    if value <= least:
        return fit
    began = time.perf_counter()
    best = em_while_fast(objective, best).point  # what is heavy on the way up may be light there
    if rank(objective, best) <= least:
        return fit
    further = exchange(objective, best, rank, fit.options.seed)
    taken = taken_over(objective, fit, further.point, began)
    better = rank(objective, taken.point) > least
    falls = any(_falls(fits[s.source], taken) for s in up if s.target == step.target)
    return taken if better and not falls else fit


def starts_from(source: Fit, objective: Objective, h: int, rank: Rank) -> Iterator[FloatArray]:
    """Statistics that a neighbour gives, with its states split or put together."""
    old = Places.build(source.problem.layout, h)
    new = Places.build(objective.problem.layout, h)
    change = len(new.states) - len(old.states)
    yield from _more(source, objective, old, new, rank) if change > 0 else _fewer(source, old, new)


def _more(
    source: Fit, objective: Objective, old: Places, new: Places, rank: Rank
) -> Iterator[FloatArray]:
    """Split the states that gain most, as many as are wanted; and the next ones."""
    there = Objective.build(source.problem, source.options.estimate, objective.executor)
    halver = Halver.build(there, old, rank, source.options.seed)
    splits = sorted(find_splits(there, source.point, [halver]).values(), key=lambda s: -s.gain)
    wide = with_empty(source, old, new)
    free = range(len(old.states), len(new.states))
    for first in range(min(TRIED, max(len(splits), 1))):
        N = wide.copy()
        for place, split in zip(free, splits[first:], strict=False):
            N[new.states[split.state]], N[new.states[place]] = split.halves
        yield N


def _fewer(source: Fit, old: Places, new: Places) -> Iterator[FloatArray]:
    """Free the states that lose least, as many as there are too many; and the next ones."""
    for first in range(TRIED):
        N, places = source.point.N, old
        kept = list(range(len(old.states)))
        while len(kept) > len(new.states):
            ways = [w for w in ways_to_free(source.problem, N, places) if set(w.touched) <= {*kept}]
            way = ways[min(first, len(ways) - 1)] if len(kept) == len(old.states) else ways[0]
            N = N.copy()
            if way.a is not None:
                N[places.states[way.a]] += N[places.states[way.b]]
            N[places.states[way.b]] = 0.0
            kept.remove(way.b)
        yield old.regroup(N, new, [[s] for s in kept])


def _crossed(source: Fit, fit: Fit, objective: Objective, rank: Rank) -> Iterator[FloatArray]:
    """Divide cases as both fits do, and merge them."""
    crosser = Crosser.build(objective, rank)
    if crosser.variables:
        both = (crosser.states(one.problem, one.point) for one in (fit, source))
        yield crosser.statistics(*both)


def with_empty(source: Fit, old: Places, new: Places) -> FloatArray:
    """Statistics of a fit with states added that are empty."""
    states, wanted = len(old.states), len(new.states)
    return old.regroup(source.point.N, new, [[s] if s < states else [] for s in range(wanted)])


def _not_below(fits: Sequence[Fit], executor: Executor, step: Step) -> Fit:
    """Give a fit that explains the data worse than one with fewer states an empty state instead."""
    source, fit = fits[step.source], fits[step.target]
    if not _falls(source, fit):
        return fit
    began = time.perf_counter()
    objective = Objective.build(fit.problem, fit.options.estimate, executor)
    old = Places.build(source.problem.layout, step.h)
    new = Places.build(fit.problem.layout, step.h)
    start = objective.best_for(with_empty(source, old, new))
    taken = taken_over(objective, fit, start, began)
    return taken if _falls(taken, fit) else fit


def _falls(fewer: Fit, more: Fit) -> bool:
    return more.log_lik < fewer.log_lik - FALL


def _climbed_a_little(objective: Objective, N: FloatArray) -> Point:
    return em(objective, objective.best_for(N), iterations=SHORT)


def taken_over(objective: Objective, fit: Fit, start: Point, began: float) -> Fit:
    """Climb to the end from what another fit gave, in place of what the own search found."""
    climb, curvature = climb_from(objective, start)
    rank = fit.rank
    doubt = max(rank(objective, climb.point) - rank(objective, fit.point), 0.0)
    others = distinct(climb.point, [fit.point, *fit.others])
    search = Search(climb, fit.finalists, 0, curvature, doubt, others)
    return fit_of(objective, search, fit.options, began - fit.seconds, rank)


def better_from(fit: Fit, starts: Sequence[FloatArray], executor: Executor = SERIAL) -> Fit:
    """Climb from given parameters too, and take the maximum that is best."""
    if fit.problem.exact:
        return fit
    objective = Objective.build(fit.problem, fit.options.estimate, executor)
    rank = fit.rank
    for theta in starts:
        other = taken_over(objective, fit, objective.at(theta), time.perf_counter())
        if is_better(rank(objective, other.point), rank(objective, fit.point)):
            fit = other
    return fit


def climbed_from(
    problem: Problem,
    options: Options,
    theta: FloatArray,
    sources: Sequence[Fit],
    executor: Executor = SERIAL,
) -> Fit:
    """Climb from parameters that other fits gave; it is as sure as the least sure of them."""
    began = time.perf_counter()
    objective = Objective.build(problem, options.estimate, executor)
    climb, curvature = climb_from(objective, objective.at(theta))
    least = min(sources, key=lambda fit: (fit.stable, fit.reached / fit.finalists))
    doubt = max(fit.doubt for fit in sources)
    search = Search(climb, least.finalists, least.reached, curvature, doubt)
    return fit_of(objective, search, options, began, sources[0].rank, by_size=False)
