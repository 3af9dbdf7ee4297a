"""Names of earlier versions, which give the new name in a warning."""

import functools
import warnings
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

RENAMED = {
    "HiddenFound": "HiddenStructure",
    "How": "CertaintyBasis",
    "Pool": "CellStack",
}  # of the package


def warn_renamed(old: str, new: str) -> None:
    """Warn the caller of the calling function that a name will disappear."""
    warnings.warn(f"{old} is now {new}; the old name will be removed.", FutureWarning, stacklevel=3)


def renamed(old: str, new: str) -> property:
    """Give a read-only attribute with an old name; reading it warns."""

    def read(self: Any) -> Any:
        warn_renamed(f"`{type(self).__name__}.{old}`", f"`{new}`")
        return getattr(self, new)

    return property(read, doc=f"The old name of `{new}`.")


def renamed_parameter(old: str, new: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Accept a keyword argument by its old name; using it warns."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            if old in kwargs:
                warn_renamed(f"`{old}` of `{function.__name__}`", f"`{new}`")
                kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return call

    return decorate
