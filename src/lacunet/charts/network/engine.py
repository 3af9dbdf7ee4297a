"""Graphviz's door: it places boxes in layers, and leads edges around them.

pygraphviz brings Graphviz along as a wheel: the layered layout that others are measured by, kept up
for thirty years, under permissive licenses, and the same on every machine. Where it is not
installed, the program `dot` does, if there is one.
"""

import json
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lacunet.charts.network.drawing import HEAD, Curve, Point
from lacunet.errors import OptionError
from lacunet.optional import find, require

INCH = 72.0  # pixels: Graphviz's points
FIRM = 3  # weight of a firm link, by that of another
PROGRAM = "dot"
WHAT = "a picture of a network"


@dataclass(frozen=True)
class Direction:
    """How layers run, and how much room there is between them."""

    name: str  # Graphviz's
    within: float  # pixels between boxes of a layer
    between: float  # pixels between layers


DOWN, DOWN_CLOSE, ACROSS = Direction("TB", 18, 34), Direction("TB", 10, 34), Direction("LR", 12, 26)


@dataclass(frozen=True)
class Link:
    """An edge to lead from one box to another."""

    tail: int
    head: int
    firm: bool = False  # short and straight before others
    from_above: bool = False  # it ends in the middle of the upper edge, without a head


@dataclass(frozen=True)
class Places:
    """What Graphviz found, in pixels, y down."""

    width: float
    height: float
    middles: tuple[Point, ...]  # of the boxes
    curves: tuple[Curve, ...]  # of the links
    tips: tuple[Point, ...]  # where the heads of links end


def place(
    sizes: Sequence[tuple[float, float]], links: Sequence[Link], direction: Direction = DOWN
) -> Places:
    """Place boxes of given (width, height), and lead links between them."""
    if not sizes:
        return Places(0.0, 0.0, (), (), ())
    found = json.loads(_run(_question(sizes, links, direction)))
    width, height = (float(n) for n in found["bb"].split(",")[2:])

    def point(text: str) -> Point:
        x, y = text.split(",")
        return float(x), height - float(y)

    # In the order that they were asked for: Graphviz numbers edges by their tails.
    boxes = {int(box["name"]): point(box["pos"]) for box in found.get("objects", ())}
    edges = {int(edge["id"]): edge["pos"].split() for edge in found.get("edges", ())}
    tips, curves = [], []
    for k in range(len(links)):
        curve = tuple(point(text) for text in edges[k] if not text.startswith("e,"))
        ends = [point(text[2:]) for text in edges[k] if text.startswith("e,")]
        curves.append(curve)
        tips.append(ends[0] if ends else curve[-1])
    middles = tuple(boxes[i] for i in range(len(sizes)))
    return Places(width, height, middles, tuple(curves), tuple(tips))


def _question(
    sizes: Sequence[tuple[float, float]], links: Sequence[Link], direction: Direction
) -> str:
    """Write the graph in Graphviz's language: numbers only, so that there is nothing to escape."""
    apart = direction.within / INCH, direction.between / INCH
    lines = [
        "digraph {",
        f"rankdir={direction.name} nodesep={apart[0]} ranksep={apart[1]}",
        f'node [shape=box fixedsize=true label=""] edge [arrowsize={HEAD / 10.0}]',
    ]
    lines += [
        f"{i} [width={width / INCH} height={height / INCH}]"
        for i, (width, height) in enumerate(sizes)
    ]
    lines += [
        f"{link.tail} -> {link.head} [id={k} weight={FIRM if link.firm else 1}"
        f"{' headport=n arrowhead=none' * link.from_above}]"
        for k, link in enumerate(links)
    ]
    return "\n".join([*lines, "}"])


def _run(question: str) -> str | bytes:
    package = find("pygraphviz")
    program = shutil.which(PROGRAM)
    if package is None and program is not None:
        return _by_program(program, question)
    return _by_package(package or require("pygraphviz", extra="report", what=WHAT), question)


def _by_package(package: Any, question: str) -> str | bytes:
    graph = package.AGraph(string=question)
    try:
        answer: bytes = graph.draw(format="json0", prog="dot")
        return answer
    finally:
        graph.close()


def _by_program(program: str, question: str) -> str | bytes:
    done = subprocess.run(
        [program, "-Tjson0"], input=question, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise OptionError(f"{WHAT}: the program {program} failed: {done.stderr.strip()[:200]}")
    return done.stdout


def available() -> bool:
    """Whether anything that places boxes is installed."""
    return find("pygraphviz") is not None or shutil.which(PROGRAM) is not None
