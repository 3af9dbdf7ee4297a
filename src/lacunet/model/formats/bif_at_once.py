"""BIF as programs write it, read a block at a time: what makes large files quick to read.

Names are bare words without spaces, quotes or slashes, rows of a block all have the same shape, and
nothing is missing. Whatever is not so, a mistake included, is left to the reader of `bif`, which
goes word by word and knows the line of each: `read` then gives None, and never a message.
"""

import math
import re
from collections.abc import Sequence

import numpy as np

from lacunet.arrays import FloatArray
from lacunet.errors import ModelError
from lacunet.model.formats.assembly import Family, assemble, shape
from lacunet.model.formats.typed import properties, variable
from lacunet.model.network import Model, Variable

NAME = r'[^\s{}()\[\]|,;"]+'
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
BLOCK = re.compile(
    r"\s*(?:"
    rf"variable\s+(?P<name>{NAME})\s*\{{\s*type\s+discrete\s*\[\s*(?P<number>\d+)\s*\]"
    r"\s*\{(?P<labels>[^{}()\[\]|;]*)\}\s*;(?P<properties>(?:\s*property\s[^{}()\[\]|,;]*;)*)\s*\}|"
    rf"probability\s*\(\s*(?P<child>{NAME})\s*(?:\|(?P<parents>[^{{}}()\[\]|;]*))?\)"
    r"\s*\{(?P<body>[^{}\[\]|]*)\}|"
    r"network\s[^{}]*\{[^{}]*\}"
    r")\s*"
)
WORDS = str.maketrans("(),;", "    ")
NO_SIGN = re.compile(r"[^(),;]+")


class _UnlikeError(Exception):
    """Programs do not write it so."""


def read(text: str) -> Model | None:
    """Read the text of a BIF file; None if it is not in the common form, or not right."""
    if '"' in text:
        return None
    if "//" in text or "/*" in text:
        text = COMMENT.sub(" ", text)
        if "/*" in text:  # one that is never closed
            return None
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
    labels = [label.strip() for label in block["labels"].split(",")]
    if str(len(labels)) != block["number"] or any(len(label.split()) != 1 for label in labels):
        raise _UnlikeError
    told = (entry.strip().removeprefix("property") for entry in block["properties"].split(";"))
    return variable(block["name"], labels, properties(entry for entry in told if entry), "")


def _table(family: Family, variables: Sequence[Variable]) -> FloatArray:
    """Read rows by parent states, or one table."""
    parents = variables[:-1]
    *sizes, states = shape(variables)
    body: str = family.entry
    words = body.translate(WORDS).split()
    signs = NO_SIGN.sub("", body)
    rows = math.prod(sizes)
    if words[:1] == ["table"] and len(words) == 1 + rows * states and signs.strip(",") == ";":
        flat = _numbers(words[1:]).reshape(states, *sizes)  # the child varies slowest
        return np.moveaxis(flat, 0, -1)
    width = len(parents) + states
    row = f"({',' * (len(parents) - 1)}){',' * (states - 1)};"
    if not parents or len(words) != rows * width or signs != row * rows:
        raise _UnlikeError
    places = _places(words, parents, width)
    table = np.empty((rows, states))
    table[places] = _numbers(words).reshape(rows, states)
    return table.reshape(*sizes, states)


def _places(words: list[str], parents: Sequence[Variable], width: int) -> list[int]:
    """Take the states of the parents out of the words; give the place of every row."""
    places = [0] * (len(words) // width)
    for k, parent in enumerate(parents):
        codes = {label: code for code, label in enumerate(parent.labels)}
        column = words[:: width - k]
        del words[:: width - k]
        try:
            places = [
                len(codes) * place + codes[word] for place, word in zip(places, column, strict=True)
            ]
        except KeyError:
            raise _UnlikeError from None
    if len(set(places)) < len(places):
        raise _UnlikeError
    return places


def _numbers(words: Sequence[str]) -> FloatArray:
    try:
        return np.array(list(map(float, words)))
    except ValueError:
        raise _UnlikeError from None
