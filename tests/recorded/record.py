"""Record what every run gives now: `python tests/recorded/record.py OUT.json [--only NAME]`."""

import argparse
import importlib.metadata
import json
import platform
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

FORMAT = "lacunet-recorded/1"
PACKAGES = ("numpy", "scipy", "numba", "polars")


def record(names: Iterable[str] | None = None) -> dict:
    """Run everything, or what is named; progress and seconds go to stderr."""
    from runs import RUNS, run

    chosen = list(RUNS) if names is None else list(names)
    unknown = [name for name in chosen if name not in RUNS]
    if unknown:
        raise SystemExit(f"no such run: {', '.join(unknown)}. There are: {', '.join(RUNS)}.")
    done, began = {}, time.perf_counter()
    for i, name in enumerate(chosen, start=1):
        start = time.perf_counter()
        done[name] = run(name)
        seconds = time.perf_counter() - start
        sys.stderr.write(f"{i:3}/{len(chosen)}  {seconds:6.1f} s  {name}\n")
        sys.stderr.flush()
    sys.stderr.write(f"{len(done)} runs, {time.perf_counter() - began:.0f} s\n")
    # Through JSON, so that a fresh run and a recorded one are made of the same things.
    return json.loads(text({"format": FORMAT, "versions": versions(), "runs": done}))


def versions() -> dict[str, str]:
    """What else the last digits depend on."""
    found = {name: importlib.metadata.version(name) for name in PACKAGES}
    return {"python": platform.python_version(), "processor": platform.machine(), **found}


def text(document: dict) -> str:
    """Strict JSON; Python writes as many digits as it takes to read the same number back."""
    return json.dumps(document, indent=0, ensure_ascii=False, allow_nan=False) + "\n"


def write(document: dict, path: Path) -> None:
    """Write all of it or nothing."""
    with tempfile.NamedTemporaryFile(
        "w", dir=path.parent, encoding="utf-8", suffix=".part", delete=False
    ) as file:
        file.write(text(document))
    Path(file.name).chmod(0o644)
    Path(file.name).replace(path)


def main() -> None:
    """Run, and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path, help="file to write")
    parser.add_argument("--only", metavar="NAME", action="append", help="only this run; repeatable")
    given = parser.parse_args()
    write(record(given.only), given.out.resolve())


if __name__ == "__main__":
    main()
