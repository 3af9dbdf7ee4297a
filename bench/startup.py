"""(h): how long a person waits before anything happens."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.peer import Peers
from bench.report import Line, within
from bench.timing import alternate, clock

FIRST_LIMIT = 15.0  # seconds to the first output, kernels to be compiled
LATER_LIMIT = 3.0  # seconds to the first output, kernels on disk
IMPORT_LIMIT = 0.3  # seconds


@dataclass(frozen=True)
class Wait:
    """One run of `lacunet demo`, in seconds from the call."""

    first: float  # to the first line, on stdout or stderr
    end: float


def run(_peers: Peers, quick: bool) -> Iterator[Line]:
    yield from _imports(5 if quick else 15)
    with TemporaryDirectory() as folder:
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(Path(folder) / "kernels")}
        yield from _shown("the first time, compiling", [_demo(folder, environment)], FIRST_LIMIT)
        later = [_demo(folder, environment) for _ in range(1 if quick else 3)]
        yield from _shown("after that", later, LATER_LIMIT)


def _imports(trials: int) -> Iterator[Line]:
    def start(code: str) -> float:
        return clock(lambda: subprocess.run([sys.executable, "-c", code], check=True))

    times = alternate(
        {"ours": lambda: start("import lacunet"), "empty": lambda: start("pass")}, trials
    )
    yield within(
        "h",
        "import lacunet, less an empty Python",
        max(0.0, min(times["ours"]) - min(times["empty"])),
        IMPORT_LIMIT,
        ours_trials=times["ours"],
        empty_trials=times["empty"],
    )


def _shown(when: str, waits: list[Wait], limit: float) -> Iterator[Line]:
    raw = {"trials": [vars(wait) for wait in waits]}
    first, end = min(w.first for w in waits), min(w.end for w in waits)
    yield within("h", f"lacunet demo {when}: to the first line", first, limit, **raw)
    yield within("h", f"lacunet demo {when}: to the end", end, None, **raw)


def _demo(folder: str, environment: Mapping[str, str]) -> Wait:
    began = time.perf_counter()
    with subprocess.Popen(
        [sys.executable, "-m", "lacunet", "demo"],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        first = time.perf_counter() - began
        said = process.stdout.read()
    if process.returncode:
        last = (said.decode(errors="replace").strip().splitlines() or ["no message"])[-1]
        raise RuntimeError(f"lacunet demo failed: {last}")
    return Wait(first, time.perf_counter() - began)
