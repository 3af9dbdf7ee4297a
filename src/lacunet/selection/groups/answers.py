"""Every answer in every group and class, with intervals: what pictures of groups are made of."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from lacunet.models.joint import table_of
from lacunet.models.network import Variable
from lacunet.runtime.arrays import FloatArray
from lacunet.selection.groups.comparison import GroupComparison
from lacunet.selection.groups.levels import Level
from lacunet.summaries.drawn_answers import drawn_answers
from lacunet.summaries.intervals import Intervals


@dataclass(frozen=True, eq=False)
class GroupAnswer:
    """One answer to an item, or the size of classes, in G groups and K classes."""

    variable: Variable  # the item, or the classes themselves
    state: int | None  # place in its table, as `drawn_answers` gives it; None of class sizes
    values: FloatArray  # (3, G, K) estimate, low, high; the ends are NaN where there is no interval
    shared: bool  # whether it is the same in all groups, by the model


def group_answers(
    found: GroupComparison, level: Level, precise: Intervals | None
) -> Iterator[GroupAnswer]:
    """Give class sizes, then items in their order; of two states the second."""
    grouped, model = found.grouped(level), found.candidate(level).model
    network = model.network
    ends = _ends(model.theta, precise)
    sizes = np.stack([table_of(network, x, grouped.root) for x in ends])
    yield GroupAnswer(network.variables[grouped.root], None, sizes, False)
    for i in grouped.items:
        v = network.variables[i]
        drawn = drawn_answers(v)
        if not drawn:
            continue
        # Axes of a table are parents, then states: (groups, classes, states), the groups perhaps 1.
        family = list(network.layout.families[i])
        tables = np.stack([table_of(network, x, i) for x in ends])
        shared = grouped.group not in family
        if shared:
            tables = np.broadcast_to(
                tables[:, None], (len(ends), len(found.groups), *tables.shape[1:])
            )
        else:
            axes = [family.index(grouped.group) + 1, family.index(grouped.root) + 1]
            tables = np.moveaxis(tables, axes, [1, 2])
        for k in drawn:
            yield GroupAnswer(v, k, tables[..., k], shared)


def _ends(theta: FloatArray, precise: Intervals | None) -> list[FloatArray]:
    none = np.full_like(theta, np.nan)
    return [theta, none, none] if precise is None else [theta, precise.low, precise.high]
