"""`python -m bench`: measure everything once, print one table, write bench/results/latest.json."""

from __future__ import annotations

import argparse
import os
import sys
import time
import traceback
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from bench.machine import ONE_THREAD, describe, headline
from bench.report import Line, skipped, summary, table, write

if TYPE_CHECKING:
    from bench.peer import Peers

# Each part with the modules that measure it: if one breaks, the others go on.
PARTS = {
    "em": ("em",),
    "numbers": ("mixtures",),
    "search": ("search",),
    "starts": ("starts",),
    "evidence": ("evidence",),
    "certainty": ("certainty",),
    "laplace": ("laplace",),
    "scaling": ("scaling",),
    "threads": ("threads",),
    "memory": ("memory",),
    "networks": ("networks.alarm_em", "networks.before", "networks.million", "networks.chain"),
    "structure": ("structure.complete", "structure.missing", "structure.filling"),
    "hidden": ("hidden.finding",),
    "files": ("networks.files",),
    "paper": ("paper",),
    "density": ("density.stacked",),
    "imputation": ("imputation.filling",),
    "startup": ("startup",),
}
RESULTS = Path(__file__).resolve().parent / "results" / "latest.json"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--only", metavar="PARTS", help=f"some of {','.join(PARTS)}")
    parser.add_argument(
        "--quick", action="store_true", help="fewer trials: a look, not a measurement"
    )
    options = parser.parse_args()
    parts = options.only.split(",") if options.only else list(PARTS)
    unknown = sorted(set(parts) - set(PARTS))
    if unknown:
        parser.error(f"no such part: {', '.join(unknown)}. Choose from {', '.join(PARTS)}.")
    _fix_threads()

    began = time.perf_counter()
    facts = describe()
    print(headline(facts), file=sys.stderr)
    lines: list[Line] = []
    with TemporaryDirectory() as folder:
        from bench.peer import Peers  # NumPy loads here, after the threads are fixed

        peers = Peers(folder)
        for module in (module for part in parts for module in PARTS[part]):
            for line in _lines(module, peers, options.quick):
                lines.append(line)
                now = time.perf_counter() - began
                print(f"{now:4.0f} s  {line.case}  {line.compared}", file=sys.stderr)
    elapsed = time.perf_counter() - began
    write(RESULTS, {**facts, "parts": parts, "quick": options.quick, "seconds": elapsed}, lines)
    print(table(lines))
    print(f"\n{summary(lines)}; {elapsed:.0f} s; every trial is in {os.path.relpath(RESULTS)}")
    return 1 if any("broke" in line.raw for line in lines) else 0


def _lines(module: str, peers: Peers, quick: bool) -> Iterator[Line]:
    """Run one module; if it breaks, say so in the table and let the others be measured."""
    try:
        yield from import_module(f"bench.{module}").run(peers, quick)
    except Exception as error:
        traceback.print_exc()
        reason = f"it broke: {type(error).__name__}: {error}"
        yield replace(
            skipped("-", f"the module '{module}'", reason), raw={"skipped": reason, "broke": True}
        )


def _fix_threads() -> None:
    """Start again with one thread everywhere: BLAS reads these only once, when it loads."""
    if any(os.environ.get(name) != value for name, value in ONE_THREAD.items()):
        sys.stdout.flush()
        command = [sys.executable, "-m", "bench", *sys.argv[1:]]
        os.execve(sys.executable, command, {**os.environ, **ONE_THREAD})


if __name__ == "__main__":
    sys.exit(main())
