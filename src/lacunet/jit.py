"""The one door to Numba: every kernel has the same flags.

`contract` allows fused multiply-add. No other fast-math flag: the ones that reorder would undo the
rounding tricks of `exp_inplace`, the ones that assume finite numbers would lose −inf, which is what
an impossible state honestly weighs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numba

_FLAGS: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"contract"},
}

P = ParamSpec("P")
R = TypeVar("R")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile on first use, keep the result on disk, release the GIL while running."""
    return cast("Callable[P, R]", numba.njit(**_FLAGS)(function))


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Write a kernel into those that call it.

    For short ones that take tuples of arrays and are called for every case: a call counts the
    references to all of them, there and back, which takes longer than what is done with a case.
    """
    return cast("Callable[P, R]", numba.njit(inline="always", **_FLAGS)(function))
