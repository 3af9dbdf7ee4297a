"""Count vectors packed into few integers, so that they can be added and compared.

Different completions have equal counts, so the sum over completions is one over count vectors with
multiplicities. Only linearly independent places are stored, as digits in mixed radix; the others
follow. If the states of a hidden variable are exchangeable, each state has a separate integer, and
vectors that differ by a permutation are merged.
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
INDEPENDENT = 1e-9  # residual norm above which a unit vector is a new direction


class Digits(NamedTuple):
    """Layout of the digits of a packed count vector. D digits, P places."""

    word: IntArray  # (D,) which of the integers
    step: IntArray  # (D,) what one case adds to it
    radix: IntArray  # (D,) number of values
    matrix: FloatArray  # (P, D) counts of the places are:
    start: FloatArray  # (P,) start + matrix · digits


@dataclass(frozen=True, eq=False)
class CountPacking:
    """Packing of the count vectors of some components into W integers."""

    digits: Digits
    places: IntArray  # (D,) the places that are digits
    words: int  # W
    symmetric: bool  # whether the integers are exchangeable

    def pack(self, counts: IntArray) -> IntArray:
        """Pack the counts of all places, (…, P), into integers, (…, W)."""
        packed = np.zeros((len(counts), self.words), dtype=np.int64)
        for place, word, step in zip(self.places, self.digits.word, self.digits.step, strict=True):
            packed[:, word] += counts[:, place] * step
        return packed


def independent(rows: IntArray, most: IntArray) -> Iterator[int]:
    """Yield a column basis, greedily by the smallest maximal count.

    All bases have the same size; the greedy one has the fewest combinations.
    """
    directions = np.empty((min(rows.shape), len(rows)))
    rank = 0
    for column in np.argsort(most, kind="stable").tolist():
        if rank == len(directions):
            return
        x = rows[:, column].astype(np.float64)
        length = np.linalg.norm(x)
        if length == 0:
            continue
        x /= length
        for _ in range(2):  # repeated once against rounding
            x -= (directions[:rank] @ x) @ directions[:rank]
        left = np.linalg.norm(x)
        if left > INDEPENDENT:
            directions[rank] = x / left
            rank += 1
            yield column


def differences(parts: Sequence[SumPart]) -> IntArray:
    """Differences of the cells of each component from its first, (Σ K − 1, P)."""
    return np.concatenate([part.differences for part in parts])


def pack_counts(block: SumBlock, parts: Sequence[SumPart], selected: BoolArray) -> CountPacking:
    """Packing of the counts of some components in the places `selected`."""
    most, places = block.most(parts), np.flatnonzero(selected)
    if not parts:
        none, zeros = np.zeros(0, dtype=np.int64), np.zeros(len(selected))
        return CountPacking(
            Digits(none, none, none, zeros.reshape(-1, 1)[:, :0], zeros), none, 1, False
        )
    rows = differences(parts)[:, places]
    chosen = np.array(list(independent(rows, most[places])), dtype=np.int64)
    digits = places[chosen]
    matrix = np.zeros((len(selected), len(digits)))
    matrix[places] = _express(rows, chosen)
    first = np.sum([part.count * part.cells[0] for part in parts], axis=0)
    start = np.where(selected, first - matrix @ first[digits], 0.0)
    word, step = _words(most[digits] + 1)
    words = int(word.max(initial=0)) + 1
    return CountPacking(Digits(word, step, most[digits] + 1, matrix, start), digits, words, False)


def pack_by_state(
    block: SumBlock, parts: Sequence[SumPart], states: IntArray
) -> CountPacking | None:
    """Packing of the places of each state into one integer; None if one is too small."""
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
    """Places of each state of one hidden variable, (K, P/K), if states are exchangeable.

    They are if every component has the same K cells, only cell k raises the places of state k, and
    all states have the same places with the same tables.
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
    """Assign digits to as few integers as hold them: the integer and the step of each digit."""
    word, step = np.zeros_like(radix), np.ones_like(radix)
    which, size = 0, 1
    for d, r in enumerate(radix.tolist()):
        if size * r > WORD:
            which, size = which + 1, 1
        word[d], step[d] = which, size
        size *= r
    return word, step


