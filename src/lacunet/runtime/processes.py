"""Run tasks on local processes (loky); memory limits of this process."""

from __future__ import annotations

import ctypes
import math
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing import util
from typing import TYPE_CHECKING, TypeVar

from lacunet.errors import OptionError, WorkerError
from lacunet.runtime.executor import Executor, Serial, cores, on_threads, one_blas_thread
from lacunet.runtime.progress import Listener, ignore

if TYPE_CHECKING:
    from loky import ProcessPoolExecutor

A = TypeVar("A")
B = TypeVar("B")

UNUSED = 20.0  # seconds without work after which all processes end


class Processes(Serial):
    """Local processes with one task each at a time; subtasks run serially."""

    def __init__(self, pool: ProcessPoolExecutor, listener: Listener = ignore) -> None:
        super().__init__(listener)
        self._pool = pool

    def if_worth(self, nanoseconds: float) -> Executor:  # no step is too short
        return self

    def results(self, function: Callable[[A], B], items: Sequence[A]) -> Iterator[tuple[int, B]]:
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


@contextmanager
def on_processes(count: int | None, listener: Listener = ignore) -> Iterator[Executor]:
    """Give an executor with that many processes (default: one per core) inside the block.

    A single process is this one. BLAS has one thread in each, as in `on_threads`.
    """
    count = count or cores()
    if count == 1:
        with on_threads(1, listener) as alone:
            yield alone
        return
    pool = _STAYING.begin(count)
    try:
        yield Processes(pool, listener)
    except BaseException:  # also Ctrl-C
        pool.shutdown(wait=True, kill_workers=True)
        raise
    finally:
        _STAYING.end()


class _Staying:
    """A process pool that is reused between blocks, because starting it takes longer than a task.

    All processes end together, between blocks. Loky would end idle ones while others work, and
    warn if work arrives afterwards.
    """

    def __init__(self) -> None:
        self._lock, self._blocks = threading.Lock(), 0
        self._pool: ProcessPoolExecutor | None = None
        self._timer = threading.Timer(0.0, self._end_unused)

    def begin(self, count: int) -> ProcessPoolExecutor:
        from loky import get_reusable_executor

        with self._lock:
            self._timer.cancel()
            self._blocks += 1
            self._pool = get_reusable_executor(count, timeout=None, initializer=_in_process)
            return self._pool

    def end(self) -> None:
        with self._lock:
            self._blocks -= 1
            self._timer.cancel()
            self._timer = threading.Timer(UNUSED, self._end_unused)
            self._timer.daemon = True
            self._timer.start()

    def _end_unused(self) -> None:
        with self._lock:
            if self._pool is not None and not self._blocks:
                self._pool.shutdown(wait=True)
                self._pool = None


_STAYING = _Staying()


def _in_process() -> None:
    """Initialise a process: one BLAS thread, and no check for memory leaks by loky."""
    from loky import process_executor

    one_blas_thread()
    process_executor._USE_PSUTIL = False  # noqa: SLF001 - it would start another, and warn


def forget_shared() -> None:
    """Unlink memory shared by processes, before an exit that skips Python's finalizers."""
    if "loky" in sys.modules:
        util._run_finalizers(0)  # type: ignore[attr-defined]  # noqa: SLF001 - as at a usual end


POOLS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")
STACK = 1 << 20  # bytes of address space for each thread, where that is limited
ARENAS = -8  # M_ARENA_MAX of mallopt

UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def give_back() -> None:
    """Return free memory to the system, if the allocator keeps it (glibc).

    Temporary arrays of a few hundred kilobytes fragment the heap while a table is read, and their
    memory would count as used until the end.
    """
    with suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def address_limit() -> int | None:
    """Give the limit of address space in bytes (`ulimit -v`); None: there is none."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if soft == resource.RLIM_INFINITY else soft


def save_address_space() -> None:
    """Let libraries loaded later reserve little: one thread each, one arena, small stacks.

    By default they reserve a stack and an arena per thread, more than twice of what they use.
    """
    os.environ.update(dict.fromkeys(POOLS, "1"), RUST_MIN_STACK=str(STACK), MALLOC_ARENA_MAX="1")
    with suppress(OSError, AttributeError):  # the variable affects only new processes
        ctypes.CDLL(None).mallopt(ARENAS, 1)
    threading.stack_size(STACK)


TIMES = {"s": 1.0, "m": 60.0, "h": 3600.0}  # suffixes


def in_bytes(number: float) -> str:
    """Write bytes in the largest suitable unit.

    >>> in_bytes(1_530_000), in_bytes(999)
    ('1.53 MB', '999 bytes')
    """
    for unit, size in reversed(UNITS.items()):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number:.0f} bytes"


def bytes_of(size: str | float) -> int:
    """Parse a size in bytes.

    >>> bytes_of("2GB"), bytes_of("1.5 mb"), bytes_of(1e6)
    (2000000000, 1500000, 1000000)
    """
    text = str(size).strip().upper().replace("IB", "B")
    unit = next((unit for unit in UNITS if text.endswith(unit)), "")
    number = 0.0
    with suppress(ValueError):
        number = float(text.removesuffix(unit)) * UNITS.get(unit, 1)
    if not 1.0 <= number < 1e18:
        raise OptionError(
            f"--memory '{size}' is not a size of memory. Give for example 500MB or 2GB."
        )
    return int(number)


def seconds_of(time: float | str) -> float:
    """Parse a time in seconds.

    >>> seconds_of("90"), seconds_of("1.5m"), seconds_of("1h")
    (90.0, 90.0, 3600.0)
    """
    if not isinstance(time, str):
        return time
    number, unit = (time[:-1], time[-1]) if time[-1:] in TIMES else (time, "s")
    try:
        seconds = float(number) * TIMES[unit]
    except ValueError:
        seconds = math.nan
    if not (math.isfinite(seconds) and seconds > 0):
        raise OptionError(f"--budget '{time}' is not a time. Give for example 60s, 5m or 1h.")
    return seconds
