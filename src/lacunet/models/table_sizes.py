"""How large the table of a family may be."""

import math
from collections.abc import Sequence

from lacunet.errors import ModelError

LARGEST_TABLE = 1 << 26  # numbers of one family: half a GiB


def check_table_sizes(
    names: Sequence[str], cards: Sequence[int], parents: Sequence[Sequence[int]]
) -> None:
    """Refuse tables that would not fit into memory, before anything of their size is made."""
    for i, pa in enumerate(parents):
        size = math.prod([cards[i], *(cards[p] for p in pa)])
        if size > LARGEST_TABLE:
            who = ", ".join(f"'{names[v]}' ({cards[v]:,})" for v in (i, *pa))
            raise ModelError(
                f"the table of '{names[i]}' would have {size:,} numbers, one for each combination "
                f"of states of {who}; at most {LARGEST_TABLE:,} are allowed. Give hidden variables "
                "fewer states."
            )
