"""Read Parquet and Arrow files ahead of others, in a process of its own: a forged one may end it.

It is run as a program, and loads nothing but Polars. Each line that it is sent names a file and
columns; it reads them, throws them away and answers with an empty line, whatever came of it. What
is wrong with a file, whoever reads it next will say; only that it is still there matters.
"""

import contextlib
import json
import sys
from typing import Any

import polars as pl
import polars.selectors as cs

ROWS = 1 << 16  # at a time


def read(path: str, scan: str, columns: list[str]) -> None:
    """Read some columns; without any, what the file says of itself."""
    lazy: pl.LazyFrame = getattr(pl, scan)(path, glob=False)
    lazy.collect_schema()
    wanted = [cs.by_name(name) for name in columns]  # which may look like a pattern
    rows: int = lazy.select(pl.len()).collect(engine="streaming").item()
    if columns and scan == "scan_ipc":  # of which a slice may load all that is before it
        for _ in lazy.select(wanted).collect_batches(chunk_size=ROWS, engine="streaming"):
            pass
        return
    for start in range(0, rows if columns else 0, ROWS):
        lazy.select(wanted).slice(start, ROWS).collect(engine="streaming")


def main() -> None:
    """Read what is asked for, until nobody asks any more."""
    for line in sys.stdin.buffer:
        order: dict[str, Any] = json.loads(line)
        # A panic of Polars is no Exception.
        with contextlib.suppress(Exception, pl.exceptions.PanicException):
            read(**order)
        sys.stdout.buffer.write(b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
