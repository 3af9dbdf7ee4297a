"""Tasks as bytes, without the large arrays in them: these are put on the cluster once.

Whoever packs a task names its large arrays; whoever does it has them, and names those that are in
what comes out. So a fit that goes to a worker and back takes its table along once.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

LARGE = 1 << 16  # bytes, from which an array is not packed with what holds it

Name = int  # of an array, among those that travel with a task


class _Packer(pickle.Pickler):
    def __init__(self, file: io.BytesIO, name: Callable[[Any], Name | None]) -> None:
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self._name = name

    def persistent_id(self, thing: Any) -> Name | None:
        """Name a large array."""
        return self._name(thing) if isinstance(thing, np.ndarray) else None


class _Unpacker(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, arrays: Sequence[Any]) -> None:
        super().__init__(file)
        self._arrays = arrays

    def persistent_load(self, name: Any) -> Any:
        """Find an array by its name."""
        return self._arrays[name]


def packed(thing: Any, arrays: list[Any]) -> bytes:
    """Pack a thing; its large arrays are put at the end of the list, unless they are there."""
    places = {id(array): place for place, array in enumerate(arrays)}

    def name(array: Any) -> Name | None:
        if id(array) not in places and array.nbytes >= LARGE and array.dtype.kind != "O":
            places[id(array)] = len(arrays)
            arrays.append(array)
        return places.get(id(array))

    return _dump(thing, name)


def unpacked(told: bytes, arrays: Sequence[Any]) -> Any:
    """Give the thing that was packed with these arrays."""
    return _Unpacker(io.BytesIO(told), arrays).load()


def do(function: bytes, item: bytes, *arrays: Any) -> bytes:
    """Do a task where it ended up; what comes out names the arrays that it was given."""
    quiet_blas()
    places = {id(array): place for place, array in enumerate(arrays)}
    result = unpacked(function, arrays)(unpacked(item, arrays))
    return _dump(result, lambda array: places.get(id(array)))


def _dump(thing: Any, name: Callable[[Any], Name | None]) -> bytes:
    file = io.BytesIO()
    _Packer(file, name).dump(thing)
    return file.getvalue()


@lru_cache
def quiet_blas() -> Any:
    """Let BLAS have one thread in this worker: with another number it adds in another order."""
    from lacunet.executor import one_blas_thread

    return one_blas_thread()
