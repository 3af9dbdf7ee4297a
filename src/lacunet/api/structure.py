"""One structure for one table: a latent class model, or a network."""

from collections.abc import Iterable, Sequence
from operator import index
from typing import TypeAlias

from lacunet.api.inputs import Hidden, as_table
from lacunet.api.options import ReadOptions
from lacunet.api.sketched import structured
from lacunet.data import Table
from lacunet.errors import OptionError
from lacunet.models.holders import NetworkLike
from lacunet.models.latent_class import read_edges
from lacunet.models.network import Model, Network
from lacunet.models.number_prior import NumberPrior
from lacunet.selection.proposals import latent_classes

EdgesLike: TypeAlias = Sequence[str | tuple[str, str]]  # PARENT:CHILD, or pairs


def table_and_structure(
    data: object,
    states: int | None,
    network: NetworkLike | None,
    hidden: Hidden,
    reading: ReadOptions,
    numbers: NumberPrior | None = None,
    edges: EdgesLike = (),
) -> tuple[Table, Network]:
    """Read the table, and give the latent class model of it, or the network that it is read for.

    Without a prior of numbers, columns of numbers are refused.
    """
    if network is not None:
        check_no_edges(edges)
        found = structured(data, network, hidden, reading, numbers)
        return found.table, found.settled(states)
    if states is None:
        raise OptionError("neither a number of states nor a network. Give one of them.")
    table = as_table(data, reading, numbers=numbers is not None)
    prior = numbers or NumberPrior()
    (proposal,) = latent_classes(table, [one_number(states)], prior, read_edges(edges))
    return table, proposal.network


def check_no_edges(edges: EdgesLike) -> None:
    """Refuse edges beside a network."""
    if edges:
        raise OptionError(
            "edges are about answers of a latent class model. A network has edges of its own: "
            "write them there."
        )


def one_number(states: int | Iterable[int]) -> int:
    """Give a number of states where there can be only one."""
    numbers = whole_numbers(states)
    if len(numbers) != 1:
        raise OptionError(f"states {states!r}: one number of states is wanted here. Give one.")
    return numbers[0]


def whole_numbers(states: int | Iterable[int]) -> list[int]:
    """Give numbers of states as a list."""
    given = [states] if isinstance(states, int) or not isinstance(states, Iterable) else states
    try:
        return [index(k) for k in given]
    except TypeError:
        next_step = (
            "A network is given by its name: network=."
            if isinstance(states, Network | Model)
            else "Give for example range(1, 9)."
        )
        raise OptionError(f"states {states!r} are not whole numbers. {next_step}") from None
