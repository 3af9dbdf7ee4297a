"""Memory of this process: what is free goes back to the system, and sizes as people write them."""

from __future__ import annotations

import ctypes
import os
import threading
from contextlib import suppress
from functools import cache
from typing import Any

from lacunet.errors import OptionError

POOLS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")
STACK = 1 << 20  # bytes of address space for each thread, where that is limited
ARENAS = -8  # M_ARENA_MAX of mallopt

UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def give_back() -> None:
    """Give memory that is free back to the system, where it does not happen by itself (glibc).

    Arrays of a few hundred kilobytes, made and let go again and again while a table is read, leave
    holes between those that stay; they would count as used until the end.
    """
    trim = _trim()
    if trim is not None:
        trim(0)


@cache
def _trim() -> Any:
    with suppress(OSError, AttributeError):
        return ctypes.CDLL("libc.so.6").malloc_trim
    return None


def address_limit() -> int | None:
    """Give the limit of address space in bytes (`ulimit -v`); None: there is none."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if soft == resource.RLIM_INFINITY else soft


def save_address_space() -> None:
    """Let libraries that are loaded later reserve little: one thread each, one arena, small stacks.

    They reserve more than twice of what they use: for each thread a stack and an arena.
    """
    os.environ.update(dict.fromkeys(POOLS, "1"), RUST_MIN_STACK=str(STACK), MALLOC_ARENA_MAX="1")
    with suppress(OSError, AttributeError):  # the variable is for processes that are started later
        ctypes.CDLL(None).mallopt(ARENAS, 1)
    threading.stack_size(STACK)


def in_bytes(number: float) -> str:
    """Give bytes in the unit that people use.

    >>> in_bytes(1_530_000), in_bytes(999)
    ('1.53 MB', '999 bytes')
    """
    for unit, size in reversed(UNITS.items()):
        if number >= size:
            return f"{number / size:.3g} {unit}"
    return f"{number:.0f} bytes"


def bytes_of(size: str | float) -> int:
    """Read a size that is given as a text.

    >>> bytes_of("2GB"), bytes_of("1.5 mb"), bytes_of(1e6)
    (2000000000, 1500000, 1000000)
    """
    text = str(size).strip().upper().replace("IB", "B")
    unit = next((unit for unit in UNITS if text.endswith(unit)), "")
    try:
        number = float(text.removesuffix(unit)) * UNITS.get(unit, 1)
    except ValueError:
        number = 0.0
    if not 1.0 <= number < 1e18:
        raise OptionError(f"--memory '{size}' is no size of memory. Give for example 500MB or 2GB.")
    return int(number)
