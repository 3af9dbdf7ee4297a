"""What the runs are run on: bundled and drawn data, networks, and the command line."""

import contextlib
import csv
import gzip
import importlib.resources
import io
import json
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import numpy as np
import plain

import lacunet

PROGRESS = re.compile(r"^\s*\d+%  ")
SECONDS = re.compile(r"\s+(seconds|[-\d.,]+)$")
# H has a parent and shares a child with G; F and G lead to three columns each; a chain of three.
COLLIDER = ("a>H H>x H>y G>y G>z G>w", {"a": 2, "H": 2, "G": 2, "x": 2, "y": 3, "z": 2, "w": 3})
PAIR = (
    "F>G F>a F>b F>c G>d G>e G>f",
    {"F": 2, "G": 3, "a": 2, "b": 3, "c": 2, "d": 3, "e": 2, "f": 3},
)
CHAIN = (
    "P>Q Q>R P>a P>b Q>c Q>d R>e R>f",
    {"P": 2, "Q": 2, "R": 2, "a": 2, "b": 3, "c": 2, "d": 3, "e": 2, "f": 3},
)


@dataclass(frozen=True)
class Ran:
    """One call of the command line."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> list[str]:
        """What it told a person, without the progress: how much of that comes is up to a clock."""
        return [line for line in self.err.splitlines() if not PROGRESS.match(line)]

    @property
    def document(self) -> dict:
        """Exit code, remarks, and the JSON on stdout."""
        if self.code:
            raise RuntimeError(self.err)
        return {"code": self.code, "said": self.said, "json": plain.plain(json.loads(self.out))}


def command(*arguments: object) -> Ran:
    """Call the entry point as a shell would; stdout and stderr are no terminals."""
    from lacunet.cli import main

    out, err = io.StringIO(), io.StringIO()
    with (
        patch.object(sys, "argv", ["lacunet", *map(str, arguments)]),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
    return Ran(code, out.getvalue(), err.getvalue())


def printed(*arguments: object) -> dict:
    """The document that a command prints with --json."""
    return command(*arguments, "--json").document


def bundled(name: str) -> str:
    """Copy a bundled data set here, so that no folder gets into what is recorded."""
    shutil.copyfile(lacunet.dataset_path(name), f"{name}.csv")
    return f"{name}.csv"


def drawn(edges: str, states: dict[str, int], hidden: str = "", seed: int = 0) -> lacunet.Model:
    """A network by its edges, "H>a H>b", with tables drawn uniformly; it is read from a file."""
    rng = np.random.default_rng([seed, 96])
    pairs = [edge.split(">") for edge in edges.split()]
    secret, families = hidden.split(), []
    for child, size in states.items():
        parents = [a for a, b in pairs if b == child]
        table = rng.dirichlet(np.ones(size), [states[p] for p in parents])
        families.append({"child": child, "parents": parents, "table": table.tolist(), "alpha": 1.0})
    variables = [
        {"name": name, "states": list(range(size)), "hidden": name in secret}
        for name, size in states.items()
    ]
    document = {"format": "lacunet-model/1", "variables": variables, "families": families}
    Path("drawn.json").write_text(json.dumps(document), encoding="utf-8")
    return lacunet.read_model("drawn.json")


def random_dag(variables: int, hidden: int, seed: int) -> lacunet.Model:
    """A random graph: up to two parents each, two or three states; some that have children hide."""
    rng = np.random.default_rng([seed, 97])
    states = {f"v{i}": int(rng.integers(2, 4)) for i in range(variables)}
    edges = []
    for i in range(1, variables):
        parents = rng.choice(i, size=min(i, int(rng.integers(1, 3))), replace=False)
        edges += [f"v{p}>v{i}" for p in parents]
    inner = sorted({edge.split(">")[0] for edge in edges})
    secret = rng.choice(inner, size=hidden, replace=False)
    return drawn(" ".join(edges), states, " ".join(secret), seed)


def alarm() -> lacunet.Model:
    """The ALARM network, from the copy that comes with pgmpy."""
    packed = importlib.resources.files("pgmpy") / "utils" / "example_models" / "alarm.bif.gz"
    Path("alarm.bif").write_bytes(gzip.decompress(packed.read_bytes()))
    return lacunet.read_network("alarm.bif")


def written(path: str) -> dict:
    """A CSV file, column by column; what is a number everywhere is compared as one."""
    with Path(path).open(newline="", encoding="utf-8") as file:
        header, *rows = list(csv.reader(file))
    columns = zip(*rows, strict=True)
    return {name: _column(cells) for name, cells in zip(header, columns, strict=True)}


def _column(cells: tuple[str, ...]) -> object:
    try:
        return plain.plain(np.array([float(cell) for cell in cells]))
    except ValueError:
        return plain.plain(np.array(cells, dtype=object))


def read_json(path: str) -> object:
    return plain.plain(json.loads(Path(path).read_text(encoding="utf-8")))


def lines(text: str) -> list[str]:
    """A text as it is printed, without the column of seconds, the last one of a table."""
    kept, timed = [], False
    for line in text.splitlines():
        timed = bool(line.strip()) and (timed or line.rstrip().endswith("seconds"))
        kept.append(re.sub(SECONDS, "", line) if timed else line.rstrip())
    return kept
