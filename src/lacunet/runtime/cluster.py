"""Dask workers: an executor, and a holder of partitioned rows."""

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
from lacunet.runtime.rows import (
    ComputedPartitions,
    NotPicklableError,
    Partitions,
    RowStorage,
    SomeRows,
)

if TYPE_CHECKING:
    from distributed import Client, Future


LARGE = 1 << 16  # bytes from which an array is serialised separately
ATTEMPTS = 4  # attempts at a task when workers are lost
BESIDE = 4  # concurrent tasks of this process that wait for workers
# Bytes of rows from which workers share them. Below, each worker has all rows and does whole fits.
MANY = 1 << 26

A = TypeVar("A")
B = TypeVar("B")


class _Packer(pickle.Pickler):
    """Pickles an object with references to its large arrays in a list."""

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
    """Serialise an object, and append its large arrays to the list, each once."""
    file = io.BytesIO()
    _Packer(file, arrays, adding=adding).dump(thing)
    return file.getvalue()


def unpacked(data: bytes, arrays: Sequence[Any]) -> Any:
    """Deserialise an object that was packed with these arrays."""
    return _Unpacker(io.BytesIO(data), arrays).load()


def do(function: bytes, item: bytes, *arrays: Any) -> bytes:
    """Run a task on a worker; the result refers to the arrays that the task got."""
    quiet_blas()
    result = unpacked(function, arrays)(unpacked(item, arrays))
    return packed(result, list(arrays), adding=False)


@lru_cache
def quiet_blas() -> Any:
    """Limit BLAS to one thread in this worker, because their number changes the order of sums."""
    return one_blas_thread()


class Workers(Serial):
    """Dask workers with one task each at a time; subtasks run serially.

    Tasks that use rows on the cluster run on a few threads of this process, because they only wait
    for the workers.
    """

    def __init__(self, client: Client, listener: Listener = ignore) -> None:
        super().__init__(listener)
        self.client = client
        self._threads = Threads(BESIDE, listener)
        self._scattered: dict[int, tuple[Any, Future]] = {}  # arrays on the cluster, by id

    def close(self, *, wait: bool) -> None:
        self._threads.close(wait=wait)

    def local(self) -> Executor:
        return self._threads

    def if_worth(self, nanoseconds: float) -> Executor:  # no step is too short
        return self

    def results(self, function: Callable[[A], B], items: Sequence[A]) -> Iterator[tuple[int, B]]:
        arrays: list[Any] = []
        try:
            task = packed(function, arrays)
            tasks = [(task, packed(item, arrays)) for item in items]
        except NotPicklableError:
            yield from self._threads.results(function, items)
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
        """Run the remaining tasks; leave out those that are lost with a worker."""
        from distributed import as_completed

        remote = [self._put(array) for array in arrays]
        places: dict[Any, int] = {}
        try:
            for place in left:
                with translated_errors(self.client):
                    future = self.client.submit(do, *tasks[place], *remote, pure=False)
                places[future] = place
            for future in as_completed(list(places), loop=self.client.loop):
                data = result_of(self.client, future)
                if data is not None:
                    yield places[future], data
        finally:
            for future in places:
                future.release()

    def _put(self, array: Any) -> Future:
        """Send an array to the cluster, once unless it is lost."""
        known = self._scattered.get(id(array))
        if known is None or known[1].status != "finished":
            with translated_errors(self.client):
                future = self.client.scatter(array, hash=False)
            scattered, key = self._scattered, id(array)
            last = weakref.ref(array, lambda _: scattered.pop(key, None) and None)
            known = scattered[key] = (last, future)
        return known[1]


@contextmanager
def translated_errors(client: Client) -> Iterator[None]:
    """Translate Dask errors of a lost scheduler, or of killed workers, to `WorkerError`."""
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
        with translated_errors(client):
            return future.result()
    except CancelledError:
        _check_running(client)
        return None


def results_of(client: Client, futures: Sequence[Future]) -> list[Any]:
    """Gather results in one message; None for each that was lost with a worker."""
    try:
        with translated_errors(client):
            return list(client.gather(list(futures)))
    except CancelledError:  # some are lost
        return [result_of(client, future) for future in futures]


def _check_running(client: Client, cause: Exception | None = None) -> None:
    """Raise an error if the scheduler is gone."""
    if client.status != "running":
        raise WorkerError(
            "the connection to the scheduler was lost. Start the cluster and run the same command "
            "again: with --resume FILE it continues from the checkpoint."
        ) from cause


