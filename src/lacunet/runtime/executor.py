"""Run independent tasks in parallel, with progress; results do not depend on the executor.

A task is a module-level function (or a `partial` of one) with picklable arguments. It may start
subtasks: a thread that waits for them runs some of them.
"""

from __future__ import annotations

import contextlib
import math
import os
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from lacunet.runtime.progress import Listener, Progress, ignore

# Shorter kernels do not pay for a separate thread: a thread that returns from one waits for the
# interpreter lock, and two threads of short steps are slower than one.
SHORT = 3e5  # nanoseconds
TICK = 0.1  # seconds between checks for Ctrl-C, which an unlimited wait may not notice

A = TypeVar("A")
B = TypeVar("B")


class Executor(ABC):
    """Runs tasks, and reports progress to a listener."""

    @abstractmethod
    def results(self, function: Callable[[A], B], items: Sequence[A]) -> Iterator[tuple[int, B]]:
        """Apply to every item; yield each result when it is ready, with the index of its item.

        The first error ends it.
        """

    @abstractmethod
    def report(self, task: str, done: float) -> None:
        """Report the current task, and the share of the work that is done, 0 to 1."""

    def check(self) -> None:
        """Raise an error if the work must stop; long tasks call it between their steps."""
        return

    def map(self, function: Callable[[A], B], items: Iterable[A]) -> list[B]:
        """Apply to every item, results in order."""
        return self.count(function, list(items), "", 0, 0)

    def count(
        self, function: Callable[[A], B], items: Sequence[A], name: str, first: int, total: int
    ) -> list[B]:
        """Apply to every item, and report the number done of `total`; `first` were done before."""
        results: dict[int, B] = {}
        for place, result in self.results(function, items):
            results[place] = result
            if name:
                done = first + len(results)
                self.report(f"{name} {done} of {total}", done / total)
        return [results[place] for place in range(len(results))]

    def part(self, first: float, last: float, title: str = "") -> Executor:
        """Give an executor whose progress 0 to 1 is reported as `first` to `last`."""

        def report(task: str, done: float) -> None:
            self.report(f"{title}: {task}" if title else task, first + done * (last - first))

        return _View(self, report)

    def until(self, check: Callable[[], None]) -> Executor:
        """Give an executor that calls `check` after every task; an error ends the work."""
        return _View(self, check=check)

    def if_worth(self, nanoseconds: float) -> Executor:
        """Give an executor for steps of this duration; short ones run serially."""
        return self if nanoseconds >= SHORT else _View(self, serial=True)

    def local(self) -> Executor:
        """Give an executor for parts of a step, in the memory of this process."""
        return self

    def silent(self) -> Executor:
        """Give an executor without progress."""
        return _View(self, lambda _task, _done: None)

    def beside(self, titles: Sequence[str], weights: Sequence[float]) -> list[Executor]:
        """Give an executor for each of several concurrent pieces of work.

        Progress is their weighted mean, with the title of the piece that advanced.
        """
        lock, whole, parts = threading.Lock(), math.fsum(weights), [0.0] * len(weights)

        def beside(place: int) -> Executor:
            def report(_task: str, done: float) -> None:
                with lock:
                    parts[place] = weights[place] * done
                    self.report(titles[place], math.fsum(parts) / whole)

            return _View(self, report)

        return [beside(place) for place in range(len(weights))]

    def __reduce__(self) -> tuple[Callable[[], Executor], tuple[()]]:
        """Pickle as the serial executor, because workers have no threads and no listener."""
        return _serial, ()


class _View(Executor):
    """Another executor with modified progress, with a check, or run serially."""

    def __init__(
        self,
        whole: Executor,
        report: Callable[[str, float], None] | None = None,
        check: Callable[[], None] | None = None,
        *,
        serial: bool = False,
    ) -> None:
        self._whole, self._report, self._check, self._serial = whole, report, check, serial

    def results(self, function: Callable[[A], B], items: Sequence[A]) -> Iterator[tuple[int, B]]:
        for done in (SERIAL if self._serial else self._whole).results(function, items):
            if self._check is not None:
                self.check()
            yield done

    def report(self, task: str, done: float) -> None:
        (self._report or self._whole.report)(task, done)

    def check(self) -> None:
        if self._check is not None:
            self._check()
        self._whole.check()

    def local(self) -> Executor:
        return self if self._serial else _View(self._whole.local(), self._report, self._check)

    def if_worth(self, nanoseconds: float) -> Executor:
        if self._serial:
            return self
        return _View(self._whole.if_worth(nanoseconds), self._report, self._check)


class Serial(Executor):
    """One task after the other."""

    def __init__(self, listener: Listener = ignore) -> None:
        self._listener, self._lock = listener, threading.Lock()

    def results(self, function: Callable[[A], B], items: Sequence[A]) -> Iterator[tuple[int, B]]:
        return ((place, function(item)) for place, item in enumerate(items))

    def report(self, task: str, done: float) -> None:
        with self._lock:
            self._listener(Progress(task, done))


SERIAL = Serial()


