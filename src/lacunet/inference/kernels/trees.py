"""Message passing in clique trees, over all instances of all kinds. Twin: `tests/twins.py`.

Every table is normalised as soon as it is made, with the logs of the totals added up: nothing
underflows, however long a chain is; where all is lost inside one clique, logs are used throughout.
The kernels take real or complex log θ; with an imaginary part i·h·u the expected counts come back
with their exact derivative along u in the imaginary part (the complex-step method), so that one
kernel serves E step and tangent.
"""

from typing import Any, NamedTuple

import numpy as np

from lacunet.arrays import FloatArray, IndexArray, IntArray
from lacunet.jit import kernel

STEP = 1e-40  # of log θ: derivatives by the complex step lose no digits, however small it is


class TreeArrays(NamedTuple):
    """Flat arrays for the kernels. T kinds, Q cliques, S slots, I instances."""

    kind_cliques: IntArray  # (T + 1,) cliques of each kind; leaves first, the root last
    kind_instances: IntArray  # (T + 1,) instances of each kind
    kind_offsets: IntArray  # (T,) where its instances' rows start in `offsets`
    kind_width: IntArray  # (T,) families of each kind: the length of those rows
    offsets: IntArray  # concatenated (instances, families) positions from observed values
    counts: FloatArray  # (I,) weight of each instance
    cells: IntArray  # (Q,) joint states
    first: IntArray  # (Q,) where the clique's cells start among those of its kind
    parent: IntArray  # (Q,) clique that it sends its message to; -1 for a root
    separator: IntArray  # (Q,) joint states that it shares with its parent
    separator_first: IntArray  # (Q,) where they start among those of its kind
    up: IntArray  # (Q,) start of its map: own cells → separator
    down: IntArray  # (Q,) start of its map: parent's cells → separator
    slots: IntArray  # (Q + 1,) slots of each clique
    slot_family: IntArray  # (S,) column of its family in an instance's row
    slot_map: IntArray  # (S,) start of its map: clique's cells → positions from the offset
    maps: IndexArray  # all maps, each distinct one once


class Scratch(NamedTuple):
    """Room for the tables and the messages of the largest kind of component."""

    work: Any
    messages: Any


@kernel
def load_cliques(a: TreeArrays, kind: int, row: int, log_theta: Any, work: Any) -> float:
    """Put exp(Σ log θ) of each clique's own families into `work`; return the log taken out."""
    log_scale = 0.0
    for q in range(a.kind_cliques[kind], a.kind_cliques[kind + 1]):
        cells = a.cells[q]
        w = work[a.first[q] : a.first[q] + cells]
        w[:] = 0.0
        for s in range(a.slots[q], a.slots[q + 1]):
            offset = a.offsets[row + a.slot_family[s]]
            start = a.slot_map[s]
            for c in range(cells):
                w[c] += log_theta[offset + a.maps[start + c]]
        top = -np.inf
        for c in range(cells):
            top = max(top, w[c].real)
        if top == -np.inf:
            top = 0.0
        for c in range(cells):
            w[c] = np.exp(w[c] - top)
        log_scale += top
    return log_scale


@kernel
def normalise(w: Any) -> Any:
    """Divide by the sum; return it (0 stays 0)."""
    total = 0.0 * w[0]
    for c in range(w.shape[0]):
        total += w[c]
    if total.real > 0.0:
        for c in range(w.shape[0]):
            w[c] /= total
    return total


