"""The command line, the only package that prints: parses options, calls `api`, shows results.

Start with `app`, which lists the commands. Their functions are in `fit`, `compare`, `learn`,
`impute` and `models`. `options` makes shared options from `Settings`, `parsing` reads their texts,
and `paths` protects inputs. `outcome` reads tables and shows results. `console` writes to stdout
and stderr, and reports errors.
"""

import ctypes
import io
import os
import signal
import sys
from contextlib import suppress
from typing import Any

from lacunet import __version__

SWITCHES = ("--debug", "--safe-csv")  # of the program itself


class _Output(io.FileIO):
    """A standard stream that drops output after its reader has closed."""

    def __init__(self, number: int, lost: type[OSError]) -> None:
        super().__init__(number, "w", closefd=False)
        self._lost = lost

    def write(self, data: Any) -> int:
        """Write; after the reader has closed, pretend success. Other errors are raised once."""
        try:
            return super().write(data) or 0
        except self._lost:
            return len(memoryview(data).cast("B"))
        except OSError:
            self._lost = OSError
            raise


def open_streams() -> None:
    """Make the three standard streams usable, even if the caller closed them.

    A closed stream is redirected to the null device, because the next opened file would otherwise
    take its number. A reader that closes early (`| head`) and a lost remark are not errors.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:  # gets this number, the lowest free one
            os.open(os.devnull, os.O_RDWR)
    streams: list[tuple[str, int, type[OSError]]] = [
        ("stdout", 1, BrokenPipeError),
        ("stderr", 2, OSError),
    ]
    for name, number, lost in streams:
        if getattr(sys, name) is not getattr(sys, f"__{name}__"):
            continue  # replaced, as in a test
        raw = _Output(number, lost)
        # Files and pipes get UTF-8; a terminal replaces characters that it cannot show.
        encoding = None if raw.isatty() else "utf-8"
        line = number == 2 or raw.isatty()
        buffered = io.BufferedWriter(raw)
        text = io.TextIOWrapper(buffered, encoding, errors="replace", line_buffering=line)
        setattr(sys, name, text)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115


def main() -> None:
    """Run the `lacunet` command; every failure ends with a sentence and an exit code."""
    open_streams()
    try:
        if sys.argv[1:] == ["--version"]:  # without loading anything
            sys.stdout.write(f"lacunet {__version__}\n")
            sys.stdout.flush()
            return
        from lacunet.runtime.processes import address_limit

        limit = address_limit()
        if limit is not None:
            continue_within(limit)
        from lacunet.cli.app import app
        from lacunet.cli.console import end_as_interrupted

        end_as_interrupted()
        switches = [word for word in sys.argv[1:] if word in SWITCHES]  # at any position
        sys.argv[1:] = [*switches, *(word for word in sys.argv[1:] if word not in SWITCHES)]
        app()
    except OSError as error:  # of --help and --version; commands handle their own
        sys.stderr.write(f"error: the result cannot be printed: {error.strerror or error}.\n")
        sys.exit(2)
    except KeyboardInterrupt:  # during imports: nothing to clean up
        sys.stderr.write("interrupted\n")
        sys.stderr.flush()
        os._exit(130)


# With limited address space (`ulimit -v`): a result or an error message, never a crash.
LEAST = 850_000_000  # bytes for the libraries, and some working memory
OUT_OF_SPACE = 2  # exit code of an invalid request
CRASHES = frozenset({signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGSEGV, signal.SIGTRAP})
PARENT_DIES = 1  # PR_SET_PDEATHSIG of prctl: signal at the parent's death
NEXT = (
    "Raise the limit (ulimit -v unlimited; the memory limit of a container counts only what is "
    "used)"
)


def continue_within(limit: int) -> None:
    """Return in a child process with little address space; the parent ends here."""
    from lacunet.runtime.processes import in_bytes, save_address_space

    if limit < LEAST:
        _end(
            f"the address space is limited to {in_bytes(limit)} (ulimit -v), and Lacunet needs at "
            f"least {in_bytes(LEAST)}. {NEXT}."
        )
    save_address_space()
    parent, child = os.getpid(), os.fork()
    if child:
        _end_as(child, limit)
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PARENT_DIES, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(OUT_OF_SPACE)


def _end_as(child: int, limit: int) -> None:
    """Wait for a child, and end with its status; explain a crash for lack of memory."""
    from lacunet.runtime.processes import in_bytes

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda got, _: os.kill(child, got))
    if sys.stdin is not None and sys.stdin.isatty():
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to the child too
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if -code in CRASHES or code == 1:  # 1: OpenBLAS
        _end(
            f"memory ran out: the address space is limited to {in_bytes(limit)} (ulimit -v). "
            f"{NEXT}, or give fewer rows, columns or states."
        )
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def _end(message: str) -> None:
    with suppress(OSError, ValueError, AttributeError):
        sys.stderr.write(f"error: {message}\n")
        sys.stderr.flush()
    os._exit(OUT_OF_SPACE)
