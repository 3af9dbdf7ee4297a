"""Packages that are not required: imported when they are needed, and never replaced in silence."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from lacunet.errors import OptionError


def require(module: str, *, extra: str, what: str) -> Any:
    """Import a module; if its package is not there, say who needs it, and what installs it.

    >>> require("no_such_package", extra="report", what="the report")
    Traceback (most recent call last):
    lacunet.errors.OptionError: the report needs no_such_package, which is not installed. Install it
    with: pip install 'lacunet[report]'.
    """
    package = module.partition(".")[0]
    try:
        import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise  # the package is there, and is broken
        raise OptionError(
            f"{what} needs {package}, which is not installed. Install it with: "
            f"pip install 'lacunet[{extra}]'."
        ) from None
    return import_module(module)
