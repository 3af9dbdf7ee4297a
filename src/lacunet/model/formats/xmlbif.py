"""XMLBIF 0.3, as JavaBayes, Weka, pgmpy (``.xml``) and pyAgrum (``.bifxml``) write it.

``TABLE`` holds the numbers with the first ``GIVEN`` slowest and the child fastest. Rows may miss
the sum 1 by rounded digits only (see `check_table`): pyAgrum prints six. A name with space around
it is written under ``xml:space="preserve"``, and so read back.
"""

from __future__ import annotations

from xml.etree.ElementTree import Element

from lacunet.errors import ModelError
from lacunet.model.formats.assembly import Family, assemble, connect, numbers, shapes
from lacunet.model.formats.typed import to_properties, variable
from lacunet.model.formats.xml_text import content, only, parse, tag
from lacunet.model.network import Model, Variable


def write(model: Model) -> str:
    """Give the text of an XMLBIF file."""
    network = model.network
    names = [v.name for v in network.variables]
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<BIF VERSION="0.3">', "<NETWORK>"]
    lines.append("<NAME>lacunet</NAME>")
    for v in network.variables:
        lines += ['<VARIABLE TYPE="nature">', tag("NAME", v.name)]
        lines += [tag("OUTCOME", text) for text in v.labels]
        lines += [tag("PROPERTY", f"{k} = {value}") for k, value in to_properties(v).items()]
        lines.append("</VARIABLE>")
    for i, parents in enumerate(network.parents):
        table = network.layout.table(model.theta, i).reshape(-1).tolist()
        lines += ["<DEFINITION>", tag("FOR", names[i])]
        lines += [tag("GIVEN", names[p]) for p in parents]
        lines += [tag("TABLE", " ".join(map(repr, table))), "</DEFINITION>"]
    return "\n".join([*lines, "</NETWORK>", "</BIF>", ""])


def read(text: str) -> Model:
    """Read the text of an XMLBIF file; every mistake is a ModelError that names the place."""
    root = parse(text, "BIF", "XMLBIF")
    variables = [_variable(element) for element in root.iter("VARIABLE")]
    definitions = list(root.iter("DEFINITION"))
    families = [_family(element) for element in definitions]
    network, order = connect(variables, families, "DEFINITION")
    tables = [
        numbers(only(definitions[f], "TABLE", families[f].where).split(), shape, families[f].where)
        for f, shape in zip(order, shapes(network), strict=True)
    ]
    return assemble(network, tables, [families[f].where for f in order])


def _variable(element: Element) -> Variable:
    name = only(element, "NAME", "a VARIABLE")
    where = f"VARIABLE '{name}'"
    kind = element.get("TYPE", "nature")
    if kind != "nature":
        raise ModelError(f"{where} has the TYPE '{kind}'. Only nature is a random variable.")
    properties = [content(p).partition("=") for p in element.findall("PROPERTY")]
    return variable(
        name,
        [content(outcome) for outcome in element.findall("OUTCOME")],
        [(key.strip(), value.strip()) for key, _, value in properties],
        where,
    )


def _family(element: Element) -> Family:
    child = only(element, "FOR", "a DEFINITION")
    parents = tuple(content(given) for given in element.findall("GIVEN"))
    return Family(child, parents, f"DEFINITION '{child}'")
