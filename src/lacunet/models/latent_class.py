"""The latent class model: one hidden root with every observed variable as its child.

With an observed group, class sizes differ between groups.
"""

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from lacunet.errors import ModelError, OptionError, did_you_mean
from lacunet.models.network import Model, Network, Variable
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.states import State

LARGEST_TABLE = 1 << 26  # most numbers of one family: half a GiB


def check_table_sizes(
    names: Sequence[str], cards: Sequence[int], parents: Sequence[Sequence[int]]
) -> None:
    """Raise ModelError for tables that do not fit into memory, before allocating them."""
    for i, pa in enumerate(parents):
        size = math.prod([cards[i], *(cards[p] for p in pa)])
        if size > LARGEST_TABLE:
            factors = ", ".join(f"'{names[v]}' ({cards[v]:,})" for v in (i, *pa))
            raise ModelError(
                f"the table of '{names[i]}' would have {size:,} numbers, one for each combination "
                f"of states of {factors}; at most {LARGEST_TABLE:,} are allowed. Give hidden "
                "variables fewer states."
            )


HIDDEN_NAMES = ("class", "latent_class", "hidden_class")


def latent_class(columns: Sequence[tuple[str, Sequence[State]]], states: int) -> Network:
    """The network with a hidden root of `states` states and leaves given as (name, states).

    >>> network = latent_class([("smokes", ("no", "yes")), ("drinks", ("no", "yes"))], 3)
    >>> network.dimension  # 2 for the class sizes, 3 for each leaf
    8
    """
    return over_leaves([Variable(name, tuple(values)) for name, values in columns], states)


def over_leaves(leaves: Sequence[Variable], states: int) -> Network:
    """The network with a hidden root of `states` states over variables of any likelihood."""
    if states < 1:
        raise OptionError(f"{states} hidden states: there must be at least 1.")
    hidden = _free_name({v.name for v in leaves})
    parents = [(), *([(0,)] * len(leaves))]
    sizes = [states, *(len(v.states) for v in leaves)]
    check_table_sizes([hidden, *(v.name for v in leaves)], sizes, parents)
    root = Variable(hidden, tuple(range(1, states + 1)), hidden=True)
    return Network.build([root, *leaves], parents)


def named_apart(model: Model, columns: Collection[str]) -> Model:
    """Rename hidden variables that have the name of a column that is not an item."""
    variables, predictors = list(model.network.variables), model.predictors
    new = _free_name({*columns, *(v.name for v in variables)})
    named = [h for h in model.network.hidden if variables[h].name in columns]
    if not named:
        return model
    for h in named:
        variables[h] = replace(variables[h], name=new)
    if predictors is not None:
        predictors = replace(predictors, variable=new)
    network = Network.build(variables, model.network.parents)
    return replace(model, network=network, predictors=predictors)


def _free_name(taken: Collection[str]) -> str:
    """A name for a hidden variable that no column has."""
    more = (f"{HIDDEN_NAMES[0]}_{i}" for i in range(len(taken) + 1))
    return next(name for name in (*HIDDEN_NAMES, *more) if name not in taken)


@dataclass(frozen=True)
class LatentClasses:
    """Indices of the root and the leaves of a latent class model.

    The first axis of every table is the class.
    """

    root: int  # index of the hidden variable
    leaves: tuple[int, ...]  # indices of the observed variables
    variable: Variable  # the hidden variable

    @property
    def number(self) -> int:
        """Number of classes."""
        return len(self.variable.states)


def find_classes(network: Network) -> LatentClasses | None:
    """The classes of a network with one hidden root and observed leaves; None for others.

    >>> leaf, root = Variable("smokes", ("no", "yes")), Variable("class", (1, 2, 3), hidden=True)
    >>> find_classes(Network.build([leaf, root], [(1,), ()])).root
    1
    """
    if len(network.hidden) != 1:
        return None
    (root,) = network.hidden
    if network.parents[root] or any(network.parents[i] != (root,) for i in network.observed):
        return None
    return LatentClasses(root, network.observed, network.variables[root])


def classes_of(network: Network) -> LatentClasses:
    """The classes of a latent class model; raise ValueError for other networks."""
    classes = find_classes(network)
    if classes is None:
        raise ValueError("only latent class models have classes")
    return classes


def with_edges(network: Network, edges: Sequence[tuple[str, str]]) -> Network:
    """Add local dependences between items: edges by name, parent first.

    >>> network = latent_class([("smokes", ("no", "yes")), ("drinks", ("no", "yes"))], 2)
    >>> with_edges(network, [("smokes", "drinks")]).dimension  # 1 + 2 + 4
    7
    """
    if not edges:
        return network
    names = [v.name for v in network.variables]
    parents = [list(pa) for pa in network.parents]
    for edge in edges:
        for name in edge:
            if name not in names or network.variables[names.index(name)].hidden:
                raise OptionError(
                    f"edge '{':'.join(edge)}': '{name}' is not a column that is used."
                    f"{did_you_mean(name, names)}"
                )
        u, v = map(names.index, edge)
        if u == v or u in parents[v]:
            raise OptionError(f"edge '{':'.join(edge)}': give two columns, and each pair once.")
        parents[v].append(u)
    sizes = [len(v.states) for v in network.variables]
    check_table_sizes(names, sizes, [tuple(pa) for pa in parents])
    return Network.build(network.variables, [tuple(sorted(pa)) for pa in parents])


