"""Symmetries: what is hidden can be relabelled without changing network and prior.

Where the prior does not tell the states of a hidden variable apart, renumbering them changes
nothing; nor does it when hidden variables at equal places of the graph, with equal priors, change
places. So the posterior has as many equal copies of everything: Π k! orders of states, times the
number of exchanges. All of them are found here, from the structure.

Any two variables of one *block* can change places, so a block of m has m! exchanges, and nothing
need be listed. Other exchanges move several variables at once: a hidden parent with its own hidden
child, say. They take blocks to blocks, and are tried one by one.
"""

import itertools
import math
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lacunet.arrays import FloatArray
from lacunet.inference.problem import Problem
from lacunet.model.layout import Layout
from lacunet.model.relabelling import Relabelling

# Exchanges of blocks that are tried. Where there may be more, none is looked for: what is left is
# a group by itself, so that regions stay exact, and only the number of labellings is too small.
MOST_TRIED = 5040


def log_orders(things: int) -> float:
    """Log of the number of orders of some things, k!."""
    return math.lgamma(things + 1)


@dataclass(frozen=True, eq=False)
class Symmetries:
    """The relabellings that change nothing, of hidden variables that the data tell something of."""

    layout: Layout
    hidden: frozenset[int]  # all hidden variables
    free: tuple[int, ...]  # those whose states can be renumbered at will
    blocks: tuple[tuple[int, ...], ...]  # all that anything moves; see above
    exchanges: tuple[Relabelling, ...]  # of blocks, in the order of their variables; none first

    @property
    def log_count(self) -> float:
        """Log of the number of equal labellings."""
        states = sum(log_orders(self.layout.cards[h]) for h in self.free)
        return states + sum(log_orders(len(b)) for b in self.blocks) + math.log(len(self.exchanges))

    def features(self, h: int, x: FloatArray) -> list[FloatArray]:
        """What tells the states of h apart, (k, …), family by family: its own first.

        Other hidden variables are summed out, so that relabelling them changes nothing; and the
        numbers of another variable of its block stand in the same order.
        """
        around = [i for i, family in enumerate(self.layout.families) if h in family]
        found = []
        for i in sorted(around, key=lambda i: (i != h, i)):
            family = self.layout.families[i]
            away = [v for v in family if v in self.hidden and v != h]
            summed = self.layout.table(x, i).sum(axis=tuple(family.index(v) for v in away))
            left = [v for v in family if v not in away]
            axes = sorted(left, key=lambda v: (v != h, v))
            table = np.transpose(summed, [left.index(v) for v in axes])
            found.append(table.reshape(len(table), -1))
        return found


def symmetries_of(problem: Problem) -> Symmetries:
    """Find the symmetries of a problem."""
    # A variable that is barren in every row has no modes: the data say nothing of it.
    told = problem.components.members.intersection(problem.network.hidden)
    free = {h for h in interchangeable(problem) if h in told}
    colours = _colours(problem)
    blocks = _blocks(problem, colours)
    exchanges: dict[tuple[int, ...], Mapping[int, int]] = {}
    for places in _exchanges(problem, colours, blocks):  # barren ones only move along
        exchanges.setdefault(tuple(places[h] for h in sorted(told)), places)
    moving = free.union(h for places in exchanges.values() for h in places if places[h] != h)
    return Symmetries(
        problem.layout,
        frozenset(problem.network.hidden),
        tuple(sorted(free)),
        tuple(b for b in blocks if b[0] in told and (len(b) > 1 or b[0] in moving)),
        tuple(Relabelling(problem.layout, places) for places in exchanges.values()),
    )


def interchangeable(problem: Problem) -> tuple[int, ...]:
    """Hidden variables whose states the prior does not tell apart: any numbering is as good."""
    return tuple(h for h in problem.network.hidden if _alike(problem, h))


def _alike(problem: Problem, h: int) -> bool:
    layout = problem.layout
    tables = (
        np.moveaxis(layout.table(problem.alpha, i), family.index(h), 0)
        for i, family in enumerate(layout.families)
        if h in family
    )
    return all((table == table[0]).all() for table in tables)


def _colours(problem: Problem) -> dict[int, Hashable]:
    """Give hidden variables a colour, so that only those of one colour may change places.

    They differ by their states and priors, and by who their parents and children are; as long as
    those are hidden themselves, by the colours of these, again and again.
    """
    layout, parents = problem.layout, problem.network.parents
    hidden = problem.network.hidden
    children = {h: [i for i, pa in enumerate(parents) if h in pa] for h in hidden}
    colours: dict[int, Hashable] = {
        h: (layout.cards[h], np.sort(layout.table(problem.alpha, h), axis=None).tobytes())
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
) -> Iterator[dict[int, int]]:
    """Ways to put blocks into each other's places; that in which all stay comes first."""
    alike: dict[Hashable, list[tuple[int, ...]]] = defaultdict(list)
    for block in blocks:
        alike[colours[block[0]], len(block)].append(block)
    groups = list(alike.values())
    if math.prod(math.factorial(len(group)) for group in groups) > MOST_TRIED:
        groups = [[block] for block in blocks]
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
    """Whether graph and exponents stay the same if variables change places."""
    families = problem.layout.families
    for i, family in enumerate(families):
        if {places.get(v, v) for v in family} != set(families[places.get(i, i)]):
            return False
    moved = Relabelling(problem.layout, places).apply(problem.alpha)
    return bool((moved == problem.alpha).all())
