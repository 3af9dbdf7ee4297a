"""XMLBIF 0.3, as JavaBayes, Weka, pgmpy (``.xml``) and pyAgrum (``.bifxml``) write it.

The functions to parse and write XML also serve XDSL.
"""

import re
from collections.abc import Sequence
from xml.etree import ElementTree as ET
from xml.etree.ElementTree import Element

from lacunet.errors import ModelError
from lacunet.models.formats.assembly import (
    Family,
    assemble,
    numbers,
    properties,
    tables,
    to_properties,
    variable,
)
from lacunet.models.network import Model, Variable
from lacunet.runtime.arrays import FloatArray

# XML 1.0 §2.2: no escape exists for these.
NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# Parsers normalise bare tabs and line ends (XML 1.0 §2.11, §3.3.3).
ESCAPES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"} | {c: f"&#{ord(c)};" for c in "\t\n\r"}
)
KEEP = "{http://www.w3.org/XML/1998/namespace}space"


def parse(text: str, root: str, name: str) -> Element:
    """Parse XML; the tag of the root element must be `root`."""
    try:
        element = ET.fromstring(text)
    except ET.ParseError as error:
        line, _ = error.position
        raise ModelError(
            f"line {line}: this is not valid XML ({str(error).split(':')[0]}). "
            "The file may be cut off, or be another format."
        ) from None
    except ValueError as error:  # an encoding that does not exist
        raise ModelError(f"this is not valid XML ({error}).") from None
    if element.tag != root:
        raise ModelError(
            f"this is not an {name} file: its root is <{element.tag}>, and must be <{root}>."
        )
    return element


def content(element: Element) -> str:
    """The text of an element, stripped unless xml:space="preserve"."""
    text = "".join(element.itertext())
    return text if element.get(KEEP) == "preserve" else text.strip()


def only(element: Element, name: str, where: str) -> str:
    """The text of the only child element with a name."""
    elements = element.findall(name)
    if len(elements) != 1:
        raise ModelError(f"{where} has {len(elements)} {name} elements. It must have one.")
    return content(elements[0])


def tag(name: str, text: str, **attributes: str) -> str:
    """Write an element with a text."""
    opened = " ".join([name, *(f"{k}={attribute(value)}" for k, value in attributes.items())])
    keep = ' xml:space="preserve"' if text != text.strip() else ""
    return f"<{opened}{keep}>{_escaped(text)}</{name}>"


def printed(table: FloatArray) -> str:
    """Write the numbers of a table with all digits; the child varies fastest."""
    return " ".join(map(repr, table.reshape(-1).tolist()))


def attribute(text: str) -> str:
    """Write the value of an attribute, with its quotes."""
    return f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    if bad := NOT_IN_XML.search(text):
        raise ModelError(
            f"the name or state {text!r} holds the character {bad[0]!r}, which XML cannot hold. "
            "Rename it, or write a .json or .bif file."
        )
    return text.translate(ESCAPES)


def write(model: Model) -> str:
    """The text of an XMLBIF file."""
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', '<BIF VERSION="0.3">', "<NETWORK>"]
    lines.append("<NAME>lacunet</NAME>")
    for v in model.network.variables:
        lines += ['<VARIABLE TYPE="nature">', tag("NAME", v.name)]
        lines += [tag("OUTCOME", text) for text in v.labels]
        lines += [tag("PROPERTY", f"{k} = {value}") for k, value in to_properties(v).items()]
        lines.append("</VARIABLE>")
    for (*parents, child), table in tables(model):
        lines += ["<DEFINITION>", tag("FOR", child.name)]
        lines += [tag("GIVEN", p.name) for p in parents]
        lines += [tag("TABLE", printed(table)), "</DEFINITION>"]
    return "\n".join([*lines, "</NETWORK>", "</BIF>", ""])


def read(text: str) -> Model:
    """Read the text of an XMLBIF file; every mistake is a ModelError that names the place."""
    root = parse(text, "BIF", "XMLBIF")
    variables = [_variable(element) for element in root.iter("VARIABLE")]
    families = [_family(element) for element in root.iter("DEFINITION")]

    def table(family: Family, its: Sequence[Variable]) -> FloatArray:
        return numbers(only(family.entry, "TABLE", family.where).split(), its, family.where)

    return assemble(variables, families, "DEFINITION", table)


def _variable(element: Element) -> Variable:
    name = only(element, "NAME", "a VARIABLE")
    where = f"VARIABLE '{name}'"
    kind = element.get("TYPE", "nature")
    if kind != "nature":
        raise ModelError(f"{where} has the TYPE '{kind}'. Only nature is a random variable.")
    labels = [content(outcome) for outcome in element.findall("OUTCOME")]
    extra = properties(content(p) for p in element.findall("PROPERTY"))
    return variable(name, labels, extra, where)


def _family(element: Element) -> Family:
    child = only(element, "FOR", "a DEFINITION")
    parents = tuple(content(given) for given in element.findall("GIVEN"))
    return Family(child, parents, f"DEFINITION '{child}'", element)
