"""Contexts: variables given which what is hidden can be relabelled by itself.

A state of hidden h may be renumbered in one way where its parent g has its first state and in
another way where g has its second, if that is to change nothing but the names of parameters: the
table of h has rows of its own for every state of g, and so must the table of every child of h. So
the context of h are those of its parents, hidden or seen, that are parents of all its children too.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TypeAlias

import numpy as np

from lacunet.inference.problem import Problem
from lacunet.model.relabelling import Relabelling
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.rows import in_passing

MOST_CONTEXTS = 64  # states of one context that are told apart

Context: TypeAlias = Mapping[int, int]  # the state of each variable of a context


def contexts_of(problem: Problem, block: Sequence[int]) -> tuple[Context, ...]:
    """States of the context of hidden variables that have the same parents and children.

    Those of seen variables that no row can have are left out: there is nothing to be labelled. If
    there are too many states, there is no context: what is left is a group by itself.
    """
    around = context_variables(problem, block)
    seen = [v for v in around if v not in problem.network.hidden]
    hidden = [v for v in around if v in problem.network.hidden]
    rows = _rows(problem, seen)
    cards = problem.layout.cards
    if len(rows) * math.prod(cards[v] for v in hidden) > MOST_CONTEXTS:
        return ({},)
    states = list(itertools.product(*(range(cards[v]) for v in hidden)))
    return tuple(
        {**dict(zip(seen, row, strict=True)), **dict(zip(hidden, state, strict=True))}
        for row in rows
        for state in states
    )


def context_variables(problem: Problem, block: Sequence[int]) -> list[int]:
    """The parents of hidden variables that are parents of all their children too."""
    parents = problem.network.parents
    children = [set(pa) for pa in parents if not set(block).isdisjoint(pa)]
    return sorted(set(parents[block[0]]).intersection(*children))


def _rows(problem: Problem, seen: Sequence[int]) -> list[tuple[int, ...]]:
    """States of seen variables that some row has, or may have where it does not show them."""
    if not seen:
        return [()]
    columns = [problem.network.observed.index(v) for v in seen]
    parts = in_passing(problem.codes, problem.counts)
    each = [np.unique(part.codes[part.counts > 0][:, columns], axis=0) for part in parts]
    shown = np.unique(np.concatenate(each), axis=0)
    found: set[tuple[int, ...]] = set()
    for row in shown.tolist():
        some = [
            range(problem.layout.cards[v]) if x < 0 else (x,)
            for v, x in zip(seen, row, strict=True)
        ]
        if len(found) <= MOST_CONTEXTS:
            found.update(itertools.islice(itertools.product(*some), MOST_CONTEXTS + 1))
    return sorted(found)


def slices(problem: Problem, h: int, within: Context) -> list[FloatArray]:
    """Marks around h in a context, (k, …) for each family: its states first."""
    layout, found = problem.layout, []
    for i, family in enumerate(layout.families):
        if h in family and layout.widths[i]:
            where = tuple(within.get(v, slice(None)) for v in family)
            left = [v for v in family if v not in within]
            found.append(np.moveaxis(layout.table(problem.marks, i)[where], left.index(h), 0))
    return found


def kinds_of_states(problem: Problem, h: int, within: Context) -> tuple[int, ...]:
    """For each state of h, the first that nothing but data tells from it in a context."""
    tables = slices(problem, h, within)
    states = range(problem.layout.cards[h])

    def alike(s: int, t: int) -> bool:
        same = all((own[t] == own[s]).all() for own in tables)
        return same and (s == t or _may_change(problem, h, (s, t), within))

    return tuple(next(t for t in states if alike(s, t)) for s in states)


def _may_change(problem: Problem, h: int, pair: tuple[int, int], within: Context) -> bool:
    """Whether two states can change places without taking tables apart that are one."""
    if not problem.layout.leaders:
        return True
    s, t = pair
    order = list(range(problem.layout.cards[h]))
    order[s], order[t] = t, s
    return Relabelling(problem.layout, orders={h: order}, within=within).keeps_ties


def more_than_found(problem: Problem, told: AbstractSet[int], exchanged: AbstractSet[int]) -> bool:
    """Whether there may be relabellings beyond blocks, contexts and exchanges that were tried."""
    parents = problem.network.parents
    for h in sorted(told):
        around = context_variables(problem, (h,))
        if around and (h in exchanged or contexts_of(problem, (h,)) == ({},)):
            return True
        if _held_by_ties(problem, h):  # states of several variables may change places together
            return True
        if _turned_prior(problem, h) or any(_one_variable(problem, g, h) for g in parents[h]):
            return True
    return False


def _held_by_ties(problem: Problem, h: int) -> bool:
    """Whether states of h that are alike cannot change places by themselves, for a tie."""
    if not problem.layout.leaders:
        return False
    for within in contexts_of(problem, (h,)):
        tables = slices(problem, h, within)
        for pair in itertools.combinations(range(problem.layout.cards[h]), 2):
            s, t = pair
            if all((own[s] == own[t]).all() for own in tables) and not _may_change(
                problem, h, pair, within
            ):
                return True
    return False


def _turned_prior(problem: Problem, h: int) -> bool:
    """Whether states of h have the same exponents in another order: others may make up for it."""
    for within in contexts_of(problem, (h,)):
        kinds = kinds_of_states(problem, h, within)
        tables = slices(problem, h, within)
        first = sorted(set(kinds))
        for s, t in itertools.combinations(first, 2):
            if all(np.array_equal(np.sort(own[s], None), np.sort(own[t], None)) for own in tables):
                return True
    return False


def _one_variable(problem: Problem, g: int, h: int) -> bool:
    """Whether hidden g and its child h are as good as one variable, with cells in any order.

    They have the same other parents and children, and the prior of their joint states is Dirichlet,
    as BDeu makes it.
    """
    network, layout = problem.network, problem.layout
    if g not in network.hidden or set(network.parents[h]) != {*network.parents[g], g}:
        return False
    children = [{i for i, pa in enumerate(network.parents) if v in pa} for v in (g, h)]
    if children[0] - {h} != children[1]:
        return False
    if any(network.variables[v].known for v in (g, h)):
        return False
    joint = layout.table(problem.alpha, h).sum(axis=-1)
    family = layout.families[h][:-1]
    turned = np.transpose(joint, [family.index(v) for v in layout.families[g]])
    return bool(np.allclose(turned, layout.table(problem.alpha, g), rtol=1e-12))
