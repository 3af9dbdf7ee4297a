"""Work on processes beside this one, for tasks of seconds that are mostly Python; the door to loky.

Threads share one interpreter. Kernels leave it, but where they take microseconds, threads wait for
each other so often that two are slower than one. A process has an interpreter of its own; to start
one takes a second, and tasks and results travel as copies.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from lacunet.errors import WorkerError
from lacunet.executor import Executor, Serial, cores, on_threads, one_blas_thread
from lacunet.progress import Listener, ignore

if TYPE_CHECKING:
    from loky import ProcessPoolExecutor

IDLE = 20  # seconds after which a process that has nothing to do ends

A = TypeVar("A")
B = TypeVar("B")


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
    from loky import get_reusable_executor

    # They stay for the next one who asks, for a while: to start them takes longer than many a task.
    pool = get_reusable_executor(count, timeout=IDLE, initializer=one_blas_thread)
    try:
        yield Processes(pool, listener)
    except BaseException:  # also Ctrl-C: nobody wants what is under way
        pool.shutdown(wait=True, kill_workers=True)
        raise
