"""XDSL, the format of GeNIe and SMILE; pgmpy and pyAgrum write it too.

``probabilities`` holds the numbers with the first parent slowest and the child fastest, as in
GeNIe and pgmpy. pyAgrum alone writes and reads the first parent fastest: its files say
``app="aGrUM …"`` and are read so, but **pyAgrum scrambles the tables with two or more parents of
any XDSL file that it did not write**, ours and GeNIe's. Give it BIF or XMLBIF. Deterministic and
noisy-max nodes are expanded to their tables (`xdsl_nodes`).

An id has no spaces, since the list of parents is separated by them. A name with spaces is written
with an id of its own and a property ``name``. SMILE wants parents before children: where the
variables stand in another order, the property ``position`` keeps it.
"""

from collections.abc import Mapping, Sequence
from xml.etree.ElementTree import Element

import numpy as np

from lacunet.errors import ModelError
from lacunet.models.formats.assembly import Family, assemble, shape
from lacunet.models.formats.typed import to_properties, variable
from lacunet.models.formats.xdsl_nodes import READERS
from lacunet.models.formats.xml_text import attribute, content, parse, printed, tag
from lacunet.models.network import Model, Network, Variable
from lacunet.runtime.arrays import FloatArray

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
    told = [{p.get("id", ""): content(p) for p in node.findall("property")} for node in nodes]
    ids = [node.get("id", "") for node in nodes]
    names = {i: properties.get("name", i) for i, properties in zip(ids, told, strict=True)}
    labels = [[state.get("id", "") for state in node.findall("state")] for node in nodes]
    variables = [
        variable(names[i], its, properties, f"node '{names[i]}'")
        for i, its, properties in zip(ids, labels, told, strict=True)
    ]
    families = [_family(node, names) for node in nodes]
    genie = root.find("extensions/genie")
    first_fastest = genie is not None and genie.get("app", "").startswith(FIRST_FASTEST)

    def table(family: Family, its: Sequence[Variable]) -> FloatArray:
        read_node = READERS[family.entry.tag]
        given = read_node(family.entry, its, family.where)
        if not first_fastest or family.entry.tag != "cpt":
            return given
        *parents, child = its
        reversed_ = given.reshape(shape([*parents[::-1], child]))
        return np.transpose(reversed_, [*reversed(range(len(parents))), len(parents)])

    return assemble([variables[k] for k in _kept_order(told)], families, "node", table)


def _node(element: Element) -> Element:
    if element.tag not in READERS or not element.get("id"):
        known = ", ".join(f"<{tag}>" for tag in READERS)
        raise ModelError(
            f"node '{element.get('id', '')}' is a <{element.tag}>. Only {known} nodes with an id "
            "are read: in GeNIe, change its type to a general chance node."
        )
    return element


def _family(node: Element, names: Mapping[str, str]) -> Family:
    name = names[node.get("id", "")]
    ids = " ".join(content(p) for p in node.findall("parents")).split()
    return Family(name, tuple(names.get(i, i) for i in ids), f"node '{name}'", node)


def _kept_order(properties: Sequence[Mapping[str, str]]) -> list[int]:
    """Where every node tells its position, and they are 0, 1, …: that order; else the file's."""
    told = [p.get("position", "") for p in properties]
    places = range(len(told))
    kept = sorted(told) == sorted(map(str, places))
    return [told.index(str(k)) if kept else k for k in places]
