"""XMLBIF 0.3, as JavaBayes, Weka, pgmpy (``.xml``) and pyAgrum (``.bifxml``) write it.

``TABLE`` holds the numbers with the first ``GIVEN`` slowest and the child fastest. Rows may miss
the sum 1 by rounded digits only (see `check_table`): pyAgrum prints six. A name with space around
it is written under ``xml:space="preserve"``, and so read back.
"""

from collections.abc import Sequence
from xml.etree.ElementTree import Element

from lacunet.errors import ModelError
from lacunet.models.formats.assembly import Family, assemble, numbers, tables
from lacunet.models.formats.typed import properties, to_properties, variable
from lacunet.models.formats.xml_text import content, only, parse, printed, tag
from lacunet.models.network import Model, Variable
from lacunet.runtime.arrays import FloatArray


def write(model: Model) -> str:
    """Give the text of an XMLBIF file."""
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
    told = properties(content(p) for p in element.findall("PROPERTY"))
    return variable(name, labels, told, where)


def _family(element: Element) -> Family:
    child = only(element, "FOR", "a DEFINITION")
    parents = tuple(content(given) for given in element.findall("GIVEN"))
    return Family(child, parents, f"DEFINITION '{child}'", element)
