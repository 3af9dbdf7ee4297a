"""Decompose rows by their patterns of missing values into components of hidden cells.

Unobserved variables without observed descendants are barren: they change no likelihood and are
dropped. The others form components: variables that share a family are connected. Components with
the same members and families are of one kind.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from lacunet.models.network import Network
from lacunet.runtime.arrays import BoolArray, CodeArray, FloatArray, IndexArray, IntArray
from lacunet.runtime.jit import kernel

# Distinct rows, and their total weights.


def totals(index: IntArray, weights: FloatArray, length: int) -> FloatArray:
    """Sum the weights of each index."""
    return np.asarray(np.bincount(index, weights=weights, minlength=length), dtype=np.float64)


def distinct(
    columns: Sequence[IntArray], radix: Sequence[int], rows: int
) -> tuple[IntArray, IntArray]:
    """First row of each distinct combination of values, in their order, and each row's index."""
    key, top = np.zeros(rows, dtype=np.int64), 1
    for column, r in zip(columns, radix, strict=True):
        if top > np.iinfo(np.int64).max // r:  # would overflow: renumber the keys
            _, key = np.unique(key, return_inverse=True)
            top = int(key.max(initial=0)) + 1
        key = key * r + column
        top *= r
    _, first, index = np.unique(key, return_index=True, return_inverse=True)
    return first, index


PACKED_AT_ONCE = 1 << 15  # rows whose missing values are packed into bits at once


class Parts(NamedTuple):
    """Components of missing-data patterns. P patterns, n variables, C components in all."""

    barren: BoolArray  # (P, n) unobserved, without observed descendants
    label: IndexArray  # (P, n) first member of each component; -1 outside
    pattern: IntArray  # (C,) the pattern that each component belongs to
    seed: IntArray  # (C,) its first member
    size: IntArray  # (C,) number of members
    signature: IntArray  # (C, 2) random hash, equal for components of one kind


def missing_patterns(codes: CodeArray) -> tuple[BoolArray, IntArray]:
    """Distinct missing-data patterns, (P, n), in bit order, and each row's index."""
    n = codes.shape[1]
    if codes.size == 0 or codes.min() >= 0:  # complete: one pattern without an index array
        return np.zeros((1, n), dtype=np.bool_), np.broadcast_to(np.int64(0), len(codes))
    words = np.zeros((len(codes), max(1, -(-n // 64)) * 8), dtype=np.uint8)
    for first in range(0, len(codes), PACKED_AT_ONCE):  # a byte table of all would be large
        rows = slice(first, first + PACKED_AT_ONCE)
        words[rows, : -(-n // 8)] = np.packbits(codes[rows] < 0, axis=1)
    keys = words.view(np.int64)
    _, index = np.unique(keys[:, 0], return_inverse=True)
    for word in keys.T[1:]:
        _, part = np.unique(word, return_inverse=True)
        _, index = np.unique(index * (part.max() + 1) + part, return_inverse=True)
    _, representative = np.unique(index, return_index=True)
    return codes[representative] < 0, index


class RaggedGraph(NamedTuple):
    """The edges of a network, as ragged lists."""

    order: IntArray  # (n,) variables with every parent before its children
    parent_start: IntArray  # (n + 1,)
    parent: IntArray
    child_start: IntArray  # (n + 1,)
    child: IntArray


def decompose(network: Network, unobserved: BoolArray) -> Parts:
    """Decompose patterns of missing values, (P, n) over all variables."""
    graph, n = graph_of(network), len(network.variables)
    barren = np.zeros((len(unobserved), n), dtype=np.bool_)
    label = np.full((len(unobserved), n), -1, dtype=np.int32)
    number = _count_components(graph, unobserved, barren, label)
    pattern, seed, size = (np.zeros(number, dtype=np.int64) for _ in range(3))
    parts = Parts(barren, label, pattern, seed, size, np.zeros((number, 2), dtype=np.int64))
    _describe_components(graph, parts, np.random.default_rng(0).integers(0, 2**62, (2, n, 2)))
    return parts


def graph_of(network: Network) -> RaggedGraph:
    """The edges of a network as ragged lists."""
    n = len(network.variables)
    children: list[list[int]] = [[] for _ in range(n)]
    for v, parents in enumerate(network.parents):
        for u in parents:
            children[u].append(v)
    order = np.array(network.order, dtype=np.int64)
    return RaggedGraph(order, *ragged(network.parents), *ragged(children))


def ragged(lists: Sequence[Sequence[int]]) -> tuple[IntArray, IntArray]:
    """Flatten lists of numbers: the start of each, and all items."""
    starts = np.concatenate([[0], np.cumsum([len(row) for row in lists])]).astype(np.int64)
    return starts, np.array([x for row in lists for x in row], dtype=np.int64)


@kernel
def _count_components(
    graph: RaggedGraph, unobserved: BoolArray, barren: BoolArray, label: IndexArray
) -> int:
    """Mark barren variables, label components by their first members, and count components."""
    order, parent_start, parent, child_start, child = graph
    patterns, n = unobserved.shape
    todo = np.empty(n, dtype=np.int64)
    count = 0
    for p in range(patterns):
        for k in range(n - 1, -1, -1):
            v = order[k]
            if unobserved[p, v]:
                useless = True
                for e in range(child_start[v], child_start[v + 1]):
                    useless = useless and barren[p, child[e]]
                barren[p, v] = useless
        for seed in range(n):
            if not unobserved[p, seed] or barren[p, seed] or label[p, seed] >= 0:
                continue
            count += 1
            label[p, seed] = seed
            todo[0] = seed
            waiting = 1
            while waiting:
                waiting -= 1
                v = todo[waiting]
                for e in range(child_start[v] - 1, child_start[v + 1]):
                    f = v if e < child_start[v] else child[e]
                    if barren[p, f]:
                        continue
                    for m in range(parent_start[f] - 1, parent_start[f + 1]):
                        u = f if m < parent_start[f] else parent[m]
                        if unobserved[p, u] and not barren[p, u] and label[p, u] < 0:
                            label[p, u] = seed
                            todo[waiting] = u
                            waiting += 1
    return count


@kernel
def _describe_components(graph: RaggedGraph, parts: Parts, random: IntArray) -> None:
    """Write each component's pattern, first member, size and signature."""
    child_start, child = graph.child_start, graph.child
    barren, label, pattern, seed, size, signature = parts
    patterns, n = label.shape
    place, counted = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
    count = 0
    for p in range(patterns):
        counted[:] = -1  # the last component that counted each family
        for v in range(n):
            if label[p, v] < 0:
                continue
            if label[p, v] == v:
                place[v] = count
                pattern[count], seed[count] = p, v
                count += 1
            c = place[label[p, v]]
            size[c] += 1
            signature[c, 0] += random[0, v, 0]
            signature[c, 1] += random[0, v, 1]
            for e in range(child_start[v] - 1, child_start[v + 1]):
                f = v if e < child_start[v] else child[e]
                if counted[f] != c and not barren[p, f]:
                    # Each family of a component is counted once.
                    counted[f] = c
                    signature[c, 0] += random[1, f, 0]
                    signature[c, 1] += random[1, f, 1]
