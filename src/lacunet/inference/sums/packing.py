"""Count vectors packed into few integers, so that they can be added and compared.

Different completions leave the same counts: the sum over completions is one over count vectors,
with the number of ways to each. Only independent places are kept, as digits in mixed radix; the
others follow from them. Where the states of a hidden variable can be renumbered at will, each state
has an integer of its own, and vectors that differ by a renumbering are one.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lacunet.inference.sums.blocks import SumBlock, SumPart
from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray
from lacunet.runtime.jit import kernel

WORD = 1 << 62  # values that one integer may take
INDEPENDENT = 1e-9  # what is left of a unit vector, from which on it is a new direction


class Digits(NamedTuple):
    """Where the digits of a packed count vector are. D digits, P places."""

    word: IntArray  # (D,) which of the integers
    step: IntArray  # (D,) what one case adds to it
    radix: IntArray  # (D,) number of values
    matrix: FloatArray  # (P, D) counts of the places are
    start: FloatArray  # (P,) start + matrix · digits


@dataclass(frozen=True, eq=False)
class CountPacking:
    """How the count vectors of some components become W integers."""

    digits: Digits
    places: IntArray  # (D,) the places that are digits
    words: int  # W
    symmetric: bool  # whether the integers may be sorted

    def pack(self, counts: IntArray) -> IntArray:
        """Pack the counts of all places, (…, P), into integers, (…, W)."""
        packed = np.zeros((len(counts), self.words), dtype=np.int64)
        for place, word, step in zip(self.places, self.digits.word, self.digits.step, strict=True):
            packed[:, word] += counts[:, place] * step
        return packed


def independent(rows: IntArray, most: IntArray) -> Iterator[int]:
    """Columns that all others depend on, those with the smallest largest count first.

    Any such choice has the same number of columns; the greedy one has the fewest combinations.
    """
    directions = np.empty((min(rows.shape), len(rows)))
    found = 0
    for column in np.argsort(most, kind="stable").tolist():
        if found == len(directions):
            return
        x = rows[:, column].astype(np.float64)
        length = np.linalg.norm(x)
        if length == 0:
            continue
        x /= length
        for _ in range(2):  # once more, for what rounding left of it
            x -= (directions[:found] @ x) @ directions[:found]
        left = np.linalg.norm(x)
        if left > INDEPENDENT:
            directions[found] = x / left
            found += 1
            yield column


def differences(parts: Sequence[SumPart]) -> IntArray:
    """How the cells of each component differ from its first, (Σ K − 1, P)."""
    return np.concatenate([part.differences for part in parts])


def pack_counts(block: SumBlock, parts: Sequence[SumPart], kept: BoolArray) -> CountPacking:
    """Plan to pack the counts that some components leave in the places that are kept."""
    most, places = block.most(parts), np.flatnonzero(kept)
    if not parts:
        none, zeros = np.zeros(0, dtype=np.int64), np.zeros(len(kept))
        return CountPacking(
            Digits(none, none, none, zeros.reshape(-1, 1)[:, :0], zeros), none, 1, False
        )
    rows = differences(parts)[:, places]
    chosen = np.array(list(independent(rows, most[places])), dtype=np.int64)
    digits = places[chosen]
    matrix = np.zeros((len(kept), len(digits)))
    matrix[places] = _express(rows, chosen)
    first = np.sum([part.count * part.cells[0] for part in parts], axis=0)
    start = np.where(kept, first - matrix @ first[digits], 0.0)
    word, step = _words(most[digits] + 1)
    words = int(word.max(initial=0)) + 1
    return CountPacking(Digits(word, step, most[digits] + 1, matrix, start), digits, words, False)


def pack_by_state(
    block: SumBlock, parts: Sequence[SumPart], states: IntArray
) -> CountPacking | None:
    """Plan to pack the places of each state into an integer; None, if one of them is too small."""
    if not parts:
        return None
    most = block.most(parts)[states[0]]
    rows = np.array([part.cells[0, states[0]] for part in parts])
    chosen = np.array(list(independent(rows, most)), dtype=np.int64)
    radix = most[chosen] + 1
    word, step = _words(radix)
    if word.max(initial=0) > 0:
        return None
    K, D = len(states), len(chosen)
    matrix = np.zeros((len(block.tables), K * D))
    for k in range(K):
        matrix[states[k], k * D : (k + 1) * D] = _express(rows, chosen)
    digits = Digits(
        np.repeat(np.arange(K), D),
        np.tile(step, K),
        np.tile(radix, K),
        matrix,
        np.zeros(len(matrix)),
    )
    return CountPacking(digits, states[:, chosen].reshape(-1), K, True)


def symmetric_states(block: SumBlock) -> IntArray | None:
    """Places of each state of one hidden variable, (K, P/K), if it can be renumbered at will.

    That is so where every component has the same K cells, cell k of each alone raises the places of
    state k, and the same places with the same tables are there for every state.
    """
    if len({len(part.cells) for part in block.parts}) > 1:
        return None
    if any((part.log_weights != part.log_weights[0]).any() for part in block.parts):
        return None
    cells = np.array([part.cells for part in block.parts])  # (components, K, P)
    owners = np.asarray(cells.any(axis=0))
    if (owners.sum(axis=0) != 1).any():
        return None
    columns, states = [], []
    for k, owned in enumerate(owners):
        places = np.flatnonzero(owned)
        column, first = np.unique(cells[:, k, places], axis=1, return_index=True)
        columns.append(column)
        states.append(places[first])
    alike = all(np.array_equal(column, columns[0]) for column in columns) and all(
        np.allclose(block.tables[s], block.tables[states[0]], rtol=1e-12, atol=0) for s in states
    )
    return np.array(states) if alike else None


def _words(radix: IntArray) -> tuple[IntArray, IntArray]:
    """Put digits into as few integers as hold them: which, and what one adds to it."""
    word, step = np.zeros_like(radix), np.ones_like(radix)
    which, size = 0, 1
    for d, r in enumerate(radix.tolist()):
        if size * r > WORD:
            which, size = which + 1, 1
        word[d], step[d] = which, size
        size *= r
    return word, step


def _express(rows: IntArray, chosen: IntArray) -> FloatArray:
    """Write all columns as combinations of the chosen ones, (columns, chosen)."""
    basis = rows[:, chosen].astype(np.float64)
    found = np.linalg.lstsq(basis, rows.astype(np.float64))[0]
    if not np.allclose(basis @ found, rows, atol=1e-6):
        raise ArithmeticError("the columns do not depend on the chosen ones")
    return np.asarray(found.T, dtype=np.float64)


# Kernels of the sum over completions; in their tests a dictionary stands in their place.


class Vectors(NamedTuple):
    """A table of count vectors."""

    keys: IntArray  # (M, W) packed, each once, in lexicographic order
    log_ways: FloatArray  # (M,) log of the number of ways to each


class Anew(NamedTuple):
    """How count vectors are to be packed from now on, and room for them."""

    word: IntArray  # (D,) which of the integers a digit is in
    step: IntArray  # (D,) what one case adds to it
    place: IntArray  # (D,) the place that it counts
    keys: IntArray  # (M, W)


class Last(NamedTuple):
    """The ways to complete the last component; places that it does not raise stay as they are."""

    raised: IntArray  # places
    moves: IntArray  # (ways, raised) what each way adds to them
    log_moves: FloatArray  # (ways,) log of the orders of its cases


@kernel
def log_sum(x: float, y: float) -> float:
    """Log of exp x + exp y."""
    return max(x, y) + math.log1p(math.exp(-abs(x - y)))


@kernel
def compare(a: IntArray, i: int, b: IntArray, j: int) -> int:
    """Negative, zero or positive: row i of a comes before row j of b, is the same, comes after."""
    for w in range(a.shape[1]):
        if a[i, w] != b[j, w]:
            return -1 if a[i, w] < b[j, w] else 1
    return 0


@kernel
def merge_tables(
    keys: IntArray, log_ways: FloatArray, other_keys: IntArray, other_ways: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Merge two tables into one; the ways to equal vectors add up."""
    m, n, words = len(keys), len(other_keys), keys.shape[1]
    merged, total = np.empty((m + n, words), dtype=np.int64), np.empty(m + n)
    i = j = found = 0
    while i < m or j < n:
        order = -1 if j == n else 1 if i == m else compare(keys, i, other_keys, j)
        for w in range(words):
            merged[found, w] = other_keys[j, w] if order > 0 else keys[i, w]
        if order < 0:
            total[found] = log_ways[i]
        elif order > 0:
            total[found] = other_ways[j]
        else:
            total[found] = log_sum(log_ways[i], other_ways[j])
        i += order <= 0
        j += order >= 0
        found += 1
    return merged[:found].copy(), total[:found].copy()


