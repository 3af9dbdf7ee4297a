"""XDSL, the format of GeNIe and SMILE, which pgmpy and pyAgrum also write.

The reader expands three kinds of nodes to full tables. ``<cpt>`` holds its numbers.
``<deterministic>`` names the state of the node for every combination of parent states
(``<resultingstates>``). ``<noisymax>`` (``<parameters>``) holds a column of effects for each state
of each parent, then optionally one of the leak. The node takes the strongest of all effects; its
first state is the strongest. ``<strengths>`` lists the states of each parent from the strongest to
the one without effect, and columns follow that order. If only the order of the states puts the
column ``0 … 0 1`` at the state without effect, columns follow the states instead.
"""

import math
from collections.abc import Callable, Sequence
from xml.etree.ElementTree import Element

import numpy as np

from lacunet.errors import ModelError
from lacunet.models.formats.assembly import (
    Family,
    assemble,
    check_table,
    number,
    numbers,
    parents_reversed,
    shape,
    to_properties,
    variable,
)
from lacunet.models.formats.xmlbif import attribute, content, only, parse, printed, tag
from lacunet.models.latent_class import LARGEST_TABLE
from lacunet.models.network import Model, Network, Variable
from lacunet.runtime.arrays import FloatArray


def cpt(node: Element, variables: Sequence[Variable], where: str) -> FloatArray:
    """Read a table in which the child varies fastest."""
    return numbers(only(node, "probabilities", where).split(), variables, where)


def deterministic(node: Element, variables: Sequence[Variable], where: str) -> FloatArray:
    """The table with probability 1 for the resulting states."""
    *sizes, states = _expanded(variables, where)
    words = only(node, "resultingstates", where).split()
    rows, labels = math.prod(sizes), variables[-1].labels
    if len(words) != rows:
        raise ModelError(
            f"{where} has {len(words)} resulting states. It needs {rows}, one for each combination "
            "of its parents' states."
        )
    for word in words:
        if word not in labels:
            raise ModelError(
                f"{where}: '{word}' is not one of its states. They are "
                f"{', '.join(map(repr, labels))}."
            )
    return np.eye(states)[[labels.index(word) for word in words]].reshape(*sizes, states)


def noisy_max(node: Element, variables: Sequence[Variable], where: str) -> FloatArray:
    """The table of a noisy-MAX: a product over causes of cumulative probabilities."""
    parents = variables[:-1]
    *sizes, states = _expanded(variables, where)
    words = only(node, "parameters", where).split()
    given = np.array([number(word, where) for word in words])
    columns = sum(sizes)
    if len(given) not in (columns * states, (columns + 1) * states):
        raise ModelError(
            f"{where} has {len(given)} parameters. It needs {states} for each state of each "
            f"parent, and {states} for the leak: {(columns + 1) * states}."
        )
    effects = check_table(given.reshape(-1, states), where, rounded=True)
    orders = _strengths(node, parents, where)
    # weaker[..., k]: probability of state k or a weaker one; weaker states come later.
    weaker = np.ones((*sizes, states))
    if len(effects) > columns:
        weaker = weaker * _tails(effects[-1])
    for axis, order in enumerate(orders):
        effects, columns_of_parent = effects[len(order) :], effects[: len(order)]
        along = [1] * len(parents)
        along[axis] = len(order)
        weaker = weaker * _tails(_by_state(columns_of_parent, order)).reshape(*along, states)
    return -np.diff(weaker, axis=-1, append=0.0)


READERS: dict[str, Callable[[Element, Sequence[Variable], str], FloatArray]] = {
    "cpt": cpt,
    "deterministic": deterministic,
    "noisymax": noisy_max,
}


def _expanded(variables: Sequence[Variable], where: str) -> tuple[int, ...]:
    """The shape of the full table; raise ModelError if it is too large."""
    sizes = shape(variables)
    if math.prod(sizes) > LARGEST_TABLE:
        raise ModelError(
            f"{where}: its table would have {math.prod(sizes):,} numbers, one for each combination "
            f"of states of it and its {len(sizes) - 1} parents; at most {LARGEST_TABLE:,} are "
            "allowed. Give it fewer parents, by variables between them and the node."
        )
    return sizes


def _tails(columns: FloatArray) -> FloatArray:
    """Sum probabilities from each state to the last: (..., states)."""
    tails: FloatArray = np.cumsum(columns[..., ::-1], axis=-1)[..., ::-1]
    tails[..., 0] = 1.0  # exact, without rounding
    return tails


def _by_state(columns: FloatArray, order: Sequence[int]) -> FloatArray:
    """Sort the columns of a parent, (its states, the node's), by its states."""
    none = np.eye(columns.shape[1])[-1]
    weakest = order[-1]
    if (columns[weakest] == none).all() and not (columns[-1] == none).all():
        return columns
    return columns[np.argsort(order)]


