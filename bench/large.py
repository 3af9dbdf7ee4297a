"""`python -m bench.large FOLDER [MILLIONS]`: many rows in Parquet files, read and fitted.

The files, a million rows each, are drawn with a fixed seed from a latent class model with four
classes and 20 binary columns; those that are there already are not written again.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import polars as pl

import lacunet
from bench.peak import forget_peak, peak, resident

ROWS, COLUMNS, CLASSES, SEED = 1_000_000, 20, 4, 15


def write(folder: Path, files: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    table = np.random.default_rng(SEED).beta(0.5, 0.5, (CLASSES, COLUMNS))
    for k in range(files):
        path = folder / f"part-{k:04}.parquet"
        if path.exists():
            continue
        rng = np.random.default_rng([SEED, k])
        codes = rng.random((ROWS, COLUMNS)) < table[rng.integers(0, CLASSES, ROWS)]
        whole = pl.DataFrame(codes.astype(np.int8), [f"x{j:02}" for j in range(COLUMNS)])
        whole.write_parquet(path)


def main(folder: Path, files: int) -> None:
    write(folder, files)
    lacunet.fit(np.eye(4, dtype=int), 2, starts=2)  # kernels are compiled
    forget_peak()
    before, began, worked = resident(), time.perf_counter(), time.process_time()
    table = lacunet.read_table(str(folder / "part-*.parquet"))
    read, held = time.perf_counter() - began, peak() - before
    worked = time.process_time() - worked
    found = lacunet.select(table, range(1, 5), scores="cs", quick=True, starts=16)
    seconds = time.perf_counter() - began - read
    most = peak() - before
    print(
        f"{table.rows:,} rows, {table.distinct_rows:,} distinct: read in {read:.1f} s (processor "
        f"{worked:.1f} s) with {held / 1e6:.0f} MB; select 1:4 in {seconds:.1f} s more, with "
        f"{most / 1e6:.0f} MB; {found.states} classes"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 10)
