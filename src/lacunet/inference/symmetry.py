"""Symmetries: relabellings of hidden variables and states that change neither network nor prior.

The posterior has one equal copy of every mode for each symmetry. Any two variables of a *block* are
exchangeable, so a block of m has m! exchanges. Common parents of a block and of all its children
are its *context*: each of their states has separate parameters and can be relabelled separately.
Exchanges of several variables at once (a hidden parent and its hidden child) map blocks to blocks,
and are enumerated.
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
# Exchanges of blocks that are enumerated. If there may be more, none is: regions are still exact,
# but the number of labellings is too small.
MOST_TRIED = 5040

Context: TypeAlias = Mapping[int, int]  # the state of each variable of a context


def contexts_of(problem: Problem, block: Sequence[int]) -> tuple[Context, ...]:
    """States of the context of hidden variables that have the same parents and children.

    Impossible states of observed variables are left out. With too many states the context is
    empty: the remaining relabellings still form a group.
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
    """The parents of hidden variables that are also parents of all their children."""
    parents = problem.network.parents
    children = [set(pa) for pa in parents if not set(block).isdisjoint(pa)]
    return sorted(set(parents[block[0]]).intersection(*children))


def _rows(problem: Problem, seen: Sequence[int]) -> list[tuple[int, ...]]:
    """Joint states of observed variables that are compatible with some row."""
    if not seen:
        return [()]
    columns = [problem.network.observed.index(v) for v in seen]
    parts = in_passing(problem.codes, problem.counts)
    each = [np.unique(part.codes[part.counts > 0][:, columns], axis=0) for part in parts]
    shown = np.unique(np.concatenate(each), axis=0)
    states: set[tuple[int, ...]] = set()
    for row in shown.tolist():
        cards = [problem.layout.cards[v] for v in seen]
        choices = [range(r) if x < 0 else (x,) for r, x in zip(cards, row, strict=True)]
        if len(states) <= MOST_CONTEXTS:
            states.update(itertools.islice(itertools.product(*choices), MOST_CONTEXTS + 1))
    return sorted(states)


def slices(problem: Problem, h: int, within: Context) -> list[FloatArray]:
    """Prior marks of the families around h in a context, (k, …) each: states of h first."""
    layout, tables = problem.layout, []
    for i, family in enumerate(layout.families):
        if h in family and layout.widths[i]:
            where = tuple(within.get(v, slice(None)) for v in family)
            left = [v for v in family if v not in within]
            tables.append(np.moveaxis(layout.table(problem.marks, i)[where], left.index(h), 0))
    return tables


def kinds_of_states(problem: Problem, h: int, within: Context) -> tuple[int, ...]:
    """For each state of h, the first state with the same prior in a context."""
    tables = slices(problem, h, within)
    states = range(problem.layout.cards[h])

    def alike(s: int, t: int) -> bool:
        same = all((marks[t] == marks[s]).all() for marks in tables)
        return same and (s == t or _may_change(problem, h, (s, t), within))

    return tuple(next(t for t in states if alike(s, t)) for s in states)


def _may_change(problem: Problem, h: int, pair: tuple[int, int], within: Context) -> bool:
    """Whether exchanging two states keeps all tied tables tied."""
    if not problem.layout.leaders:
        return True
    s, t = pair
    order = list(range(problem.layout.cards[h]))
    order[s], order[t] = t, s
    return Relabelling(problem.layout, orders={h: order}, within=within).keeps_ties


def _may_have_more(
    problem: Problem, informed: AbstractSet[int], exchanged: AbstractSet[int]
) -> bool:
    """Whether there may be symmetries beyond blocks, contexts and the enumerated exchanges."""
    for h in sorted(informed):
        if context_variables(problem, (h,)) and (
            h in exchanged or contexts_of(problem, (h,)) == ({},)
        ):
            return True
        parents = problem.network.parents[h]
        if _permuted_prior(problem, h) or any(_one_variable(problem, g, h) for g in parents):
            return True
    return False


