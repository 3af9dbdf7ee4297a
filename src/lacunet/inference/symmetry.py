"""Symmetries: relabellings of hidden variables and states that change neither network nor prior.

The posterior has as many equal copies of everything. Any two variables of one *block* can change
places, so a block of m has m! exchanges. Variables that are parents of a block and of all its
children are its *context*: given their states, which have parameters of their own, everything can
be relabelled separately. Exchanges that move several variables at once (a hidden parent with its
own hidden child) take blocks to blocks, and are tried one by one.
"""

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from lacunet.inference.problem import Problem
from lacunet.models.known import Relabelling
from lacunet.models.layout import Layout
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.rows import in_passing

MOST_CONTEXTS = 64  # states of one context that are distinguished
# Exchanges of blocks that are tried. Where there may be more, none is looked for: each region is
# then still exact, and only the number of labellings is too small.
MOST_TRIED = 5040

Context: TypeAlias = Mapping[int, int]  # the state of each variable of a context


def contexts_of(problem: Problem, block: Sequence[int]) -> tuple[Context, ...]:
    """States of the context of hidden variables that have the same parents and children.

    States of seen variables that no row can have are left out. With too many states there is no
    context: the relabellings that remain are a group by themselves.
    """
    around = context_variables(problem, block)
    seen = [v for v in around if v not in problem.network.hidden]
    hidden = [v for v in around if v in problem.network.hidden]
    rows, cards = _rows(problem, seen), problem.layout.cards
    if len(rows) * math.prod(cards[v] for v in hidden) > MOST_CONTEXTS:
        return ({},)
    states = list(itertools.product(*(range(cards[v]) for v in hidden)))
    return tuple(
        dict(zip((*seen, *hidden), (*row, *state), strict=True)) for row in rows for state in states
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


def more_than_found(
    problem: Problem, informed: AbstractSet[int], exchanged: AbstractSet[int]
) -> bool:
    """Whether there may be relabellings beyond blocks, contexts and exchanges that were tried."""
    for h in sorted(informed):
        if context_variables(problem, (h,)) and (
            h in exchanged or contexts_of(problem, (h,)) == ({},)
        ):
            return True
        parents = problem.network.parents[h]
        if _turned_prior(problem, h) or any(_one_variable(problem, g, h) for g in parents):
            return True
    return False


def _turned_prior(problem: Problem, h: int) -> bool:
    """Whether states of h of two kinds have the same exponents in some order.

    Other variables may make up for that; where tables are tied, their states may have to change
    places together.
    """
    for within in contexts_of(problem, (h,)):
        tables = slices(problem, h, within)
        kinds = sorted(set(kinds_of_states(problem, h, within)))
        for s, t in itertools.combinations(kinds, 2):
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
    # All that anything moves; contexts before the blocks that they are contexts of.
    blocks: tuple[ExchangeableBlock, ...]
    exchanges: tuple[Relabelling, ...]  # of blocks, in the order of their variables; none first
    whole: bool  # whether it is known that there are no others

    @property
    def log_count(self) -> float:
        """Log of the number of equal labellings."""
        return sum(block.log_count for block in self.blocks) + math.log(len(self.exchanges))


def symmetries_of(problem: Problem) -> Symmetries:
    """Find the symmetries of a problem."""
    # A variable that is barren in every row has no modes: the data say nothing of it.
    informed = problem.components.members.intersection(problem.network.hidden)
    colours = _colours(problem)
    groups = _blocks(problem, colours)
    exchanges: dict[tuple[int, ...], Mapping[int, int]] = {}
    tried, found = _exchanges(problem, colours, groups)
    for places in found:  # barren ones only move along
        exchanges.setdefault(tuple(places[h] for h in sorted(informed)), places)
    exchanged = {h for places in exchanges.values() for h in places if places[h] != h}
    blocks = []
    for variables in sorted(groups, key=lambda b: problem.network.order.index(b[0])):
        contexts = contexts_of(problem, variables)
        kinds = tuple(kinds_of_states(problem, variables[0], within) for within in contexts)
        renumbered = any(max(Counter(k).values()) > 1 for k in kinds)
        if variables[0] in informed and (
            len(variables) > 1 or renumbered or variables[0] in exchanged
        ):
            blocks.append(ExchangeableBlock(variables, contexts, kinds))
    return Symmetries(
        problem.layout,
        frozenset(problem.network.hidden),
        tuple(blocks),
        tuple(Relabelling(problem.layout, places) for places in exchanges.values()),
        tried and not more_than_found(problem, informed, exchanged),
    )


def interchangeable(problem: Problem) -> tuple[int, ...]:
    """Hidden variables whose states the prior does not tell apart: any numbering is as good."""
    return tuple(h for h in problem.network.hidden if set(kinds_of_states(problem, h, {})) == {0})


def _colours(problem: Problem) -> dict[int, Hashable]:
    """Colour hidden variables (colour refinement): only those of one colour may change places.

    The first colours are states and priors; then those of parents and children are added.
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
        near = {h: (parents[h], children[h]) for h in hidden}
        colours = {
            h: (number[h], *(tuple(sorted(number.get(v, v) for v in vs)) for vs in near[h]))
            for h in hidden
        }
    return colours


def _blocks(problem: Problem, colours: Mapping[int, Hashable]) -> list[tuple[int, ...]]:
    """Hidden variables, each with those that it can change places with."""
    blocks: list[list[int]] = []
    for h, colour in colours.items():
        for block in blocks:
            first = block[0]  # exchanges are transitive
            if colours[first] == colour and _keeps(problem, {h: first, first: h}):
                block.append(h)
                break
        else:
            blocks.append([h])
    return [tuple(block) for block in blocks]


def _exchanges(
    problem: Problem, colours: Mapping[int, Hashable], blocks: Sequence[tuple[int, ...]]
) -> tuple[bool, list[dict[int, int]]]:
    """Whether all are tried, and permutations of blocks that change nothing; the identity first."""
    alike: dict[Hashable, list[tuple[int, ...]]] = defaultdict(list)
    for block in blocks:
        alike[colours[block[0]], len(block)].append(block)
    groups = list(alike.values())
    tried = math.prod(math.factorial(len(group)) for group in groups) <= MOST_TRIED
    groups = groups if tried else [[block] for block in blocks]
    before = [v for group in groups for block in group for v in block]
    found = []
    for orders in itertools.product(*(itertools.permutations(group) for group in groups)):
        after = [v for order in orders for block in order for v in block]
        places = dict(zip(before, after, strict=True))
        if _keeps(problem, places):
            found.append(places)
    return tried, found


def _keeps(problem: Problem, places: Mapping[int, int]) -> bool:
    """Whether graph, exponents and known tables stay the same if variables change places."""
    families = problem.layout.families
    for i, family in enumerate(families):
        if {places.get(v, v) for v in family} != set(families[places.get(i, i)]):
            return False
    return Relabelling(problem.layout, places).keeps(problem.alpha)
