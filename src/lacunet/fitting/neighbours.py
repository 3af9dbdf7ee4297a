"""Warm starts from k ± 1: fits that differ in the number of states of one hidden variable.

A fit becomes a start for its neighbours by dropping, merging, splitting or adding a state, or by
recombination with the neighbour's own fit. This is repeated up and down the range of numbers of
states. One more state cannot fit worse, because it can be empty. So a fit that is worse than its
neighbour with fewer states is replaced by that neighbour with an empty state.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from lacunet.fitting.ascent import climb_from, em_while_fast
from lacunet.fitting.fit import Fit, Options, PackedFit, fit_of
from lacunet.fitting.maxima import HIGHEST, LARGEST_MASS, Rank, agree, distinct, is_better
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
from lacunet.models.conjugacy import mean
from lacunet.models.layout import with_more_parents
from lacunet.models.network import Network
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.checkpoint import NULL_CHECKPOINT, Checkpoint, Packing
from lacunet.runtime.executor import SERIAL, Executor

SWEEPS = 4  # passes over the range: up, down, up, down
TRIED = 2  # starts from each neighbour
OFF_EDGE = 1e-3  # weight of the prior mean in a start, so that no probability stays at 0
FALL = 0.1  # nats of log-likelihood; the prior of an empty state explains smaller losses


@dataclass(frozen=True, eq=False)
class Step:
    """A warm start between fits that differ in the states of one hidden variable."""

    source: int  # index of the fit that the start is made from
    target: int  # index of the fit to improve
    h: int  # the hidden variable


def learn_from_neighbours(
    fits: Sequence[Fit], executor: Executor = SERIAL, checkpoint: Checkpoint = NULL_CHECKPOINT
) -> list[Fit]:
    """Improve fits to the same data by warm starts from each other.

    Estimates start estimates, and modes of largest mass start such modes.
    """
    improved = list(fits)
    heavy = [i for i, fit in enumerate(fits) if fit.for_scores.rank == LARGEST_MASS]
    modes = [fits[i].for_scores for i in heavy]
    learnt = _learn_from_each_other(modes, executor, checkpoint)
    for i, before, mode in zip(heavy, modes, learnt, strict=True):
        if mode is not before and before is fits[i]:
            improved[i] = mode
        elif mode is not before:  # the mode of largest mass becomes the estimate if it is higher
            better = is_better(mode.point.g, fits[i].point.g)
            top = replace(mode, rank=HIGHEST) if better else fits[i]
            improved[i] = replace(top, largest_mass=mode)
    tops = [i for i, fit in enumerate(improved) if fit.rank == HIGHEST]
    learnt = _learn_from_each_other([improved[i] for i in tops], executor, checkpoint)
    for i, better_fit in zip(tops, learnt, strict=True):
        if better_fit is not improved[i]:
            improved[i] = replace(better_fit, largest_mass=improved[i].largest_mass)
    return improved


def _learn_from_each_other(
    fits: Sequence[Fit], executor: Executor, checkpoint: Checkpoint
) -> list[Fit]:
    current = list(fits)

    def pack(step: Step, fit: Fit) -> PackedFit | bool:
        return fit is not current[step.target] and PackedFit.of(fit)

    def unpack(step: Step, packed: PackedFit | bool) -> Fit:
        fit = current[step.target]
        return packed.unpack(fit.problem) if isinstance(packed, PackedFit) else fit

    # An unchanged fit stays the same object, so `done` recognises steps already tried.
    packing = Packing(pack, unpack)
    up = steps_up(current)
    down = [Step(step.target, step.source, step.h) for step in reversed(up)]
    done: set[tuple[int, Fit, Fit]] = set()
    for sweep in range(SWEEPS):
        for step in down if sweep % 2 else up:
            target = current[step.target]
            trial = step.target, current[step.source], target
            if trial not in done and not agree(target.reached, target.finalists):
                better = partial(_better, current, up, executor)
                (current[step.target],) = checkpoint.map(better, [step], executor, packing=packing)
                done |= {trial, (*trial[:2], current[step.target])}
    for step in up:
        not_below = partial(_not_below, current, executor)
        (current[step.target],) = checkpoint.map(not_below, [step], executor, packing=packing)
    return current


def steps_up(fits: Sequence[Fit]) -> list[Step]:
    """List the steps from each fit to those with the next larger number of states, smallest first.

    Among equal numbers of states, a fit with the same prior of a state is preferred. Fits by the
    schedule of CH96 are left out.
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
                alpha, other_alpha = (
                    problem.alpha[StateBlocks.build(problem.layout, h).states[0]]
                    for problem in (small, large)
                )
                rating = small.layout.cards[h], bool((alpha == other_alpha).all())
                rated[h] = max(rated.get(h, (rating, source)), (rating, source))
        nearest |= {(target, h): Step(source, target, h) for h, (_, source) in rated.items()}
    return list(nearest.values())


