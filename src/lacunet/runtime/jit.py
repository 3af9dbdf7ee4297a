"""Compile kernels with Numba, all with the same flags, and announce long compilation.

`contract` allows fused multiply-add. Fast-math flags that reorder would undo the rounding of
`exp_inplace`; those that assume finite numbers would lose −inf, the weight of an impossible state.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from multiprocessing import current_process
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, cast

import numba
from numba.core import event

_FLAGS: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "no_cfunc_wrapper": True,
    "error_model": "numpy",
    "fastmath": {"contract"},
}

P = ParamSpec("P")
R = TypeVar("R")


def drop_outdated(package: Path) -> bool:
    """Delete the compiled kernels of a package folder if a kernel that others inline has changed.

    Numba compares the file of each kernel only, neither those of the kernels it calls nor the types
    of its arguments. After an upgrade, a kernel would be old, or its index could not be read.
    """
    try:
        files = sorted((*package.glob("likelihoods/*.py"), *package.glob("inference/kernels/*.py")))
        stats = ((file.relative_to(package), file.stat()) for file in files)
        state = "\n".join(f"{name} {at.st_size} {at.st_mtime_ns}" for name, at in stats)
        marker = package / "runtime" / "__pycache__" / "kernels.txt"
        if marker.exists() and marker.read_text(encoding="utf-8") == state:
            return False
        for index in package.rglob("*.nbi"):
            index.unlink(missing_ok=True)
        marker.parent.mkdir(exist_ok=True)
        marker.write_text(state, encoding="utf-8")
    except OSError:  # a folder that cannot be written: Numba then has a cache elsewhere
        return False
    return True


drop_outdated(Path(__file__).parents[1])


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile on first use, keep the result on disk, release the GIL while running.

    Numba gives a literal number in a call a separate type, and compiles the kernel again. So
    kernels pass `np.intp(0)` to each other, not 0.
    """
    return cast("Callable[P, R]", _lazily(function))


def _lazily(function: Callable[..., Any], **more: str) -> Any:
    flags = {**_FLAGS, **more}
    try:
        return numba.njit(**flags)(function)
    except RuntimeError:  # neither the package's folder nor the user's cache can be written
        return numba.njit(**{**flags, "cache": False})(function)


def is_compiled(function: Callable[..., Any]) -> bool:
    """Whether a kernel is ready for some types, in memory or on disk."""
    cache = getattr(function, "_cache", None)
    stored = getattr(cache, "_cache_file", None)  # there is no public interface
    load = getattr(stored, "_load_index", dict)
    return bool(getattr(function, "signatures", None)) or bool(load())


NOTICED = 1.0  # seconds of compiling before the notice
NOTICE = (
    "lacunet: compiling kernels, once on this machine (`lacunet warm-up` or lacunet.warm_up() "
    "compiles them ahead)"
)


class _Compiling(event.Listener):
    """Writes one notice to a terminal if compilation takes long."""

    def __init__(self) -> None:
        self._seconds, self._inside, self._shown = 0.0, threading.local(), False

    def on_start(self, event: Any) -> None:
        begun = self._inside.__dict__.setdefault("begun", [])
        begun.append(time.monotonic())  # nested compilations count once
        self._count(event, begun[0])

    def on_end(self, event: Any) -> None:
        first = self._inside.begun.pop()
        if not self._inside.begun:
            self._count(event, first)
            self._seconds += time.monotonic() - first

    def _count(self, event: Any, first: float) -> None:
        enough = self._seconds + time.monotonic() - first >= NOTICED
        if not enough or self._shown or current_process().name != "MainProcess":
            return
        function = getattr(event.data.get("dispatcher"), "py_func", None)
        ours = str(getattr(function, "__module__", "")).startswith("lacunet.")
        if ours and sys.stderr is not None and sys.stderr.isatty():
            self._shown = True
            sys.stderr.write(f"\r{NOTICE}\n")
            sys.stderr.flush()


cast("Any", event).register("numba:compile", _Compiling())


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a kernel inline into its callers.

    Use it for short kernels that take tuples of arrays and are called for every case, because the
    reference counting of a call takes longer than their work.
    """
    return cast("Callable[P, R]", _lazily(function, inline="always"))
