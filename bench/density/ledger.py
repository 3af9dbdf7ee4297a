"""One line of JSON for each fold that is done, so that a run can be stopped and taken up again."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench.density.candidates import SETTINGS, held_out, weigh
from bench.density.folds import Folds

LEDGER = Path(__file__).resolve().parents[1] / "results" / "density.jsonl"


def done(path: Path, name: str) -> dict[int, dict[str, Any]]:
    """What is known of a set, by fold, from runs with the same settings."""
    if not path.exists():
        return {}
    lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    same = json.loads(json.dumps(SETTINGS))
    own = (line for line in lines if line["set"] == name and line["settings"] == same)
    return {line["fold"]: line for line in own}


def fold_by_fold(
    path: Path, name: str, folds: Folds, *, most: int | None = None, threads: int | None = None
) -> Iterator[dict[str, Any]]:
    """Give the result of each fold, from the ledger or anew; `most` folds of each set."""
    known = done(path, name)
    path.parent.mkdir(parents=True, exist_ok=True)
    for fold in folds.numbers[:most]:
        if fold not in known:
            began = time.perf_counter()
            result = held_out(weigh(folds.train(fold), threads=threads), folds.test(fold))
            seconds = time.perf_counter() - began
            known[fold] = {
                "set": name,
                "fold": fold,
                **asdict(result),
                "seconds": seconds,
                "settings": SETTINGS,
            }
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(known[fold]) + "\n")
        yield known[fold]
