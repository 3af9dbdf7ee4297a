"""Message passing in clique trees, over all instances of all kinds.

Every message is normalised and the logs of totals are summed, so long chains do not underflow. If
digits may still be lost, logs are used throughout. Log θ may be complex: with an imaginary part
i·h·u, the imaginary part of the expected counts is their exact derivative along u (complex-step
method). `tests/twins.py` is a plain implementation.
"""

from typing import Any, NamedTuple

import numpy as np

from lacunet.runtime.arrays import FloatArray, IndexArray, IntArray
from lacunet.runtime.jit import kernel

FEW = 8  # families of a clique up to which probabilities are multiplied; with more, logs are summed
LEAST = 1e-250  # totals below may have lost digits
STEP = 1e-40  # of log θ: a complex step has no cancellation, so it can be tiny


class TreeArrays(NamedTuple):
    """Flat arrays for the kernels. T kinds, Q cliques, S slots, I instances."""

    kind_cliques: IntArray  # (T + 1,) cliques of each kind; leaves first, the root last
    kind_instances: IntArray  # (T + 1,) instances of each kind
    kind_offsets: IntArray  # (T,) start of the instances' rows in `offsets`
    kind_width: IntArray  # (T,) families of each kind: the length of those rows
    offsets: IntArray  # concatenated (instances, families) positions from observed values
    counts: FloatArray  # (I,) weight of each instance
    cells: IntArray  # (Q,) joint states
    first: IntArray  # (Q,) start of the clique's cells in its kind
    parent: IntArray  # (Q,) clique that receives its message; -1 for a root
    separator: IntArray  # (Q,) joint states of the separator to its parent
    separator_first: IntArray  # (Q,) start of these in its kind
    up: IntArray  # (Q,) start of its map: own cells → separator
    down: IntArray  # (Q,) start of its map: parent's cells → separator
    slots: IntArray  # (Q + 1,) slots of each clique
    slot_family: IntArray  # (S,) column of its family in an instance's row
    slot_map: IntArray  # (S,) start of its map: clique's cells → positions from the offset
    maps: IndexArray  # all distinct maps


class TreeScratch(NamedTuple):
    """Buffers for the tables and messages of the largest kind of component."""

    work: Any
    sent: Any  # messages towards the root
    shared: Any  # normalised messages, or posteriors of separators


class TreeWeights(NamedTuple):
    """Log θ, and θ itself, real or complex."""

    log: Any
    plain: Any


@kernel
def sum_logs(a: TreeArrays, q: int, row: int, log_theta: Any, w: Any) -> None:
    """Write Σ log θ of a clique's assigned families to its table."""
    w[:] = 0.0
    for s in range(a.slots[q], a.slots[q + 1]):
        offset, start = a.offsets[row + a.slot_family[s]], a.slot_map[s]
        for c in range(a.cells[q]):
            w[c] += log_theta[offset + a.maps[start + c]]


@kernel
def load_clique(a: TreeArrays, q: int, row: int, log_theta: Any, work: Any) -> float:
    """Write exp(Σ log θ) of a clique's families to `work`; return the log of the scale removed."""
    cells = a.cells[q]
    w = work[a.first[q] : a.first[q] + cells]
    sum_logs(a, q, row, log_theta, w)
    top = -np.inf
    for c in range(cells):
        top = max(top, w[c].real)
    if top == -np.inf:
        top = 0.0
    for c in range(cells):
        w[c] = np.exp(w[c] - top)
    return top


@kernel
def load_products(a: TreeArrays, kind: int, row: int, weights: TreeWeights, work: Any) -> float:
    """Load all cliques; cliques of few families by products of θ, which may underflow."""
    log_scale = 0.0
    for q in range(a.kind_cliques[kind], a.kind_cliques[kind + 1]):
        if a.slots[q + 1] - a.slots[q] > FEW:
            log_scale += load_clique(a, q, row, weights.log, work)
            continue
        w = work[a.first[q] : a.first[q] + a.cells[q]]
        w[:] = 1.0
        for s in range(a.slots[q], a.slots[q + 1]):
            offset = a.offsets[row + a.slot_family[s]]
            start = a.slot_map[s]
            for c in range(a.cells[q]):
                w[c] *= weights.plain[offset + a.maps[start + c]]
    return log_scale


