"""Packages behind the doors to other programs, each an extra of its own name."""

from __future__ import annotations

from typing import Any

from lacunet.errors import ModelError
from lacunet.optional import find


def load(module: str) -> Any:
    """Import `module`, whose package is also the name of the extra that installs it."""
    found = find(module)
    if found is None:
        package = module.partition(".")[0]
        raise ModelError(
            f"{package} is not installed. Install it with: pip install 'lacunet[{package}]'."
        )
    return found
