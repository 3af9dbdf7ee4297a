"""Fit once and print the peak of resident memory before and after, in bytes, as JSON.

Before = after the imports, the compiling and a first small fit, when the data are not there yet. So
what is counted is the data, everything made of them, and whatever the libraries take for the work.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np

import lacunet
from bench.peak import forget_peak, peak, resident
from lacunet.data.table import Column, Table
from lacunet.fitting.prepare import prepare
from lacunet.runtime.executor import SERIAL


def main(source: str, folder: Path, classes: int, starts: int) -> None:
    _warm_up(folder)
    reset = forget_peak()
    before = resident() if reset else peak()
    began = time.perf_counter()
    table = _load(folder) if source == "table" else lacunet.read_table(folder / "table.csv")
    held, loading = peak(), time.perf_counter() - began
    fit = lacunet.fit(table, classes, starts=starts, threads=1)
    answer = {
        "before": before,
        "peak_with_table": held,
        "peak": peak(),
        "peak_was_reset": reset,
        "seconds_loading": loading,
        "seconds": time.perf_counter() - began,
        "log_likelihood": fit.log_lik,
    }
    print(json.dumps(answer))


def _warm_up(folder: Path) -> None:
    prepare(SERIAL)
    small = folder / "small.csv"
    small.write_text("x,y\n" + "0,1\n1,0\n1,1\n0,0\n" * 5)
    lacunet.fit(lacunet.read_table(small), 2, starts=2, threads=1)


def _load(folder: Path) -> Table:
    """The encoded table exactly as it is held, with nothing made on the way."""
    codes, counts = np.load(folder / "codes.npy"), np.load(folder / "counts.npy")
    states = tuple(range(int(codes.max()) + 1))
    columns = tuple(Column(f"x{j}", states) for j in range(codes.shape[1]))
    return Table(columns, codes, counts, int(counts.sum()), 0, "bench")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
