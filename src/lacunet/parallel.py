"""Threads for independent work. Results never depend on how many there are."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from lacunet.errors import OptionError


def check_threads(threads: int | None) -> None:
    """Refuse no threads at all."""
    if threads is not None and threads < 1:
        raise OptionError(f"{threads} threads: there must be at least 1.")


@contextlib.contextmanager
def workers(threads: int | None) -> Iterator[Any]:
    """Give a `map` over that many threads (default: one per core), for the time of a block.

    Meanwhile BLAS runs with one thread of its own: two layers of threads on few cores make small
    products ten times slower, and BLAS sums in another order with another number of threads.
    """
    check_threads(threads)
    count = threads or os.cpu_count() or 1
    import scipy.linalg  # noqa: F401 - its BLAS must be loaded to be limited
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1, user_api="blas"):
        if count == 1:
            yield map
            return
        pool = ThreadPoolExecutor(count)
        try:
            yield pool.map
        except BaseException:  # also Ctrl-C: do not start, nor wait for, what nobody wants now
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        pool.shutdown()
