"""A graph as a short text, without tables: ``class[3] -> A B C; A -> B``.

An arrow leads from every name before it to every name behind it; statements end with a semicolon or
a line; blanks or commas stand between names, and names with either are in quotation marks. A number
in brackets is how many states a hidden variable has. What the variables are, data say.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise, product

from lacunet.errors import ModelError

ARROWS = ("->", "→")
EXAMPLE = "Write for example: class[3] -> A B C; A -> B"
_TOKEN = re.compile(
    r"""[ \t\r,]*(?:(?P<arrow>->|→)|(?P<end>[;\n])|\[\s*(?P<size>[0-9]+)\s*\]|"""
    r""""(?P<double>[^"\n]+)"|'(?P<single>[^'\n]+)'|(?P<plain>(?:(?!->|→)[^\s;,\[\]"'])+))"""
)
_COMMENT = re.compile(r"(?:^|(?<=\s))#[^\n]*")


@dataclass(frozen=True)
class Sketch:
    """Names and arrows; what is no column of the data is hidden."""

    names: tuple[str, ...]  # in the order in which they occur
    edges: tuple[tuple[str, str], ...]  # parent and child, each once
    sizes: Mapping[str, int] = field(default_factory=dict)  # states, where they are told

    def parents_of(self, name: str) -> list[str]:
        """What leads to a variable."""
        return [u for u, v in self.edges if v == name]


def is_sketch(text: str) -> bool:
    """Whether a text is a graph, not the name of a file."""
    return any(arrow in text for arrow in ARROWS)


def read_sketch(text: str) -> Sketch:
    """Read a graph.

    >>> found = read_sketch("class[3] -> A 'mood today'; A -> B -> C")
    >>> found.names, dict(found.sizes)
    (('class', 'A', 'mood today', 'B', 'C'), {'class': 3})
    >>> found.edges
    (('class', 'A'), ('class', 'mood today'), ('A', 'B'), ('B', 'C'))
    """
    reader = _Reader(_COMMENT.sub("", text))
    return reader.read()


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.names: dict[str, None] = {}
        self.edges: dict[tuple[str, str], None] = {}
        self.sizes: dict[str, int] = {}
        self.groups: list[list[str]] = [[]]  # of one statement, with an arrow between

    def read(self) -> Sketch:
        at = 0
        while rest := self.text[at:].lstrip(" \t\r,"):
            at = len(self.text) - len(rest)
            found = _TOKEN.match(self.text, at)
            if found is None:
                raise self._wrong(f"'{rest[0]}' is not understood")
            self._take(found)
            at = found.end()
        self._end()
        if not self.edges:
            raise self._wrong("it has no arrow")
        return Sketch(tuple(self.names), tuple(self.edges), self.sizes)

    def _take(self, found: re.Match[str]) -> None:
        name = found["double"] or found["single"] or found["plain"]
        if name:
            self.names[name] = None
            self.groups[-1].append(name)
        elif found["size"]:
            self._size(int(found["size"]))
        elif found["arrow"]:
            self.groups.append([])
        else:
            self._end()

    def _size(self, size: int) -> None:
        if not self.groups[-1]:
            raise self._wrong(f"[{size}] stands behind no name")
        name = self.groups[-1][-1]
        if size < 1:
            raise self._wrong(f"'{name}' would have no state")
        if self.sizes.setdefault(name, size) != size:
            raise self._wrong(f"'{name}' has {self.sizes[name]} states in one place, {size} later")

    def _end(self) -> None:
        if len(self.groups) > 1 and not all(self.groups):
            raise self._wrong("an arrow has no name on one of its sides")
        for before, behind in pairwise(self.groups):
            for u, v in product(before, behind):
                if u == v:
                    raise self._wrong(f"an arrow leads from '{u}' to itself")
                self.edges[u, v] = None
        self.groups = [[]]

    def _wrong(self, what: str) -> ModelError:
        short = " ".join(self.text.split())
        return ModelError(f"graph '{short[:80]}': {what}. {EXAMPLE}")
