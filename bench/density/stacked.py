"""(q): log-likelihood of held-out rows by `lacunet stack`, mean over ten folds, beside others'.

Of all it learns by default, beside the best of nine programs; of latent classes alone, beside
published latent class models. Tables with numbers beside the best of published latent classes and
forests, and beside the best of all.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bench.density.folds import Folds, read_folds
from bench.density.ledger import LEDGER, fold_by_fold
from bench.density.published import NUMBER_SETS, SETS, DataSet
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
    for one in (*SETS, *NUMBER_SETS):
        if not wanted or one.name in wanted.split(","):
            try:
                folds = read_folds(Path(folder), one)
            except FileNotFoundError:
                missing = f"{one.file} is not there"
                yield skipped("q", f"held-out likelihood: {one.name}", missing)
                continue
            if one in SETS:
                yield _line(one, folds, Mark("all", one.best, one.by), quick)
                yield _line(one, folds, Mark("classes", one.published, "LCM", "classes"), quick)
            else:
                yield _line(one, folds, Mark("all", one.published, "LCM, CIL"), quick)
                yield _line(one, folds, Mark("all", one.best, one.by, wanted=False), quick)


@dataclass(frozen=True)
class Mark:
    """What a published program reached, and what of ours stands beside it."""

    what: str  # is learned
    published: float
    by: str
    only: str | None = None
    wanted: bool = True  # to be above it; else it is shown


def _line(one: DataSet, folds: Folds, mark: Mark, quick: bool) -> Line:
    published, only, judged = mark.published, mark.only, mark.wanted and not quick
    rows = list(fold_by_fold(LEDGER, one.name, folds, only, most=QUICK if quick else None))
    ours = float(np.mean([row["log_likelihood"] for row in rows]))
    longest = max(row["seconds"] for row in rows)
    near = " (near)" if published - NEAR * abs(published) < ours <= published else ""
    return Line(
        "q",
        f"held-out likelihood of `stack`, {mark.what}: {one.name}; published ({mark.by})",
        f"{ours:.1f}",
        f"{published:.1f}",
        f"{ours - published:+.1f} nats{near}; {longest:.1f} s a fold at most",
        "above" if judged else "",
        ours > published if judged else None,
        {"ours": ours, "published": published, "folds": rows},
    )
