"""(g): peak memory of a fit in a process of its own, against the encoded table."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bench import cases
from bench.ours import make_table
from bench.peer import Peers
from bench.report import Line, megabytes, skipped

LIMIT = 3.0  # times the encoded table
STARTS = 64


def run(peers: Peers, quick: bool) -> Iterator[Line]:
    case = cases.G_TEN if quick else cases.G_MEMORY
    table = make_table(case)
    np.save(peers.folder / "codes.npy", table.codes)
    np.save(peers.folder / "counts.npy", table.counts)
    write_csv(peers.folder / "table.csv", case)
    encoded = table.codes.nbytes + table.counts.nbytes
    starts = STARTS * 2 * 8 * case.size  # a parameter vector and its expected counts, each
    shown = {"table": "fit of a table", "csv": "read_table and fit of a CSV file"}
    for source, what in shown.items():
        compared = f"peak memory, {what}: {case.title}"
        answer = _child(source, peers.folder, case.classes)
        if "failed" in answer:
            yield skipped("g", compared, answer["failed"])
            continue
        peak = answer["peak"] - answer["before"]
        ratio = (peak - starts) / encoded
        yield Line(
            "g",
            compared,
            megabytes(peak),
            megabytes(encoded),
            f"{ratio:.3g} × the table",
            f"≤ {LIMIT:g} × + starts",
            ratio <= LIMIT,
            {"encoded": encoded, "starts": starts, **answer},
        )


def write_csv(path: Path, case: cases.Case) -> None:
    """Write complete codes of one digit, as characters, without a loop over cells."""
    text = np.full((case.rows, 2 * case.leaves), ord(","), np.uint8)
    text[:, ::2] = case.codes + ord("0")
    text[:, -1] = ord("\n")
    with path.open("wb") as file:
        file.write((",".join(f"x{j}" for j in range(case.leaves)) + "\n").encode())
        file.write(text.tobytes())


def _child(source: str, folder: Path, classes: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "bench.memory_child", source, str(folder), str(classes)]
    done = subprocess.run([*command, str(STARTS)], check=False, capture_output=True, text=True)
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or ["no message"])[-1]}
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
