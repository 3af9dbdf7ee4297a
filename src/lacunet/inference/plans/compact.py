"""Which variables are seen by their statistics, not by their values: a rule of the data alone.

A cell for each value is right where values repeat: rows share patterns of them, and samplers look
up what a value is worth. Of a measurement nearly every row has its own value; then vectors of cells
are as long as the data, times the classes.
"""

from lacunet.errors import ModelError
from lacunet.model.cells import Cells
from lacunet.model.latent_class import find_classes
from lacunet.model.network import Network, Variable

MANY = 256  # different values, above which a number is seen by its statistics


def compact_cells(network: Network) -> Cells:
    """Cells for learning: numbers with many values by their statistics, below classes alone.

    Elsewhere in networks other parents, and what else is hidden, ask for values.
    """
    classes = find_classes(network)
    if classes is None:
        _refuse_blocks(network)
    dense = frozenset(
        i
        for i in (() if classes is None else classes.leaves)
        if _by_statistics(network.variables[i])
    )
    return Cells(network, dense) if dense else network.by_value


def _by_statistics(v: Variable) -> bool:
    """Whether a number has many values, or shares a distribution with others."""
    many = v.family.powers is not None and len(v.states) > MANY
    return many or v.family.stands_at is not None


def _refuse_blocks(network: Network) -> None:
    """Refuse numbers that vary together where no latent class is their only parent."""
    block = [v.name for v in network.variables if v.family.stands_at is not None]
    if block:
        raise ModelError(
            f"{', '.join(map(repr, block))} have a joint distribution (--covariance). That needs "
            "a latent class model: one hidden variable that is the only parent of every column. In "
            "other networks give each number a distribution of its own."
        )