@kernel
def collect_messages(a: TreeArrays, q: int, scratch: TreeScratch) -> Any:
    """Multiply a clique's parent by its normalised message; return the log of the message's sum.

    The message before normalisation stays in `sent`. Returns −inf if the sum is so small that
    digits may be lost.
    """
    first, last = a.separator_first[q], a.separator_first[q] + a.separator[q]
    sent, shared = scratch.sent[first:last], scratch.shared[first:last]
    sent[:] = 0.0
    for c in range(a.cells[q]):
        sent[a.maps[a.up[q] + c]] += scratch.work[a.first[q] + c]
    total = sent.sum()
    if not total.real > LEAST:
        return total - np.inf
    for s in range(a.separator[q]):
        shared[s] = sent[s] / total
    p = a.parent[q]
    for c in range(a.cells[p]):
        scratch.work[a.first[p] + c] *= shared[a.maps[a.down[q] + c]]
    return np.log(total)


@kernel
def distribute_messages(a: TreeArrays, q: int, scratch: TreeScratch) -> bool:
    """Turn a clique into its posterior table, given its parent's; return False on overflow.

    The posterior of a separator divided by its message may overflow.
    """
    first, last = a.separator_first[q], a.separator_first[q] + a.separator[q]
    sent, shared = scratch.sent[first:last], scratch.shared[first:last]
    shared[:] = 0.0
    p = a.parent[q]
    for c in range(a.cells[p]):
        shared[a.maps[a.down[q] + c]] += scratch.work[a.first[p] + c]
    for s in range(a.separator[q]):
        if sent[s].real > 0.0:
            shared[s] /= sent[s]
        if not shared[s].real < np.inf:
            return False
    for c in range(a.cells[q]):
        scratch.work[a.first[q] + c] *= shared[a.maps[a.up[q] + c]]
    return True


@kernel
def pass_messages(a: TreeArrays, kind: int, scratch: TreeScratch) -> Any:
    """Turn loaded cliques into posterior tables; return the log of their joint total.

    Collect towards the root, then distribute back. −inf and zeros if an instance is impossible, or
    if floats cannot distinguish it from one.
    """
    first, last = a.kind_cliques[kind], a.kind_cliques[kind + 1] - 1
    end = a.first[last] + a.cells[last]
    log_total = 0.0 * scratch.work[0]
    for q in range(first, last):
        log_total += collect_messages(a, q, scratch)
    root = scratch.work[a.first[last] : end]
    total = root.sum()
    possible = total.real > LEAST and log_total.real > -np.inf
    if possible:
        log_total += np.log(total)
        for c in range(root.shape[0]):
            root[c] /= total
        for q in range(last - 1, first - 1, -1):
            possible = possible and distribute_messages(a, q, scratch)
    if not possible:
        scratch.work[:end] = 0.0
        return scratch.work[0] - np.inf
    return log_total


