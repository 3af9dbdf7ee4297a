"""What structural zeros leave possible, in rows and in cells: families are scored by that."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lacunet.data.table import Column
from lacunet.models.known_tables import Zero
from lacunet.models.network import Variable
from lacunet.runtime.arrays import CodeArray, IntArray
from lacunet.runtime.jit import kernel
from lacunet.structure.counting import NO_ZEROS

ANY = -1  # state of a parent that a zero does not name


class Zeros(NamedTuple):
    """States that children never have where some of their parents have theirs, by columns."""

    child: IntArray  # (zeros,)
    state: IntArray  # (zeros,)
    given: IntArray  # (zeros, n) states of parents


def numbered_zeros(columns: Sequence[Column], zeros: Sequence[Zero]) -> Zeros:
    """Number what zeros name."""
    variables = {c.name: Variable(c.name, c.states) for c in columns}
    names = list(variables)
    given = np.full((len(zeros), len(names)), ANY, dtype=np.int64)
    for z, zero in enumerate(zeros):
        for name, state in zero.get("given", {}).items():
            given[z, names.index(name)] = variables[name].code(state)
    children = [zero["child"] for zero in zeros]
    states = [variables[zero["child"]].code(zero["state"]) for zero in zeros]
    places = [names.index(name) for name in children]
    return Zeros(np.array(places, dtype=np.int64), np.array(states, dtype=np.int64), given)


def possible_states(codes: CodeArray, cards: IntArray, zeros: Zeros) -> IntArray:
    """How many of its states each child may have in each row, (n, m).

    The parents that zeros name are parents of the child in every graph, so that it is the same for
    all rows with the same configuration of the child's parents.
    """
    if not len(zeros.child):
        return NO_ZEROS
    possible = np.repeat(cards[:, None], codes.shape[1], axis=1)
    for child in np.unique(zeros.child):
        never = np.zeros((cards[child], codes.shape[1]), dtype=bool)
        for z in np.flatnonzero(zeros.child == child):
            told = zeros.given[z] != ANY
            never[zeros.state[z]] |= (codes[told] == zeros.given[z, told, None]).all(axis=0)
        possible[child] -= never.sum(axis=0)
    return possible


@kernel
def is_ruled_out(zeros: Zeros, v: int, cell: int, place: tuple[IntArray, IntArray]) -> bool:
    """Whether a zero is about a cell of the table of v; `place`: strides, and cards."""
    strides, cards = place
    for z in range(zeros.child.shape[0]):
        if zeros.child[z] != v or (cell // strides[v]) % cards[v] != zeros.state[z]:
            continue
        holds = True
        for u in range(strides.shape[0]):
            if zeros.given[z, u] != ANY:
                holds = holds and (cell // strides[u]) % cards[u] == zeros.given[z, u]
        if holds:
            return True
    return False
