"""(r): graphs from incomplete data: ALARM, cells missing at random, beside its complete rows."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np

from bench.peer import Peers
from bench.report import Line, skipped, within
from bench.structure.shipped import shipped_network
from bench.timing import clock
from lacunet.api import structural_hamming_distance
from lacunet.data.table import Column, Table
from lacunet.models.network import Model
from lacunet.models.surgery import sample_codes
from lacunet.structure.learned import Learned
from lacunet.structure.learning import learn_structure

ALPHA = "bdeu:10"
ROWS, MANY = 5_090, 50_900
REPLICATES = "LACUNET_REPLICATES"  # environment: how many data sets (default 20; 2 for a look)
AT_MOST, MANY_AT_MOST = 5.0, 30.0  # seconds
# Mean distance of graphs from the true one: published, by structural EM with imputation; and how
# far above that of our own search on the complete rows it may be.
PUBLISHED = {0.05: 26.2, 0.1: 28.6, 0.2: 33.2}
ABOVE = {0.05: 2.0, 0.1: 4.0, 0.2: 6.0}


def run(peers: Peers, quick: bool) -> Iterator[Line]:
    model = shipped_network(peers, "alarm")
    if isinstance(model, str):
        yield skipped("r", "graphs with holes: ALARM", model)
        return
    times: dict[float, list[float]] = {}
    distances: dict[float, list[int]] = {}
    for replicate in range(replicates(quick)):
        for missing in (0.0, *PUBLISHED):
            seconds, distance = _trial(model, ROWS, missing, replicate)
            times.setdefault(missing, []).append(seconds)
            distances.setdefault(missing, []).append(distance)
    complete = float(np.mean(distances[0.0]))
    for missing, published in PUBLISHED.items():
        title = f"graphs: ALARM, {ROWS:,} rows, {missing:.0%} of the cells missing"
        yield within("r", title, float(np.median(times[missing])), AT_MOST, trials=times[missing])
        yield _near(missing, float(np.mean(distances[missing])), complete, published)
    if not quick:
        seconds, _ = _trial(model, MANY, 0.1, 0)
        title = f"graphs: ALARM, {MANY:,} rows, 10% of the cells missing"
        yield within("r", title, seconds, MANY_AT_MOST)


def replicates(quick: bool) -> int:
    """How many data sets to draw."""
    return int(os.environ.get(REPLICATES) or (2 if quick else 20))


def _trial(model: Model, rows: int, missing: float, replicate: int) -> tuple[float, int]:
    """Seconds, and the distance of the graph found from the true one."""
    rng = np.random.default_rng([replicate, rows])
    columns = [Column(v.name, v.states) for v in model.network.variables]
    table = Table.from_codes(sample_codes(model, rows, rng, missing), columns)
    found: list[Learned] = []
    seconds = clock(lambda: found.append(learn_structure(table, ALPHA)))
    return seconds, structural_hamming_distance(found[0].network, model.network)


def _near(missing: float, ours: float, complete: float, published: float) -> Line:
    most = min(complete + ABOVE[missing], published)
    return Line(
        "r",
        f"  mean distance (SHD of CPDAGs) at {missing:.0%}; from complete rows; published",
        f"{ours:.1f}",
        f"{complete:.1f}; {published:.1f}",
        f"{ours - complete:+.1f}",
        f"≤ {most:.1f}",
        ours <= most,
        {"ours": ours, "complete": complete, "published": published},
    )
