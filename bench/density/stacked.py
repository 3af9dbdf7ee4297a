"""(q): log-likelihood of held-out rows by `lacunet stack` as it is by default.

A line of JSON for each fold that is done: a run can be stopped and taken up again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import lacunet
from bench.density.folds import DataSet, Folds
from bench.density.ledger import LEDGER
from bench.density.ten_folds import QUICK, set_by_set
from bench.peer import Peers
from bench.report import Line
from lacunet.inference.asking.ensemble import ensemble_log_lik

STACKED = LEDGER.with_name("stacked.jsonl")
NEAR = 0.01  # share of the best published value that counts as near


def run(peers: Peers, quick: bool) -> Iterator[Line]:  # noqa: ARG001
    yield from set_by_set(lambda one, folds: _line(one, folds, quick))


def _line(one: DataSet, folds: Folds, quick: bool) -> Line:
    title = f"held-out likelihood of `stack`: {one.name}; best published ({one.by})"
    rows = list(_fold_by_fold(STACKED, one.name, folds, QUICK if quick else None))
    ours = float(np.mean([row["log_likelihood"] for row in rows]))
    longest = max(row["seconds"] for row in rows)
    near = " (near)" if ours <= one.best and ours > one.best * (1 + NEAR) else ""
    return Line(
        "q",
        title,
        f"{ours:.1f}",
        f"{one.best:.1f}",
        f"{ours - one.best:+.1f} nats{near}; {longest:.1f} s a fold at most",
        "" if quick else "above",
        None if quick else ours > one.best,
        {"ours": ours, "best": one.best, "folds": rows},
    )


def _fold_by_fold(
    path: Path, name: str, folds: Folds, most: int | None
) -> Iterator[dict[str, Any]]:
    """Give the result of each fold, from the file or anew."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    known = {(row["set"], row["fold"]): row for row in map(json.loads, lines)}
    path.parent.mkdir(parents=True, exist_ok=True)
    for fold in folds.numbers[:most]:
        if (name, fold) not in known:
            began = time.perf_counter()
            rows = folds.codes[folds.fold != fold]
            found = lacunet.stack(folds.train(fold), rows=rows)
            seconds = time.perf_counter() - began
            value = float(ensemble_log_lik(found.ensemble, folds.test(fold)).sum())
            row = {"set": name, "fold": fold, "log_likelihood": value, "seconds": seconds}
            known[name, fold] = row
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
        yield known[name, fold]
