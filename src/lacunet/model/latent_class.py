"""The latent class model: one hidden root, every observed variable its child."""

from __future__ import annotations

from collections.abc import Sequence

from lacunet.errors import OptionError
from lacunet.model.network import Network, Variable, check_table_sizes
from lacunet.state import State

HIDDEN_NAMES = ("class", "latent_class", "hidden_class")


def latent_class(columns: Sequence[tuple[str, Sequence[State]]], states: int) -> Network:
    """Make the network with a hidden root of `states` states over the given (name, states) leaves.

    >>> network = latent_class([("smokes", ("no", "yes")), ("drinks", ("no", "yes"))], 3)
    >>> network.dimension  # 2 for the class sizes, 3 for each leaf
    8
    """
    if states < 1:
        raise OptionError(f"{states} hidden states: there must be at least 1.")
    taken = {name for name, _ in columns}
    hidden = next(name for name in (*HIDDEN_NAMES, *_more(taken)) if name not in taken)
    check_table_sizes(
        [hidden, *(name for name, _ in columns)],
        [states, *(len(values) for _, values in columns)],
        [(), *([(0,)] * len(columns))],
    )
    root = Variable(hidden, tuple(range(1, states + 1)), hidden=True)
    leaves = [Variable(name, tuple(values)) for name, values in columns]
    return Network.build([root, *leaves], [(), *([(0,)] * len(leaves))])


def _more(taken: set[str]) -> list[str]:
    return [f"{HIDDEN_NAMES[0]}_{i}" for i in range(len(taken) + 1)]


def is_latent_class(network: Network) -> bool:
    """Whether the network is one hidden root with observed leaves."""
    return network.hidden == (0,) and network.parents == (
        (),
        *([(0,)] * (len(network.variables) - 1)),
    )
