"""The tree of exceptions.

::

    LacunetError
    ├── DataError (ValueError)      a table that cannot be used as it is
    ├── ModelError (ValueError)     a network, its tables or its file
    ├── OptionError (ValueError)    an argument or option out of its range
    │   └── UnknownOptionError (TypeError)  an argument that does not exist
    ├── OutputError (OSError)       a result that could not be written
    ├── ImpossibleNumberError (ArithmeticError)  an invalid result: a defect
    └── WorkerError (RuntimeError)  a process that ended before its task

Each message names the place, the fault, the allowed values and the next step. Each class also
inherits the built-in that it resembles, so that `except ValueError` works.
"""

import difflib
from collections.abc import Iterable

from lacunet.wording import OF_ESTIMATOR, worded


class LacunetError(Exception):
    """Root of every error that Lacunet raises on purpose."""

    def __init__(self, message: str = "") -> None:
        """Store a message; inside an estimator, translate its options at once."""
        super().__init__(worded(message) if OF_ESTIMATOR.get() else message)

    def __str__(self) -> str:
        """Give the message with options in the notation of the command line or of Python."""
        return worded(super().__str__())


class DataError(LacunetError, ValueError):
    """A table that cannot be used unchanged."""


class ModelError(LacunetError, ValueError):
    """A network, its tables or its file that is not valid."""


class OptionError(LacunetError, ValueError):
    """An argument or option out of its range."""


class UnknownOptionError(OptionError, TypeError):
    """An argument that a function or an estimator does not have."""


class OutputError(LacunetError, OSError):
    """A result that could not be written."""


class ImpossibleNumberError(LacunetError, ArithmeticError):
    """An invalid result, which is withheld: a defect of this program."""


class WorkerError(LacunetError, RuntimeError):
    """A process that ended before its task."""


def numbers_refused(name: str) -> DataError:
    """Build the error for a numeric column where only categories are allowed."""
    return DataError(
        f"'{name}' holds numbers, and here only categories can be. fit, select, compare, score, "
        "lrt, evidence, learn (of a graph alone), stack, assign, simulate and query take numbers; "
        "elsewhere put them into bins, with --bin."
    )


def unknown_value(name: str, value: object, known: Iterable[str]) -> OptionError:
    """Build the error for a value that is not among the known ones."""
    return OptionError(f"{name} '{value}' is not known. Choose from {', '.join(known)}.")


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Suggest the nearest known name as a sentence after a space; an empty text if none is near.

    >>> did_you_mean("smok", ["age", "Smoke"]), did_you_mean("x", ["age"])
    (" Did you mean 'Smoke'?", '')
    """
    written = {other.lower(): other for other in known}
    near = difflib.get_close_matches(name.lower(), written, n=1)
    return f" Did you mean '{written[near[0]]}'?" if near else ""
