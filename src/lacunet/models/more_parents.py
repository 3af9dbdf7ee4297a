"""Parameters of a network, for one with more edges."""

import numpy as np

from lacunet.models.layout import Layout
from lacunet.runtime.arrays import FloatArray


def with_more_parents(theta: FloatArray, narrow: Layout, wide: Layout) -> FloatArray:
    """Give parameters to a network with more edges, in which the new parents change nothing.

    Its variables are the same, and the old parents of each in the same order.
    """
    tables = []
    for i, (old, new) in enumerate(zip(narrow.families, wide.families, strict=True)):
        axes = tuple(slice(None) if v in old else None for v in new)
        tables.append(np.broadcast_to(narrow.table(theta, i)[axes], wide.shape(i)))
    return wide.flat(tables)
