"""Output: results on stdout, remarks and errors on stderr, defects with a file of details."""

import functools
import os
import platform
import shlex
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import FrameType
from typing import Any, ParamSpec, TypeVar

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.table import Table as RichTable

from lacunet import __version__
from lacunet.errors import ImpossibleNumberError, LacunetError
from lacunet.runtime.files import SAFE_CSV, harmless
from lacunet.runtime.processes import forget_shared
from lacunet.runtime.progress import Listener, Progress, shown
from lacunet.tabular import Grid, Printable, to_json
from lacunet.wording import ON_COMMAND_LINE

DEFECT = 70  # exit code: EX_SOFTWARE
TERMINATED = 143  # exit code after SIGTERM
PACKAGES = ("numpy", "numba", "polars", "scipy", "typer", "rich")
REPORT = "the issue tracker of Lacunet"


class TerminatedError(KeyboardInterrupt):
    """SIGTERM arrived: clean up as after Ctrl-C."""


def end_as_interrupted() -> None:
    """Handle SIGTERM like Ctrl-C, so that no file is left half-written."""

    def end(_number: int, _frame: FrameType | None) -> None:
        raise TerminatedError

    signal.signal(signal.SIGTERM, end)


def _written_details(error: BaseException) -> str:
    """Write the traceback and versions to a file, and name it."""
    lines = [f"lacunet {__version__}, Python {platform.python_version()}, {platform.platform()}"]
    for name in PACKAGES:
        try:
            lines.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            lines.append(f"{name} (none)")
    lines += ["", shlex.join(["lacunet", *sys.argv[1:]]), "", ""]
    try:
        handle, path = tempfile.mkstemp(prefix="lacunet-defect-", suffix=".txt")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write("\n".join(lines) + "".join(traceback.format_exception(error)))
    except OSError as refused:
        return f"The details could not be written ({refused.strerror or refused})."
    return f"The details are in {path}."


P = ParamSpec("P")
R = TypeVar("R")

BAD_INPUT = 2  # exit code
INTERRUPTED = 130
GAP = 3  # blanks between the columns of a table


@dataclass
class Switches:
    """Global switches, independent of the command."""

    debug: bool = False
    safe_csv: bool = False


SWITCHES = Switches()


class Format(StrEnum):
    """Output format on stdout."""

    TEXT = "text"
    CSV = "csv"
    MARKDOWN = "markdown"
    LATEX = "latex"
    JSON = "json"


def echo(text: str) -> None:
    """Write a remark on stderr."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(escape(harmless(text)))


def echo_written(*paths: Path | None) -> None:
    """List the written files or folders; None is skipped."""
    for path in paths:
        if path is not None:
            echo(f"written: {path}")


def command(function: Callable[P, R]) -> Callable[P, R]:
    """Turn every expected error into one line and exit code 2."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        before, safe = ON_COMMAND_LINE.set(True), SAFE_CSV.set(SWITCHES.safe_csv)
        try:
            result = function(*args, **kwargs)
            sys.stdout.flush()  # here, so that its errors are caught
            return result
        except LacunetError as error:
            if isinstance(error, ImpossibleNumberError):
                raise _defect(error) from None
            raise _refused(str(error)) from None
        except MemoryError as error:
            raise _refused(f"not enough memory. {error}. Try fewer rows or fewer states.") from None
        except RuntimeError as error:
            if "can't start new thread" not in str(error):
                raise _defect(error) from None
            raise _refused(
                "the system starts no more threads: its limit of processes or of address space is "
                "reached (ulimit -u, ulimit -v). Raise it, or give --threads 1."
            ) from None
        except BrokenPipeError:
            raise  # the reader has closed: end silently
        except OSError as error:
            raise _refused(f"the result cannot be printed: {error.strerror or error}.") from None
        except KeyboardInterrupt as error:
            echo("interrupted; nothing half-written is left behind")
            sys.stderr.flush()
            forget_shared()
            # A plain exit would first wait for every thread to finish.
            os._exit(TERMINATED if isinstance(error, TerminatedError) else INTERRUPTED)
        except (typer.Exit, typer.Abort, typer.BadParameter, SystemExit, GeneratorExit):
            raise
        except BaseException as error:
            raise _defect(error) from None
        finally:
            ON_COMMAND_LINE.reset(before)
            SAFE_CSV.reset(safe)

    return run


def _defect(error: BaseException) -> typer.Exit:
    """Report a defect of the program, and the file with its details."""
    if SWITCHES.debug:
        raise error
    what = f"{type(error).__name__}: {error}".strip().partition("\n")[0]
    _complain(
        "defect",
        f"this is a defect of lacunet, not of your data ({what[:300]}). {_written_details(error)} "
        f"Please report it with that file, at {REPORT}; --debug shows where it happened.",
    )
    return typer.Exit(DEFECT)


def _refused(message: str) -> typer.Exit:
    _complain("error", harmless(message))
    return typer.Exit(BAD_INPUT)


def _complain(what: str, message: str) -> None:
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    console.print(f"[bold red]{what}:[/] {escape(message)}")


def show(result: Printable, document: Mapping[str, Any], form: Format) -> None:
    """Print a result on stdout; text is a rich table in a terminal, aligned elsewhere."""
    writers = {
        Format.CSV: result.to_csv,
        Format.MARKDOWN: result.to_markdown,
        Format.LATEX: result.to_latex,
    }
    if form is Format.JSON:
        sys.stdout.write(to_json(document) + "\n")
    elif form in writers:
        sys.stdout.write(writers[form]())
    elif not sys.stdout.isatty():
        sys.stdout.write(f"{harmless(str(result))}\n")
    else:
        console = Console(highlight=False)
        for grid in result.grids():
            for panel in grid.panels(console.width, GAP):
                _draw(console, panel)


def print_line(document: Mapping[str, Any], line: str, form: Format) -> None:
    """Print a line, or its JSON document."""
    sys.stdout.write((to_json(document) if form is Format.JSON else line) + "\n")


def _plain(text: str) -> str:
    return escape(harmless(text))


def _draw(console: Console, grid: Grid) -> None:
    if grid.title:
        console.print(f"[bold]{_plain(grid.title)}[/]")
    if grid.header:
        table = RichTable(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
        for c, name in enumerate(grid.header):
            words = c in grid.left
            table.add_column(_plain(name), justify="left" if words else "right", no_wrap=not words)
        for row in grid.rows:
            table.add_row(
                *(f"[bold]{_plain(x)}[/]" if x.startswith("*") else _plain(x) for x in row)
            )
        console.print(table)
    for note in grid.notes:
        console.print(_plain(note))
    console.print()


@contextmanager
def progress() -> Iterator[Listener]:
    """Show progress on stderr: a bar with the time left, or plain lines outside a terminal."""
    if not sys.stderr.isatty():
        with shown(sys.stderr) as listener:
            yield listener
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=1.0)

        def draw(event: Progress) -> None:
            bar.update(task, description=escape(event.task), completed=event.done)

        yield draw