@kernel
def log_sum_by(x: Any, maps: IndexArray, start: int | np.intp, out: Any, top: FloatArray) -> None:
    """Log Σ exp of entries grouped by a map: out (groups,)."""
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
def posterior_by_logs(
    a: TreeArrays, kind: int, row: int, log_theta: Any, scratch: TreeScratch
) -> Any:
    """Load cliques and pass messages in logs throughout: slow, without underflow.

    Weights in one clique may differ by more than the range of a float, and zeros elsewhere may
    exclude all but the smallest. Only logs distinguish this from an impossible instance.
    """
    work, messages = scratch.work, scratch.sent
    first, last = a.kind_cliques[kind], a.kind_cliques[kind + 1] - 1
    top = np.empty(messages.shape[0] + 1)
    for q in range(first, last + 1):
        sum_logs(a, q, row, log_theta, work[a.first[q] : a.first[q] + a.cells[q]])
    for q in range(first, last):
        message = messages[a.separator_first[q] : a.separator_first[q] + a.separator[q]]
        log_sum_by(work[a.first[q] : a.first[q] + a.cells[q]], a.maps, a.up[q], message, top)
        p = a.parent[q]
        for c in range(a.cells[p]):
            work[a.first[p] + c] += message[a.maps[a.down[q] + c]]
    everything = work[: a.first[last] + a.cells[last]]
    total = messages[:1].copy()
    nowhere = np.zeros(a.cells[last], dtype=np.int32)
    log_sum_by(work[a.first[last] : a.first[last] + a.cells[last]], nowhere, np.intp(0), total, top)
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
def posterior_tables(
    a: TreeArrays, kind: int, row: int, weights: TreeWeights, scratch: TreeScratch
) -> Any:
    """Write an instance's posterior clique tables to `scratch.work`; return its log-likelihood.

    Uses products of θ, or logs throughout after underflow or overflow.
    """
    log_scale = load_products(a, kind, row, weights, scratch.work)
    log_z = pass_messages(a, kind, scratch) + log_scale
    if log_z.real > -np.inf:
        return log_z
    return posterior_by_logs(a, kind, row, weights.log, scratch)


@kernel
def spread_cliques(a: TreeArrays, kind: int, row: int, weight: float, work: Any, out: Any) -> None:
    """Add posterior tables times a weight to the positions of their families."""
    for q in range(a.kind_cliques[kind], a.kind_cliques[kind + 1]):
        for s in range(a.slots[q], a.slots[q + 1]):
            offset = a.offsets[row + a.slot_family[s]]
            start = a.slot_map[s]
            for c in range(a.cells[q]):
                out[offset + a.maps[start + c]] += weight * work[a.first[q] + c]


@kernel
def expect_trees(
    a: TreeArrays, log_theta: Any, scratch: TreeScratch, out: Any, span: tuple[int, int]
) -> Any:
    """Add the expected counts of components first to last to `out`; return their log-likelihood."""
    scratch.work[0] = 0.0
    log_lik = scratch.work[0]  # a zero of the right type, real or complex
    weights = TreeWeights(log_theta, np.exp(log_theta))
    for kind in range(a.kind_width.shape[0]):
        first, last = a.kind_instances[kind], a.kind_instances[kind + 1]
        for i in range(max(first, span[0]), min(last, span[1])):
            row = a.kind_offsets[kind] + (i - a.kind_instances[kind]) * a.kind_width[kind]
            log_z = posterior_tables(a, kind, row, weights, scratch)
            if a.counts[i] > 0.0:  # 0 · −inf would be NaN
                log_lik += a.counts[i] * log_z
            spread_cliques(a, kind, row, a.counts[i], scratch.work, out)
    return log_lik


@kernel
def put_posteriors(
    a: TreeArrays,
    log_theta: FloatArray,
    scratch: TreeScratch,
    first: int,
    log_z: Any,
    out: FloatArray,
) -> None:
    """Log-likelihood and E[N] of each instance, at positions from `first` on."""
    weights = TreeWeights(log_theta, np.exp(log_theta))
    for kind in range(a.kind_width.shape[0]):
        for i in range(a.kind_instances[kind], a.kind_instances[kind + 1]):
            row = a.kind_offsets[kind] + (i - a.kind_instances[kind]) * a.kind_width[kind]
            log_z[i] = posterior_tables(a, kind, row, weights, scratch)
            for q in range(a.kind_cliques[kind], a.kind_cliques[kind + 1]):
                for s in range(a.slots[q], a.slots[q + 1]):
                    offset = a.offsets[row + a.slot_family[s]] - first
                    start = a.slot_map[s]
                    for c in range(a.cells[q]):
                        at = offset + a.maps[start + c]
                        if 0 <= at < out.shape[1]:
                            out[i, at] += scratch.work[a.first[q] + c]
