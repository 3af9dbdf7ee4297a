"""(r): cells that are filled in right: ALARM, 1,000 rows, cells missing at random.

One learned graph fills them in; of rows that others had too, so does what `lacunet impute` pools.

Published shares are of 1,000 rows that were drawn once. The file `discrete-alarm.csv` of the folder
`LACUNET_FOLDS`, where there is one, has such rows. Of rows that are drawn here nobody can fill in
more than the network that they were drawn from: that limit is shown beside.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bench.cases import IntArray
from bench.density.folds import read_folds
from bench.density.published import ALARM
from bench.density.stacked import FOLDS
from bench.peer import Peers
from bench.report import Line, skipped
from bench.structure.missing import ALPHA, replicates
from bench.structure.shipped import shipped_network
from bench.timing import clock
from lacunet.api.imputing import learn_filling
from lacunet.api.stacking import ModelChoice
from lacunet.data.table import Column, Table
from lacunet.inference.queries.answers import posterior_of
from lacunet.models.ensemble import PredictiveModel
from lacunet.models.network import Model
from lacunet.models.surgery import sample_codes
from lacunet.selection.ensembles import CellStack
from lacunet.settings import Settings
from lacunet.structure.learning import learn_structure

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
            "",
            None,
            {"ours": ours, "best": best, "published": PUBLISHED[missing], "trials": trials},
        )
    yield from _of_the_file(quick)


def _of_the_file(quick: bool) -> Iterator[Line]:
    """The same for rows that others had too."""
    title = "cells filled in right: discrete-alarm.csv"
    folder = os.environ.get(FOLDS)
    if not folder or not (Path(folder) / "discrete-alarm.csv").exists():
        yield skipped("r", title, f"set {FOLDS} to a folder with that file")
        return
    whole = read_folds(Path(folder), ALARM)
    for missing in QUICK if quick else PUBLISHED:
        masks = range(replicates(quick))
        graphs = [_filled(whole.codes, whole.columns, missing, mask) for mask in masks]
        pools = [_pooled(one.codes, whole.columns, whole.codes) for one in graphs]
        alone, ours, seconds = (
            float(np.mean(each))
            for each in ([g.share for g in graphs], *zip(*(p[1:] for p in pools), strict=True))
        )
        yield Line(
            "r",
            f"{title}, {missing:.0%} missing; by one graph; published: structural EM, MICE",
            f"{ours:.4f}",
            f"{alone:.4f}; {PUBLISHED[missing]:.3f}; {MICE[missing]:.3f}",
            f"{ours - PUBLISHED[missing]:+.4f}, {seconds:.1f} s",
            "> structural EM",
            ours > PUBLISHED[missing],
            {
                "ours": [p.share for p in pools],
                "one graph": [g.share for g in graphs],
                "published": PUBLISHED[missing],
            },
        )


def _trial(model: Model, missing: float, replicate: int) -> tuple[float, float, float]:
    """Shares of the cells that the learned and the true network fill in right, and seconds."""
    whole = sample_codes(model, ROWS, np.random.default_rng([replicate, ROWS]))
    columns = [Column(v.name, v.states) for v in model.network.variables]
    codes, ours, seconds = _filled(whole, columns, missing, replicate)
    return ours, _right(model, codes, whole), seconds


class Filled(NamedTuple):
    """Rows with holes, and how many of these are filled in right."""

    codes: IntArray  # (rows, columns) -1 = missing
    share: float
    seconds: float


def _filled(whole: IntArray, columns: Sequence[Column], missing: float, mask: int) -> Filled:
    """Make holes, learn a graph from the rest, and fill them in."""
    rng = np.random.default_rng([mask, ROWS, 1])
    codes = np.where(rng.random(whole.shape) < missing, -1, whole)
    table = Table.from_codes(codes, columns)
    found: list[Model] = []
    seconds = clock(lambda: found.append(learn_structure(table, ALPHA).model))
    return Filled(codes, _right(found[0], codes, whole), seconds)


def _pooled(codes: IntArray, columns: Sequence[Column], whole: IntArray) -> Filled:
    """Fill in holes as `lacunet impute` does."""
    table = Table.from_codes(codes, columns)
    found: list[CellStack] = []
    how = Settings(threads=1)
    seconds = clock(lambda: found.append(learn_filling(table, ModelChoice.AUTO, how)))
    return Filled(codes, _right(found[0].ensemble, codes, whole), seconds)


def _right(model: PredictiveModel, codes: IntArray, whole: IntArray) -> float:
    """Share of the missing cells whose most probable value is the one that was there."""
    answers = posterior_of(model, codes, [(v,) for v in range(codes.shape[1])])
    filled = np.column_stack([p.argmax(axis=1) for p in answers])
    return float((filled == whole)[codes < 0].mean())
