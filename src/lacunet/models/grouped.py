"""Latent classes in several groups: the group is seen, and classes have sizes of their own in each.

Answers that depend on the class alone are the same in all groups; those that the group is a second
parent of (`with_edges`) are free.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lacunet.models.latent_class import over_leaves
from lacunet.models.network import Network, Variable
from lacunet.runtime.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Grouped:
    """A network of classes in groups, and where its group is."""

    network: Network
    group: int  # index of the group

    @property
    def root(self) -> int:
        """Index of the classes."""
        return self.network.hidden[0]

    @property
    def variable(self) -> Variable:
        """The group itself."""
        return self.network.variables[self.group]

    @property
    def items(self) -> tuple[int, ...]:
        """Indices of the answers, in the order in which people see them."""
        return tuple(i for i in self.network.shown if i not in (self.group, self.root))

    @property
    def free(self) -> tuple[str, ...]:
        """Names of the answers that differ between groups."""
        return tuple(
            self.network.variables[i].name
            for i in self.items
            if self.group in self.network.parents[i]
        )

    @property
    def alone(self) -> Network:
        """The latent class model of one group by itself."""
        variables = self.network.variables
        kept = [i for i in range(len(variables)) if i not in (self.group, self.root)]
        return over_leaves([variables[i] for i in kept], len(variables[self.root].states))

    def of_group(self, x: FloatArray, g: int) -> FloatArray:
        """What of a flat vector is about one group, in the layout of `alone`."""
        layout = self.network.layout
        others = [i for i in range(len(layout.families)) if i not in (self.group, self.root)]
        return self.alone.layout.flat([self._taken(x, i, g) for i in (self.root, *others)])

    def _taken(self, x: FloatArray, i: int, g: int) -> FloatArray:
        layout = self.network.layout
        table, family = layout.table(x, i), layout.families[i]
        return np.take(table, g, axis=family.index(self.group)) if self.group in family else table

    def joined(self, parts: Sequence[FloatArray], like: FloatArray) -> FloatArray:
        """Put a flat vector of each group, in the layout of `alone`, together.

        What the group has no part in is as in `like`.
        """
        layout, alone = self.network.layout, self.alone.layout
        others = [i for i in range(len(layout.families)) if i not in (self.group, self.root)]
        place = {i: j for j, i in enumerate((self.root, *others))}
        tables = []
        for i, family in enumerate(layout.families):
            if self.group not in family[:-1]:
                tables.append(layout.table(like, i))
                continue
            each = [alone.table(part, place[i]) for part in parts]
            tables.append(np.stack(each, axis=family.index(self.group)))
        return layout.flat(tables)


def grouped_classes(leaves: Sequence[Variable], group: str, states: int) -> Grouped:
    """Make the network in which answers are the same in all groups, and class sizes are not.

    >>> leaves = [Variable("smokes", ("no", "yes")), Variable("sex", ("f", "m"))]
    >>> grouped_classes(leaves, "sex", 2).network.dimension  # the group 1, classes 2, answers 2
    5
    """
    plain = over_leaves(leaves, states)
    place = plain.index(group)
    parents = [list(pa) for pa in plain.parents]
    parents[place], parents[plain.hidden[0]] = [], [place]
    return Grouped(Network.build(plain.variables, parents), place)
