"""(v): reading BIF files, against pyAgrum; and drawing networks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.peer import Peers
from bench.report import Line, faster, skipped, within
from bench.timing import clock
from lacunet.models.conjugacy import random_theta
from lacunet.models.formats import read_network, write_network
from lacunet.models.network import Model, Network, Variable
from lacunet.models.prior import PAPER_ALPHA, uniform_alpha
from lacunet.plots.graph_layout import draw

WANTED = 1.0  # times as fast as pyAgrum,
SMALL = 50_000  # bytes: below, both take a few milliseconds, most of it for what is no reading
AT_MOST = 120.0  # seconds
DRAWN, DRAWN_LIMIT = 76, 1.0  # variables, and seconds
SEED = 1996


@dataclass(frozen=True)
class Size:
    """A network as large as a known one."""

    name: str
    variables: int
    states: tuple[int, ...]  # in turn
    parents: tuple[int, ...]  # at most so many, in turn


SIZES = (
    Size("ALARM", 37, (2, 3, 4), (0, 1, 2, 2)),
    Size("link", 724, (2, 2, 4), (1, 2, 1, 2, 3)),
    Size("MUNIN", 1041, (3, 5, 7, 6), (0, 1, 2, 2, 3)),
    Size("diabetes", 413, (11, 12, 18), (1, 2, 2)),
)


def run(peers: Peers, quick: bool) -> Iterator[Line]:
    for size in SIZES:
        path = peers.folder / f"{size.name}.bif"
        write_network(made(size), path)
        yield _reading(peers, size, path, 2 if quick else 5)
    network = made(Size("", DRAWN, (2, 3), (0, 1, 2, 2))).network
    times = [clock(lambda: draw(network)) for _ in range(3)]
    yield within("v", f"a picture of {DRAWN} variables", min(times), DRAWN_LIMIT, trials=times)


def _reading(peers: Peers, size: Size, path: Path, trials: int) -> Line:
    read_network(path)  # once, before any clock starts
    mine = [clock(lambda: read_network(path)) for _ in range(trials)]
    theirs = peers.pyagrum("bif", path, "--repeats", str(trials), limit=AT_MOST)
    mine += [clock(lambda: read_network(path)) for _ in range(trials)]
    length = path.stat().st_size
    title = f"read a BIF file of the size of {size.name}, {length / 1e6:.2g} MB; pyAgrum"
    if "skipped" in theirs:
        return skipped("v", title, theirs["skipped"], min(mine))
    trials_of = {"ours_trials": mine, "their_trials": theirs["seconds"]}
    wanted = WANTED if length > SMALL else None
    return faster("v", title, min(mine), min(theirs["seconds"]), wanted, **trials_of)


def made(size: Size) -> Model:
    """Draw a network of a size: parents are near in the order, as they are in large networks."""
    rng = np.random.default_rng(SEED)
    variables, parents = [], []
    for i in range(size.variables):
        states = tuple(f"state{k}" for k in range(size.states[i % len(size.states)]))
        variables.append(Variable(f"variable_{i}", states))
        near = np.arange(max(0, i - 20), i)
        most = min(size.parents[i % len(size.parents)], len(near))
        parents.append(sorted(rng.choice(near, most, replace=False).tolist()) if most else [])
    network = Network.build(variables, parents)
    layout = network.layout
    return Model(network, random_theta(layout, rng), uniform_alpha(layout, PAPER_ALPHA))
