"""Threads for independent work. Results never depend on how many there are."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from functools import partial
from typing import Any

from lacunet.errors import OptionError

TICK = 0.1  # seconds between looks for Ctrl-C: a thread that waits without end may not notice it


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
            yield partial(_map, pool)
        except BaseException:  # also Ctrl-C: do not start, nor wait for, what nobody wants now
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        pool.shutdown()


def _map(
    pool: ThreadPoolExecutor, function: Callable[..., Any], *arguments: Iterable[Any]
) -> list[Any]:
    """Do what `map` does, on a pool; the first error ends the wait for the others."""
    tasks = [pool.submit(function, *each) for each in zip(*arguments, strict=False)]
    waiting = set(tasks)
    while waiting:
        done, waiting = wait(waiting, TICK, FIRST_EXCEPTION)
        for task in done:
            task.result()
    return [task.result() for task in tasks]
