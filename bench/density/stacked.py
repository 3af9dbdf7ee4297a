"""(q): log-likelihood of held-out rows by `lacunet stack`, mean over ten folds, beside others'.

Of all it learns by default, beside the best of nine programs; of latent classes alone, beside
published latent class models.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bench.density.folds import SETS, DataSet, Folds, read_folds
from bench.density.ledger import LEDGER, fold_by_fold
from bench.peer import Peers
from bench.report import Line, skipped

FOLDS = "LACUNET_FOLDS"  # environment: the folder with the files
ONLY = "LACUNET_FOLDS_SETS"  # environment: some of the sets, with commas between
QUICK = 2  # folds of each set, where a look is enough
NEAR = 0.01  # share of the published value that counts as near


def run(peers: Peers, quick: bool) -> Iterator[Line]:  # noqa: ARG001
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
            yield _line(one, folds, None, quick)
            yield _line(one, folds, "classes", quick)


def _line(one: DataSet, folds: Folds, only: str | None, quick: bool) -> Line:
    what, published, by = (
        ("all", one.best, one.by) if only is None else (only, one.published, "LCM")
    )
    rows = list(fold_by_fold(LEDGER, one.name, folds, only, most=QUICK if quick else None))
    ours = float(np.mean([row["log_likelihood"] for row in rows]))
    longest = max(row["seconds"] for row in rows)
    near = " (near)" if published * (1 + NEAR) < ours <= published else ""
    return Line(
        "q",
        f"held-out likelihood of `stack`, {what}: {one.name}; published ({by})",
        f"{ours:.1f}",
        f"{published:.1f}",
        f"{ours - published:+.1f} nats{near}; {longest:.1f} s a fold at most",
        "" if quick else "above",
        None if quick else ours > published,
        {"ours": ours, "published": published, "folds": rows},
    )
