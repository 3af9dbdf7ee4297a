"""Names of earlier versions, which give the new name in a warning."""

import warnings
from typing import Any

RENAMED = {"How": "CertaintyBasis", "Pool": "CellStack"}  # of the package


def warn_renamed(old: str, new: str) -> None:
    """Warn the caller of the calling function that a name will disappear."""
    warnings.warn(f"{old} is now {new}; the old name will be removed.", FutureWarning, stacklevel=3)


def renamed(old: str, new: str) -> property:
    """Give a read-only attribute with an old name; reading it warns."""

    def read(self: Any) -> Any:
        warn_renamed(f"`{type(self).__name__}.{old}`", f"`{new}`")
        return getattr(self, new)

    return property(read, doc=f"The old name of `{new}`.")
