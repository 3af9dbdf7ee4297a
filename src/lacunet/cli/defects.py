"""What nobody expected: one sentence, the details in a file, and how to report it."""

import os
import platform
import shlex
import signal
import sys
import tempfile
import traceback
from importlib.metadata import PackageNotFoundError, version
from types import FrameType

from lacunet import __version__
from lacunet.errors import ImpossibleNumberError, LacunetError

DEFECT = 70  # exit code: EX_SOFTWARE
TERMINATED = 143  # that of a program that SIGTERM ended
PACKAGES = ("numpy", "numba", "polars", "scipy", "typer", "rich")
REPORT = "the issue tracker of Lacunet"


class TerminatedError(KeyboardInterrupt):
    """Somebody asked the program to end: it cleans up as after Ctrl-C."""


def _end(_number: int, _frame: FrameType | None) -> None:
    raise TerminatedError


def end_as_interrupted() -> None:
    """Let SIGTERM end the program as Ctrl-C does, not between two bytes."""
    signal.signal(signal.SIGTERM, _end)


def is_defect(error: BaseException) -> bool:
    """Whether an error is none that this program raises on purpose."""
    return isinstance(error, ImpossibleNumberError) or not isinstance(error, LacunetError)


def describe_defect(error: BaseException) -> str:
    """Write the details to a file, and give the sentence that names it."""
    what = f"{type(error).__name__}: {error}".strip().partition("\n")[0]
    return (
        f"this is a defect of lacunet, not of your data ({what[:300]}). {_written(error)} Please "
        f"report it with that file, at {REPORT}; --debug shows where it happened."
    )


def _written(error: BaseException) -> str:
    try:
        handle, path = tempfile.mkstemp(prefix="lacunet-defect-", suffix=".txt")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(_details(error))
    except OSError as refused:
        return f"The details could not be written ({refused.strerror or refused})."
    return f"The details are in {path}."


def _details(error: BaseException) -> str:
    lines = [f"lacunet {__version__}, Python {platform.python_version()}, {platform.platform()}"]
    lines += [f"{name} {_version(name)}" for name in PACKAGES]
    lines += ["", shlex.join(["lacunet", *sys.argv[1:]]), ""]
    return "\n".join(lines) + "\n" + "".join(traceback.format_exception(error))


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "(none)"
