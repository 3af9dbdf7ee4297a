"""A table and its network: from a file, a text graph, or a latent class model."""

import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import index
from pathlib import Path
from typing import TypeAlias

from lacunet.api.inputs import (
    Hidden,
    KnowledgeLike,
    as_knowledge,
    as_network,
    as_sizes,
    as_table,
    beside_items,
    listed,
    names_in,
    observed_columns,
    table_for,
)
from lacunet.api.options import AS_USUAL, ReadSettings
from lacunet.data.checks import check_not_left_out
from lacunet.data.table import Table
from lacunet.data.transform import has_missing_state, missing_as_state, with_missing_states
from lacunet.errors import DataError, ModelError, OptionError, did_you_mean
from lacunet.inference.leaves import leaves_apart, with_numbers
from lacunet.models.ensemble import NetworkLike, in_canonical_order
from lacunet.models.equivalence import GraphSketch, is_sketch, read_sketch
from lacunet.models.latent_class import read_edges
from lacunet.models.network import Model, Network, Variable
from lacunet.models.number_prior import NumberPrior
from lacunet.models.surgery import with_hidden, with_observed_states
from lacunet.selection.candidates import Proposal
from lacunet.selection.comparing import latent_classes
from lacunet.settings import Settings
from lacunet.structure.knowledge import edges_of

ENDINGS = (".txt", ".graph")  # of text graph files
OPEN = 2  # placeholder for an unknown number of hidden states


@dataclass(frozen=True)
class Structured:
    """A table, and a network over its columns."""

    table: Table
    network: Network
    hidden: dict[str, int | None]  # numbers of states; None: unknown
    open: tuple[str, ...] = ()  # hidden variables with unknown numbers of states
    columns: tuple[str, ...] = ()  # of the data

    def with_states(self, states: int | None) -> Network:
        """Give the network with all numbers of states; one unknown number becomes `states`."""
        if states is not None and len(self.open) != 1:
            raise OptionError("a number of states and a network. With a network, give NAME=STATES.")
        if states is not None:
            return in_canonical_order(with_hidden(self.network, {self.open[0]: states}))
        for name in self.open:
            hint = did_you_mean(name, self.columns)
            raise ModelError(
                f"'{name}' is not a column of the data, so it is hidden: how many states has "
                f"it?{hint}"
                f" Write {name}[3] in the graph, or give --hidden {shlex.quote(name)}=3."
            )
        return self.network


def structured(
    data: object,
    network: NetworkLike | GraphSketch,
    hidden: Hidden = (),
    reading: ReadSettings | None = None,
    numbers: NumberPrior | None = None,
) -> Structured:
    """Read a table and its network; without a number prior, numbers are refused."""
    options = reading or AS_USUAL
    sketch, may = as_sketch(network), numbers is not None
    prior = numbers or NumberPrior()
    if sketch is None:
        assert not isinstance(network, GraphSketch)
        structure = as_network(network, hidden)
        table = table_for(data, structure, options, numbers=may)
        return Structured(table, with_numbers(structure, table, prior), as_sizes(hidden))
    table = _read(data, sketch, hidden, options, may)
    return sketched(table, sketch, hidden, prior, names_in(data))


def sketched(
    table: Table, sketch: GraphSketch, hidden: Hidden, numbers: NumberPrior, columns: Sequence[str]
) -> Structured:
    """Build the network of a text graph, with the states of a table."""
    declared: dict[str, int | None] = {**sketch.sizes, **as_sizes(hidden)}
    for name in as_sizes(hidden):
        if name not in sketch.names:
            raise ModelError(f"'{name}' is not a variable of the graph: {listed(sketch.names)}.")
    seen = {v.name: v for v in leaves_apart(table, numbers)}
    for name, size in sketch.sizes.items():
        if name in seen and name not in as_sizes(hidden) and size != len(seen[name].states):
            raise ModelError(
                f"{name}[{size}]: column '{name}' has {len(seen[name].states)} states. Leave the "
                f"number out, or give --hidden {shlex.quote(name)} if it is another variable."
            )
    sizes = {n: declared.get(n) for n in sketch.names if n not in seen or n in as_sizes(hidden)}
    variables = [
        Variable(n, tuple(range(1, (sizes[n] or OPEN) + 1)), hidden=True) if n in sizes else seen[n]
        for n in sketch.names
    ]
    places = {n: i for i, n in enumerate(sketch.names)}
    parents = [tuple(places[u] for u in sketch.parents_of(n)) for n in sketch.names]
    network = in_canonical_order(Network.build(variables, parents))
    left = tuple(n for n, size in sizes.items() if size is None)
    return Structured(table, network, sizes, left, tuple(columns))


