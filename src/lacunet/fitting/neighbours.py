"""Warm starts from k ± 1: fits that differ in one hidden variable's states start each other.

With a state dropped, two merged, one split or an empty one added, a fit is a start for its
neighbours; recombined with what they found themselves it may be a better one. Fits hand on what
they found, up the range of numbers of states and down again. With one state more nothing can fit
worse, because an empty one can be added: a fit that is worse than its neighbour with fewer states
takes over that one, if it finds nothing better.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from lacunet.fitting.ascent import climb_from, em_while_fast
from lacunet.fitting.fit import Fit, Options, PackedFit, fit_of
from lacunet.fitting.maxima import HEAVIEST, HIGHEST, Rank, agree, distinct, is_better
from lacunet.fitting.objective import Objective, Point, em
from lacunet.fitting.recombination import Recombiner
from lacunet.fitting.schedules import Schedule, Search
from lacunet.fitting.split_merge import (
    SHORT,
    WORTH,
    Splitter,
    StateBlocks,
    find_splits,
    mergers,
    split_and_merge,
)
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

    source: int  # place of the fit that gives a start
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
    learnt = _learn_from_each_other(modes, executor, kept)
    for i, before, mode in zip(heavy, modes, learnt, strict=True):
        if mode is not before and before is fits[i]:
            found[i] = mode
        elif mode is not before:  # the estimate is the mode of largest mass, should it be higher
            better = is_better(mode.point.g, fits[i].point.g)
            top = replace(mode, rank=HIGHEST) if better else fits[i]
            found[i] = replace(top, heaviest=mode)
    tops = [i for i, fit in enumerate(found) if fit.rank == HIGHEST]
    learnt = _learn_from_each_other([found[i] for i in tops], executor, kept)
    for i, better_fit in zip(tops, learnt, strict=True):
        if better_fit is not found[i]:
            found[i] = replace(better_fit, heaviest=found[i].heaviest)
    return found


def _learn_from_each_other(fits: Sequence[Fit], executor: Executor, kept: Kept) -> list[Fit]:
    found = list(fits)

    def pack(step: Step, fit: Fit) -> PackedFit | bool:
        return fit is not found[step.target] and PackedFit.of(fit)

    def unpack(step: Step, packed: PackedFit | bool) -> Fit:
        fit = found[step.target]
        return packed.unpack(fit.problem) if isinstance(packed, PackedFit) else fit

    # What is the same stays the same object: by that it is known whether a step was tried.
    packing = Packing(pack, unpack)
    up = steps_up(found)
    down = [Step(step.target, step.source, step.h) for step in reversed(up)]
    done: set[tuple[int, Fit, Fit]] = set()  # what was tried need not be again
    for sweep in range(SWEEPS):
        for step in down if sweep % 2 else up:
            target = found[step.target]
            trial = step.target, found[step.source], target
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

    Of several with as many states, those with the same prior of a state are nearest. Fits by the
    paper's schedule take no part.
    """
    learnt = [
        i
        for i, fit in enumerate(fits)
        if not fit.problem.exact and fit.options.schedule is not Schedule.PAPER
    ]
    learnt.sort(key=lambda i: fits[i].problem.network.dimension)
    nearest: dict[tuple[int, int], Step] = {}  # by target and variable
    for target in learnt:
        rated: dict[int, tuple[tuple[int, bool], int]] = {}
        for source in learnt:
            small, large = fits[source].problem, fits[target].problem
            h = more_states_of(small.network, large.network)
            if h is not None:
                own, other = (
                    problem.alpha[StateBlocks.build(problem.layout, h).states[0]]
                    for problem in (small, large)
                )
                rating = small.layout.cards[h], bool((own == other).all())
                rated[h] = max(rated.get(h, (rating, source)), (rating, source))
        nearest |= {(target, h): Step(source, target, h) for h, (_, source) in rated.items()}
    return list(nearest.values())


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
    fit, source, rank = fits[step.target], fits[step.source], fits[step.target].rank
    objective = Objective.build(fit.problem, fit.options.estimate, executor)
    old = StateBlocks.build(source.problem.layout, step.h)
    new = StateBlocks.build(fit.problem.layout, step.h)
    wider = len(new.states) > len(old.states)
    given = [*(_more(source, objective, old, new, rank) if wider else _fewer(source, old, new))]
    recombiner = Recombiner.build(objective, rank)
    if recombiner.variables:
        both = (recombiner.states(one.problem, one.point) for one in (fit, source))
        given.append(recombiner.statistics(*both))
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
    further, _ = split_and_merge(objective, best, rank, fit.options.seed)
    taken = _taken_over(objective, fit, further, began)
    better = rank(objective, taken.point) > least
    falls = any(_falls(fits[s.source], taken) for s in up if s.target == step.target)
    return taken if better and not falls else fit


def _more(
    source: Fit, objective: Objective, old: StateBlocks, new: StateBlocks, rank: Rank
) -> Iterator[FloatArray]:
    """Split the states that gain most, as many as are wanted; and the next ones."""
    there = Objective.build(source.problem, source.options.estimate, objective.executor)
    splitter = Splitter.build(there, old, rank, source.options.seed)
    splits = sorted(find_splits(there, source.point, [splitter]).values(), key=lambda s: -s.gain)
    wide = with_empty(source, old, new)
    free = range(len(old.states), len(new.states))
    for first in range(min(TRIED, max(len(splits), 1))):
        N = wide.copy()
        for place, split in zip(free, splits[first:], strict=False):
            N[new.states[split.state]], N[new.states[place]] = split.halves
        yield N


def _fewer(source: Fit, old: StateBlocks, new: StateBlocks) -> Iterator[FloatArray]:
    """Free the states that lose least, as many as there are too many; and the next ones."""
    for first in range(TRIED):
        N, left = source.point.N.copy(), list(range(len(old.states)))
        while len(left) > len(new.states):
            ways = [m for m in mergers(source.problem, N, old) if set(m.touched) <= {*left}]
            merger = ways[min(first, len(ways) - 1) if len(left) == len(old.states) else 0]
            merger.apply(N, old)
            N[old.states[merger.b]] = 0.0
            left.remove(merger.b)
        yield old.regroup(N, new, [[s] for s in left])


def with_empty(source: Fit, old: StateBlocks, new: StateBlocks) -> FloatArray:
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
    old = StateBlocks.build(source.problem.layout, step.h)
    new = StateBlocks.build(fit.problem.layout, step.h)
    start = objective.best_for(with_empty(source, old, new))
    taken = _taken_over(objective, fit, start, began)
    return taken if _falls(taken, fit) else fit


def _falls(fewer: Fit, more: Fit) -> bool:
    return more.log_lik < fewer.log_lik - FALL


def _climbed_a_little(objective: Objective, N: FloatArray) -> Point:
    return em(objective, objective.best_for(N), iterations=SHORT)


def _taken_over(objective: Objective, fit: Fit, start: Point, began: float) -> Fit:
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
        other = _taken_over(objective, fit, objective.at(theta), time.perf_counter())
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
