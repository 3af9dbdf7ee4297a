"""Independent tasks in parallel, and their progress. Results do not depend on the executor.

A task is a function of a module (or a `partial` of one) with arguments that can be pickled. It may
have tasks of its own: a thread that waits for them does some of them.
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

# Kernels that take less do not pay for a thread of their own: a thread that comes back from one
# waits for the interpreter, and two threads of short steps are slower than one.
SHORT = 3e5  # nanoseconds
TICK = 0.1  # seconds between looks for Ctrl-C: a thread that waits without end may not notice it

A = TypeVar("A")
B = TypeVar("B")


class Executor(ABC):
    """Does tasks, and reports progress to a listener."""

    @abstractmethod
    def results(self, function: Callable[[A], B], items: Sequence[A]) -> Iterator[tuple[int, B]]:
        """Apply to every item; give each result as it comes, with the place of its item.

        The first error ends it.
        """

    @abstractmethod
    def say(self, task: str, done: float) -> None:
        """Report what is being done now, and how much of the work is done, 0 to 1."""

    def check(self) -> None:
        """Raise an error if the work is not to go on; long tasks ask between their steps."""
        return

    def map(self, function: Callable[[A], B], items: Iterable[A]) -> list[B]:
        """Apply to every item, results in order."""
        return self.count(function, list(items), "", 0, 0)

    def count(
        self, function: Callable[[A], B], items: Sequence[A], name: str, first: int, total: int
    ) -> list[B]:
        """Do the same, and say after each how many of the total are done; `first` were before."""
        found: dict[int, B] = {}
        for place, result in self.results(function, items):
            found[place] = result
            if name:
                done = first + len(found)
                self.say(f"{name} {done} of {total}", done / total)
        return [found[place] for place in range(len(found))]

    def part(self, first: float, last: float, title: str = "") -> Executor:
        """Give one whose progress from 0 to 1 is shown as that from first to last."""

        def say(task: str, done: float) -> None:
            self.say(f"{title}: {task}" if title else task, first + done * (last - first))

        return _View(self, say)

    def until(self, check: Callable[[], None]) -> Executor:
        """Give one that checks whether to go on, after every task too: an error ends the work."""
        return _View(self, check=check)

    def if_worth(self, nanoseconds: float) -> Executor:
        """Give one for tasks whose steps take so long; short ones are done one after the other."""
        return self if nanoseconds >= SHORT else _View(self, serial=True)

    def here(self) -> Executor:
        """Give one for pieces of a step, which share the memory of this process."""
        return self

    def silent(self) -> Executor:
        """Give one whose progress is not shown."""
        return _View(self, lambda _task, _done: None)

    def beside(self, titles: Sequence[str], weights: Sequence[float]) -> list[Executor]:
        """Give one for each of several pieces of work that are done side by side.

        Progress is that of all together, weighed, and shows the title of the piece that got on.
        """
        lock, whole, parts = threading.Lock(), math.fsum(weights), [0.0] * len(weights)

        def beside(place: int) -> Executor:
            def say(_task: str, done: float) -> None:
                with lock:
                    parts[place] = weights[place] * done
                    self.say(titles[place], math.fsum(parts) / whole)

            return _View(self, say)

        return [beside(place) for place in range(len(weights))]

    def __reduce__(self) -> tuple[Callable[[], Executor], tuple[()]]:
        """Travel as the plain one: no threads and no listener are where a task ends up."""
        return _serial, ()


class _View(Executor):
    """The workers of another executor, with other progress, a check, or one task at a time."""

    def __init__(
        self,
        whole: Executor,
        say: Callable[[str, float], None] | None = None,
        check: Callable[[], None] | None = None,
        *,
        serial: bool = False,
    ) -> None:
        self._whole, self._say, self._check, self._serial = whole, say, check, serial

    def results(self, function: Callable[[A], B], items: Sequence[A]) -> Iterator[tuple[int, B]]:
        for done in (SERIAL if self._serial else self._whole).results(function, items):
            if self._check is not None:
                self.check()
            yield done

    def say(self, task: str, done: float) -> None:
        (self._say or self._whole.say)(task, done)

    def check(self) -> None:
        if self._check is not None:
            self._check()
        self._whole.check()

    def here(self) -> Executor:
        return self if self._serial else _View(self._whole.here(), self._say, self._check)

    def if_worth(self, nanoseconds: float) -> Executor:
        if self._serial:
            return self
        return _View(self._whole.if_worth(nanoseconds), self._say, self._check)


class Serial(Executor):
    """One task after the other."""

    def __init__(self, listener: Listener = ignore) -> None:
        self._listener, self._lock = listener, threading.Lock()

    def results(self, function: Callable[[A], B], items: Sequence[A]) -> Iterator[tuple[int, B]]:
        return ((place, function(item)) for place, item in enumerate(items))

    def say(self, task: str, done: float) -> None:
        with self._lock:
            self._listener(Progress(task, done))


SERIAL = Serial()


def _serial() -> Executor:
    return SERIAL


def cores() -> int:
    """How many cores this process may use: the usual number of threads, and of processes."""
    if hasattr(os, "sched_getaffinity"):  # fewer than there are, in a container or a batch queue
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def one_blas_thread() -> contextlib.AbstractContextManager[Any]:
    """Let BLAS have one thread, until the returned context is left."""
    import scipy.linalg  # noqa: F401 - its BLAS must be loaded to be limited
    from threadpoolctl import threadpool_limits

    limits: contextlib.AbstractContextManager[Any] = threadpool_limits(limits=1, user_api="blas")
    return limits


@contextlib.contextmanager
def on_threads(threads: int | None, listener: Listener = ignore) -> Iterator[Executor]:
    """Give an executor on that many threads (default: one per core), for the time of a block.

    Meanwhile BLAS runs with one thread of its own: two layers of threads on few cores make small
    products ten times slower, and BLAS sums in another order with another number of threads.
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


