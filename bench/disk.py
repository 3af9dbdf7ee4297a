"""`python -m bench.disk FOLDER MILLIONS MEMORY [COLUMNS]`: rows that do not fit into a limit.

Parquet files of half a million rows each, drawn with a fixed seed from a latent class model with
four classes and columns of four states: nearly all rows are different. They are read and fitted
with a limit of memory, once or (MEMORY: none) without; the peak of the whole process is printed.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import polars as pl

import lacunet
from bench.peak import forget_peak, peak, resident

ROWS, STATES, CLASSES, SEED = 500_000, 4, 4, 16


def write(folder: Path, files: int, columns: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    table = np.random.default_rng(SEED).dirichlet(np.ones(STATES), (CLASSES, columns)).cumsum(2)
    for k in range(files):
        path = folder / f"part-{k:04}.parquet"
        if not path.exists():
            rng = np.random.default_rng([SEED, k])
            known, drawn = table[rng.integers(0, CLASSES, ROWS)], rng.random((ROWS, columns))
            codes = (drawn[:, :, None] > known[:, :, :-1]).sum(axis=2, dtype=np.int8)
            pl.DataFrame(codes, [f"x{j:02}" for j in range(columns)]).write_parquet(path)


def main(folder: Path, millions: float, memory: str | None, columns: int) -> None:
    files = int(millions * 1e6) // ROWS
    write(folder, files, columns)
    lacunet.fit(np.eye(4, dtype=int), 2, starts=2)  # kernels are compiled
    forget_peak()
    before, began = resident(), time.perf_counter()
    table = lacunet.read_table(str(folder / "part-*.parquet"), memory=memory)
    read, held = time.perf_counter() - began, peak()
    fit = lacunet.fit(table, CLASSES, starts=1)
    seconds = time.perf_counter() - began - read
    encoded = table.codes.nbytes + table.counts.nbytes
    print(
        f"{table.rows:,} rows, {table.distinct_rows:,} distinct, {encoded / 1e6:.0f} MB as codes, "
        f"memory {memory}: program {before / 1e6:.0f} MB; read in {read:.0f} s, peak "
        f"{held / 1e6:.0f} MB; fit in {seconds:.0f} s ({fit.iterations} iterations), peak "
        f"{peak() / 1e6:.0f} MB; log p(D|θ) = {fit.log_lik!r}"
    )


if __name__ == "__main__":
    limit = None if sys.argv[3] == "none" else sys.argv[3]
    wide = int(sys.argv[4]) if len(sys.argv) > 4 else 20
    main(Path(sys.argv[1]), float(sys.argv[2]), limit, wide)
