"""How probable, and how unusual, the rows of the table itself are to models that had not seen them.

A stack has models that remember single rows; asked about the rows that it was learned from, it
finds each of them usual. Each row was held out once, though, and the models that were learned
without it tell what they think of it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from lacunet.inference.queries.answers import DRAWS, tail_probabilities
from lacunet.model.ensemble import Ensemble
from lacunet.runtime.arrays import CodeArray, FloatArray, IntArray
from lacunet.runtime.states import State, label
from lacunet.search.stacking.blocks import Cases

MIXING = np.uint64(0x9E3779B97F4A7C15)  # an odd number without a pattern: sums depend on the order


@dataclass(frozen=True, eq=False)
class HeldOutRows:
    """Rows of the data, each asked of models that were learned without its block."""

    ensembles: tuple[Ensemble, ...]  # of each block: models of the other blocks, final weights
    blocks: tuple[Cases, ...]  # what was held out
    log_lik: tuple[FloatArray, ...]  # of each block: (members, cases) log p
    place: IntArray  # (rows of the data,) which number of `Cases.where` each is; -1: none

    @property
    def log_likelihoods(self) -> FloatArray:
        """(rows of the data,) log p of what each shows; NaN of rows that were not learned from."""
        pairs = zip(self.ensembles, self.log_lik, strict=True)
        return self._by_row([logsumexp(x + np.log(e.weights)[:, None], axis=0) for e, x in pairs])

    def tail_probabilities(self, draws: int = DRAWS, seed: int = 0) -> FloatArray:
        """(rows of the data,) p(a row with the same holes is at most as probable)."""
        rng = np.random.default_rng(seed)
        pairs = zip(self.ensembles, self.blocks, strict=True)
        return self._by_row([tail_probabilities(e, b.codes, draws, rng) for e, b in pairs])

    def _by_row(self, each: Sequence[FloatArray]) -> FloatArray:
        """Take the mean over the copies of a row, which may be in several blocks."""
        where = np.concatenate([block.where for block in self.blocks if block.where is not None])
        size = int(max(where.max(), self.place.max(initial=0))) + 1
        copies = np.bincount(where, minlength=size)
        mean = np.bincount(where, np.concatenate(each), size) / np.maximum(copies, 1)
        unknown = (self.place < 0) | (copies[self.place] == 0)  # a row of weight 0 is in no block
        return np.where(unknown, np.nan, mean[self.place])


def places(table: CodeArray, rows: CodeArray) -> IntArray:
    """Find the row of a table of distinct rows that each row is; -1 where there is none.

    >>> places(np.array([[0, 1], [1, -1]]), np.array([[1, -1], [1, 1], [0, 1]])).tolist()
    [1, -1, 0]
    """
    known = {row.tobytes(): k for k, row in enumerate(table.astype(np.int64))}
    return np.array([known.get(row.tobytes(), -1) for row in rows.astype(np.int64)], dtype=np.int64)


def rows_digest(names: Sequence[str], states: Sequence[Sequence[State]], rows: CodeArray) -> str:
    """Give a digest of what rows show, whatever their order, their number and that of columns.

    >>> digest = rows_digest(("a", "b"), (("u", "v"), (1.5, 2.5)), np.array([[0, 1], [1, -1]]))
    >>> again = rows_digest(("b", "a"), ((2.5, 3.5), ("v", "u")), np.array([[-1, 0], [0, 1]]))
    >>> other = rows_digest(("a", "b"), (("u", "v"), (1.5, 2.5)), np.array([[0, 0], [1, -1]]))
    >>> digest == again, digest == other
    (True, False)
    """
    total = np.zeros(len(rows), dtype=np.uint64)
    for j in sorted(range(len(names)), key=lambda j: names[j]):
        used = np.unique(rows[:, j])
        number = np.zeros(len(states[j]) + 1, dtype=np.uint64)  # the last is that of a missing cell
        for k in used[used >= 0].tolist():
            text = f"{names[j]}\0{label(states[j][k])}".encode()
            number[k] = int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")
        total = total * MIXING + number[rows[:, j]]
    return hashlib.sha256(np.unique(total).tobytes()).hexdigest()[:32]
