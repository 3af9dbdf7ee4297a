"""Kernels that count the states of a family and compute its log BD.

Sets of parents are arrays of columns. Configurations of parents are numbers; if there could be far
more of them than rows, only those that occur are numbered. Structural zeros reduce the possible
states in a row, or exclude cells.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from lacunet.data.table import Column
from lacunet.inference.kernels.merging import renumber
from lacunet.likelihoods.gamma_functions import log_gamma_above, log_rising_scalar
from lacunet.models.known_tables import Zero
from lacunet.models.network import Variable
from lacunet.models.prior import understand_values
from lacunet.runtime.arrays import CodeArray, FloatArray, IntArray
from lacunet.runtime.jit import kernel

AIR = 4  # most cells per row of a dense table; beyond it, only cells that occur are numbered
LANES = 4  # partial tables that consecutive rows alternate between
NO_ZEROS = np.zeros((0, 0), dtype=np.int64)


class Columns(NamedTuple):
    """A table column by column; −1 is a missing value, if the caller allows any."""

    codes: CodeArray  # (n, m) states of each variable in each distinct row
    counts: FloatArray  # (m,) weight of each distinct row
    cards: IntArray  # (n,) states of each variable
    possible: IntArray = NO_ZEROS  # (n, m) number of states of each child that zeros allow


class Child(NamedTuple):
    """The column of the child of a family."""

    x: CodeArray  # (m,) states
    r: int  # number of states
    counts: FloatArray  # (m,) weight of each row
    possible: IntArray  # (m,) number of states that zeros allow; (0,): no zeros


class Prior(NamedTuple):
    """The exponents of a family's Dirichlet distributions."""

    values: FloatArray  # one value, or several to average over
    is_size: bool  # whether these are equivalent sample sizes, shared out over the cells


def prior_of(alpha: float | str) -> Prior:
    """Parse a prior."""
    values, is_size = understand_values(alpha)
    return Prior(np.array(values), is_size)


@kernel
def refine(j: IntArray, configurations: int, x: CodeArray, r: int, out: IntArray) -> int:
    """Refine configurations by one more parent, x; return the number of configurations."""
    for row in range(j.shape[0]):
        out[row] = j[row] * r + x[row]
    size = configurations * r
    return renumber(out) if size > AIR * j.shape[0] else size


@kernel
def add_up(key: IntArray, counts: FloatArray, size: int) -> FloatArray:
    """Sum the counts of equal keys: (size,)."""
    N = np.zeros(size)
    for row in range(key.shape[0]):
        N[key[row]] += counts[row]
    return N


@kernel
def add_up_states(
    key: IntArray, configurations: int, x: CodeArray, r: int, counts: FloatArray
) -> FloatArray:
    """Sum the counts of each state of x by key: (configurations · r,), states contiguous.

    Consecutive rows often have the same key, and each addition then waits for the previous one. So
    they alternate between several tables, if these are small. Unsigned indices skip the check for
    negative ones.
    """
    m, size = key.shape[0], configurations * r
    whole = m - m % LANES if size * LANES < m else 0
    N = np.zeros(size)
    if whole:
        lanes = np.zeros((LANES, size))
        for row in range(0, whole, LANES):
            lanes[0, np.uint64(key[row] * r + x[row])] += counts[row]
            lanes[1, np.uint64(key[row + 1] * r + x[row + 1])] += counts[row + 1]
            lanes[2, np.uint64(key[row + 2] * r + x[row + 2])] += counts[row + 2]
            lanes[3, np.uint64(key[row + 3] * r + x[row + 3])] += counts[row + 3]
        for cell in range(size):
            N[cell] = (lanes[0, cell] + lanes[1, cell]) + (lanes[2, cell] + lanes[3, cell])
    for row in range(whole, m):
        N[key[row] * r + x[row]] += counts[row]
    return N


@kernel
def log_rising_sum(a: float, N: FloatArray) -> float:
    """Sum log Γ(a + N) − log Γ(a) over all N above 0."""
    total, at_rest = 0.0, log_gamma_above(a, 0.0)
    for cell in range(N.shape[0]):
        if N[cell] > 0.0:
            total += log_gamma_above(a, N[cell]) - at_rest
    return total


@kernel
def exponents(cells: float, prior: Prior) -> FloatArray:
    """Compute the exponent of each cell of a table, (values,)."""
    return prior.values / cells if prior.is_size else prior.values


@kernel
def log_mean(log: FloatArray) -> float:
    """Compute the log of the mean of exp(log)."""
    if log.shape[0] == 1:
        return float(log[0])
    top = log.max()
    return float(top + np.log(np.exp(log - top).mean()))


