"""What the two XML formats share: parse or say why not, and write any text that XML can hold."""

import re
from xml.etree import ElementTree as ET
from xml.etree.ElementTree import Element

from lacunet.errors import ModelError
from lacunet.runtime.arrays import FloatArray

# XML 1.0 §2.2: no escape exists for these.
NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
# A bare tab or line end would be read as another one (XML 1.0 §2.11, §3.3.3).
ESCAPES = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"} | {c: f"&#{ord(c)};" for c in "\t\n\r"}
)
KEEP = "{http://www.w3.org/XML/1998/namespace}space"


def parse(text: str, root: str, name: str) -> Element:
    """Give the root element, which must be `root`."""
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
    """Give the text of an element; space around it counts only under xml:space="preserve"."""
    text = "".join(element.itertext())
    return text if element.get(KEEP) == "preserve" else text.strip()


def only(element: Element, name: str, where: str) -> str:
    """Give the text of the one element with a name inside another."""
    elements = element.findall(name)
    if len(elements) != 1:
        raise ModelError(f"{where} has {len(elements)} {name} elements. It must have one.")
    return content(elements[0])


def tag(name: str, text: str, **attributes: str) -> str:
    """Write an element that holds a text."""
    opened = " ".join([name, *(f"{k}={attribute(value)}" for k, value in attributes.items())])
    keep = ' xml:space="preserve"' if text != text.strip() else ""
    return f"<{opened}{keep}>{_escaped(text)}</{name}>"


def printed(table: FloatArray) -> str:
    """Write the numbers of a table, the child fastest, with all their digits."""
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
