"""The one door to Numba: every kernel has the same flags.

`contract` allows fused multiply-add. No other fast-math flag: the ones that reorder would undo the
rounding tricks of `exp_inplace`, the ones that assume finite numbers would lose −inf, which is what
an impossible state honestly weighs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numba

P = ParamSpec("P")
R = TypeVar("R")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile on first use, keep the result on disk, release the GIL while running."""
    compiled: Any = numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"contract"})
    return cast("Callable[P, R]", compiled(function))
