"""One line of JSON for each fold that is done, so that a run can be stopped and taken up again."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lacunet
from bench.density.folds import Folds
from lacunet.inference.queries.answers import ensemble_log_lik

LEDGER = Path(__file__).resolve().parents[1] / "results" / "density.jsonl"


def fold_by_fold(
    path: Path,
    name: str,
    folds: Folds,
    only: str | None,
    *,
    most: int | None = None,
    threads: int | None = None,
) -> Iterator[dict[str, Any]]:
    """Give log p(test rows) by a stack of each fold, from the file or anew; `most` folds."""
    known = {line["fold"]: line for line in _lines(path) if line["set"] == name}
    known = {fold: line for fold, line in known.items() if line["only"] == only}
    path.parent.mkdir(parents=True, exist_ok=True)
    for fold in folds.numbers[:most]:
        if fold not in known:
            began = time.perf_counter()
            rows = folds.codes[folds.fold != fold]
            found = lacunet.stack(folds.train(fold), rows=rows, only=only, threads=threads)
            seconds = time.perf_counter() - began
            value = float(ensemble_log_lik(found.ensemble, folds.test(fold)).sum())
            known[fold] = {
                "set": name,
                "only": only,
                "fold": fold,
                "log_likelihood": value,
                "seconds": seconds,
            }
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(known[fold]) + "\n")
        yield known[fold]


def _lines(path: Path) -> list[dict[str, Any]]:
    return (
        list(map(json.loads, path.read_text(encoding="utf-8").splitlines()))
        if path.exists()
        else []
    )
