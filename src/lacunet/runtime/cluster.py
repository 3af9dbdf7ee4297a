"""Workers of a Dask cluster: an executor, and the rows that they hold."""

from __future__ import annotations

import io
import pickle
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from lacunet.errors import LacunetError, WorkerError
from lacunet.runtime.executor import SERIAL, Executor, Serial, Threads, one_blas_thread
from lacunet.runtime.progress import Listener, ignore
from lacunet.runtime.rows import Held, Holder, MadeHere, NotPicklableError, SomeRows

if TYPE_CHECKING:
    from distributed import Client, Future


LARGE = 1 << 16  # bytes, from which an array is not packed with what holds it
ATTEMPTS = 4  # times that work is given to others after workers were lost
BESIDE = 4  # pieces of work here that wait for workers, side by side
# From so many bytes of rows on, workers share them. Of fewer each has all, and does whole fits.
MANY = 1 << 26

A = TypeVar("A")
B = TypeVar("B")


class _Packer(pickle.Pickler):
    """Packs a thing without its large arrays, whose places in a list stand for them."""

    def __init__(self, file: io.BytesIO, arrays: list[Any], *, adding: bool) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._arrays, self._adding = arrays, adding
        self._places = {id(array): place for place, array in enumerate(arrays)}

    def persistent_id(self, thing: Any) -> int | None:
        if not isinstance(thing, np.ndarray):
            return None
        large = thing.nbytes >= LARGE and thing.dtype.kind != "O"
        if self._adding and large and id(thing) not in self._places:
            self._places[id(thing)] = len(self._arrays)
            self._arrays.append(thing)
        return self._places.get(id(thing))


class _Unpacker(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, arrays: Sequence[Any]) -> None:
        super().__init__(file)
        self._arrays = arrays

    def persistent_load(self, place: Any) -> Any:
        return self._arrays[place]


def packed(thing: Any, arrays: list[Any], *, adding: bool = True) -> bytes:
    """Pack a thing; its large arrays are added to the end of the list, unless they are there."""
    file = io.BytesIO()
    _Packer(file, arrays, adding=adding).dump(thing)
    return file.getvalue()


def unpacked(data: bytes, arrays: Sequence[Any]) -> Any:
    """Give the thing that was packed with these arrays."""
    return _Unpacker(io.BytesIO(data), arrays).load()


def do(function: bytes, item: bytes, *arrays: Any) -> bytes:
    """Do a task where it ended up; its result names the arrays that it was given."""
    quiet_blas()
    result = unpacked(function, arrays)(unpacked(item, arrays))
    return packed(result, list(arrays), adding=False)


@lru_cache
def quiet_blas() -> Any:
    """Let BLAS have one thread in this worker: with another number it adds in another order."""
    return one_blas_thread()


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
        self._here.close(wait=wait)

    def here(self) -> Executor:
        return self._here

    def if_worth(self, nanoseconds: float) -> Executor:  # no step is too short
        return self

    def results(self, function: Callable[[A], B], items: Sequence[A]) -> Iterator[tuple[int, B]]:
        arrays: list[Any] = []
        try:
            task = packed(function, arrays)
            tasks = [(task, packed(item, arrays)) for item in items]
        except NotPicklableError:
            yield from self._here.results(function, items)
            return
        left = set(range(len(items)))
        for _ in range(ATTEMPTS):
            for place, data in self._done(tasks, sorted(left), arrays):
                left.discard(place)
                yield place, unpacked(data, arrays)
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
                data = result_of(self.client, future)
                if data is not None:
                    yield places[future], data
        finally:
            for future in places:
                future.release()

    def _put(self, array: Any) -> Future:
        """Have an array on the cluster: once, unless it is lost."""
        known = self._there.get(id(array))
        if known is None or known[1].status != "finished":
            with in_our_words(self.client):
                future = self.client.scatter(array, hash=False)
            there, key = self._there, id(array)
            last = weakref.ref(array, lambda _: there.pop(key, None) and None)
            known = there[key] = (last, future)
        return known[1]


@contextmanager
def in_our_words(client: Client) -> Iterator[None]:
    """Say that a scheduler is gone, or that a task ends its workers, as our other errors do."""
    from distributed import KilledWorker

    _check_running(client)  # a client without a scheduler would wait for ever
    try:
        yield
    except KilledWorker as error:
        raise lost_too_often() from error
    except (OSError, RuntimeError) as error:
        if not isinstance(error, LacunetError):
            _check_running(client, error)
        raise


def result_of(client: Client, future: Future) -> Any:
    """Give the result; None if it was lost together with a worker."""
    try:
        with in_our_words(client):
            return future.result()
    except CancelledError:
        _check_running(client)
        return None


