"""(r): cells that a learned graph fills in right: ALARM, 1,000 rows, cells missing at random.

Nobody can do better than the network that the rows were drawn from; published shares are from other
draws of its rows, so that the distance from that limit is what is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from bench.cases import IntArray
from bench.peer import Peers
from bench.report import Line, skipped
from bench.structure.holes import ALPHA, replicates
from bench.structure.shipped import shipped_network
from bench.timing import clock
from lacunet.data.table import Column, Table
from lacunet.graphs.learning import learn_structure
from lacunet.inference.asking.query import posterior
from lacunet.model.network import Model
from lacunet.model.sampling import sample_codes

ROWS = 1_000
# Published, of other data sets of the same size: variational structural EM, and MICE.
PUBLISHED = {0.1: 0.951, 0.2: 0.944, 0.3: 0.934, 0.4: 0.927, 0.5: 0.912, 0.6: 0.900}
MICE = {0.1: 0.927, 0.2: 0.906, 0.3: 0.902, 0.4: 0.892, 0.5: 0.874, 0.6: 0.833}
QUICK = (0.1, 0.3)


def run(peers: Peers, quick: bool) -> Iterator[Line]:
    model = shipped_network(peers, "alarm")
    if isinstance(model, str):
        yield skipped("r", "cells filled in: ALARM", model)
        return
    for missing in QUICK if quick else PUBLISHED:
        trials = [_trial(model, missing, replicate) for replicate in range(replicates(quick))]
        ours, best, seconds = (float(np.mean(values)) for values in zip(*trials, strict=True))
        yield Line(
            "r",
            f"cells filled in right: ALARM, {ROWS:,} rows, {missing:.0%} missing; by the true "
            "network; published: structural EM, MICE",
            f"{ours:.3f}",
            f"{best:.3f}; {PUBLISHED[missing]:.3f}; {MICE[missing]:.3f}",
            f"{ours - best:+.3f}, {seconds:.1f} s",
            "≥ structural EM",
            ours >= PUBLISHED[missing],
            {"ours": ours, "best": best, "published": PUBLISHED[missing], "trials": trials},
        )


def _trial(model: Model, missing: float, replicate: int) -> tuple[float, float, float]:
    """Shares of the cells that the learned and the true network fill in right, and seconds."""
    rng = np.random.default_rng([replicate, ROWS])
    whole = sample_codes(model, ROWS, rng)
    codes = np.where(rng.random(whole.shape) < missing, -1, whole)
    table = Table.from_codes(codes, [Column(v.name, v.states) for v in model.network.variables])
    found: list[Model] = []
    seconds = clock(lambda: found.append(learn_structure(table, ALPHA).model))
    return _right(found[0], codes, whole), _right(model, codes, whole), seconds


def _right(model: Model, codes: IntArray, whole: IntArray) -> float:
    """Share of the missing cells whose most probable value is the one that was there."""
    answers = posterior(model, codes, [(v,) for v in range(codes.shape[1])])
    filled = np.column_stack([p.argmax(axis=1) for p in answers])
    return float((filled == whole)[codes < 0].mean())