class _Unwanted(BaseException):
    """The result of this task is not wanted any more."""


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
        """The job, and those that it is a part of."""
        return [self, *(self.parent.lineage() if self.parent else ())]


class Threads(Serial):
    """Threads that take items of any job, the oldest first.

    A thread that waits for a job of its own does items of it meanwhile, and when all are claimed,
    items of what these were split into. So it waits for what is deeper inside than itself, and that
    never waits for it: jobs within jobs do not block each other.
    """

    def __init__(self, count: int, listener: Listener = ignore) -> None:
        super().__init__(listener)
        self._changed = threading.Condition()  # guards all that follows, and every job
        self._jobs: list[_Job] = []  # those that are under way
        self._open = True
        self._here = threading.local()  # .job: the one that a thread does an item of
        self.threads: list[threading.Thread] = []
        with contextlib.suppress(RuntimeError):  # `ulimit -u` and `-v` limit them
            for _ in range(count):
                thread = threading.Thread(target=self._work, daemon=True)
                thread.start()
                self.threads.append(thread)

    def close(self, *, wait: bool) -> None:
        """Do nothing more; with `wait`, come back when the threads have ended.

        Without it, tasks that are under way end where they next use the executor; the threads are
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
            raise _Unwanted

    def results(self, function: Callable[[A], B], items: Sequence[A]) -> Iterator[tuple[int, B]]:
        job = _Job(function, items, getattr(self._here, "job", None))
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
        """Wait for a result of a job; threads of the pool do something for it meanwhile."""
        while True:
            with self._changed:
                while not job.ended:
                    if not (self._open and all(j.wanted for j in job.lineage())):
                        raise _Unwanted
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
        """Take an unclaimed item: of any job, or only of one and what it was split into."""
        for job in self._jobs:
            if within is None or within in job.lineage():
                place = next(job.places, None)
                if place is not None:
                    return job, place
        return None

    def _do(self, job: _Job, place: int) -> None:
        before, self._here.job = getattr(self._here, "job", None), job
        result, error = None, None
        try:
            result = job.function(job.items[place])
        except BaseException as raised:  # goes to the thread that waits for it
            error = raised
        self._here.job = before
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
