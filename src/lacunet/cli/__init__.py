"""The command line: the only place that prints."""

import io
import os
import sys
from typing import Any

from lacunet.cli.app import continue_within
from lacunet.runtime.processes import address_limit

SWITCHES = ("--debug", "--safe-csv")  # of the program itself


class _Output(io.FileIO):
    """A standard stream that may lose its reader: what nobody can read is dropped."""

    def __init__(self, number: int, lost: type[OSError]) -> None:
        super().__init__(number, "w", closefd=False)
        self._lost = lost

    def write(self, data: Any) -> int:
        """Write; where the reader is gone, do as if it were written. An error comes once."""
        try:
            return super().write(data) or 0
        except self._lost:
            return len(memoryview(data).cast("B"))
        except OSError:
            self._lost = OSError
            raise


def open_streams() -> None:
    """Make sure that the three standard streams can be used, whatever the caller did to them.

    A stream that the caller closed leads nowhere; otherwise the next file that is opened would take
    its number, and be written over. A result that its reader leaves early (`| head`) is no error,
    and neither is a remark that cannot be written.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:  # the lowest number that is free, so this one
            os.open(os.devnull, os.O_RDWR)
    streams: list[tuple[str, int, type[OSError]]] = [
        ("stdout", 1, BrokenPipeError),
        ("stderr", 2, OSError),
    ]
    for name, number, lost in streams:
        if getattr(sys, name) is not getattr(sys, f"__{name}__"):
            continue  # somebody else's, as in a test
        raw = _Output(number, lost)
        # Files and pipes get UTF-8 everywhere; an old terminal gets a mark for what it cannot show.
        encoding = None if raw.isatty() else "utf-8"
        line = number == 2 or raw.isatty()
        buffered = io.BufferedWriter(raw)
        text = io.TextIOWrapper(buffered, encoding, errors="replace", line_buffering=line)
        setattr(sys, name, text)
    if sys.stdin is None:
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115


def main() -> None:
    """Run the `lacunet` command; whatever happens, it ends with a sentence and an exit code."""
    open_streams()
    try:
        limit = address_limit()
        if limit is not None:
            continue_within(limit)
        _run()
    except OSError as error:  # of --help and --version; commands say it themselves
        sys.stderr.write(f"error: the result cannot be printed: {error.strerror or error}.\n")
        sys.exit(2)
    except KeyboardInterrupt:  # while packages were loaded: there is nothing to clean up
        sys.stderr.write("interrupted\n")
        sys.stderr.flush()
        os._exit(130)


def _run() -> None:
    from lacunet.cli.app import app
    from lacunet.cli.console import end_as_interrupted

    end_as_interrupted()
    switches = [word for word in sys.argv[1:] if word in SWITCHES]  # wherever they stand
    sys.argv[1:] = [*switches, *(word for word in sys.argv[1:] if word not in SWITCHES)]
    app()
