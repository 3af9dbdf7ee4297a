"""Packages that are not required: loaded when a door is used, and never replaced in silence."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

from lacunet.errors import ModelError


def load(module: str) -> Any:
    """Import `module`, whose package is also the name of the extra that installs it."""
    package = module.partition(".")[0]
    try:
        with warnings.catch_warnings():
            # While it loads, pyAgrum's compiled part raises DeprecationWarnings of its own, and
            # crashes the interpreter where these are errors.
            warnings.simplefilter("ignore", DeprecationWarning)
            return import_module(module)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise  # the package is there, and is broken
        raise ModelError(
            f"{package} is not installed. Install it with: pip install 'lacunet[{package}]'."
        ) from None
