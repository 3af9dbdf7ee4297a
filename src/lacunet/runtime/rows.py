"""Partitioned rows outside of memory: the interface, and rows on the local disk."""

from __future__ import annotations

import errno
import mmap
import os
import pickle
import tempfile
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from lacunet.errors import OptionError, OutputError
from lacunet.runtime.arrays import CodeArray, FloatArray, IntArray
from lacunet.runtime.executor import SERIAL, Executor
from lacunet.runtime.processes import in_bytes

PART = 1 << 18  # rows of a part: an E step over it takes longer than a message to a worker

A = TypeVar("A")
B = TypeVar("B")


@dataclass(frozen=True, eq=False)
class SomeRows:
    """Some of the distinct rows of a table."""

    codes: CodeArray  # (m, n), -1 = missing
    counts: FloatArray  # (m,)


class NotPicklableError(Exception):
    """A value held elsewhere cannot be pickled; tasks that use it run in this process."""


class Partitions(ABC, Generic[A]):
    """Values in order, held in memory, on disk or by workers."""

    @abstractmethod
    def then(self, function: Callable[[A], B]) -> Partitions[B]:
        """Apply to every value in place; the results stay in the same place."""

    @abstractmethod
    def each(self, function: Callable[[A], B], executor: Executor = SERIAL) -> list[B]:
        """Apply to every value in place; return the results in order."""

    def in_turn(self, function: Callable[[A], B]) -> Iterator[B]:
        """Apply to every value; yield large results, if possible one in memory at a time."""
        return iter(self.each(function))


class ComputedPartitions(Partitions[A]):
    """Values that are computed on demand, one after the other."""

    def __init__(self, count: int, make: Callable[[int], A]) -> None:
        self.count, self.make = count, make

    def then(self, function: Callable[[A], B]) -> ComputedPartitions[B]:
        return ComputedPartitions(self.count, partial(_after, function, self.make))

    def each(
        self,
        function: Callable[[A], B],
        executor: Executor = SERIAL,  # one at a time is in memory
    ) -> list[B]:
        return list(self.in_turn(function))

    def in_turn(self, function: Callable[[A], B]) -> Iterator[B]:
        return (function(self.make(place)) for place in range(self.count))


def _after(function: Callable[[A], B], make: Callable[[int], A], place: int) -> B:
    return function(make(place))


class RowStorage(ABC):
    """A storage for the rows of a table."""

    open: bool  # whether it still holds anything

    def __init__(self) -> None:
        self._rows: list[tuple[Any, Partitions[SomeRows]]] = []  # by their array of codes

    @abstractmethod
    def wants(self, rows: SomeRows) -> bool:
        """Whether there are enough rows for this storage."""

    @abstractmethod
    def put(self, parts: Sequence[SomeRows]) -> Partitions[SomeRows]:
        """Store parts of rows."""

    def hold(self, rows: SomeRows) -> Partitions[SomeRows]:
        """Store rows in parts; each array of codes is stored once."""
        partitions = next(
            (partitions for codes, partitions in self._rows if codes is rows.codes), None
        )
        if partitions is None:
            partitions = self.put(partition_rows(rows))
            self._rows.append((rows.codes, partitions))
        return partitions

    def __reduce__(self) -> tuple[Callable[[], None], tuple[()]]:
        """Refuse to be pickled while it is open; afterwards pickle as None."""
        if self.open:
            raise NotPicklableError
        return _no_holder, ()


def _no_holder() -> None:
    return None


def partition_rows(rows: SomeRows) -> list[SomeRows]:
    """Cut rows into parts, without a copy."""
    starts = range(0, len(rows.counts), PART)
    return [SomeRows(rows.codes[s : s + PART], rows.counts[s : s + PART]) for s in starts]


# Measured memory of a fit: times the bytes of the codes, and bytes per row.
NEEDED, BESIDES = 3, 60
# Bytes that do not depend on the number of rows: some 280 MB of the package, 40 MB of the command
# line, and 130 MB for the curvature of large models.
PROGRAM = 500_000_000
LARGE = 1 << 16  # bytes from which an array is serialised separately
ALIGNED = 64  # bytes: arrays in a file begin at multiples
LEAST = 150_000_000  # least bytes for data


def room_in(limit: int) -> int:
    """Compute the bytes for data, given the memory limit of the process."""
    if limit < PROGRAM + LEAST:
        raise OptionError(
            f"--memory {in_bytes(limit)} is too little: the program itself takes some 450 MB. Give "
            f"{in_bytes(PROGRAM + LEAST)} or more."
        )
    return limit - PROGRAM


class FileRange(NamedTuple):
    """A range of bytes in a file."""

    first: int
    size: int


