"""The one door to Numba: every kernel has the same flags.

`contract` allows fused multiply-add. No other fast-math flag: the ones that reorder would undo the
rounding tricks of `exp_inplace`, the ones that assume finite numbers would lose −inf, which is what
an impossible state honestly weighs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar, cast

import numba
from numba.extending import overload

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
    return cast("Callable[P, R]", _for_any_number(numba.njit(**_FLAGS)(function)))


def _for_any_number(compiled: Any) -> Any:
    """Let kernels that call this one with 0, with 1 and with a variable share one compilation.

    To Numba a number that is written out in a call is a type of its own; each was compiled anew.
    """
    by_types, plain = compiled.get_call_template, cast("Any", numba.types.unliteral)

    def without_literals(args: Any, kws: Any) -> Any:
        return by_types(tuple(map(plain, args)), {name: plain(own) for name, own in kws.items()})

    compiled.get_call_template = without_literals
    return compiled


def is_compiled(function: Callable[..., Any]) -> bool:
    """Whether a kernel is ready for some types, in memory or on disk."""
    cache = getattr(function, "_cache", None)
    stored = getattr(cache, "_cache_file", None)  # there is no public way to look into it
    load = getattr(stored, "_load_index", dict)
    return bool(getattr(function, "signatures", None)) or bool(load())


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Write a kernel into those that call it.

    For short ones that take tuples of arrays and are called for every case: a call counts the
    references to all of them, there and back, which takes longer than what is done with a case.
    """
    return cast("Callable[P, R]", numba.njit(inline="always", **_FLAGS)(function))


def where_given(otherwise: R) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Compile a kernel for callers whose first argument may be None: then it is a constant.

    Which of the two is known when the caller is compiled: a structure without a part pays nothing
    for those that have it.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        compiled = numba.njit(**_FLAGS)(function)

        def door(*args: P.args, **kwargs: P.kwargs) -> R:
            return otherwise if args[0] is None else cast("R", compiled(*args, **kwargs))

        # Numba wants the arguments of all three to have the same names, without annotations.
        overload(door)(
            lambda *args: (
                (lambda *args: otherwise)  # noqa: ARG005
                if isinstance(args[0], numba.types.NoneType)
                else (lambda *args: compiled(*args))  # noqa: PLW0108
            )
        )
        return door

    return decorate