@kernel
def log_bd(child: Child, j: IntArray, configurations: int, cells: float, prior: Prior) -> float:
    """Log BD of a child's column given its parents' configurations, averaged over the exponents."""
    return log_mean(log_bd_each(child, j, configurations, cells, prior))


@kernel
def log_bd_each(
    child: Child, j: IntArray, configurations: int, cells: float, prior: Prior
) -> FloatArray:
    """Log BD of a child's column given its parents' configurations, by exponent; CH96 eq. 5.

    `cells` is the size of the family's full table, with configurations that do not occur.
    """
    each = exponents(cells, prior)
    if configurations * child.r > AIR * j.shape[0]:
        key = np.empty(j.shape[0], dtype=np.int64)
        for row in range(j.shape[0]):
            key[row] = j[row] * child.r + child.x[row]
        N = add_up(key, child.counts, renumber(key))
        N_j = add_up(j, child.counts, configurations)
    else:
        N = add_up_states(j, configurations, child.x, child.r, child.counts)
        N_j = N.reshape((configurations, child.r)).sum(axis=1)
    values = np.empty(each.shape[0])
    left = np.empty(configurations, dtype=np.int64)  # states that zeros allow, equal in all rows
    for row in range(j.shape[0] if child.possible.shape[0] > 0 else 0):
        left[j[row]] = child.possible[row]
    for k in range(each.shape[0]):
        a = each[k]
        values[k] = log_rising_sum(a, N)
        if child.possible.shape[0] == 0:
            values[k] -= log_rising_sum(child.r * a, N_j)
            continue
        for q in range(configurations):
            if N_j[q] > 0.0:
                values[k] -= log_rising_scalar(left[q] * a, N_j[q])
    return values


@kernel
def table_size(columns: Columns, v: int, parents: IntArray) -> float:
    """Compute the size of the table of a family."""
    cells = float(columns.cards[v])
    for p in parents:
        cells *= columns.cards[p]
    return cells


@kernel
def score_set(columns: Columns, v: int, parents: IntArray, prior: Prior) -> float:
    """Log BD of a column given a set of parents."""
    j = np.empty(columns.counts.shape[0], dtype=np.int64)
    q = split_rows(columns, parents, -1, j)
    return log_bd(child_of(columns, v), j, q, table_size(columns, v, parents), prior)


@kernel
def draw_index(weights: FloatArray, rng: Any) -> int:
    """Draw an index with probability proportional to its weight."""
    left, k = rng.random() * weights.sum(), 0
    while k < weights.shape[0] - 1 and left >= weights[k]:
        left -= weights[k]
        k += 1
    return k


@kernel
def child_of(columns: Columns, v: int) -> Child:
    """Take a column as the child of a family."""
    x, r, possible = columns.codes[v], columns.cards[v], columns.possible
    left = possible[v] if possible.shape[0] > 0 else np.empty(0, dtype=np.int64)
    return Child(x, r, columns.counts, left)


@kernel
def split_rows(columns: Columns, parents: IntArray, left_out: int, j: IntArray) -> int:
    """Number the configurations of parents in every row; return the number of configurations."""
    j[:] = 0
    q = 1
    for p in parents:
        if p != left_out:
            q = refine(j, q, columns.codes[p], columns.cards[p], j)
    return q


ANY = -1  # a parent that a zero does not restrict


class Zeros(NamedTuple):
    """Structural zeros: impossible states of children given states of parents."""

    child: IntArray  # (zeros,)
    state: IntArray  # (zeros,)
    given: IntArray  # (zeros, n) states of parents


def numbered_zeros(columns: Sequence[Column], zeros: Sequence[Zero]) -> Zeros:
    """Encode the columns and states of zeros as numbers."""
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
    """Count the states that zeros allow each child in each row, (n, m).

    The parents in a zero are parents of the child in every graph. So the count is equal in all rows
    with the same configuration of the child's parents.
    """
    if not len(zeros.child):
        return NO_ZEROS
    possible = np.repeat(cards[:, None], codes.shape[1], axis=1)
    for child in np.unique(zeros.child):
        never = np.zeros((cards[child], codes.shape[1]), dtype=bool)
        for z in np.flatnonzero(zeros.child == child):
            named = zeros.given[z] != ANY
            never[zeros.state[z]] |= (codes[named] == zeros.given[z, named, None]).all(axis=0)
        possible[child] -= never.sum(axis=0)
    return possible


@kernel
def is_ruled_out(zeros: Zeros, v: int, cell: int, place: tuple[IntArray, IntArray]) -> bool:
    """Whether a zero excludes a cell of the table of v; `place` holds strides and cards."""
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
