"""What is learned to tell one column from the others: it is the parent of all of them, or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from lacunet.data.table import Table
from lacunet.graphs.knowledge import Knowledge
from lacunet.inference.leaves import leaves_of
from lacunet.model.network import Model, Network
from lacunet.model.number_prior import OF_GRAPHS
from lacunet.search.pooling.candidates import Kind, recipes_by_kind
from lacunet.search.stacking.recipes import SIZES, TABLES, Recipe, quick_graph, with_tables


@dataclass(frozen=True)
class ParentRecipe(Recipe):
    """A network in which one column is a parent of every other: naive Bayes, or augmented."""

    target: str
    augmented: bool = False  # whether columns may have one more parent, as in TAN
    scale: float = 1.0  # of the variances of numbers

    @property
    def names(self) -> tuple[str, ...]:
        """What each model is."""
        told = "augmented naive Bayes" if self.augmented else "naive Bayes"
        return tuple(f"{told}; tables bdeu:{size}" for size in TABLES)

    def learn(self, table: Table, seed: int) -> tuple[Model, ...]:
        """Find the graph, and fill in its tables several times."""
        network = self._augmented(table, seed) if self.augmented else self._naive(table)
        return with_tables(table, network)

    def _naive(self, table: Table) -> Network:
        leaves = leaves_of(table, replace(OF_GRAPHS, scale=self.scale))
        root = [v.name for v in leaves].index(self.target)
        return Network.build(leaves, [() if j == root else (root,) for j in range(len(leaves))])

    def _augmented(self, table: Table, seed: int) -> Network:
        others = [c.name for c in table.columns if c.name != self.target]
        known = Knowledge(require=[(self.target, name) for name in others], max_parents=2)
        return quick_graph(table, SIZES[0], known, seed)


def recipes_for_class(
    table: Table, target: str, only: Kind | None = None
) -> dict[Kind, Sequence[Recipe]]:
    """Give what is worth learning to tell a column from the others, by kind.

    Latent trees only if they are asked for: there are folds of rows, and each takes its time.
    """
    if only is None:
        found: dict[Kind, Sequence[Recipe]] = {
            **recipes_by_kind(table, Kind.CLASSES),
            **recipes_by_kind(table, Kind.NETWORK, doubts=0),
        }
    else:
        found = {**recipes_by_kind(table, only, doubts=0)}
    if Kind.NETWORK in found:
        own: list[Recipe] = [ParentRecipe(target)]
        if _may_be_augmented(table, target):
            own.append(ParentRecipe(target, augmented=True))
        found[Kind.NETWORK] = (*found[Kind.NETWORK], *own)
    return found


def _may_be_augmented(table: Table, target: str) -> bool:
    """Whether there are two columns besides that could depend on each other."""
    own = [c for c in table.columns if c.name != target]
    varied = np.array([len(c.states) > 1 and not c.kind.number for c in own])
    constant = any(len(c.states) < 2 for c in table.columns)
    return int(varied.sum()) >= 1 and len(own) >= 2 and not constant
