"""Record the runs, or compare them with what was recorded."""
# ruff: noqa: T201

import argparse
import gzip
import json
import sys
import time
from pathlib import Path
from typing import Any

from recorded.runs import RUNS, Run
from recorded.trees import leaves, pruned, same

RESULTS = Path(__file__).with_name("results.json.gz")
ABSENT = "(absent)"


def main() -> int:
    """Parse the command line, run, and give the exit code."""
    parser = argparse.ArgumentParser(prog="python -m recorded")
    parser.add_argument("what", choices=["record", "compare", "list"])
    parser.add_argument("names", nargs="*", help="runs, or beginnings of their names; default: all")
    parser.add_argument("--numbers", action="store_true", help="do not compare texts")
    parser.add_argument("--most", type=int, default=20, help="differences to print of each run")
    given = parser.parse_args()
    runs = [r for r in RUNS if not given.names or r.name.startswith(tuple(given.names))]
    if given.what == "list":
        print("\n".join(r.name for r in runs))
        return 0
    if not runs:
        parser.error("there is no run of this name; `python -m recorded list` prints all")
    recorded = _read()
    if given.what == "record":
        for run in runs:
            recorded[run.name] = _result(run)
            _write(recorded)
        return 0
    differ = [_compare(r, recorded.get(r.name), given.numbers, given.most) for r in runs]
    print(f"{len(runs)} runs, {sum(differ)} differ")
    return int(any(differ))


def _read() -> dict[str, Any]:
    return json.loads(gzip.decompress(RESULTS.read_bytes())) if RESULTS.exists() else {}


def _write(results: dict[str, Any]) -> None:
    kept = {r.name: results[r.name] for r in RUNS if r.name in results}
    text = json.dumps(kept, ensure_ascii=False, separators=(",", ":"))
    RESULTS.write_bytes(gzip.compress(text.encode(), 9, mtime=0))


def _result(run: Run) -> Any:
    start = time.monotonic()
    result = json.loads(json.dumps(pruned(run.result())))
    print(f"{run.name}: {time.monotonic() - start:.1f} s", file=sys.stderr, flush=True)
    return result


def _compare(run: Run, was: Any, numbers_only: bool, most: int) -> bool:
    """Print how a run differs from what was recorded; whether it does."""
    if was is None:
        print(f"{run.name}: not recorded; python -m recorded record {run.name}")
        return True
    before, now = dict(leaves(was)), dict(leaves(_result(run)))
    if run.sampled and before != now:
        print(f"{run.name}: sampled, by other draws than before")
    result = 0
    for path in {**before, **now}:
        old, new = before.get(path, ABSENT), now.get(path, ABSENT)
        if same(old, new, run.sampled) or (numbers_only and isinstance(old, str)):
            continue
        result += 1
        if result <= most:
            print(f"{run.name}{path}: was {old!r}, is {new!r}")
    if result > most:
        print(f"{run.name}: and {result - most} more")
    return result > 0


sys.exit(main())
