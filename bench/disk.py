"""`python -m bench.disk FOLDER MILLIONS MEMORY [COLUMNS]`: rows that do not fit into a limit.

Parquet files of half a million rows each, drawn with a fixed seed from a latent class model with
four classes and columns of four states: nearly all rows are different. They are read, and one to
four classes are selected, with a limit of memory or (MEMORY: none) without; the peak of the whole
process is printed, and the time on the clock and of the processor.
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
    before, began = resident(), (time.perf_counter(), time.process_time())
    table = lacunet.read_table(str(folder / "part-*.parquet"), memory=memory)
    read, held = _since(began), peak()
    began = time.perf_counter(), time.process_time()
    found = lacunet.select(table, range(1, CLASSES + 1))
    selected = _since(began)
    encoded = table.codes.nbytes + table.counts.nbytes
    print(
        f"{table.rows:,} rows, {table.distinct_rows:,} distinct, {encoded / 1e6:.0f} MB as codes, "
        f"memory {memory}: program {before / 1e6:.0f} MB; read in {read}, peak "
        f"{held / 1e6:.0f} MB; select 1:{CLASSES} in {selected}, peak {peak() / 1e6:.0f} MB; "
        f"{found.states} classes, log p(D|θ) = {found.best.fit.log_lik!r}"
    )


def _since(began: tuple[float, float]) -> str:
    """Say how long ago that was, on the clock and for the processor."""
    seconds, worked = time.perf_counter() - began[0], time.process_time() - began[1]
    return f"{seconds:.0f} s (processor {worked:.0f} s)"


if __name__ == "__main__":
    limit = None if sys.argv[3] == "none" else sys.argv[3]
    wide = int(sys.argv[4]) if len(sys.argv) > 4 else 20
    main(Path(sys.argv[1]), float(sys.argv[2]), limit, wide)
