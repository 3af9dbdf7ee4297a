"""Import optional packages on demand; a missing one is an error, never replaced silently."""

import warnings
from importlib import import_module
from typing import Any

from lacunet.errors import LacunetError, OptionError


def find(module: str) -> Any | None:
    """Import a module; None if its package is not installed.

    A package that is installed and cannot be loaded raises ImportError or OSError.
    """
    package = module.partition(".")[0]
    with warnings.catch_warnings():
        # While it loads, pyAgrum's compiled part raises DeprecationWarnings of its own, and
        # crashes the interpreter where these are errors.
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            import_module(package)
        except ModuleNotFoundError as error:
            if error.name != package:
                raise  # the package is installed but broken
            return None
        return import_module(module)


def require(
    module: str,
    *,
    extra: str | None = None,
    what: str = "",
    error: type[LacunetError] = OptionError,
) -> Any:
    """Import a module; if its package is missing, raise an error with the install command.

    `extra` names the extra that installs the package, if its name differs.

    >>> require("no_such_package", extra="word", what="a Word document")
    Traceback (most recent call last):
    lacunet.errors.OptionError: a Word document needs no_such_package, which is not installed.
    Install it with: pip install 'lacunet[word]'.
    """
    package = module.partition(".")[0]
    needed = f"{what} needs {package}, which" if what else package
    try:
        loaded = find(module)
    except (ImportError, OSError) as broken:
        raise error(
            f"{needed} is installed but cannot be loaded: {broken}. Install the library or "
            f"package that the message names, or reinstall {package}."
        ) from broken
    if loaded is None:
        install = f"pip install 'lacunet[{extra or package}]'"
        raise error(f"{needed} is not installed. Install it with: {install}.")
    return loaded
