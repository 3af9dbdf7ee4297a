"""(q): log-likelihood of held-out rows, mean over ten folds, beside published latent classes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from bench.density.folds import SETS, DataSet, Folds, read_folds
from bench.density.ledger import LEDGER, fold_by_fold
from bench.peer import Peers
from bench.report import Line, skipped

FOLDS = "LACUNET_FOLDS"  # environment: the folder with the files
ONLY = "LACUNET_FOLDS_SETS"  # environment: some of the sets, with commas between
QUICK = 2  # folds of each set, where a look is enough


def run(peers: Peers, quick: bool) -> Iterator[Line]:  # noqa: ARG001
    yield from set_by_set(lambda one, folds: _line(one, folds, quick))


def set_by_set(line: Callable[[DataSet, Folds], Line]) -> Iterator[Line]:
    """Give the line of each set that is wanted, or say what is missing."""
    folder = os.environ.get(FOLDS)
    if not folder:
        yield skipped("q", "held-out likelihood", f"set {FOLDS} to the folder with the folds")
        return
    wanted = os.environ.get(ONLY)
    for one in SETS:
        if not wanted or one.name in wanted.split(","):
            try:
                folds = read_folds(Path(folder), one.name)
            except FileNotFoundError:
                missing = f"discrete-{one.name}.csv is not there"
                yield skipped("q", f"held-out likelihood: {one.name}", missing)
                continue
            yield line(one, folds)


def _line(one: DataSet, folds: Folds, quick: bool) -> Line:
    title = f"held-out likelihood: {one.name}"
    rows = []
    for row in fold_by_fold(LEDGER, one.name, folds, most=QUICK if quick else None):
        rows.append(row)
        print(f"  {one.name}, fold {row['fold']}: {row['pooled']:.1f}", file=sys.stderr)
    ways = ("pooled", "average", "uniform", "chosen", "plug_in")
    mean = {way: float(np.mean([r[way] for r in rows])) for way in ways}
    best = mean["pooled"]
    return Line(
        "q",
        f"{title} (α = 1: {mean['uniform']:.1f}, chosen, plugged in: {mean['plug_in']:.1f})",
        f"{best:.1f}",
        f"{one.published:.1f}",
        f"{best - one.published:+.1f} nats",
        "" if quick else "above",
        None if quick else best > one.published,
        {"mean": mean, "folds": rows, "published": one.published},
    )
