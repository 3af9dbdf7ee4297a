"""What is known of tables, numbered: for holes that are filled in given a graph."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lacunet.data.table import Column
from lacunet.models.known_tables import nested_table
from lacunet.models.network import Variable
from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray
from lacunet.structure.knowledge import Knowledge
from lacunet.structure.zeros import Zeros, numbered_zeros


class KnownFamilies(NamedTuple):
    """Families whose tables are shared or fixed, and states that zeros rule out."""

    leader: IntArray  # (n,) whose table each variable has: its own, or another's
    settled: BoolArray  # (n,) whether the parents are known, and so is how the table is laid out:
    strides: IntArray  # (n, n) how far states of u are apart in the table of v, at [v, u]
    first: IntArray  # (n,) where the table of each begins in the next, if it is fixed; else −1
    fixed: FloatArray  # θ of all fixed tables
    zeros: Zeros


def known_families(columns: Sequence[Column], knowledge: Knowledge) -> KnownFamilies:
    """Number what is known of tables by columns."""
    variables = [Variable(c.name, c.states) for c in columns]
    names, n = [v.name for v in variables], len(variables)
    strides, first = np.zeros((n, n), dtype=np.int64), np.full(n, -1)
    leader, fixed = np.arange(n), [np.empty(0)]
    for name, parents in knowledge.settled.items():
        v, size = names.index(name), 1
        for u in [v, *(names.index(parent) for parent in reversed(parents))]:
            strides[v, u] = size
            size *= len(variables[u].states)
    for entry in knowledge.fixed:
        v = names.index(entry["child"])
        own = [variables[names.index(u)] for u in (*entry.get("parents", ()), entry["child"])]
        first[v] = sum(map(len, fixed))
        fixed.append(nested_table(entry["table"], own).reshape(-1))
    for leading, *others in knowledge.tied:
        leader[[names.index(name) for name in others]] = names.index(leading)
    return KnownFamilies(
        leader.astype(np.int64),
        np.asarray(strides.any(axis=1)),
        strides,
        first.astype(np.int64),
        np.concatenate(fixed),
        numbered_zeros(columns, knowledge.zeros),
    )
