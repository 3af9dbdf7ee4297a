"""Independent tasks on the processes of this machine, which stay for the next ones (loky)."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import util
from typing import TYPE_CHECKING, TypeVar

from lacunet.errors import WorkerError
from lacunet.runtime.executor import Executor, Serial, cores, on_threads, one_blas_thread
from lacunet.runtime.progress import Listener, ignore

if TYPE_CHECKING:
    from loky import ProcessPoolExecutor

A = TypeVar("A")
B = TypeVar("B")

IDLE = 20.0  # seconds without work after which the processes end, all of them


class Processes(Serial):
    """Processes that take one item after the other; a task that splits its work does all of it."""

    def __init__(self, pool: ProcessPoolExecutor, listener: Listener = ignore) -> None:
        super().__init__(listener)
        self._pool = pool

    def if_worth(self, nanoseconds: float) -> Executor:  # noqa: ARG002 - no step is too short
        """Give itself: processes do not wait for each other."""
        return self

    def results(self, function: Callable[[A], B], items: Sequence[A]) -> Iterator[tuple[int, B]]:
        """Apply to every item, each in one of the processes."""
        from loky import as_completed
        from loky.process_executor import BrokenProcessPool

        try:
            places = {self._pool.submit(function, item): at for at, item in enumerate(items)}
            for future in as_completed(places):
                yield places[future], future.result()
        except BrokenProcessPool as error:
            raise WorkerError(
                "a process that did part of the work was stopped from outside, most likely because "
                "memory was short. With --threads 1 all is done in one process."
            ) from error


@contextlib.contextmanager
def on_processes(count: int | None, listener: Listener = ignore) -> Iterator[Executor]:
    """Give an executor on that many processes (default: one per core), for the time of a block.

    One is this one. BLAS runs with one thread in each, as with `on_threads`.
    """
    count = count or cores()
    if count == 1:
        with on_threads(1, listener) as alone:
            yield alone
        return
    pool = _STAYING.begin(count)
    try:
        yield Processes(pool, listener)
    except BaseException:  # also Ctrl-C: nobody wants what is under way
        pool.shutdown(wait=True, kill_workers=True)
        raise
    finally:
        _STAYING.end()


class _Staying:
    """Processes that stay for the next block, for a while: to start them takes longer than a task.

    They end together, between blocks. Loky would end each that is idle, also while others work, and
    warn when there is work for it after all.
    """

    def __init__(self) -> None:
        self._lock, self._blocks = threading.Lock(), 0
        self._pool: ProcessPoolExecutor | None = None
        self._timer = threading.Timer(0.0, self._end_idle)

    def begin(self, count: int) -> ProcessPoolExecutor:
        """Give that many processes for a block: those that are there, or new ones."""
        from loky import get_reusable_executor

        with self._lock:
            self._timer.cancel()
            self._blocks += 1
            self._pool = get_reusable_executor(count, timeout=None, initializer=_in_process)
            return self._pool

    def end(self) -> None:
        """Note the end of a block."""
        with self._lock:
            self._blocks -= 1
            self._timer.cancel()
            self._timer = threading.Timer(IDLE, self._end_idle)
            self._timer.daemon = True
            self._timer.start()

    def _end_idle(self) -> None:
        with self._lock:
            if self._pool is not None and not self._blocks:
                self._pool.shutdown(wait=True)
                self._pool = None


_STAYING = _Staying()


def _in_process() -> None:
    """Prepare a process: BLAS has one thread, and memory that grows with a task is not a leak."""
    from loky import process_executor

    one_blas_thread()
    process_executor._USE_PSUTIL = False  # noqa: SLF001 - it would start another, and warn


def forget_shared() -> None:
    """Unlink what processes shared, before an end of the program that skips Python's own."""
    if "loky" in sys.modules:
        util._run_finalizers(0)  # type: ignore[attr-defined]  # noqa: SLF001 - as at a usual end
