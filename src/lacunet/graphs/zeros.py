"""What structural zeros leave possible, row by row: families are scored by that."""

from collections.abc import Sequence

import numpy as np

from lacunet.arrays import CodeArray, IntArray
from lacunet.data.table import Column
from lacunet.graphs.counting import NO_ZEROS
from lacunet.model.known_tables import KnownTables
from lacunet.model.network import Variable


def possible_states(codes: CodeArray, columns: Sequence[Column], tables: KnownTables) -> IntArray:
    """How many of its states each child may have in each row, (n, m).

    The parents that zeros name are parents of the child in every graph, so that it is the same for
    all rows with the same configuration of the child's parents.
    """
    m = codes.shape[1]
    if not tables.zeros:
        return NO_ZEROS
    variables = {c.name: Variable(c.name, c.states) for c in columns}
    names = list(variables)
    never = [np.zeros((len(c.states), m), dtype=bool) for c in columns]
    for zero in tables.zeros:
        where = np.ones(m, dtype=bool)
        for name, state in zero.get("given", {}).items():
            where &= codes[names.index(name)] == variables[name].code(state)
        child = variables[zero["child"]]
        never[names.index(child.name)][child.code(zero["state"])] |= where
    return np.array([len(no) - no.sum(axis=0) for no in never])