def _serial() -> Executor:
    return SERIAL


def cores() -> int:
    """Count the cores of this process: the default number of threads and processes."""
    if hasattr(os, "sched_getaffinity"):  # may be fewer in a container or a batch queue
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def one_blas_thread() -> contextlib.AbstractContextManager[Any]:
    """Limit BLAS to one thread, until the returned context is left."""
    import scipy.linalg  # noqa: F401 - its BLAS must be loaded to be limited
    from threadpoolctl import threadpool_limits

    limits: contextlib.AbstractContextManager[Any] = threadpool_limits(limits=1, user_api="blas")
    return limits


@contextlib.contextmanager
def on_threads(threads: int | None, listener: Listener = ignore) -> Iterator[Executor]:
    """Give an executor with that many threads (default: one per core) inside the block.

    BLAS has one thread meanwhile, because nested threads make small products ten times slower, and
    the order of BLAS sums depends on their number.
    """
    count = threads or cores()
    with one_blas_thread():
        pool = Threads(count, listener) if count > 1 else None
        if pool is None or not pool.threads:  # a limit may allow no thread
            yield Serial(listener)
            return
        try:
            yield pool
        except BaseException:  # also Ctrl-C: tasks under way are not waited for
            pool.close(wait=False)
            raise
        pool.close(wait=True)


class _Cancelled(BaseException):
    """The task was cancelled."""


class _Job:
    """The items of one call, each to be claimed by one thread."""

    def __init__(
        self, function: Callable[[Any], Any], items: Sequence[Any], parent: _Job | None
    ) -> None:
        self.function, self.items = function, items
        self.parent = parent  # the job in one of whose items the call was made
        self.places = iter(range(len(items)))  # of items that are not claimed
        self.ended: deque[tuple[int, Any, BaseException | None]] = deque()
        self.wanted = True

    def lineage(self) -> list[_Job]:
        """Give the job and its ancestors."""
        return [self, *(self.parent.lineage() if self.parent else ())]


class Threads(Serial):
    """A thread pool that takes items of the oldest job first.

    A thread that waits for its job runs items of it, and then items of its subjobs. It waits only
    for deeper jobs, which never wait for it, so nested jobs do not deadlock.
    """

    def __init__(self, count: int, listener: Listener = ignore) -> None:
        super().__init__(listener)
        self._changed = threading.Condition()  # guards all that follows, and every job
        self._jobs: list[_Job] = []  # those that are under way
        self._open = True
        self._current = threading.local()  # .job: the job of the thread's current item
        self.threads: list[threading.Thread] = []
        with contextlib.suppress(RuntimeError):  # `ulimit -u` and `-v` limit them
            for _ in range(count):
                thread = threading.Thread(target=self._work, daemon=True)
                thread.start()
                self.threads.append(thread)

    def close(self, *, wait: bool) -> None:
        """Stop the pool; with `wait`, join the threads.

        Without `wait`, running tasks end at their next use of the executor. The threads are
        daemons, so the program can end before.
        """
        with self._changed:
            self._open = False
            self._changed.notify_all()
        for thread in self.threads if wait else ():
            thread.join()

    def check(self) -> None:
        """End a task of a pool that was closed."""
        if not self._open:
            raise _Cancelled

    def results(self, function: Callable[[A], B], items: Sequence[A]) -> Iterator[tuple[int, B]]:
        job = _Job(function, items, getattr(self._current, "job", None))
        with self._changed:
            self._jobs.append(job)
            self._changed.notify_all()
        try:
            for _ in items:
                yield self._next(job)
        finally:
            with self._changed:
                job.wanted = False
                self._jobs.remove(job)

    def _next(self, job: _Job) -> tuple[int, Any]:
        """Wait for a result of a job; a thread of the pool runs items of it meanwhile."""
        while True:
            with self._changed:
                while not job.ended:
                    if not (self._open and all(j.wanted for j in job.lineage())):
                        raise _Cancelled
                    claim = self._claim(job) if job.parent else None
                    if claim:
                        break
                    self._changed.wait(TICK)
                else:
                    place, result, error = job.ended.popleft()
                    if error is not None:
                        raise error
                    return place, result
            self._do(*claim)

    def _claim(self, within: _Job | None = None) -> tuple[_Job, int] | None:
        """Take an unclaimed item of any job, or only of `within` and its subjobs."""
        for job in self._jobs:
            if within is None or within in job.lineage():
                place = next(job.places, None)
                if place is not None:
                    return job, place
        return None

    def _do(self, job: _Job, place: int) -> None:
        before, self._current.job = getattr(self._current, "job", None), job
        result, error = None, None
        try:
            result = job.function(job.items[place])
        except BaseException as raised:  # raised in the thread that waits for it
            error = raised
        self._current.job = before
        with self._changed:
            job.ended.append((place, result, error))
            self._changed.notify_all()

    def _work(self) -> None:
        while True:
            with self._changed:
                if not self._open:
                    return
                claim = self._claim()
                if claim is None:
                    self._changed.wait()
                    continue
            self._do(*claim)
