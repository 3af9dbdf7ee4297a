"""XDSL, the format of GeNIe and SMILE; pgmpy and pyAgrum write it too.

``probabilities`` holds the numbers with the first parent slowest and the child fastest, as in
GeNIe and pgmpy. pyAgrum alone writes and reads the first parent fastest: its files say
``app="aGrUM …"`` and are read so, but **pyAgrum scrambles the tables with two or more parents of
any XDSL file that it did not write**, ours and GeNIe's. Give it BIF or XMLBIF.

An id has no spaces, since the list of parents is separated by them. A name with spaces is written
with an id of its own and a property ``name``. SMILE wants parents before children: where the
variables stand in another order, the property ``position`` keeps it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.etree.ElementTree import Element

import numpy as np

from lacunet.errors import ModelError
from lacunet.model.formats.assembly import Family, assemble, connect, numbers, shapes
from lacunet.model.formats.typed import to_properties, variable
from lacunet.model.formats.xml_text import attribute, content, only, parse, tag
from lacunet.model.network import Model, Network, Variable

FIRST_FASTEST = "aGrUM"  # the one program that lets the first parent vary fastest


def write(model: Model) -> str:
    """Give the text of an XDSL file."""
    network = model.network
    ids = _ids([v.name for v in network.variables])
    order = _parents_first(network)
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<smile version="1.0" id="lacunet">']
    lines.append("<nodes>")
    for i in order:
        v = network.variables[i]
        table = network.layout.table(model.theta, i).reshape(-1).tolist()
        properties = to_properties(v)
        if ids[i] != v.name:
            properties["name"] = v.name
        if order != sorted(order):
            properties["position"] = str(i)
        lines.append(f"<cpt id={attribute(ids[i])}>")
        lines += [f"<state id={attribute(text)} />" for text in v.labels]
        if network.parents[i]:
            lines.append(tag("parents", " ".join(ids[p] for p in network.parents[i])))
        lines.append(tag("probabilities", " ".join(map(repr, table))))
        lines += [tag("property", value, id=key) for key, value in properties.items()]
        lines.append("</cpt>")
    lines += ["</nodes>", "<extensions>", '<genie version="1.0" app="lacunet" name="lacunet">']
    lines += [
        f"<node id={attribute(ids[i])}>{tag('name', network.variables[i].name)}</node>"
        for i in order
    ]
    return "\n".join([*lines, "</genie>", "</extensions>", "</smile>", ""])


def _ids(names: Sequence[str]) -> list[str]:
    """Give each name as its id; one with spaces gets underscores, and more of them if taken."""
    taken = set(names)
    ids = []
    for name in names:
        new = name
        if not name or name.split() != [name]:
            new = "_".join(name.split()) or "_"
            while new in taken:
                new += "_"
        taken.add(new)
        ids.append(new)
    return ids


def _parents_first(network: Network) -> list[int]:
    """Order the variables so that parents precede children, and else as they stand."""
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
    nodes = [_node(element) for section in root.findall("nodes") for element in section]
    properties = [_properties(node) for node in nodes]
    pairs = list(zip(nodes, properties, strict=True))
    names = {n.get("id", ""): p.get("name", n.get("id", "")) for n, p in pairs}
    variables = [_variable(n, p, names) for n, p in pairs]
    families = [_family(node, names) for node in nodes]
    kept = _kept_order(properties)
    network, order = connect([variables[k] for k in kept], families, "node")
    genie = root.find("extensions/genie")
    first_fastest = genie is not None and genie.get("app", "").startswith(FIRST_FASTEST)
    tables = []
    for f, shape in zip(order, shapes(network), strict=True):
        words = only(nodes[f], "probabilities", families[f].where).split()
        table = numbers(words, shape, families[f].where)
        if first_fastest:
            parents = len(shape) - 1
            table = table.reshape(shape[:-1][::-1] + shape[-1:])
            table = np.transpose(table, [*reversed(range(parents)), parents])
        tables.append(table)
    return assemble(network, tables, [families[f].where for f in order])


def _node(element: Element) -> Element:
    if element.tag != "cpt" or not element.get("id"):
        raise ModelError(
            f"node '{element.get('id', '')}' is a <{element.tag}>. Only <cpt> nodes with an id are "
            "read: in GeNIe, change its type to a general chance node."
        )
    return element


def _properties(node: Element) -> dict[str, str]:
    return {p.get("id", ""): content(p) for p in node.findall("property")}


def _variable(node: Element, properties: Mapping[str, str], names: Mapping[str, str]) -> Variable:
    name = names[node.get("id", "")]
    labels = [state.get("id", "") for state in node.findall("state")]
    return variable(name, labels, properties.items(), f"node '{name}'")


def _family(node: Element, names: Mapping[str, str]) -> Family:
    name = names[node.get("id", "")]
    ids = " ".join(content(p) for p in node.findall("parents")).split()
    return Family(name, tuple(names.get(i, i) for i in ids), f"node '{name}'")


def _kept_order(properties: Sequence[Mapping[str, str]]) -> list[int]:
    """Where every node tells its position, and they are 0, 1, …: that order; else the file's."""
    told = [p.get("position", "") for p in properties]
    wanted = list(map(str, range(len(told))))
    return (
        [told.index(k) for k in wanted] if sorted(told) == sorted(wanted) else [*map(int, wanted)]
    )