@kernel
def pass_messages(a: TreeArrays, kind: int, scratch: Scratch) -> Any:
    """Turn loaded cliques into posterior tables; return the log of their joint total.

    Collect towards the root, then distribute back. An impossible instance gives −inf and zeros.
    """
    work, messages = scratch
    first, last = a.kind_cliques[kind], a.kind_cliques[kind + 1] - 1
    log_total = 0.0 * work[0]
    possible = True
    for q in range(first, last):
        w = work[a.first[q] : a.first[q] + a.cells[q]]
        total = normalise(w)
        possible = possible and total.real > 0.0
        if possible:
            log_total += np.log(total)
        message = messages[a.separator_first[q] : a.separator_first[q] + a.separator[q]]
        message[:] = 0.0
        for c in range(a.cells[q]):
            message[a.maps[a.up[q] + c]] += w[c]
        p = a.parent[q]
        above = work[a.first[p] : a.first[p] + a.cells[p]]
        for c in range(a.cells[p]):
            above[c] *= message[a.maps[a.down[q] + c]]
        # Rescale at once: a clique with many children would underflow otherwise.
        total = normalise(above)
        possible = possible and total.real > 0.0
        if possible:
            log_total += np.log(total)
    root = work[a.first[last] : a.first[last] + a.cells[last]]
    total = normalise(root)
    possible = possible and total.real > 0.0
    if not possible:
        work[: a.first[last] + a.cells[last]] = 0.0
        return log_total - np.inf
    log_total += np.log(total)
    for q in range(last - 1, first - 1, -1):
        message = messages[a.separator_first[q] : a.separator_first[q] + a.separator[q]]
        p = a.parent[q]
        w = work[a.first[q] : a.first[q] + a.cells[q]]
        # Cell by cell, for these quotients never exceed 1: 1 / message may be more than a float.
        for c in range(a.cells[q]):
            sent = message[a.maps[a.up[q] + c]]
            if sent.real > 0.0:
                w[c] /= sent
        message[:] = 0.0
        for c in range(a.cells[p]):
            message[a.maps[a.down[q] + c]] += work[a.first[p] + c]
        for c in range(a.cells[q]):
            w[c] *= message[a.maps[a.up[q] + c]]
    return log_total


@kernel
def log_sum_by(x: Any, maps: IndexArray, start: int, out: Any, top: FloatArray) -> None:
    """Log Σ exp of the entries that a map sends to each place: out (places,)."""
    top[: out.shape[0]] = -np.inf
    for c in range(x.shape[0]):
        s = maps[start + c]
        top[s] = max(top[s], x[c].real)
    out[:] = 0.0
    for c in range(x.shape[0]):
        s = maps[start + c]
        if top[s] > -np.inf:
            out[s] += np.exp(x[c] - top[s])
    for s in range(out.shape[0]):
        out[s] = np.log(out[s]) + top[s] if top[s] > -np.inf else out[s] - np.inf


@kernel
def posterior_by_logs(a: TreeArrays, kind: int, row: int, log_theta: Any, scratch: Scratch) -> Any:
    """The same as loading and passing messages, in logs throughout: slow, and nothing underflows.

    Weights inside one clique may be further apart than a float reaches, and a zero elsewhere may
    forbid all but the smallest: only logs tell that from an impossible instance.
    """
    work, messages = scratch
    first, last = a.kind_cliques[kind], a.kind_cliques[kind + 1] - 1
    top = np.empty(messages.shape[0] + 1)
    for q in range(first, last + 1):
        w = work[a.first[q] : a.first[q] + a.cells[q]]
        w[:] = 0.0
        for s in range(a.slots[q], a.slots[q + 1]):
            offset = a.offsets[row + a.slot_family[s]]
            for c in range(a.cells[q]):
                w[c] += log_theta[offset + a.maps[a.slot_map[s] + c]]
    for q in range(first, last):
        message = messages[a.separator_first[q] : a.separator_first[q] + a.separator[q]]
        log_sum_by(work[a.first[q] : a.first[q] + a.cells[q]], a.maps, a.up[q], message, top)
        p = a.parent[q]
        for c in range(a.cells[p]):
            work[a.first[p] + c] += message[a.maps[a.down[q] + c]]
    everything = work[: a.first[last] + a.cells[last]]
    total = messages[:1].copy()
    nowhere = np.zeros(a.cells[last], dtype=np.int32)
    log_sum_by(work[a.first[last] : a.first[last] + a.cells[last]], nowhere, 0, total, top)
    if not total[0].real > -np.inf:
        everything[:] = 0.0
        return total[0]
    for q in range(last - 1, first - 1, -1):
        sent = messages[a.separator_first[q] : a.separator_first[q] + a.separator[q]]
        back = np.empty_like(sent)
        p = a.parent[q]
        log_sum_by(work[a.first[p] : a.first[p] + a.cells[p]], a.maps, a.down[q], back, top)
        for c in range(a.cells[q]):
            s = a.maps[a.up[q] + c]
            if sent[s].real > -np.inf:
                work[a.first[q] + c] += back[s] - sent[s]
    for c in range(everything.shape[0]):
        everything[c] = np.exp(everything[c] - total[0])
    return total[0]


