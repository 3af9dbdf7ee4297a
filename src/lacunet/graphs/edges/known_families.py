"""What is known of tables, numbered: for holes that are filled in given a graph."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lacunet.arrays import BoolArray, FloatArray, IntArray
from lacunet.data.table import Column
from lacunet.graphs.counting import Columns
from lacunet.graphs.knowledge import Knowledge
from lacunet.jit import kernel
from lacunet.model.known_tables import nested_table
from lacunet.model.network import Variable

ANY = -1  # state of a parent that a zero does not name


class KnownFamilies(NamedTuple):
    """Families whose tables are shared or fixed, and states that zeros rule out."""

    leader: IntArray  # (n,) whose table each variable has: its own, or another's
    settled: BoolArray  # (n,) whether the parents are known, and so is how the table is laid out:
    strides: IntArray  # (n, n) how far states of u are apart in the table of v, at [v, u]
    first: IntArray  # (n,) where the table of each begins in the next, if it is fixed; else −1
    fixed: FloatArray  # θ of all fixed tables
    child: IntArray  # (zeros,) the variable that each zero is about
    state: IntArray  # (zeros,) the state that is ruled out
    given: IntArray  # (zeros, n) where parents have these states


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
    given = np.full((len(knowledge.zeros), n), ANY)
    for z, zero in enumerate(knowledge.zeros):
        for name, state in zero.get("given", {}).items():
            u = names.index(name)
            given[z, u] = variables[u].code(state)
    children = [names.index(zero["child"]) for zero in knowledge.zeros]
    states = [
        variables[v].code(zero["state"]) for v, zero in zip(children, knowledge.zeros, strict=True)
    ]
    return KnownFamilies(
        leader.astype(np.int64),
        np.asarray(strides.any(axis=1)),
        strides,
        first.astype(np.int64),
        np.concatenate(fixed),
        np.array(children, dtype=np.int64),
        np.array(states, dtype=np.int64),
        given.astype(np.int64),
    )


@kernel
def count_possible(columns: Columns, known: KnownFamilies) -> None:
    """Count anew how many states zeros leave each child in each row, for cells that were drawn."""
    for z in range(known.child.shape[0]):
        columns.possible[known.child[z]] = columns.cards[known.child[z]]
    for row in range(columns.counts.shape[0]):
        for z in range(known.child.shape[0]):
            if _holds(known, z, columns, row) and not _said_before(known, z, columns, row):
                columns.possible[known.child[z], row] -= 1


@kernel
def _said_before(known: KnownFamilies, z: int, columns: Columns, row: int) -> bool:
    """Whether an earlier zero rules out the same state of the same child in a row."""
    for y in range(z):
        same = known.child[y] == known.child[z] and known.state[y] == known.state[z]
        if same and _holds(known, y, columns, row):
            return True
    return False


@kernel
def _holds(known: KnownFamilies, z: int, columns: Columns, row: int) -> bool:
    """Whether a row has the states that a zero is given."""
    for u in range(known.given.shape[1]):
        if known.given[z, u] != ANY and known.given[z, u] != columns.codes[u, row]:
            return False
    return True


@kernel
def is_ruled_out(known: KnownFamilies, v: int, cell: int, place: tuple[IntArray, IntArray]) -> bool:
    """Whether a zero is about a cell of the table of v; `place`: strides, and cards."""
    strides, cards = place
    for z in range(known.child.shape[0]):
        if known.child[z] != v or (cell // strides[v]) % cards[v] != known.state[z]:
            continue
        holds = True
        for u in range(strides.shape[0]):
            if known.given[z, u] != ANY:
                holds = holds and (cell // strides[u]) % cards[u] == known.given[z, u]
        if holds:
            return True
    return False
