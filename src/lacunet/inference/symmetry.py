"""Symmetries: what is hidden can be relabelled without changing network and prior.

Where the prior does not tell the states of a hidden variable apart, renumbering them changes
nothing; nor does it when hidden variables at equal places of the graph, with equal priors, change
places. So the posterior has as many equal copies of everything: Π k! orders of states, times the
number of exchanges. They are found here, from the structure.

Any two variables of one *block* can change places, so a block of m has m! exchanges, and nothing
need be listed. Variables that are parents of a block and of all its children are its *context*:
given their states, each of which has parameters of its own, all of this can be done by itself, so
that everything counts once for each state of the context (`contexts.py`). Other exchanges move
several variables at once: a hidden parent with its own hidden child, say. They take blocks to
blocks, and are tried one by one.
"""

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from lacunet.inference.problem import Problem
from lacunet.models.known import Relabelling
from lacunet.models.layout import Layout
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.rows import in_passing

# Contexts: variables given which what is hidden can be relabelled by itself.

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


# Exchanges of blocks that are tried. Where there may be more, none is looked for: what is left is
# a group by itself, so that regions stay exact, and only the number of labellings is too small.
MOST_TRIED = 5040


def log_orders(things: int) -> float:
    """Log of the number of orders of some things, k!."""
    return math.lgamma(things + 1)


@dataclass(frozen=True, eq=False)
class ExchangeableBlock:
    """Hidden variables that can change places, in each state of their context by itself."""

    variables: tuple[int, ...]
    contexts: tuple[Context, ...]  # one that names nothing where there is no context
    kinds: tuple[tuple[int, ...], ...]  # in each, of states: those of a kind can be renumbered

    @property
    def log_count(self) -> float:
        """Log of the number of its relabellings."""
        each = sum(
            sum(log_orders(n) for n in Counter(kinds).values()) * len(self.variables)
            for kinds in self.kinds
        )
        return each + len(self.contexts) * log_orders(len(self.variables))


@dataclass(frozen=True, eq=False)
class Symmetries:
    """The relabellings that change nothing, of hidden variables that the data tell something of."""

    layout: Layout
    hidden: frozenset[int]  # all hidden variables
    blocks: tuple[
        ExchangeableBlock, ...
    ]  # all that anything moves; contexts before what they are contexts of
    exchanges: tuple[Relabelling, ...]  # of blocks, in the order of their variables; none first
    whole: bool  # whether it is known that there are no others

    @property
    def log_count(self) -> float:
        """Log of the number of equal labellings."""
        return sum(block.log_count for block in self.blocks) + math.log(len(self.exchanges))


def symmetries_of(problem: Problem) -> Symmetries:
    """Find the symmetries of a problem."""
    # A variable that is barren in every row has no modes: the data say nothing of it.
    told = problem.components.members.intersection(problem.network.hidden)
    colours = _colours(problem)
    groups = _blocks(problem, colours)
    exchanges: dict[tuple[int, ...], Mapping[int, int]] = {}
    tried, found = _exchanges(problem, colours, groups)
    for places in found:  # barren ones only move along
        exchanges.setdefault(tuple(places[h] for h in sorted(told)), places)
    exchanged = {h for places in exchanges.values() for h in places if places[h] != h}
    blocks = []
    for variables in sorted(groups, key=lambda b: problem.network.order.index(b[0])):
        contexts = contexts_of(problem, variables)
        kinds = tuple(kinds_of_states(problem, variables[0], within) for within in contexts)
        renumbered = any(max(Counter(k).values()) > 1 for k in kinds)
        if variables[0] in told and (len(variables) > 1 or renumbered or variables[0] in exchanged):
            blocks.append(ExchangeableBlock(variables, contexts, kinds))
    return Symmetries(
        problem.layout,
        frozenset(problem.network.hidden),
        tuple(blocks),
        tuple(Relabelling(problem.layout, places) for places in exchanges.values()),
        tried and not more_than_found(problem, told, exchanged),
    )


def interchangeable(problem: Problem) -> tuple[int, ...]:
    """Hidden variables whose states the prior does not tell apart: any numbering is as good."""
    return tuple(h for h in problem.network.hidden if _alike(problem, h))


def _alike(problem: Problem, h: int) -> bool:
    return set(kinds_of_states(problem, h, {})) == {0}


def _colours(problem: Problem) -> dict[int, Hashable]:
    """Give hidden variables a colour, so that only those of one colour may change places.

    They differ by their states and priors, and by who their parents and children are; as long as
    those are hidden themselves, by the colours of these, again and again.
    """
    layout, parents = problem.layout, problem.network.parents
    hidden = problem.network.hidden
    children = {h: [i for i, pa in enumerate(parents) if h in pa] for h in hidden}
    colours: dict[int, Hashable] = {
        h: (layout.cards[h], np.sort(layout.table(problem.marks, h), axis=None).tobytes())
        for h in hidden
    }
    for _ in hidden:
        kinds = list(dict.fromkeys(colours.values()))
        # Below all variables that can be seen, each of which has a number of its own.
        number = {h: kinds.index(colour) - len(kinds) for h, colour in colours.items()}
        colours = {
            h: (
                number[h],
                *(
                    tuple(sorted(number.get(v, v) for v in near))
                    for near in (parents[h], children[h])
                ),
            )
            for h in hidden
        }
    return colours


def _blocks(problem: Problem, colours: Mapping[int, Hashable]) -> list[tuple[int, ...]]:
    """Hidden variables, each with those that it can change places with."""
    blocks: list[list[int]] = []
    for h, colour in colours.items():
        for block in blocks:
            first = block[0]  # who can change places with one of a block can do so with all
            if colours[first] == colour and _keeps(problem, {h: first, first: h}):
                block.append(h)
                break
        else:
            blocks.append([h])
    return [tuple(block) for block in blocks]


def _exchanges(
    problem: Problem, colours: Mapping[int, Hashable], blocks: Sequence[tuple[int, ...]]
) -> tuple[bool, Iterator[dict[int, int]]]:
    """Whether all are tried, and ways to put blocks into each other's places; first, all stay."""
    alike: dict[Hashable, list[tuple[int, ...]]] = defaultdict(list)
    for block in blocks:
        alike[colours[block[0]], len(block)].append(block)
    groups = list(alike.values())
    if math.prod(math.factorial(len(group)) for group in groups) > MOST_TRIED:
        return False, _kept(problem, [[block] for block in blocks])
    return True, _kept(problem, groups)


def _kept(
    problem: Problem, groups: Sequence[Sequence[tuple[int, ...]]]
) -> Iterator[dict[int, int]]:
    """Orders of the blocks of each group that change nothing."""
    for orders in itertools.product(*(itertools.permutations(group) for group in groups)):
        places = {
            new: old
            for group, order in zip(groups, orders, strict=True)
            for block, other in zip(group, order, strict=True)
            for new, old in zip(block, other, strict=True)
        }
        if _keeps(problem, places):
            yield places


def _keeps(problem: Problem, places: Mapping[int, int]) -> bool:
    """Whether graph, exponents and known tables stay the same if variables change places."""
    families = problem.layout.families
    for i, family in enumerate(families):
        if {places.get(v, v) for v in family} != set(families[places.get(i, i)]):
            return False
    return Relabelling(problem.layout, places).keeps(problem.alpha)
