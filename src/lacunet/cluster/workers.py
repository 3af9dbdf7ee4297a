"""An executor whose tasks are done by the workers of a cluster."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from lacunet.cluster.luggage import do, packed, unpacked
from lacunet.errors import LacunetError, WorkerError
from lacunet.executor import Executor, Serial, Threads
from lacunet.holding import StaysHereError
from lacunet.progress import Listener, ignore

if TYPE_CHECKING:
    from distributed import Client, Future

ATTEMPTS = 4  # times that work is given to others after workers were lost
BESIDE = 4  # pieces of work here that wait for workers, side by side

A = TypeVar("A")
B = TypeVar("B")


class Workers(Serial):
    """Workers that take one item after the other; a task that splits its work does all of it.

    What works with rows that the cluster holds is done here, on a few threads: it waits for the
    workers that have them.
    """

    def __init__(self, client: Client, listener: Listener = ignore) -> None:
        super().__init__(listener)
        self.client = client
        self._here = Threads(BESIDE, listener)
        self._there: dict[int, tuple[Any, Future]] = {}  # arrays that the cluster has, by id

    def close(self, *, wait: bool) -> None:
        """Let the threads go that wait for workers."""
        self._here.close(wait=wait)

    def here(self) -> Executor:
        """Give the threads of this process."""
        return self._here

    def if_worth(self, nanoseconds: float) -> Executor:  # noqa: ARG002 - no step is too short
        """Give itself: workers do not wait for each other."""
        return self

    def results(self, function: Callable[[A], B], items: Sequence[A]) -> Iterator[tuple[int, B]]:
        """Apply to every item, each on one of the workers."""
        arrays: list[Any] = []
        try:
            task = packed(function, arrays)
            tasks = [(task, packed(item, arrays)) for item in items]
        except StaysHereError:
            yield from self._here.results(function, items)
            return
        left = set(range(len(items)))
        for _ in range(ATTEMPTS):
            for place, told in self._done(tasks, sorted(left), arrays):
                left.discard(place)
                yield place, unpacked(told, arrays)
            if not left:
                return
        raise lost_too_often()

    def _done(
        self, tasks: Sequence[tuple[bytes, bytes]], left: Sequence[int], arrays: Sequence[Any]
    ) -> Iterator[tuple[int, bytes]]:
        """Do what is left; what is lost with a worker is left out."""
        from distributed import as_completed

        there = [self._put(array) for array in arrays]
        places: dict[Any, int] = {}
        try:
            for place in left:
                with in_our_words(self.client):
                    future = self.client.submit(do, *tasks[place], *there, pure=False)
                places[future] = place
            for future in as_completed(list(places), loop=self.client.loop):
                told = result_of(self.client, future)
                if told is not None:
                    yield places[future], told
        finally:
            for future in places:
                future.release()

    def _put(self, array: Any) -> Future:
        """Have an array on the cluster: once, unless it is lost."""
        known = self._there.get(id(array))
        if known is None or known[1].status != "finished":
            with in_our_words(self.client):
                future = self.client.scatter(array, hash=False)
            known = self._there[id(array)] = (weakref.ref(array, self._forget(id(array))), future)
        return known[1]

    def _forget(self, key: int) -> Callable[[Any], None]:
        """Say what to do when nobody here has an array any more."""
        there = self._there
        return lambda _: there.pop(key, None) and None


@contextmanager
def in_our_words(client: Client) -> Iterator[None]:
    """Say that a scheduler is gone, or that a task ends its workers, as our other errors do."""
    from distributed import KilledWorker

    if gone(client):  # whoever asks now would wait for ever
        raise scheduler_lost()
    try:
        yield
    except KilledWorker as error:
        raise lost_too_often() from error
    except (OSError, RuntimeError) as error:
        if isinstance(error, LacunetError) or not gone(client):
            raise
        raise scheduler_lost() from error


def result_of(client: Client, future: Future) -> Any:
    """Give the result; None if it was lost together with a worker."""
    try:
        with in_our_words(client):
            return future.result()
    except CancelledError:
        if gone(client):
            raise scheduler_lost() from None
        return None


def results_of(client: Client, futures: Sequence[Future]) -> list[Any]:
    """Give several results, which come at once; None for each that was lost with a worker."""
    try:
        with in_our_words(client):
            return list(client.gather(list(futures)))
    except CancelledError:  # some of them: the others are there
        return [result_of(client, future) for future in futures]


def gone(client: Client) -> bool:
    """Whether nobody hands out work any more."""
    return bool(client.status != "running")


def scheduler_lost() -> WorkerError:
    """Say that nobody hands out work any more."""
    return WorkerError(
        "the scheduler of the cluster was lost in the middle of the work. Start the cluster again, "
        "and give the same command again: with --resume FILE it goes on from what was kept there."
    )


def lost_too_often() -> WorkerError:
    """Say that work ended its workers again and again."""
    return WorkerError(
        f"workers were lost {ATTEMPTS} times with the same piece of work, most likely because "
        "memory was short there. Give workers more memory, or have fewer of them on a machine."
    )