def _permuted_prior(problem: Problem, h: int) -> bool:
    """Whether states of h of two kinds have the same exponents up to a permutation.

    Then permuting other variables too, for example in tied tables, may be a symmetry.
    """
    for within in contexts_of(problem, (h,)):
        tables = slices(problem, h, within)
        kinds = sorted(set(kinds_of_states(problem, h, within)))
        for s, t in itertools.combinations(kinds, 2):
            if all(np.array_equal(np.sort(x[s], None), np.sort(x[t], None)) for x in tables):
                return True
    return False


def _one_variable(problem: Problem, g: int, h: int) -> bool:
    """Whether hidden g and its child h are equivalent to one variable of exchangeable states.

    They have the same other parents and children, and a joint Dirichlet prior, as under BDeu.
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
    """Log of k!, the number of permutations."""
    return math.lgamma(things + 1)


@dataclass(frozen=True, eq=False)
class ExchangeableBlock:
    """Hidden variables that are exchangeable, separately in each state of their context."""

    variables: tuple[int, ...]
    contexts: tuple[Context, ...]  # a single empty one without a context
    kinds: tuple[tuple[int, ...], ...]  # by context and state: equal kinds are exchangeable

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
    """The symmetries of hidden variables that are not barren in every row."""

    layout: Layout
    hidden: frozenset[int]  # all hidden variables
    # Only blocks with a symmetry; contexts precede their blocks.
    blocks: tuple[ExchangeableBlock, ...]
    exchanges: tuple[Relabelling, ...]  # of blocks; the identity first
    whole: bool  # whether these are known to be all

    @property
    def log_count(self) -> float:
        """Log of the number of equal labellings."""
        return sum(block.log_count for block in self.blocks) + math.log(len(self.exchanges))


def symmetries_of(problem: Problem) -> Symmetries:
    """Find the symmetries of a problem."""
    # A variable that is barren in every row has no modes: its posterior is its prior.
    informed = problem.components.members.intersection(problem.network.hidden)
    colours = _colours(problem)
    groups = _blocks(problem, colours)
    exchanges: dict[tuple[int, ...], Mapping[int, int]] = {}
    tried, permutations = _exchanges(problem, colours, groups)
    for places in permutations:  # ignore how barren variables move
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
        tried and not _may_have_more(problem, informed, exchanged),
    )


def interchangeable(problem: Problem) -> tuple[int, ...]:
    """Hidden variables whose states are exchangeable under the prior."""
    return tuple(h for h in problem.network.hidden if set(kinds_of_states(problem, h, {})) == {0})


def _colours(problem: Problem) -> dict[int, Hashable]:
    """Colour refinement of hidden variables: only variables of one colour can be exchangeable.

    The first colours are states and priors; each round adds the colours of parents and children.
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
        # Negative, because observed variables keep their indices.
        number = {h: kinds.index(colour) - len(kinds) for h, colour in colours.items()}
        near = {h: (parents[h], children[h]) for h in hidden}
        colours = {
            h: (number[h], *(tuple(sorted(number.get(v, v) for v in vs)) for vs in near[h]))
            for h in hidden
        }
    return colours


def _blocks(problem: Problem, colours: Mapping[int, Hashable]) -> list[tuple[int, ...]]:
    """Partition of the hidden variables into exchangeable blocks."""
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
    """Whether all were tried, and block permutations that are symmetries; the identity first."""
    alike: dict[Hashable, list[tuple[int, ...]]] = defaultdict(list)
    for block in blocks:
        alike[colours[block[0]], len(block)].append(block)
    groups = list(alike.values())
    tried = math.prod(math.factorial(len(group)) for group in groups) <= MOST_TRIED
    groups = groups if tried else [[block] for block in blocks]
    before = [v for group in groups for block in group for v in block]
    symmetric = []
    for orders in itertools.product(*(itertools.permutations(group) for group in groups)):
        after = [v for order in orders for block in order for v in block]
        places = dict(zip(before, after, strict=True))
        if _keeps(problem, places):
            symmetric.append(places)
    return tried, symmetric


def _keeps(problem: Problem, places: Mapping[int, int]) -> bool:
    """Whether a permutation of variables keeps the graph, the exponents and the known tables."""
    families = problem.layout.families
    for i, family in enumerate(families):
        if {places.get(v, v) for v in family} != set(families[places.get(i, i)]):
            return False
    return Relabelling(problem.layout, places).keeps(problem.alpha)
