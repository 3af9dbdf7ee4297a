"""How often `learn --hidden auto` keeps a hidden variable in random networks of six columns.

`python -m bench.hidden.rates run /tmp/rates.jsonl --sets 60 --seed 777` draws data sets with and
without a hidden variable, of two and of two to four states; every one that is done is a line.
`python -m bench.hidden.rates show /tmp/rates.jsonl` gives the tables of docs/explanation/graphs.md.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import numpy as np

import lacunet
from bench.hidden.worlds import random_network
from lacunet.data import Table

KINDS = tuple((states, hidden) for states in (2, 4) for hidden in (0, 1))
BINS = (0.0, 0.1, 0.5, 0.9, 1.0)


def run(ledger: Path, sets: int, seed: int, rows: int, missing: float, alpha: str) -> None:
    """Search one data set after the other."""
    asked = {"seed": seed, "rows": rows, "missing": missing, "alpha": alpha}
    done = {(line["set"], line["states"], line["hidden"]) for line in read(ledger, asked)}
    for number in range(sets):
        for states, hidden in KINDS:
            if (number, states, hidden) not in done:
                line = {"set": number, "states": states, "hidden": hidden, **asked}
                with ledger.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line | found(line)) + "\n")


def found(line: dict[str, Any]) -> dict[str, Any]:
    """Draw the data set of a line, and say what was found in it."""
    key = [line["seed"], line["set"], line["states"], line["hidden"], line["rows"]]
    rng = np.random.default_rng(key)
    codes = random_network(rng, line["rows"], line["states"], hidden=bool(line["hidden"]))
    codes[rng.random(codes.shape) < line["missing"]] = -1
    began = time.process_time()
    table, alpha = Table.from_codes(codes), line["alpha"]
    told = lacunet.find_hidden(table, alpha=alpha, most=1, budget=20, threads=1)
    factor = told.factor
    return {
        "kept": list(told.hidden.values()),
        "log_factor": factor and factor.log,
        "stderr": factor and factor.stderr,
        "averaged": factor and told.averaged.factor.log,
        "probability": told.probability,
        "seconds": time.process_time() - began,
    }


def read(ledger: Path, asked: dict[str, Any] | None = None) -> Iterator[dict[str, Any]]:
    """Give the lines of a ledger, those of one study if it is given."""
    for text in ledger.read_text(encoding="utf-8").splitlines() if ledger.exists() else ():
        line = json.loads(text)
        if asked is None or all(line[key] == value for key, value in asked.items()):
            yield line


def show(ledger: Path) -> None:
    """Print how often one was kept, and how often stated probabilities were right."""
    lines = list(read(ledger))

    def kind(line: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(line[k] for k in ("alpha", "rows", "missing", "states", "hidden"))

    for key, group in groupby(sorted(lines, key=kind), kind):
        own = list(group)
        kept = sum(bool(line["kept"]) for line in own)
        alone = sum((line["log_factor"] or -1.0) > 0 for line in own)
        seconds = np.mean([line["seconds"] for line in own])
        print(*key, f"kept {kept}/{len(own)}; the prior given alone {alone}; {seconds:.1f} s")
    p = np.array([line["probability"] or 0.0 for line in lines])
    true = np.array([line["hidden"] for line in lines], dtype=float)
    for low, high in pairwise(BINS):
        inside = (p > low) & (p <= high) if low else p <= high
        if inside.any():
            stated, right = p[inside].mean(), true[inside].mean()
            print(f"{low}–{high}: {inside.sum()} stated {stated:.2f}, have one {right:.2f}")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.hidden.rates", description=__doc__)
    parser.add_argument("what", choices=("run", "show"))
    parser.add_argument("ledger", type=Path)
    parser.add_argument("--sets", type=int, default=60, help="data sets of each kind")
    parser.add_argument("--seed", type=int, default=777)
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--missing", type=float, default=0.0, help="share of the cells")
    parser.add_argument("--alpha", default="bdeu:10")
    told = parser.parse_args()
    if told.what == "run":
        run(told.ledger, told.sets, told.seed, told.rows, told.missing, told.alpha)
    else:
        show(told.ledger)


if __name__ == "__main__":
    main()
