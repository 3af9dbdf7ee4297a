"""Inference as a service: p(unobserved variables | what a row shows), for every row of a table.

Asking is a matter of structure: give the variables in question a child with one state, which is
always seen. It changes no probability, but keeps them from being barren, and puts them together
into one clique; their joint posterior is then what that child's family counts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lacunet.arrays import CodeArray, FloatArray, IntArray
from lacunet.inference.expectation import pattern_posteriors, safe_log, work_space
from lacunet.inference.kernels import trees as tree_kernels
from lacunet.inference.plans.builder import Builder
from lacunet.inference.plans.patterns import pattern_plan
from lacunet.model.network import Model, Network, Variable


def posterior(model: Model, codes: CodeArray, groups: Sequence[Sequence[int]]) -> list[FloatArray]:
    """Joint posterior of each group of variables in each row: (rows, states of each variable...).

    A variable that a row shows has probability 1 at what it shows. `codes` are (rows, observed
    variables of the network), −1 = missing.
    """
    network = model.network
    asked = _with_watchers(network, groups)
    n = len(network.variables)
    layout = asked.layout
    log_theta = np.concatenate([safe_log(model.theta), np.zeros(layout.size - len(model.theta))])
    watched = np.column_stack([codes, np.zeros((len(codes), len(groups)), codes.dtype)])
    builder = Builder(asked, watched, np.ones(len(codes)))
    # What each watcher's family counts in each row, in the order of its storage.
    found = [
        np.zeros((len(codes), layout.offsets[f + 1] - layout.offsets[f]))
        for f in range(n, n + len(groups))
    ]
    _put_seen(builder, n, found)
    _put_patterns(builder, n, found, log_theta)
    _put_trees(builder, n, found, log_theta)
    return [
        _in_order(out, layout.axes[f], layout.families[f], layout.cards)
        for f, out in enumerate(found, start=n)
    ]


def _with_watchers(network: Network, groups: Sequence[Sequence[int]]) -> Network:
    """Add a child with one state to each group."""
    taken = {v.name for v in network.variables}
    names = [f"watcher {k}" for k in range(len(groups) + len(taken))]
    fresh = [name for name in names if name not in taken][: len(groups)]
    return Network.build(
        [*network.variables, *(Variable(name, (0,)) for name in fresh)],
        [*network.parents, *(tuple(g) for g in groups)],
    )


def _put_seen(builder: Builder, n: int, found: Sequence[FloatArray]) -> None:
    """Rows that show a whole group."""
    for collector, out in zip(builder.collectors[n:], found, strict=True):
        rows, positions = builder.seen_whole(collector)
        out[rows, positions - collector.first] = 1.0


def _put_patterns(
    builder: Builder, n: int, found: Sequence[FloatArray], log_theta: FloatArray
) -> None:
    """Rows in which one hidden variable of a group is open, and is a component by itself."""
    for v, rows, slots in builder.single_variables():
        cells = builder.layout.cards[v]
        plan = pattern_plan(v, cells, slots, np.ones(len(rows)))
        p = pattern_posteriors(plan, log_theta)[:, :cells]
        for collector, out in zip(builder.collectors[n:], found, strict=True):
            if v in collector.strides:
                first = builder.offsets(collector, rows, besides=(v,)) - collector.first
                out[rows[:, None], first[:, None] + np.arange(cells)] = p


def _put_trees(
    builder: Builder, n: int, found: Sequence[FloatArray], log_theta: FloatArray
) -> None:
    """All other rows: clique tables, added up over what the group leaves out."""
    instances = list(builder.instances())
    plan = builder.plan_trees(instances)
    if plan is None:
        return
    work, messages = work_space(plan)
    a = plan.arrays
    for kind, merged in enumerate(instances):
        cliques = range(a.kind_cliques[kind], a.kind_cliques[kind + 1])
        last = cliques[-1]
        beliefs = np.empty((len(merged.counts), a.first[last] + a.cells[last]))
        tree_kernels.beliefs(a, kind, log_theta, work, messages, beliefs)
        for q in cliques:
            own = beliefs[:, a.first[q] : a.first[q] + a.cells[q]]
            for s in range(a.slots[q], a.slots[q + 1]):
                f = merged.kind.families[a.slot_family[s]]
                if f < n:
                    continue
                cells = a.maps[a.slot_map[s] : a.slot_map[s] + a.cells[q]]
                offset = merged.offsets[:, a.slot_family[s]] - builder.collectors[f].first
                table = np.zeros((len(merged.counts), found[f - n].shape[1]))
                _add_columns(table, offset[:, None] + cells, own)
                found[f - n][merged.rows] = table[merged.index]


def _add_columns(table: FloatArray, places: IntArray, values: FloatArray) -> None:
    np.add.at(table, (np.arange(len(table))[:, None], places), values)


def _in_order(
    out: FloatArray, axes: Sequence[int], family: Sequence[int], cards: Sequence[int]
) -> FloatArray:
    """From storage order to (rows, the group in its own order); the watcher itself is dropped."""
    stored = out.reshape(len(out), *(cards[v] for v in axes))
    order = [1 + list(axes).index(v) for v in family[:-1]]
    return np.ascontiguousarray(
        np.transpose(stored, (0, *order, 1 + list(axes).index(family[-1])))[..., 0]
    )