def _strengths(node: Element, parents: Sequence[Variable], where: str) -> list[list[int]]:
    """The states of each parent from the strongest to the weakest."""
    words = " ".join(content(s) for s in node.findall("strengths")).split()
    if not words:
        return [list(range(len(p.states))) for p in parents]
    orders, place = [], 0
    for parent in parents:
        ranks = words[place : place + len(parent.states)]
        place += len(parent.states)
        if sorted(ranks) != sorted(map(str, range(len(parent.states)))):
            raise ModelError(
                f"{where}: its strengths for the parent '{parent.name}' are '{' '.join(ranks)}'. "
                f"They must be the numbers 0 to {len(parent.states) - 1} in some order."
            )
        orders.append([int(word) for word in ranks])
    if place != len(words):
        raise ModelError(f"{where} has {len(words)} strengths. Its parents have {place} states.")
    return orders


FIRST_FASTEST = "aGrUM"  # in its files the first parent varies fastest


def write(model: Model) -> str:
    """The text of an XDSL file."""
    network = model.network
    ids = _ids([v.name for v in network.variables])
    order = _parents_first(network)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<smile version="1.0" id="lacunet">']
    lines.append("<nodes>")
    for i in order:
        v = network.variables[i]
        properties = to_properties(v)
        if ids[i] != v.name:
            properties["name"] = v.name
        if order != sorted(order):
            properties["position"] = str(i)
        lines.append(f"<cpt id={attribute(ids[i])}>")
        lines += [f"<state id={attribute(text)} />" for text in v.labels]
        if network.parents[i]:
            lines.append(tag("parents", " ".join(ids[p] for p in network.parents[i])))
        lines.append(tag("probabilities", printed(model.table(v.name))))
        lines += [tag("property", value, id=key) for key, value in properties.items()]
        lines.append("</cpt>")
    lines += ["</nodes>", "<extensions>", '<genie version="1.0" app="lacunet" name="lacunet">']
    lines += [
        f"<node id={attribute(ids[i])}>{tag('name', network.variables[i].name)}</node>"
        for i in order
    ]
    return "\n".join([*lines, "</genie>", "</extensions>", "</smile>", ""])


def _ids(names: Sequence[str]) -> list[str]:
    """The id of each name: underscores replace spaces, and more make it unique."""
    ids: list[str] = []
    for name in names:
        new = "_".join(name.split()) or "_"
        while new != name and new in {*names, *ids}:
            new += "_"
        ids.append(new)
    return ids


def _parents_first(network: Network) -> list[int]:
    """The variables in a stable order with parents before children."""
    order: dict[int, None] = {}
    left = list(range(len(network.variables)))
    while left:
        ready = next(i for i in left if all(p in order for p in network.parents[i]))
        order[ready] = None
        left.remove(ready)
    return list(order)


def read(text: str) -> Model:
    """Read the text of an XDSL file; every mistake is a ModelError that names the place."""
    root = parse(text, "smile", "XDSL")
    if root.find("dynamic") is not None:
        raise ModelError("this is a dynamic network. Only static ones are read: unroll it first.")
    nodes = [element for section in root.findall("nodes") for element in section]
    for element in nodes:
        if element.tag not in READERS or not element.get("id"):
            known = ", ".join(f"<{tag}>" for tag in READERS)
            raise ModelError(
                f"node '{element.get('id', '')}' is a <{element.tag}>. Only {known} nodes with an "
                "id are read: in GeNIe, change its type to a general chance node."
            )
    extra = [{p.get("id", ""): content(p) for p in node.findall("property")} for node in nodes]
    ids = [node.get("id", "") for node in nodes]
    names = {i: properties.get("name", i) for i, properties in zip(ids, extra, strict=True)}
    variables, families = [], []
    for i, node, properties in zip(ids, nodes, extra, strict=True):
        where = f"node '{names[i]}'"
        labels = [state.get("id", "") for state in node.findall("state")]
        variables.append(variable(names[i], labels, properties, where))
        parents = " ".join(content(p) for p in node.findall("parents")).split()
        families.append(Family(names[i], tuple(names.get(p, p) for p in parents), where, node))
    genie = root.find("extensions/genie")
    first_fastest = genie is not None and genie.get("app", "").startswith(FIRST_FASTEST)

    def table(family: Family, its: Sequence[Variable]) -> FloatArray:
        given = READERS[family.entry.tag](family.entry, its, family.where)
        if first_fastest and family.entry.tag == "cpt":
            *parents, child = its
            given = parents_reversed(given.reshape(shape([*parents[::-1], child])))
        return given

    # If the nodes have the positions 0, 1, …, that order applies; otherwise that of the file.
    positions = [properties.get("position", "") for properties in extra]
    if sorted(positions) == sorted(map(str, range(len(nodes)))):
        variables = [variables[positions.index(str(k))] for k in range(len(nodes))]
    return assemble(variables, families, "node", table)