def read_edges(edges: Sequence[str | tuple[str, str]]) -> list[tuple[str, str]]:
    """Parse edges between items: PARENT:CHILD, or pairs.

    >>> read_edges(["smokes:drinks", ("a", "b")])
    [('smokes', 'drinks'), ('a', 'b')]
    """
    pairs = []
    for edge in [edges] if isinstance(edges, str) else edges:
        parts = tuple(part.strip() for part in edge.split(":")) if isinstance(edge, str) else edge
        if len(parts) != 2 or not all(parts):
            raise OptionError(f"edge '{edge}' is not an edge. Give PARENT:CHILD, as in A:B.")
        pairs.append((parts[0], parts[1]))
    return pairs


def counted(number: int, network: Network) -> str:
    """The number of hidden states in words; a latent class model has classes.

    >>> network = latent_class([("smokes", ("no", "yes"))], 3)
    >>> counted(3, network), counted(1, network)
    ('3 classes', '1 class')
    """
    return f"{number} {unit(network, several=number != 1)}"


def unit(network: Network, *, several: bool = True) -> str:
    """The noun for hidden states: classes in a latent class model, otherwise states."""
    if has_classes(network):
        return "classes" if several else "class"
    return "states" if several else "state"


def has_classes(network: Network) -> bool:
    """Whether one hidden root is a parent of every item; items may also depend on each other."""
    if len(network.hidden) != 1 or network.parents[network.hidden[0]]:
        return False
    return all(network.hidden[0] in network.parents[i] for i in network.observed)


def is_latent_class(network: Network) -> bool:
    """Whether the network has one hidden root and observed leaves."""
    return find_classes(network) is not None


@dataclass(frozen=True, eq=False)
class Grouped:
    """A latent class network with an observed group."""

    network: Network
    group: int  # index of the group

    @property
    def root(self) -> int:
        """Index of the class variable."""
        return self.network.hidden[0]

    @property
    def variable(self) -> Variable:
        """The group variable."""
        return self.network.variables[self.group]

    @property
    def items(self) -> tuple[int, ...]:
        """Indices of the items, in display order."""
        return tuple(i for i in self.network.shown if i not in (self.group, self.root))

    @property
    def free(self) -> tuple[str, ...]:
        """Names of the items whose tables differ between groups."""
        return tuple(
            self.network.variables[i].name
            for i in self.items
            if self.group in self.network.parents[i]
        )

    @property
    def alone(self) -> Network:
        """The latent class model of a single group."""
        variables = self.network.variables
        leaves = [variables[i] for i in self._in_alone[1:]]
        return over_leaves(leaves, len(variables[self.root].states))

    @property
    def _in_alone(self) -> list[int]:
        """Indices of the variables of `alone`, in its order."""
        every = range(len(self.network.variables))
        return [self.root, *(i for i in every if i not in (self.group, self.root))]

    def of_group(self, x: FloatArray, g: int) -> FloatArray:
        """The part of a flat vector for one group, in the layout of `alone`."""
        layout, tables = self.network.layout, []
        for i in self._in_alone:
            table, family = layout.table(x, i), layout.families[i]
            if self.group in family:
                table = np.take(table, g, axis=family.index(self.group))
            tables.append(table)
        return self.alone.layout.flat(tables)

    def joined(self, parts: Sequence[FloatArray], like: FloatArray) -> FloatArray:
        """Join flat vectors of all groups, in the layout of `alone`.

        Families without the group are copied from `like`.
        """
        layout, alone, tables = self.network.layout, self.alone.layout, []
        place = {i: j for j, i in enumerate(self._in_alone)}
        for i, family in enumerate(layout.families):
            if self.group not in family[:-1]:
                tables.append(layout.table(like, i))
                continue
            each = [alone.table(part, place[i]) for part in parts]
            tables.append(np.stack(each, axis=family.index(self.group)))
        return layout.flat(tables)


def grouped_classes(leaves: Sequence[Variable], group: str, states: int) -> Grouped:
    """The network with equal item tables in all groups, and class sizes by group.

    >>> leaves = [Variable("smokes", ("no", "yes")), Variable("sex", ("f", "m"))]
    >>> grouped_classes(leaves, "sex", 2).network.dimension  # the group 1, classes 2, items 2
    5
    """
    plain = over_leaves(leaves, states)
    place = plain.index(group)
    parents = [list(pa) for pa in plain.parents]
    parents[place], parents[plain.hidden[0]] = [], [place]
    return Grouped(Network.build(plain.variables, parents), place)
