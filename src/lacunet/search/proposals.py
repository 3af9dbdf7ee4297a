"""How many hidden states: candidates that differ in the sizes of hidden variables."""

import itertools
from collections.abc import Mapping, Sequence

from lacunet.data.table import Table
from lacunet.errors import OptionError
from lacunet.model.latent_class import classes_of, latent_class
from lacunet.model.network import Network, with_hidden
from lacunet.search.candidates import Proposal


def check_states(states: Sequence[int], table: Table) -> tuple[str, ...]:
    """Refuse impossible numbers of states; warn of more states than rows."""
    if not states:
        raise OptionError("no number of states to try. Give for example --states 1:8.")
    for k in states:
        if k < 1:
            raise OptionError(f"{k} hidden states: there must be at least 1.")
    if max(states) > table.weight:
        return (
            (
                f"{max(states)} hidden states are more than the {table.weight:g} rows of the data: "
                "some classes must stay empty."
            ),
        )
    return ()


def latent_classes(table: Table, states: Sequence[int]) -> list[Proposal]:
    """Latent class models of a table, one for each number of classes, ascending."""
    check_states(states, table)
    columns = [(c.name, c.states) for c in table.columns]
    found = []
    for k in sorted(set(states)):
        network = latent_class(columns, k)
        found.append(Proposal(k, network, {classes_of(network).variable.name: k}))
    return found


def sizes_of_hidden(
    network: Network, sizes: Mapping[str, Sequence[int]], table: Table
) -> list[Proposal]:
    """The same network with every combination of sizes of some hidden variables.

    One variable: the label is its number of states. Several: it names them all.
    """
    for states in sizes.values():
        check_states(states, table)
    names = list(sizes)
    found = []
    for combination in itertools.product(*(sorted(set(sizes[name])) for name in names)):
        chosen = dict(zip(names, combination, strict=True))
        label = (
            combination[0]
            if len(names) == 1
            else ", ".join(f"{name}={k}" for name, k in chosen.items())
        )
        found.append(Proposal(label, with_hidden(network, chosen), chosen))
    return found
