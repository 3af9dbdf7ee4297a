"""Count vectors packed into few integers, so that they can be added and compared.

Different completions leave the same counts: the sum over completions is one over count vectors,
with the number of ways to each. Only independent places are kept, as digits in mixed radix; the
others follow from them. Where the states of a hidden variable can be renumbered at will, each state
has an integer of its own, and vectors that differ by a renumbering are one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lacunet.inference.sums.blocks import Block, Part
from lacunet.runtime.arrays import BoolArray, FloatArray, IntArray

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
class Packing:
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


def differences(parts: Sequence[Part]) -> IntArray:
    """How the cells of each component differ from its first, (Σ K − 1, P)."""
    return np.concatenate([part.differences for part in parts])


def pack_counts(block: Block, parts: Sequence[Part], kept: BoolArray) -> Packing:
    """Plan to pack the counts that some components leave in the places that are kept."""
    most, places = block.most(parts), np.flatnonzero(kept)
    if not parts:
        none, zeros = np.zeros(0, dtype=np.int64), np.zeros(len(kept))
        return Packing(Digits(none, none, none, zeros.reshape(-1, 1)[:, :0], zeros), none, 1, False)
    rows = differences(parts)[:, places]
    chosen = np.array(list(independent(rows, most[places])), dtype=np.int64)
    digits = places[chosen]
    matrix = np.zeros((len(kept), len(digits)))
    matrix[places] = _express(rows, chosen)
    first = np.sum([part.count * part.cells[0] for part in parts], axis=0)
    start = np.where(kept, first - matrix @ first[digits], 0.0)
    word, step = _words(most[digits] + 1)
    words = int(word.max(initial=0)) + 1
    return Packing(Digits(word, step, most[digits] + 1, matrix, start), digits, words, False)


def pack_by_state(block: Block, parts: Sequence[Part], states: IntArray) -> Packing | None:
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
    return Packing(digits, states[:, chosen].reshape(-1), K, True)


def symmetric_states(block: Block) -> IntArray | None:
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
