"""log p(row | θ) of every row by itself, in the order of the rows."""

from __future__ import annotations

import numpy as np

from lacunet.arrays import CodeArray, FloatArray
from lacunet.inference.expectation import pattern_table, safe_log, work_space
from lacunet.inference.kernels import rows as kernels
from lacunet.inference.kernels import trees as tree_kernels
from lacunet.inference.plans.builder import Builder
from lacunet.inference.plans.patterns import pattern_plan
from lacunet.model.network import Model


def row_log_lik(model: Model, codes: CodeArray) -> FloatArray:
    """Give log p(what a row shows | θ), (rows,); −inf where a row is impossible.

    `codes` are (rows, observed variables of the network), −1 = missing.

    >>> import lacunet
    >>> model = lacunet.random_model(2, 3, seed=1)
    >>> every = np.stack(np.unravel_index(range(8), (2, 2, 2)), axis=1)
    >>> bool(np.isclose(np.exp(row_log_lik(model, every)).sum(), 1))
    True
    """
    builder = Builder(model.network, codes, np.ones(len(codes)))
    log_theta = safe_log(model.theta)
    found = np.zeros(len(codes))
    for collector in builder.collectors:
        rows, positions = builder.seen_whole(collector)
        found[rows] += log_theta[positions]
    for v, rows, slots in builder.single_variables():
        plan = pattern_plan(v, builder.layout.cards[v], slots, np.ones(len(rows)))
        table = pattern_table(plan, log_theta, padding=-np.inf)
        log_z = np.empty(len(rows))
        kernels.posterior_rows(table, plan.index, np.empty((len(rows), plan.width)), log_z)
        found[rows] += log_z
    instances = list(builder.instances())
    trees = builder.plan_trees(instances)
    if trees is not None:
        work, messages = work_space(trees)
        for kind, merged in enumerate(instances):
            log_z = np.empty(len(merged.counts))
            tree_kernels.log_weights(trees.arrays, kind, log_theta, work, messages, log_z)
            found[merged.rows] += log_z[merged.index]
    return found
