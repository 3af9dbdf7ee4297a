"""How many hidden states: candidates that differ in the sizes of hidden variables."""

import itertools
from collections.abc import Mapping, Sequence

from lacunet.data.table import Table
from lacunet.errors import OptionError
from lacunet.inference.leaves import leaves_of
from lacunet.models.latent_class import classes_of, over_leaves, with_edges
from lacunet.models.network import Network
from lacunet.models.number_prior import NumberPrior
from lacunet.models.surgery import with_hidden
from lacunet.selection.average import Label
from lacunet.selection.candidates import Proposal
from lacunet.wording import range_words

USUAL = NumberPrior()


def check_states(states: Sequence[int], table: Table) -> tuple[str, ...]:
    """Refuse impossible numbers of states; warn of more states than rows."""
    if not states:
        raise OptionError(f"no number of states to try. Give for example {range_words(1, 8)}.")
    for k in states:
        if k < 1:
            raise OptionError(f"{k} hidden states: there must be at least 1.")
    many = f"{max(states)} hidden states are more than the {table.weight:g} rows of the data: "
    return (f"{many}some classes must stay empty.",) if max(states) > table.weight else ()


def latent_classes(
    table: Table,
    states: Sequence[int],
    numbers: NumberPrior = USUAL,
    edges: Sequence[tuple[str, str]] = (),
) -> list[Proposal]:
    """Latent class models of a table, one for each number of classes, ascending.

    With edges, answers listen to each other beside their class.
    """
    check_states(states, table)
    leaves = leaves_of(table, numbers)
    networks = {k: over_leaves(leaves, k) for k in sorted(set(states))}
    return [
        Proposal(k, with_edges(n, edges), {classes_of(n).variable.name: k})
        for k, n in networks.items()
    ]


def sizes_of_hidden(
    network: Network, sizes: Mapping[str, Sequence[int]], table: Table
) -> list[Proposal]:
    """The same network with every combination of sizes of some hidden variables.

    One variable: the label is its number of states. Several: it names them all.
    """
    for states in sizes.values():
        check_states(states, table)
    proposals = []
    for combination in itertools.product(*(sorted(set(states)) for states in sizes.values())):
        chosen = dict(zip(sizes, combination, strict=True))
        label: Label = ", ".join(f"{name}={k}" for name, k in chosen.items())
        if len(sizes) == 1:
            (label,) = combination
        proposals.append(Proposal(label, with_hidden(network, chosen), chosen))
    return proposals
