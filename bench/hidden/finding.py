"""(s): hidden variables found where there are some, and not where there are none.

`python -m bench.hidden.finding --sets 100` does the study for the docs. Every data set that is done
is a line of bench/results/hidden.jsonl, so it can be stopped and taken up again.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import lacunet
from bench.hidden.worlds import NONE, SOME, World
from bench.peer import Peers
from bench.report import Line

LEDGER = Path(__file__).resolve().parents[1] / "results" / "hidden.jsonl"
STUDY = (100, 10)  # data sets of each world without hidden variables, and with some
BENCH, QUICK = (20, 5), (2, 1)  # the same, where it is one part of many
SETTINGS = {"alpha": "bdeu:10", "most": 3, "budget": 20}
AT_MOST = 0.1  # of the data sets without hidden variables, in which one is found
AT_LEAST = 0.8  # of those with some, in which some are


def run(peers: Peers, quick: bool) -> Iterator[Line]:  # noqa: ARG001
    for world in (*NONE, *SOME):
        number = (QUICK if quick else BENCH)[world in SOME]
        rows = [row for _, row in zip(range(number), each(world, LEDGER), strict=False)]
        yield _line(world, rows, quick)


def each(world: World, ledger: Path, *, threads: int | None = 1) -> Iterator[dict[str, Any]]:
    """Give what was found in one data set after the other: from the ledger, or anew."""
    known = _done(ledger, world)
    ledger.parent.mkdir(parents=True, exist_ok=True)
    seed = 0
    while True:
        if seed not in known:
            known[seed] = {"world": world.name, "seed": seed, **_found(world, seed, threads)}
            with ledger.open("a", encoding="utf-8") as file:
                file.write(json.dumps({**known[seed], "settings": SETTINGS}) + "\n")
        yield known[seed]
        seed += 1


def _done(ledger: Path, world: World) -> dict[int, dict[str, Any]]:
    if not ledger.exists():
        return {}
    lines = map(json.loads, ledger.read_text(encoding="utf-8").splitlines())
    same = (x for x in lines if x["world"] == world.name and x["settings"] == SETTINGS)
    return {line["seed"]: line for line in same}


def _found(world: World, seed: int, threads: int | None) -> dict[str, Any]:
    began = time.process_time()
    found = lacunet.find_hidden(world.table(seed), threads=threads, **SETTINGS)
    return {
        "hidden": list(found.hidden.values()),
        "log_factor": found.factor.log,
        "how": str(found.selection.certainty.basis),
        "seconds": time.process_time() - began,
    }


def _line(world: World, rows: Sequence[dict[str, Any]], quick: bool) -> Line:
    share = sum(bool(row["hidden"]) for row in rows) / len(rows)
    right = sum(len(row["hidden"]) == world.hidden for row in rows) / len(rows)
    met = share >= AT_LEAST if world.hidden else share <= AT_MOST
    return Line(
        "s",
        f"hidden variables: {world.name}; {len(rows)} data sets",
        f"found in {share:.0%}",
        "",
        f"the right number in {right:.0%}",
        f"≥ {AT_LEAST:.0%}" if world.hidden else f"≤ {AT_MOST:.0%}",
        None if quick else met,
        {"share": share, "right": right, "rows": list(rows)},
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.hidden.finding", description=__doc__)
    parser.add_argument(
        "--sets", type=int, default=STUDY[0], help="data sets without hidden variables"
    )
    parser.add_argument("--of-some", type=int, default=STUDY[1], help="data sets with some")
    asked = parser.parse_args()
    for world in (*NONE, *SOME):
        number = asked.sets if world in NONE else asked.of_some
        rows = []
        for _, row in zip(range(number), each(world, LEDGER), strict=False):
            rows.append(row)
            said = f"{world.name}, {row['seed']}: {row['hidden']} {row['log_factor']:+.1f}"
            print(f"  {said}, {row['seconds']:.0f} s", file=sys.stderr)
        if rows:
            line = _line(world, rows, quick=True)
            print(f"{line.compared}: {line.ours}, {line.ratio}")


if __name__ == "__main__":
    main()