def more_states_of(small: Network, large: Network) -> int | None:
    """Find the one hidden variable with more states in `large`, if all else is equal."""
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
    """Climb from starts made from a neighbour; return the better of the result and the old fit."""
    fit, source, rank = fits[step.target], fits[step.source], fits[step.target].rank
    objective = Objective.build(fit.problem, fit.options.estimate, executor)
    old = StateBlocks.build(source.problem.layout, step.h)
    new = StateBlocks.build(fit.problem.layout, step.h)
    wider = len(new.states) > len(old.states)
    starts = [*(_more(source, objective, old, new, rank) if wider else _fewer(source, old, new))]
    recombiner = Recombiner.build(objective, rank)
    if recombiner.variables:
        both = (recombiner.states(one.problem, one.point) for one in (fit, source))
        starts.append(recombiner.statistics(*both))
    ends = executor.map(partial(_climbed_a_little, objective), starts)
    values = executor.map(partial(rank, objective), ends)
    value, best = max(zip(values, ends, strict=True), key=lambda end: end[0])
    least = rank(objective, fit.point) + WORTH
    if value <= least:
        return fit
    began = time.perf_counter()
    best = em_while_fast(objective, best).point  # the mass may decrease on the way to the maximum
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
    """Split as many states as needed, those that gain most first; then the next ones."""
    source_objective = Objective.build(source.problem, source.options.estimate, objective.executor)
    splitter = Splitter.build(source_objective, old, rank, source.options.seed)
    splits = sorted(
        find_splits(source_objective, source.point, [splitter]).values(), key=lambda s: -s.gain
    )
    wide = with_empty(source, old, new)
    free = range(len(old.states), len(new.states))
    for first in range(min(TRIED, max(len(splits), 1))):
        N = wide.copy()
        for place, split in zip(free, splits[first:], strict=False):
            N[new.states[split.state]], N[new.states[place]] = split.halves
        yield N


def _fewer(source: Fit, old: StateBlocks, new: StateBlocks) -> Iterator[FloatArray]:
    """Remove as many states as needed, those that lose least first; then the next ones."""
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
    """Compute the statistics of a fit with empty states added."""
    states, wanted = len(old.states), len(new.states)
    return old.regroup(source.point.N, new, [[s] if s < states else [] for s in range(wanted)])


def _not_below(fits: Sequence[Fit], executor: Executor, step: Step) -> Fit:
    """Replace a fit that is worse than one with fewer states by that one with an empty state."""
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
    """Climb to a maximum from a start made from another fit, and make a fit of it."""
    climb, curvature = climb_from(objective, start)
    rank = fit.rank
    margin = max(rank(objective, climb.point) - rank(objective, fit.point), 0.0)
    others = distinct(climb.point, [fit.point, *fit.others])
    search = Search(climb, fit.finalists, 0, curvature, margin, others)
    return fit_of(objective, search, fit.options, began - fit.seconds, rank)


def better_from(fit: Fit, starts: Sequence[FloatArray], executor: Executor = SERIAL) -> Fit:
    """Climb from given parameters, and return the best of these fits and the old one."""
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
    """Climb from parameters made from other fits; stability is that of the least stable one."""
    began = time.perf_counter()
    objective = Objective.build(problem, options.estimate, executor)
    climb, curvature = climb_from(objective, objective.at(theta))
    least = min(sources, key=lambda fit: (fit.stable, fit.reached / fit.finalists))
    margin = max(fit.margin for fit in sources)
    search = Search(climb, least.finalists, least.reached, curvature, margin)
    return fit_of(objective, search, options, began, sources[0].rank, by_size=False)


def start_with_edges(fit: Fit, problem: Problem) -> FloatArray:
    """Start from a fit with fewer edges, moved slightly into the interior."""
    theta = with_more_parents(fit.model.theta, fit.problem.layout, problem.layout)
    if not problem.layout.tabular:
        return theta
    return (1.0 - OFF_EDGE) * theta + OFF_EDGE * mean(problem.alpha, problem.layout)
