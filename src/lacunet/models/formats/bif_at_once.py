"""BIF as programs write it, read a block at a time: what makes large files quick to read.

Names are bare words without spaces, quotes or slashes, rows of a block all have the same shape, and
nothing is missing. Whatever is not so, a mistake included, is left to the reader of `bif`, which
goes word by word and knows the line of each: `read` then gives None, and never a message.
"""

import math
import re
from collections.abc import Sequence

import numpy as np

from lacunet.errors import ModelError
from lacunet.models.formats.assembly import Family, assemble, shape
from lacunet.models.formats.typed import properties, variable
from lacunet.models.network import Model, Variable
from lacunet.runtime.arrays import FloatArray

NAME = r'[^\s{}()\[\]|,;"]+'
COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)  # one that is never closed is all
BLOCK = re.compile(
    r"\s*(?:"
    rf"variable\s+(?P<name>{NAME})\s*\{{\s*type\s+discrete\s*\[\s*(?P<number>\d+)\s*\]"
    r"\s*\{(?P<labels>[^{}()\[\]|;]*)\}\s*;(?P<properties>(?:\s*property\s[^{}()\[\]|,;]*;)*)\s*\}|"
    rf"probability\s*\(\s*(?P<child>{NAME})\s*(?:\|(?P<parents>[^{{}}()\[\]|;]*))?\)"
    r"\s*\{(?P<body>[^{}\[\]|]*)\}|"
    r"network\s[^{}]*\{[^{}]*\}"
    r")\s*"
)
ROW = re.compile(r"\(([^()]*)\)([^();]*);")
ROWS = re.compile(r"(?:\s*\([^()]*\)[^();]*;)*\s*")


class _UnlikeError(Exception):
    """Programs do not write it so."""


def read(text: str) -> Model | None:
    """Read the text of a BIF file; None if it is not in the common form, or not right."""
    if '"' in text:
        return None
    if "//" in text or "/*" in text:
        if text.rfind("/*") > text.rfind("*/"):  # one is never closed, perhaps
            return None
        text = COMMENT.sub(" ", text)
    variables: list[Variable] = []
    families: list[Family] = []
    try:
        end = 0
        while end < len(text):
            block = BLOCK.match(text, end)
            if block is None:
                return None
            end = block.end()
            if block["name"]:
                variables.append(_variable(block))
            elif block["child"]:
                parents = (block["parents"] or "").replace(",", " ").split()
                families.append(Family(block["child"], tuple(parents), "", block["body"]))
        return assemble(variables, families, "", _table)
    except (_UnlikeError, ModelError):
        return None


def _variable(block: re.Match[str]) -> Variable:
    labels = block["labels"].replace(",", " ").split()
    if str(len(labels)) != block["number"] or block["labels"].count(",") != len(labels) - 1:
        raise _UnlikeError
    told: dict[str, str] = {}
    if block["properties"]:
        entries = (entry.strip() for entry in block["properties"].split(";"))
        told = properties(entry.removeprefix("property") for entry in entries if entry)
    return variable(block["name"], labels, told, "")


def _table(family: Family, variables: Sequence[Variable]) -> FloatArray:
    """Read rows by parent states, or one table."""
    *sizes, states = shape(variables)
    body: str = family.entry
    if "(" not in body:
        return _one_table(body, sizes, states)
    rows = ROW.findall(body)
    needed = math.prod(sizes)
    if len(rows) != needed or not ROWS.fullmatch(body):
        raise _UnlikeError
    given, numbers = zip(*rows, strict=True)
    if {text.count(",") for text in numbers} != {states - 1}:
        raise _UnlikeError
    table = _numbers(",".join(numbers).split(","), needed * states).reshape(needed, states)
    places = _places(",".join(given).split(","), variables[:-1])
    if places != list(range(needed)):
        table = table[np.argsort(places)]
    return table.reshape(*sizes, states)


def _one_table(body: str, sizes: Sequence[int], states: int) -> FloatArray:
    """Read a table in which the child varies slowest."""
    words, end, after = body.partition(";")
    keyword, *numbers = words.replace(",", " ").split() or [""]
    if keyword != "table" or not end or after.strip():
        raise _UnlikeError
    flat = _numbers(numbers, math.prod(sizes) * states)
    return np.moveaxis(flat.reshape(states, *sizes), 0, -1) if sizes else flat


def _places(words: Sequence[str], parents: Sequence[Variable]) -> list[int]:
    """Give the place of every row, of which the words name the states of the parents."""
    places = [0] * (len(words) // len(parents))
    bare = [word.strip() for word in words]
    try:
        for k, parent in enumerate(parents):
            labels = parent.labels
            codes = dict(zip(labels, range(len(labels)), strict=True))
            own = map(codes.__getitem__, bare[k :: len(parents)])
            size = len(labels)
            places = [size * p + code for p, code in zip(places, own, strict=True)]
    except (KeyError, ValueError):
        raise _UnlikeError from None
    if len(set(places)) < len(places):
        raise _UnlikeError
    return places


def _numbers(words: Sequence[str], needed: int) -> FloatArray:
    try:
        numbers = np.array(list(map(float, words)))
    except ValueError:
        raise _UnlikeError from None
    if len(numbers) != needed:
        raise _UnlikeError
    return numbers
