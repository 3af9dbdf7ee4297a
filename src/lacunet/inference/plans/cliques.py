"""A clique tree over hidden variables, by eliminating first what adds the smallest edges.

Weighted min-fill: an edge is as large as the joint states of its ends.

One clique is plain enumeration: small components stay whole, large ones (chains, grids) are cut.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lacunet.errors import ModelError
from lacunet.inference.kernels import cliques as kernels
from lacunet.runtime.arrays import BoolArray, FloatArray

ENUMERATED = 16  # joint states up to which a component stays one clique: messages cost too
LARGEST = 1 << 26  # joint states of a clique beyond which the work is refused


@dataclass(frozen=True)
class Clique:
    """Variables whose joint states are enumerated together."""

    variables: tuple[int, ...]
    parent: int  # index of the clique that it sends its message to; -1 for the root


def clique_tree(
    members: Sequence[int], scopes: Iterable[frozenset[int]], cards: Mapping[int, int]
) -> list[Clique]:
    """Cut members into cliques, each before its parent, the root last; every scope fits in one."""
    cut = kernels.cut_into_cliques(*_as_arrays(members, scopes, cards), ENUMERATED)
    return [
        Clique(tuple(members[i] for i in np.flatnonzero(within).tolist()), int(parent))
        for within, parent in zip(*cut, strict=True)
    ]


def check_clique(
    clique: Iterable[int], cards: Mapping[int, int], names: Mapping[int, str], why: str, advice: str
) -> None:
    """Refuse a joint table that would not fit into memory, before it is made."""
    size = math.prod(cards[v] for v in clique)
    if size > LARGEST:
        who = ", ".join(f"'{names[v]}' ({cards[v]})" for v in sorted(clique))
        raise ModelError(
            f"{why}: {who}. Their joint table would have {size:,} cells "
            f"({8 * size / 2**30:,.1f} GiB); at most {LARGEST:,} are allowed. {advice}"
        )


def eliminate(
    members: Sequence[int],
    scopes: Iterable[frozenset[int]],
    cards: Mapping[int, int],
    last: Collection[int] = (),
) -> list[tuple[int, frozenset[int]]]:
    """Members in the order of elimination, some only after all others, each with its clique."""
    late = np.array([v in last for v in members], dtype=np.bool_)
    order, sets = kernels.eliminate(*_as_arrays(members, scopes, cards), late)
    return [
        (members[v], frozenset(members[i] for i in np.flatnonzero(clique).tolist()))
        for v, clique in zip(order.tolist(), sets, strict=True)
    ]


def _as_arrays(
    members: Sequence[int], scopes: Iterable[frozenset[int]], cards: Mapping[int, int]
) -> tuple[BoolArray, FloatArray]:
    """Which members each scope has, (F, k), and their numbers of states."""
    rows = [[v in scope for v in members] for scope in scopes]
    within = np.array(rows, dtype=np.bool_).reshape(len(rows), len(members))
    return within, np.array([cards[v] for v in members], dtype=np.float64)
