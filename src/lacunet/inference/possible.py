"""Rows that no parameters allow: structural zeros, and known tables with zeros, forbid them."""

from collections.abc import Sequence

import numpy as np

from lacunet.errors import DataError
from lacunet.inference.asking.by_row import ByRow
from lacunet.model import conjugacy
from lacunet.model.network import Network
from lacunet.runtime.arrays import CodeArray, FloatArray


def check_possible(network: Network, codes: CodeArray) -> None:
    """Refuse rows, (m, observed variables), that have probability 0 whatever is learned.

    Only categories can have that: numbers, which are parents of nothing, are left out.
    """
    network, codes = _categories(network, codes)
    layout = network.layout
    if layout.given is None or layout.given.min(initial=np.inf, where=~layout.learned) > 0.0:
        return
    theta = conjugacy.mean(np.ones(layout.size), layout)
    cells = network.to_cells(conjugacy.natural(theta, layout))
    never = np.flatnonzero(ByRow(network, codes).log_lik(cells) == -np.inf)
    if len(never):
        raise _impossible(network, codes[never[:1]], cells, len(never))


def _categories(network: Network, codes: CodeArray) -> tuple[Network, CodeArray]:
    """The network of all categories, and what rows show of them."""
    variables = network.variables
    kept = [i for i, v in enumerate(variables) if v.family.tabular]
    if network.plain or len(kept) in (0, len(variables)):
        return network, codes
    shown = [column for column, i in enumerate(network.observed) if i in kept]
    parents = [[kept.index(p) for p in network.parents[i]] for i in kept]
    return Network.build([variables[i] for i in kept], parents), codes[:, shown]


def _impossible(network: Network, row: CodeArray, cells: FloatArray, rows: int) -> DataError:
    """Name the row, and the tables that forbid it."""
    zeros = [i for i, v in enumerate(network.variables) if _has_zeros(network, cells, i)]
    alone = [
        i for i in zeros if ByRow(network, row).log_lik(_relaxed(network, cells, i))[0] > -np.inf
    ]
    names = [f"'{network.variables[i].name}'" for i in alone[:1] or zeros]
    several = f" ({rows:,} different rows are like this)" if rows > 1 else ""
    return DataError(
        f"a row with {_words(network, row[0], alone[:1] or zeros)} is impossible{several}: the "
        f"known table of {', '.join(names)} has a zero there. Correct the row, or the table."
    )


def _has_zeros(network: Network, cells: FloatArray, i: int) -> bool:
    return bool((network.cells.table(cells, i) == -np.inf).any())


def _relaxed(network: Network, cells: FloatArray, i: int) -> FloatArray:
    """The same log weights without the zeros of one family."""
    relaxed, block = cells.copy(), network.cells.block(i)
    relaxed[block] = np.maximum(relaxed[block], 0.0)
    return relaxed


def _words(network: Network, row: CodeArray, families: Sequence[int]) -> str:
    """Say what a row shows of some families, or, where that is nothing, all that it shows."""
    around = {v for i in families for v in network.layout.families[i]}
    shown = {i: code for i, code in zip(network.observed, row, strict=True) if code >= 0}
    named = {i: code for i, code in shown.items() if i in around} or shown
    variables = network.variables
    return ", ".join(f"{variables[i].name} = {variables[i].labels[k]}" for i, k in named.items())
