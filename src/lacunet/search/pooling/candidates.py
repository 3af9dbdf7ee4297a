"""What is learned from a table to fill in its holes: latent classes, networks, latent trees."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from enum import StrEnum

from lacunet.data.kinds import ColumnKind
from lacunet.data.table import Table
from lacunet.graphs.hidden.latent_tree import FEWEST_COLUMNS, learn_tree
from lacunet.model.network import Model
from lacunet.search.stacking.recipes import (
    CLASSES,
    COMMON_SCALE,
    EXPONENTS,
    FEWEST,
    MEMBERS,
    SIZES,
    THINNER,
    ClassRecipe,
    GraphRecipe,
    Recipe,
)

TREE_ALPHA = 1.0
TREE_CELLS = 10_000  # distinct rows × columns: of larger tables a tree is learned if asked for
TREE_CASES = 50  # of smaller tables too: fewer hardly tell what joins the columns
SCALES = (1.0, 0.1, 0.01)  # of numbers: variances of classes, in that of the whole column
DOUBTS = 3  # graphs of rows that are weighed anew, for each graph
FOR_EACH_NUMBER = 3  # cases of a class, at least, to learn how numbers vary together in it


class Kind(StrEnum):
    """Kinds of models whose answers may be pooled."""

    CLASSES = "classes"
    NETWORK = "network"
    TREE = "tree"


@dataclass(frozen=True)
class TreeRecipe(Recipe):
    """A latent tree over the columns, which may fall apart."""

    @property
    def names(self) -> tuple[str, ...]:
        """What the model is."""
        return ("latent tree",)

    def learn(self, table: Table, seed: int) -> tuple[Model, ...]:
        """Learn it."""
        return (learn_tree(table, TREE_ALPHA, apart=True, seed=seed).model.predictive,)


def recipes_by_kind(
    table: Table, only: Kind | None = None, *, doubts: int = DOUBTS
) -> dict[Kind, tuple[Recipe, ...]]:
    """Give what is worth learning from a table, by kind; one kind alone, if it is asked for."""
    found: dict[Kind, tuple[Recipe, ...]] = {}
    if only in (None, Kind.CLASSES):
        found[Kind.CLASSES] = _classes(table)
    if only in (None, Kind.NETWORK):
        found[Kind.NETWORK] = _networks(table, doubts)
    worth = table.weight >= TREE_CASES and table.codes.size <= TREE_CELLS
    if only is Kind.TREE or (only is None and worth):
        found[Kind.TREE] = (TreeRecipe(),) if len(table.columns) >= FEWEST_COLUMNS else ()
    return {kind: recipes for kind, recipes in found.items() if recipes}


def _networks(table: Table, doubts: int) -> tuple[Recipe, ...]:
    """Graphs that believe the data more and less; without categories there is nothing to join."""
    found = [GraphRecipe(SIZES[-1], edges=False)]
    if any(not column.kind.number for column in table.columns):
        thinned = (1, THINNER) if table.weight / THINNER >= FEWEST else (1,)
        found += [GraphRecipe(size, by, doubts=doubts) for size in SIZES for by in thinned]
    return tuple(found)


def _classes(table: Table) -> tuple[Recipe, ...]:
    """Few and many classes, that differ more and less; numbers with and without covariances."""
    classes = (1, *(k for k in CLASSES if k * MEMBERS <= table.weight))
    if not any(column.kind.number for column in table.columns):
        return tuple(itertools.starmap(ClassRecipe, itertools.product(classes, EXPONENTS)))
    plain = EXPONENTS[0]
    found = [ClassRecipe(k, plain, scale) for k in classes for scale in SCALES]
    measured = sum(column.kind is ColumnKind.GAUSSIAN for column in table.columns)
    if measured > 1:
        few = [k for k in classes if k == 1 or k * measured * FOR_EACH_NUMBER <= table.weight]
        found += [ClassRecipe(k, plain, SCALES[0], True) for k in few]
        found += [ClassRecipe(k, plain, COMMON_SCALE, True, True) for k in few]
    return tuple(found)