@kernel
def merge_neighbours(keys: IntArray, log_ways: FloatArray) -> tuple[IntArray, FloatArray]:
    """Make sorted vectors a table, in place: equal ones become one."""
    found = 0
    for i in range(len(keys)):
        if found > 0 and compare(keys, found - 1, keys, i) == 0:
            log_ways[found - 1] = log_sum(log_ways[found - 1], log_ways[i])
            continue
        for w in range(keys.shape[1]):
            keys[found, w] = keys[i, w]
        log_ways[found] = log_ways[i]
        found += 1
    return keys[:found].copy(), log_ways[:found].copy()


@kernel
def unpack(digits: Digits, key: IntArray, counts: IntArray) -> None:
    """Write the counts of all places that a packed vector stands for."""
    places, length = digits.matrix.shape
    for p in range(places):
        n = digits.start[p]
        for d in range(length):
            digit = (key[digits.word[d]] // digits.step[d]) % digits.radix[d]
            n += digits.matrix[p, d] * digit
        counts[p] = int(n + 0.5)


@kernel
def close_places(
    digits: Digits, vectors: Vectors, tables: FloatArray, closing: IntArray, anew: Anew
) -> None:
    """Multiply the factors of some places in, and pack what is left anew (equal vectors stay)."""
    keys, log_ways = vectors
    word, step, place, new_keys = anew
    counts = np.empty(digits.matrix.shape[0], dtype=np.int64)
    new_keys[:] = 0
    for i in range(keys.shape[0]):
        unpack(digits, keys[i], counts)
        for p in closing:
            log_ways[i] += tables[p, counts[p]]
        for d in range(place.shape[0]):
            new_keys[i, word[d]] += counts[place[d]] * step[d]


@kernel
def sum_last(
    digits: Digits, vectors: Vectors, tables: FloatArray, others: IntArray, last: Last
) -> float:
    """Log Σ over count vectors and ways to complete the last component of Π over places."""
    keys, log_ways = vectors
    raised, moves, log_moves = last
    counts = np.empty(digits.matrix.shape[0], dtype=np.int64)
    x = np.empty(moves.shape[0])
    top, total = -np.inf, 0.0
    for i in range(keys.shape[0]):
        unpack(digits, keys[i], counts)
        base = log_ways[i]
        for p in others:
            base += tables[p, counts[p]]
        highest = -np.inf
        for m in range(moves.shape[0]):
            y = base + log_moves[m]
            for r in range(raised.shape[0]):
                y += tables[raised[r], counts[raised[r]] + moves[m, r]]
            x[m] = y
            highest = max(highest, y)
        if highest > top:
            total *= math.exp(top - highest)
            top = highest
        for m in range(moves.shape[0]):
            total += math.exp(x[m] - top)
    return top + math.log(total)