def as_sketch(network: NetworkLike | GraphSketch) -> GraphSketch | None:
    """Read a text graph, or its file; None for anything else."""
    if isinstance(network, GraphSketch):
        return network
    if not isinstance(network, str | os.PathLike):
        return None
    text = os.fspath(network)
    if is_sketch(text):
        return read_sketch(text)
    if Path(text).suffix.lower() not in ENDINGS:
        return None
    try:
        return read_sketch(Path(text).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise ModelError(f"{text} cannot be read: {why}.") from error


def edges_given(network: NetworkLike) -> list[tuple[str, str]]:
    """List the edges of a network or a text graph, by name."""
    sketch = as_sketch(network)
    return edges_of(as_network(network)) if sketch is None else list(sketch.edges)


def _read(
    data: object, sketch: GraphSketch, hidden: Hidden, reading: ReadSettings, numbers: bool
) -> Table:
    """Read the columns of a text graph."""
    columns = names_in(data)
    shown = [n for n in sketch.names if n in columns and n not in as_sizes(hidden)]
    if not shown:
        raise DataError(
            f"the data show no variable of the graph, {listed(sketch.names)}. Their columns are "
            f"{listed(columns)}."
        )
    if isinstance(data, Table):
        return as_table(data, reading, numbers=numbers)
    check_not_left_out(shown, reading.columns, reading.exclude)
    used = replace(reading, columns=[name for name in columns if name in shown], exclude=())
    table = as_table(data, used, numbers=numbers)
    known = {*sketch.names, *beside_items(reading), *reading.exclude}
    other = [n for n in columns if n not in known]
    notes = (f"not in the graph, so not used: {listed(other)}.",) if other else ()
    return replace(table, notes=(*table.notes, *notes))


def structures(
    data: object,
    networks: Sequence[NetworkLike] | Mapping[str, NetworkLike],
    hidden: Hidden,
    reading: ReadSettings,
    numbers: NumberPrior,
) -> tuple[Table, list[Proposal]]:
    """Read named structures and their table; check that their observed variables agree."""
    if isinstance(networks, str) or not isinstance(networks, Mapping | Sequence):
        raise OptionError("compare takes several networks. Give a list, or a mapping of names.")
    if not networks:
        raise OptionError("no network to compare. Give two or more.")
    sizes = as_sizes(hidden)
    plain = {name: as_sketch(n) or as_network(n) for name, n in _named(networks).items()}
    names = {
        name: n.names if isinstance(n, GraphSketch) else [v.name for v in n.variables]
        for name, n in plain.items()
    }
    for variable in sizes:
        if not any(variable in variables for variables in names.values()):
            raise ModelError(f"'{variable}' is not a variable of any of the networks.")
    hidden_of = {x: {h: k for h, k in sizes.items() if h in names[x]} for x in plain}
    # A network brings its states; a text graph takes those of the data.
    first = next((x for x, n in plain.items() if isinstance(n, Network)), next(iter(plain)))
    table = structured(data, plain[first], hidden_of[first], reading, numbers).table
    proposals = [
        Proposal(x, structured(table, n, hidden_of[x], None, numbers).with_states(None), {})
        for x, n in plain.items()
    ]
    shown = [{c.name: c.labels for c in observed_columns(p.network)} for p in proposals]
    for other, columns in zip(proposals, shown, strict=True):
        if columns != shown[0]:
            every = {*shown[0], *columns}
            differ = sorted(n for n in every if shown[0].get(n) != columns.get(n))
            raise ModelError(
                f"'{proposals[0].label}' and '{other.label}' differ in their observed variables: "
                f"{listed(differ)}. Evidence can be compared only for the same data: declare what "
                "no column shows with --hidden, or make the states the same."
            )
    return table, proposals


def _named(
    networks: Sequence[NetworkLike] | Mapping[str, NetworkLike],
) -> dict[str, NetworkLike]:
    """Name structures by their files or their text graphs."""
    if isinstance(networks, Mapping):
        return dict(networks)
    names = []
    for i, given in enumerate(networks, start=1):
        text = os.fspath(given) if isinstance(given, str | os.PathLike) else f"network {i}"
        names.append(" ".join(text.split()) if is_sketch(text) else Path(text).name)
    if len(set(names)) < len(names):  # files of one name in several folders
        names = [f"{i}: {name}" for i, name in enumerate(names, start=1)]
    return dict(zip(names, networks, strict=True))


EdgesLike: TypeAlias = Sequence[str | tuple[str, str]]  # PARENT:CHILD, or pairs


def table_and_structure(
    data: object,
    states: int | None,
    reading: ReadSettings,
    settings: Settings,
    network: NetworkLike | None = None,
    hidden: Hidden = (),
    edges: EdgesLike = (),
    knowledge: KnowledgeLike | None = None,
    *,
    numbers: bool = True,
) -> tuple[Table, Network]:
    """Read the table, and give its latent class model or the network, with what is known of it.

    Without `numbers`, columns of numbers are refused.
    """
    if network is not None:
        check_no_edges(edges)
        read = structured(data, network, hidden, reading, settings.numbers if numbers else None)
        table, structure = read.table, read.with_states(states)
    elif states is None:
        raise OptionError("neither a number of states nor a network. Give one of them.")
    else:
        table = as_table(data, reading, numbers=numbers)
        k, prior = one_number(states), settings.numbers if numbers else NumberPrior()
        (proposal,) = latent_classes(table, [k], prior, read_edges(edges))
        structure = proposal.network
    table, (structure,) = constrained(table, [structure], knowledge, settings)
    return table, structure


def constrained(
    table: Table,
    networks: Sequence[Network],
    knowledge: KnowledgeLike | None,
    settings: Settings,
) -> tuple[Table, list[Network]]:
    """Apply the constraints on tables to networks, and code missing cells as states if asked."""
    if knowledge is not None:
        networks = list(map(as_knowledge(knowledge).of, networks))
    if not settings.missing_as_state:
        return table, list(networks)
    table = missing_as_state(table)
    states = {c.name: c.states for c in table.columns}
    return table, [with_observed_states(network, states) for network in networks]


def check_no_edges(edges: EdgesLike) -> None:
    """Refuse edges beside a network."""
    if edges:
        raise OptionError(
            "edges are about answers of a latent class model. A network has edges of its own: "
            "write them there."
        )


def one_number(states: int | Iterable[int]) -> int:
    """Give the number of states; refuse several."""
    numbers = whole_numbers(states)
    if len(numbers) != 1:
        raise OptionError(f"states {states!r}: give a single number of states.")
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


def table_with_model(
    data: object,
    network: Network,
    settings: Settings,
    reading: ReadSettings,
    *,
    numbers: bool = False,
) -> Table:
    """Read a table for a fitted network; code missing cells as in its fit."""
    if not settings.missing_as_state:
        return table_for(data, network, reading, numbers=numbers)
    if isinstance(data, Table):
        table = as_table(data, reading)
        known = any(has_missing_state(column) for column in table.columns)
        return with_missing_states(table) if known else missing_as_state(table)
    return with_missing_states(table_for(data, network, reading))
