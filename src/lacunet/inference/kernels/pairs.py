"""How often pairs of blocks and of hidden cells meet in a row: what covariances of scores are of.

A row that shows few states of many columns touches few of the blocks, and all pairs of them in the
same way: by the products of its posterior with itself. These are made once, and added wherever a
pair of its blocks stands. `tests/twins.py` says the same in plain NumPy.
"""

import numpy as np

from lacunet.inference.kernels.lanes import LANES, add_lanes
from lacunet.inference.kernels.rows import ROWS_AT_ONCE, PatternArrays, posterior_rows
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.jit import kernel


@kernel
def pair_rows(plan: PatternArrays, counts: FloatArray, table: FloatArray, out: FloatArray) -> None:
    """Add count · r_c r_c′ to out[b, b′, c, c′] of all blocks b ≥ b′ that a row touches.

    `out`, (B, B, K, W), is padded as tables are; `table` are the log weights of the patterns.
    """
    blocks, cells, width = out.shape[0], plan.cells, plan.width
    posterior, log_z = np.empty((ROWS_AT_ONCE, width)), np.empty(ROWS_AT_ONCE)
    touched, products = np.empty(blocks, dtype=np.int64), np.empty(cells * width)
    each = cells * width
    for first in range(0, plan.of_row.shape[0], ROWS_AT_ONCE):
        rows = plan.of_row[first : first + ROWS_AT_ONCE]
        posterior_rows(table, rows, posterior[: rows.shape[0]], log_z[: rows.shape[0]])
        for i in range(rows.shape[0]):
            n = 0
            for g in range(rows.shape[1]):
                p = rows[i, g]
                for e in range(plan.starts[p], plan.starts[p + 1]):
                    touched[n] = plan.entries[e]
                    n += 1
            for c in range(cells):
                scale = counts[first + i] * posterior[i, c]
                for d in range(width):
                    products[c * width + d] = scale * posterior[i, d]
            for s in range(n):
                for t in range(s + 1):
                    at = (touched[s] * blocks + touched[t]) * each
                    if touched[t] > touched[s]:
                        at = (touched[t] * blocks + touched[s]) * each
                    for d in range(0, each, LANES):
                        add_lanes(out, at + d, products, d)