def results_of(client: Client, futures: Sequence[Future]) -> list[Any]:
    """Give several results, which come at once; None for each that was lost with a worker."""
    try:
        with in_our_words(client):
            return list(client.gather(list(futures)))
    except CancelledError:  # some of them: the others are there
        return [result_of(client, future) for future in futures]


def _check_running(client: Client, cause: Exception | None = None) -> None:
    """Refuse to go on without a scheduler."""
    if client.status != "running":
        raise WorkerError(
            "the scheduler of the cluster was lost in the middle of the work. Start the cluster "
            "again, and give the same command again: with --resume FILE it goes on from what was "
            "kept there."
        ) from cause


def lost_too_often() -> WorkerError:
    """Say that work ended its workers again and again."""
    return WorkerError(
        f"workers were lost {ATTEMPTS} times with the same piece of work, most likely because "
        "memory was short there. Give workers more memory, or have fewer of them on a machine."
    )


class HeldByWorkers(Held[A]):
    """A value for each part, in bundles that a worker has each; made anew where one is lost.

    A message to a worker takes longer than an E step over few rows, so a bundle gets one. When the
    work is over and the workers are gone, values are made here, part by part.
    """

    def __init__(
        self, shared: Shared, bundles: int, there: Callable[[int], Future], here: MadeHere[A]
    ) -> None:
        self._shared, self._bundles, self._there, self._here = shared, bundles, there, here
        self._futures: dict[int, Future] = {}
        self._asked: list[Future] = []  # the last time
        self._lock = threading.Lock()
        shared.held.add(self)

    def then(self, function: Callable[[A], B]) -> HeldByWorkers[B]:
        def there(bundle: int) -> Future:
            return self._ask(function, [bundle])[0]

        return HeldByWorkers(self._shared, self._bundles, there, self._here.then(function))

    def each(self, function: Callable[[A], B], executor: Executor = SERIAL) -> list[B]:
        """Apply to every value on the worker that has it; what is lost is asked for again."""
        if not self._shared.open:
            return self._here.each(function, executor)
        found: dict[int, list[B]] = {}
        for _ in range(ATTEMPTS):
            left = [bundle for bundle in range(self._bundles) if bundle not in found]
            # A client sends its messages at least 10 ms apart. To forget what was asked before is
            # one too: it is done after this, and not before, where the caller would wait.
            self._asked = self._ask(function, left)
            bundles = results_of(self._shared.client, self._asked)
            found |= {b: own for b, own in zip(left, bundles, strict=True) if own is not None}
            if len(found) == self._bundles:
                return [one for bundle in range(self._bundles) for one in found[bundle]]
        raise lost_too_often()

    def _ask(self, function: Callable[[A], Any], bundles: Sequence[int]) -> list[Future]:
        """Have a function applied to the values of bundles, in one message."""
        client, values = self._shared.client, [self._future(bundle) for bundle in bundles]
        with in_our_words(client):
            return list(client.map(_apply, [function] * len(values), values, pure=False))

    def _future(self, bundle: int) -> Future:
        with self._lock:
            known = self._futures.get(bundle)
            if known is None or known.status == "cancelled":
                known = self._futures[bundle] = self._there(bundle)
            return known

    def let_go(self) -> None:
        """Let workers forget the values."""
        self._futures.clear()
        self._asked = []

    def __reduce__(self) -> tuple[type[MadeHere[A]], tuple[int, Callable[[int], A]]]:
        """Refuse to be pickled as long as workers hold it."""
        if self._shared.open:
            raise NotPicklableError
        return MadeHere, (self._here.count, self._here.make)


def _apply(function: Callable[[A], B], values: Sequence[A]) -> list[B]:
    quiet_blas()
    return [function(value) for value in values]


class Shared(Holder):
    """The workers of a cluster, for rows that are many."""

    open = True  # whether workers hold anything

    def __init__(self, client: Client) -> None:
        super().__init__()
        self.client = client
        self.held: weakref.WeakSet[HeldByWorkers[Any]] = weakref.WeakSet()

    @staticmethod
    def wants(rows: SomeRows) -> bool:
        """Whether rows are too many for each worker to hold all of them."""
        return rows.codes.nbytes + rows.counts.nbytes >= MANY

    def put(self, parts: Sequence[SomeRows]) -> Held[SomeRows]:
        """Hand parts out: a bundle of neighbours to each thread of the workers."""
        number = min(len(parts), sum(self.client.nthreads().values()))
        bundles = np.array_split(np.arange(len(parts)), number)

        def there(bundle: int) -> Future:
            with in_our_words(self.client):
                return self.client.scatter([[parts[i] for i in bundles[bundle]]], hash=False)[0]

        return HeldByWorkers(self, number, there, MadeHere(len(parts), parts.__getitem__))

    def close(self) -> None:
        """Let workers forget everything; from now on values are made here."""
        self.open = False
        self._rows.clear()
        for held in list(self.held):
            held.let_go()
