"""Packages that only tests compare with: where one cannot be loaded, its tests are skipped.

They need libraries of the system that a minimal machine lacks (pyAgrum: libgomp). With
LACUNET_PEERS=required, as in CI, nothing is skipped.
"""

import functools
import os
import warnings
from importlib import import_module
from types import ModuleType

import pytest


@functools.cache
def load(module: str) -> ModuleType | str:
    """Give a module, or why it cannot be loaded."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pyAgrum crashes the interpreter where they are errors
        try:
            return import_module(module)
        except (ImportError, OSError) as error:
            if os.environ.get("LACUNET_PEERS") == "required":
                raise
            return f"{module} cannot be loaded: {error}"


class Peer:
    """A module that is loaded at its first use; a test that uses it without success is skipped."""

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> object:
        loaded = load(self._module)
        if isinstance(loaded, str):
            pytest.skip(loaded)
        return getattr(loaded, name)


def needs(module: str) -> pytest.MarkDecorator:
    """Skip a test that uses a module by a function of ours."""
    loaded = load(module)
    return pytest.mark.skipif(isinstance(loaded, str), reason=str(loaded))