@kernel
def posterior_tables(a: TreeArrays, kind: int, row: int, log_theta: Any, scratch: Scratch) -> Any:
    """Put an instance's posterior clique tables into `scratch.work`; return its log-likelihood."""
    log_scale = load_cliques(a, kind, row, log_theta, scratch.work)
    log_z = pass_messages(a, kind, scratch) + log_scale
    cliques = a.kind_cliques[kind + 1] - a.kind_cliques[kind]
    if not log_z.real > -np.inf and cliques > 1:
        log_z = posterior_by_logs(a, kind, row, log_theta, scratch)
    return log_z


@kernel
def spread_cliques(a: TreeArrays, kind: int, row: int, weight: float, work: Any, out: Any) -> None:
    """Add posterior tables, times a weight, to the positions of their families."""
    for q in range(a.kind_cliques[kind], a.kind_cliques[kind + 1]):
        for s in range(a.slots[q], a.slots[q + 1]):
            offset = a.offsets[row + a.slot_family[s]]
            start = a.slot_map[s]
            for c in range(a.cells[q]):
                out[offset + a.maps[start + c]] += weight * work[a.first[q] + c]


@kernel
def expect_trees(
    a: TreeArrays, log_theta: Any, scratch: Scratch, out: Any, span: tuple[int, int]
) -> Any:
    """Add the expected counts of components first to last to `out`; return their log-likelihood."""
    scratch.work[0] = 0.0
    log_lik = scratch.work[0]  # a zero of the right type, real or complex
    for kind in range(a.kind_width.shape[0]):
        first, last = a.kind_instances[kind], a.kind_instances[kind + 1]
        for i in range(max(first, span[0]), min(last, span[1])):
            row = a.kind_offsets[kind] + (i - a.kind_instances[kind]) * a.kind_width[kind]
            log_z = posterior_tables(a, kind, row, log_theta, scratch)
            if a.counts[i] > 0.0:  # 0 · −inf would be NaN
                log_lik += a.counts[i] * log_z
            spread_cliques(a, kind, row, a.counts[i], scratch.work, out)
    return log_lik


@kernel
def put_posteriors(
    a: TreeArrays, log_theta: FloatArray, scratch: Scratch, first: int, log_z: Any, out: FloatArray
) -> None:
    """Log-likelihood of each instance, and its E[N] at positions from `first` on, by itself."""
    for kind in range(a.kind_width.shape[0]):
        for i in range(a.kind_instances[kind], a.kind_instances[kind + 1]):
            row = a.kind_offsets[kind] + (i - a.kind_instances[kind]) * a.kind_width[kind]
            log_z[i] = posterior_tables(a, kind, row, log_theta, scratch)
            for q in range(a.kind_cliques[kind], a.kind_cliques[kind + 1]):
                for s in range(a.slots[q], a.slots[q + 1]):
                    offset = a.offsets[row + a.slot_family[s]] - first
                    start = a.slot_map[s]
                    for c in range(a.cells[q]):
                        at = offset + a.maps[start + c]
                        if 0 <= at < out.shape[1]:
                            out[i, at] += scratch.work[a.first[q] + c]