def _express(rows: IntArray, chosen: IntArray) -> FloatArray:
    """Coefficients of all columns in the basis of the chosen ones, (columns, chosen)."""
    basis = rows[:, chosen].astype(np.float64)
    coefficients = np.linalg.lstsq(basis, rows.astype(np.float64))[0]
    if not np.allclose(basis @ coefficients, rows, atol=1e-6):
        raise ArithmeticError("the columns do not depend on the chosen ones")
    return np.asarray(coefficients.T, dtype=np.float64)


# Kernels of the sum over completions; the tests check them against a dictionary.


class Vectors(NamedTuple):
    """A table of count vectors."""

    keys: IntArray  # (M, W) packed, distinct, in lexicographic order
    log_ways: FloatArray  # (M,) log of the weighted number of completions of each


class Anew(NamedTuple):
    """A new packing of count vectors, and a buffer for them."""

    word: IntArray  # (D,) the integer of each digit
    step: IntArray  # (D,) what one case adds to the integer
    place: IntArray  # (D,) the place of each digit
    keys: IntArray  # (M, W)


class Last(NamedTuple):
    """The completions of the last component; it leaves other places unchanged."""

    raised: IntArray  # places
    moves: IntArray  # (ways, raised) what each completion adds to them
    log_moves: FloatArray  # (ways,) log weight of each completion


@kernel
def log_sum(x: float, y: float) -> float:
    """Log(exp x + exp y)."""
    return max(x, y) + math.log1p(math.exp(-abs(x - y)))


@kernel
def compare(a: IntArray, i: int, b: IntArray, j: int) -> int:
    """Compare row i of a with row j of b: −1, 0 or 1 in lexicographic order."""
    for w in range(a.shape[1]):
        if a[i, w] != b[j, w]:
            return -1 if a[i, w] < b[j, w] else 1
    return 0


@kernel
def merge_tables(
    keys: IntArray, log_ways: FloatArray, other_keys: IntArray, other_ways: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Merge two sorted tables; add the weights of equal vectors."""
    m, n, words = len(keys), len(other_keys), keys.shape[1]
    merged, total = np.empty((m + n, words), dtype=np.int64), np.empty(m + n)
    i = j = count = 0
    while i < m or j < n:
        order = -1 if j == n else 1 if i == m else compare(keys, i, other_keys, j)
        for w in range(words):
            merged[count, w] = other_keys[j, w] if order > 0 else keys[i, w]
        if order < 0:
            total[count] = log_ways[i]
        elif order > 0:
            total[count] = other_ways[j]
        else:
            total[count] = log_sum(log_ways[i], other_ways[j])
        i += order <= 0
        j += order >= 0
        count += 1
    return merged[:count].copy(), total[:count].copy()


@kernel
def merge_neighbours(keys: IntArray, log_ways: FloatArray) -> tuple[IntArray, FloatArray]:
    """Merge equal neighbours of sorted vectors, in place."""
    count = 0
    for i in range(len(keys)):
        if count > 0 and compare(keys, count - 1, keys, i) == 0:
            log_ways[count - 1] = log_sum(log_ways[count - 1], log_ways[i])
            continue
        for w in range(keys.shape[1]):
            keys[count, w] = keys[i, w]
        log_ways[count] = log_ways[i]
        count += 1
    return keys[:count].copy(), log_ways[:count].copy()


@kernel
def unpack(digits: Digits, key: IntArray, counts: IntArray) -> None:
    """Unpack a vector into the counts of all places."""
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
    """Multiply in the factors of some places, and repack the rest without merging."""
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
    """Log Σ over count vectors and completions of the last component of Π over places."""
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
