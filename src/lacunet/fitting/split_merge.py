"""Split and merge: leave a local maximum by merging two states of a hidden variable, splitting one.

Sufficient statistics are additive, so a merged state has the sum of both. The loss of a merger is a
difference of log BD. The gain of a split is fitted on the cases of one state: a small problem with
two states, rows weighted by the probability of the state, and other hidden variables at their most
probable values. A few short EM runs on it cost less than one step of the full problem.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, islice
from types import MappingProxyType
from typing import Self, TypeAlias

import numpy as np

from lacunet.fitting.ascent import em_while_fast
from lacunet.fitting.diagnose import state_sizes
from lacunet.fitting.maxima import Rank
from lacunet.fitting.objective import Estimate, Objective, Point, em, random_start
from lacunet.inference.classes import resizable
from lacunet.inference.problem import Problem, Weighable, thinned
from lacunet.likelihoods.gamma_functions import log_rising
from lacunet.models import conjugacy
from lacunet.models.layout import Layout
from lacunet.models.network import Network
from lacunet.models.surgery import with_hidden
from lacunet.runtime.arrays import FloatArray, IntArray

Group: TypeAlias = Sequence[int]  # old states that become one new state; none: an empty one
FEWEST = 2.0  # cases of a state below which it can be dropped, and is not split


@dataclass(frozen=True, eq=False)
class StateBlocks:
    """The positions of states of a hidden variable in the flat vectors of a layout."""

    h: int
    layout: Layout
    states: IntArray  # (states, P) positions of each state, in every family with the variable
    others: IntArray  # positions of the other families, in the same order in all layouts

    @classmethod
    def build(cls, layout: Layout, h: int) -> Self:
        """Find the positions; P and its order do not depend on the number of states."""
        positions = np.arange(layout.size)
        blocks, others = [], [np.zeros(0, dtype=np.int64)]
        # Storage depends on which variables are hidden; the order of tables does not.
        for i, family in enumerate(layout.families):
            table = layout.table(positions, i)
            if h in family and layout.widths[i]:
                by_state = np.moveaxis(table, family.index(h), 0)
                blocks.append(by_state.reshape(layout.cards[h], -1))
            else:
                others.append(table.reshape(-1))
        return cls(h, layout, np.hstack(blocks), np.concatenate(others))

    def regroup(self, x: FloatArray, new: "StateBlocks", groups: Sequence[Group]) -> FloatArray:
        """Compute the statistics in a layout in which each group of states is one state."""
        y = np.zeros(new.layout.size)
        y[new.others] = x[self.others]
        for block, group in zip(new.states, groups, strict=True):
            y[block] = x[self.states[list(group)]].sum(axis=0)
        return y

    def regroup_prior(self, alpha: FloatArray, new: "StateBlocks", state: int) -> FloatArray:
        """Compute the hyperparameters of a layout in which every state has the prior of `state`."""
        y = self.regroup(alpha, new, [[state]] * len(new.states))
        for i, (kind, family) in enumerate(zip(new.layout.kinds, new.layout.families, strict=True)):
            if self.h in family[:-1] and new.layout.widths[i]:
                table = new.layout.table(y, i)
                table[...] = kind.shared_out(table, len(new.states) / len(self.states))
        return y


@dataclass(frozen=True)
class Merger:
    """A removal of a state of a hidden variable: merged with another, or dropped if empty."""

    loss: float  # nats of log BD
    a: int | None  # the state that takes its cases
    b: int  # the state that is removed

    @property
    def touched(self) -> tuple[int, ...]:
        """The states that change."""
        return (self.b,) if self.a is None else (self.a, self.b)

    def apply(self, N: FloatArray, blocks: StateBlocks) -> None:
        """Merge statistics in place; those of the removed state do not change."""
        if self.a is not None:
            N[blocks.states[self.a]] += N[blocks.states[self.b]]


def mergers(problem: Problem, N: FloatArray, blocks: StateBlocks) -> list[Merger]:
    """List states of h that can be dropped and pairs that can be merged, the smallest loss first.

    The loss is a difference of log BD, which integrates over parameters.
    """
    h, layout = blocks.h, problem.layout
    sizes = state_sizes(layout, N, h)
    candidates = [Merger(0.0, None, b) for b in np.flatnonzero(sizes < FEWEST).tolist()]
    one_state = with_hidden(problem.network, {problem.network.variables[h].name: 1})
    alone = StateBlocks.build(one_state.layout, h)
    children = [i for i, family in enumerate(layout.families) if h in family and i != h]
    alpha = blocks.regroup_prior(problem.alpha, alone, 0)
    exponents = np.moveaxis(layout.table(problem.alpha, h), -1, 0)  # (states, configurations…)
    cases = np.moveaxis(layout.table(N, h), -1, 0)

    def log_bd(*states: int) -> float:
        x = blocks.regroup(N, alone, [states])
        rising = log_rising(exponents[states[0]], cases[list(states)].sum(axis=0))
        return float(conjugacy.log_marginal(x, alpha, alone.layout)[children].sum() + rising.sum())

    full = sorted(np.flatnonzero(sizes >= FEWEST).tolist(), key=lambda s: (-sizes[s], s))
    single = {s: log_bd(s) for s in full}
    candidates += [
        Merger(single[a] + single[b] - log_bd(a, b), a, b) for a, b in combinations(full, 2)
    ]
    return sorted(candidates, key=lambda merger: merger.loss)


ROWS = 400  # most rows used to split a state; more are thinned at equal distances
BELONGS = 0.01  # probability of the state above which a row is used
STARTS = 4  # random starts,
RACE = 4  # iterations of each,
FIRST_STEPS = 12  # and of the best of them
SAME = 0.02  # relative change of the statistics of a state below which its split is reused


@dataclass(frozen=True, eq=False)
class Split:
    """A state of a hidden variable as two."""

    h: int
    state: int
    gain: float  # predicted gain in nats, relative to an empty second state
    halves: FloatArray  # (2, P) statistics of each half
    whole: FloatArray  # (P,) statistics of the state when the split was fitted


Splits: TypeAlias = Mapping[tuple[int, int], Split]  # by variable and state
NONE: Splits = MappingProxyType({})


@dataclass(frozen=True, eq=False)
class Splitter:
    """Splits the states of one hidden variable of a problem."""

    problem: Problem
    blocks: StateBlocks  # of the variable
    network: Network  # with two states of the variable, and no other hidden variable
    two: StateBlocks  # of the variable in that network
    estimate: Estimate
    rank: Rank
    seed: int

    @classmethod
    def build(cls, objective: Objective, blocks: StateBlocks, rank: Rank, seed: int) -> Self:
        """Make the network with two states that is fitted to the cases of any state."""
        problem, h = objective.problem.glimpse, blocks.h
        wide = with_hidden(problem.network, {problem.network.variables[h].name: 2})
        variables = [replace(v, hidden=i == h) for i, v in enumerate(wide.variables)]
        network = Network.build(variables, wide.parents)
        two = StateBlocks.build(network.layout, h)
        return cls(problem, blocks, network, two, objective.estimate, rank, seed)

    def weighable(self, posteriors: Mapping[int, FloatArray]) -> Weighable:
        """Add the most probable values of other hidden variables to the columns of the rows."""
        columns = dict(zip(self.problem.network.observed, self.problem.codes.T, strict=True))
        columns |= {v: p.argmax(axis=1) for v, p in posteriors.items() if v != self.blocks.h}
        return Weighable(self.network, np.column_stack([columns[v] for v in sorted(columns)]))

    def split(self, weighable: Weighable, task: tuple[int, FloatArray]) -> tuple[float, FloatArray]:
        """Fit two states to the cases of one; return the gain, and both statistics, (2, P).

        A task is a state, and its probability in each row.
        """
        state, belongs = task
        weights = np.where(belongs > BELONGS, self.problem.counts * belongs, 0.0)
        if np.count_nonzero(weights) > ROWS:
            weights = thinned(weights, ROWS)
        alpha = self.blocks.regroup_prior(self.problem.alpha, self.two, state)
        objective = Objective.build(weighable(weights, alpha), self.estimate)
        drawn = [random_start(objective, self.seed, i) for i in range(STARTS)]
        raced = [em(objective, start, iterations=RACE) for start in drawn]
        point = em(objective, max(raced, key=lambda p: p.g), iterations=FIRST_STEPS)
        together = self.two.regroup(point.N, self.two, [[0, 1], []])
        one = objective.at(objective.m_step(together, point.theta))
        gain = self.rank.measure(objective, point) - self.rank.measure(objective, one)
        return gain, point.N[self.two.states]


def find_splits(
    objective: Objective, point: Point, splitters: Sequence[Splitter], known: Splits = NONE
) -> dict[tuple[int, int], Split]:
    """Fit a split of every state with cases; reuse known splits of unchanged states."""
    problem = objective.problem.glimpse
    current: dict[tuple[int, int], Split] = {}
    posteriors: dict[int, FloatArray] = {}
    for splitter in splitters:
        states, h = splitter.blocks.states, splitter.blocks.h
        for split in (split for split in known.values() if split.h == h):
            change = np.abs(point.N[states[split.state]] - split.whole).sum()
            if change <= SAME * np.abs(split.whole).sum():
                current[h, split.state] = split
        full = np.flatnonzero(state_sizes(problem.layout, point.N, h) >= FEWEST).tolist()
        wanted = [s for s in full if (h, s) not in current]
        if wanted and not posteriors:
            about = problem.about_hidden(point.theta)
            posteriors = dict(zip(problem.network.hidden, about, strict=True))
        if wanted:
            split_one = partial(splitter.split, splitter.weighable(posteriors))
            tasks = [(s, posteriors[h][:, s]) for s in wanted]
            ends = objective.executor.map(split_one, tasks)
            for s, (gain, halves) in zip(wanted, ends, strict=True):
                current[h, s] = Split(h, s, gain, halves, point.N[states[s]])
    return current


TURNS = 30  # most moves, one after the other
MERGERS = 8  # mergers combined with each split, those that lose least
TRIED = 4  # moves tried in a turn, those with the largest predicted gains
SHORT = 10  # EM iterations before they are compared
WORTH = 0.1  # least gain of a move, in nats


@dataclass(frozen=True, eq=False)
class SplitMerge:
    """A merger removes a state, and half of another state takes its place."""

    split: Split
    merger: Merger
    promise: float  # nats

    @property
    def touched(self) -> frozenset[tuple[int, int]]:
        """The states that change, with their variable."""
        return frozenset((self.split.h, s) for s in (self.split.state, *self.merger.touched))


def split_and_merge(objective: Objective, point: Point, rank: Rank, seed: int) -> tuple[Point, int]:
    """Split and merge states while that improves a point; return it, and the number of moves."""
    problem = objective.problem
    free = resizable_hidden(problem)
    blocks = [StateBlocks.build(problem.layout, h) for h in free]
    splitters = [Splitter.build(objective, one, rank, seed) for one in blocks]
    value, splits = rank(objective, point), NONE
    for made in range(TURNS):
        splits = find_splits(objective, point, splitters, splits)
        tries = _choices(problem, point, blocks, splits)
        ends = objective.executor.map(partial(_tried, objective, point, rank, blocks), tries)
        reached, candidate = max(ends, key=lambda end: end[0], default=(value, point))
        if reached > value + WORTH:  # the mass may decrease on the way to the maximum
            candidate = em_while_fast(objective, candidate).point
            reached = rank(objective, candidate)
        if reached <= value + WORTH:
            return point, made
        value, point = reached, candidate
    return point, TURNS


def resizable_hidden(problem: Problem) -> tuple[int, ...]:
    """Select the hidden variables connected to data, without a known table."""
    network, members = problem.network, problem.components.members
    return tuple(h for h in network.hidden if h in members and resizable(network, h))


def _choices(
    problem: Problem, point: Point, blocks: Sequence[StateBlocks], splits: Splits
) -> list[tuple[SplitMerge, ...]]:
    """Select the best predicted moves: all with disjoint states together, and each alone."""
    moves: list[SplitMerge] = []
    for one in blocks:
        ranked = mergers(problem, point.N, one)
        for split in (split for split in splits.values() if split.h == one.h):
            apart = (merger for merger in ranked if split.state not in merger.touched)
            moves += [SplitMerge(split, m, split.gain - m.loss) for m in islice(apart, MERGERS)]
    moves.sort(key=lambda move: -move.promise)
    best: dict[tuple[int, int], SplitMerge] = {}  # for each state that may be split
    joint: list[SplitMerge] = []
    touched: frozenset[tuple[int, int]] = frozenset()
    for move in moves:
        best.setdefault((move.split.h, move.split.state), move)
        if move.promise > 0 and not move.touched & touched:
            joint.append(move)
            touched |= move.touched
    singles = [(move,) for move in [*best.values()][:TRIED]]
    return [tuple(joint), *singles] if len(joint) > 1 else [*singles]


def _tried(
    objective: Objective,
    point: Point,
    rank: Rank,
    blocks: Sequence[StateBlocks],
    moves: tuple[SplitMerge, ...],
) -> tuple[float, Point]:
    """Apply moves and run some EM iterations; return the value, and the point."""
    N, of = point.N.copy(), {one.h: one for one in blocks}
    for move in moves:
        block = of[move.split.h]
        move.merger.apply(N, block)
        N[block.states[move.split.state]], N[block.states[move.merger.b]] = move.split.halves
    end = em(objective, objective.best_for(N), iterations=SHORT)
    return rank(objective, end), end