def lost_too_often() -> WorkerError:
    """Build the error for a task that repeatedly loses its workers."""
    return WorkerError(
        f"workers were lost {ATTEMPTS} times with the same piece of work, most likely because "
        "memory was short there. Give workers more memory, or have fewer of them on a machine."
    )


class PartitionsOnWorkers(Partitions[A]):
    """A value for each part, in bundles of one worker each; lost bundles are recomputed.

    A message to a worker takes longer than an E step over few rows, so each bundle gets one. After
    the workers are gone, values are computed in this process, part by part.
    """

    def __init__(
        self,
        shared: Shared,
        bundles: int,
        remote: Callable[[int], Future],
        local: ComputedPartitions[A],
    ) -> None:
        self._shared, self._bundles, self._remote, self._local = shared, bundles, remote, local
        self._futures: dict[int, Future] = {}
        self._latest: list[Future] = []  # of the last call
        self._lock = threading.Lock()
        shared.partitions.add(self)

    def then(self, function: Callable[[A], B]) -> PartitionsOnWorkers[B]:
        def remote(bundle: int) -> Future:
            return self._submitted(function, [bundle])[0]

        return PartitionsOnWorkers(self._shared, self._bundles, remote, self._local.then(function))

    def each(self, function: Callable[[A], B], executor: Executor = SERIAL) -> list[B]:
        """Apply to every value on its worker; submit lost results again."""
        if not self._shared.open:
            return self._local.each(function, executor)
        results: dict[int, list[B]] = {}
        for _ in range(ATTEMPTS):
            left = [bundle for bundle in range(self._bundles) if bundle not in results]
            # A client sends its messages at least 10 ms apart. The release of the last futures is
            # a message too: it follows the new one, so that the caller does not wait for it.
            self._latest = self._submitted(function, left)
            bundles = results_of(self._shared.client, self._latest)
            results |= {b: one for b, one in zip(left, bundles, strict=True) if one is not None}
            if len(results) == self._bundles:
                return [one for bundle in range(self._bundles) for one in results[bundle]]
        raise lost_too_often()

    def _submitted(self, function: Callable[[A], Any], bundles: Sequence[int]) -> list[Future]:
        """Submit a function of the values of bundles, in one message."""
        client, values = self._shared.client, [self._future(bundle) for bundle in bundles]
        with translated_errors(client):
            return list(client.map(_apply, [function] * len(values), values, pure=False))

    def _future(self, bundle: int) -> Future:
        with self._lock:
            known = self._futures.get(bundle)
            if known is None or known.status == "cancelled":
                known = self._futures[bundle] = self._remote(bundle)
            return known

    def release(self) -> None:
        """Release the values on the workers."""
        self._futures.clear()
        self._latest = []

    def __reduce__(self) -> tuple[type[ComputedPartitions[A]], tuple[int, Callable[[int], A]]]:
        """Refuse to be pickled while workers hold the values."""
        if self._shared.open:
            raise NotPicklableError
        return ComputedPartitions, (self._local.count, self._local.make)


def _apply(function: Callable[[A], B], values: Sequence[A]) -> list[B]:
    quiet_blas()
    return [function(value) for value in values]


class Shared(RowStorage):
    """Dask workers that hold the rows of a large table."""

    open = True  # whether workers hold anything

    def __init__(self, client: Client) -> None:
        super().__init__()
        self.client = client
        self.partitions: weakref.WeakSet[PartitionsOnWorkers[Any]] = weakref.WeakSet()

    @staticmethod
    def wants(rows: SomeRows) -> bool:
        """Whether rows are too many for each worker to hold all of them."""
        return rows.codes.nbytes + rows.counts.nbytes >= MANY

    def put(self, parts: Sequence[SomeRows]) -> Partitions[SomeRows]:
        """Distribute parts: a bundle of neighbours to each worker thread."""
        number = min(len(parts), sum(self.client.nthreads().values()))
        bundles = np.array_split(np.arange(len(parts)), number)

        def remote(bundle: int) -> Future:
            with translated_errors(self.client):
                return self.client.scatter([[parts[i] for i in bundles[bundle]]], hash=False)[0]

        return PartitionsOnWorkers(
            self, number, remote, ComputedPartitions(len(parts), parts.__getitem__)
        )

    def close(self) -> None:
        """Release all values on the workers; later ones are computed in this process."""
        self.open = False
        self._rows.clear()
        for partitions in list(self.partitions):
            partitions.release()