class Scratch:
    """An anonymous temporary file, deleted with this object."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 - closed by the finalizer
        weakref.finalize(self, self._file.close)
        self.size = 0

    def append(self, data: Any) -> FileRange:
        """Write bytes at the end."""
        bytes_ = memoryview(data).cast("B")
        try:
            os.lseek(self._file.fileno(), self.size, os.SEEK_SET)
            done = 0
            while done < len(bytes_):
                done += os.write(self._file.fileno(), bytes_[done : done + (1 << 28)])
        except OSError as error:
            full = error.errno == errno.ENOSPC
            why = "is full" if full else f"cannot be written ({error.strerror})"
            raise OutputError(
                f"the disk of {tempfile.gettempdir()} {why}: with --memory, rows that do not fit "
                f"into memory are written there, {in_bytes(self.size + len(bytes_))} so far. Set "
                "TMPDIR to a folder with more room, or raise --memory."
            ) from error
        place = FileRange(self.size, len(bytes_))
        self.size += len(bytes_)
        return place

    def read(self, place: FileRange) -> memoryview:
        """Read bytes; thread-safe."""
        view, done = memoryview(np.empty(place.size, np.uint8).data), 0  # uninitialised
        while done < place.size:
            done += os.preadv(self._file.fileno(), [view[done:]], place.first + done)
        return view

    def mapped(self, kind: Any, columns: int | None = None) -> NDArray[Any]:
        """Map the whole file as one array, which the system reads on demand."""
        mapping = mmap.mmap(self._file.fileno(), self.size, access=mmap.ACCESS_READ)
        flat = np.frombuffer(mapping, kind)
        return flat if columns is None else flat.reshape(-1, columns)


def forget(array: NDArray[Any]) -> None:
    """Release the memory of an array that is mapped from a file."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    mapping = base.obj if isinstance(base, memoryview) else base
    if isinstance(mapping, mmap.mmap) and hasattr(mapping, "madvise"):
        mapping.madvise(mmap.MADV_DONTNEED)


def in_passing(codes: CodeArray, counts: FloatArray) -> Iterator[SomeRows]:
    """Yield rows in parts; only one part of a mapped file is in memory."""
    for part in partition_rows(SomeRows(codes, counts)):
        yield part
        forget(part.codes)
        forget(part.counts)


def rows_at(array: NDArray[Any], places: IntArray) -> NDArray[Any]:
    """Select rows at ascending places; little of a mapped file is in memory at a time."""
    selected = np.empty((len(places), *array.shape[1:]), array.dtype)
    for some in np.array_split(np.arange(len(places)), max(1, len(array) // PART)):
        selected[some] = array[places[some]]
        forget(array)
    return selected


class Disk(RowStorage):
    """The local disk, for rows that exceed the memory."""

    open = False  # its files are deleted automatically

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.limit = limit

    def wants(self, rows: SomeRows) -> bool:
        needed = NEEDED * rows.codes.nbytes + BESIDES * len(rows.counts)
        return needed > room_in(self.limit)

    def put(self, parts: Sequence[SomeRows]) -> Partitions[SomeRows]:
        """Leave rows in place; values computed from them are written to disk."""
        return RowPartitions(len(parts), parts.__getitem__)


class RowPartitions(ComputedPartitions[SomeRows]):
    """Rows in parts, in memory or mapped from a file; computed values go to a file."""

    def then(self, function: Callable[[SomeRows], B]) -> Partitions[B]:  # type: ignore[override]
        return PartitionsOnDisk.written(self.in_turn(function))

    def in_turn(self, function: Callable[[SomeRows], B]) -> Iterator[B]:
        for number in range(self.count):
            rows = self.make(number)
            yield function(rows)
            forget(rows.codes)
            forget(rows.counts)


class Parcel(NamedTuple):
    """A pickled value, with its large arrays in a file.

    Small arrays are pickled inline, because a view keeps the whole buffer in memory.
    """

    packed: bytes  # all but the large arrays
    place: FileRange  # of the large arrays
    sizes: tuple[int, ...]  # of each, in bytes

    @classmethod
    def written(cls, scratch: Scratch, value: Any) -> Parcel:
        """Write a value at the end of a file."""
        large: list[memoryview] = []

        def is_small(buffer: pickle.PickleBuffer) -> bool:
            raw = buffer.raw()
            large.extend([raw] if raw.nbytes >= LARGE else [])
            return raw.nbytes < LARGE

        packed = pickle.dumps(value, pickle.HIGHEST_PROTOCOL, buffer_callback=is_small)
        first = scratch.size
        for raw in large:
            scratch.append(raw)
            scratch.append(bytes(-raw.nbytes % ALIGNED))  # kernels need aligned arrays
        return cls(
            packed, FileRange(first, scratch.size - first), tuple(raw.nbytes for raw in large)
        )

    def read(self, scratch: Scratch) -> Any:
        """Read the value; its arrays are views of one buffer."""
        data, first = scratch.read(self.place), 0
        buffers = []
        for size in self.sizes:
            buffers.append(data[first : first + size])
            first += size + -size % ALIGNED
        return pickle.loads(self.packed, buffers=buffers)


class PartitionsOnDisk(Partitions[A]):
    """Values in a file, read on demand, also by several threads."""

    def __init__(self, scratch: Scratch, parcels: list[Parcel]) -> None:
        self._scratch, self._parcels = scratch, parcels

    @classmethod
    def written(cls, values: Iterable[A]) -> PartitionsOnDisk[A]:
        """Write values one after the other."""
        scratch = Scratch()
        return cls(scratch, [Parcel.written(scratch, value) for value in values])

    def then(self, function: Callable[[A], B]) -> Partitions[B]:
        return PartitionsOnDisk.written(self.in_turn(function))

    def each(self, function: Callable[[A], B], executor: Executor = SERIAL) -> list[B]:
        return executor.map(partial(self._applied, function), self._parcels)

    def in_turn(self, function: Callable[[A], B]) -> Iterator[B]:
        return (self._applied(function, parcel) for parcel in self._parcels)

    def _applied(self, function: Callable[[A], B], parcel: Parcel) -> B:
        return function(parcel.read(self._scratch))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the values, which are written to a new file."""
        return PartitionsOnDisk.written, ([parcel.read(self._scratch) for parcel in self._parcels],)
