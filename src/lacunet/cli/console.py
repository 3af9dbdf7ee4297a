"""How the command line talks: results on stdout, everything else on stderr."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar
from rich.table import Table as RichTable

from lacunet.errors import LacunetError
from lacunet.progress import Listener, Progress
from lacunet.report.documents import to_json
from lacunet.tabular import Grid, Printable

P = ParamSpec("P")
R = TypeVar("R")

BAD_INPUT = 2  # exit code
INTERRUPTED = 130
QUIET_STEP = 0.25  # without a terminal, progress is a line at every quarter of the work


def say(text: str) -> None:
    """Write a remark for a person, on stderr."""
    Console(stderr=True, highlight=False, soft_wrap=True).print(escape(text))


def command(function: Callable[P, R]) -> Callable[P, R]:
    """Turn every expected error into one clear line and exit code 2."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except LacunetError as error:
            Console(stderr=True, highlight=False, soft_wrap=True).print(
                f"[bold red]error:[/] {escape(str(error))}"
            )
            raise typer.Exit(BAD_INPUT) from None
        except KeyboardInterrupt:
            say("interrupted; nothing half-written is left behind")
            raise typer.Exit(INTERRUPTED) from None

    return run


def show(result: Printable, document: Mapping[str, Any], as_json: bool) -> None:
    """Print a result on stdout: JSON, a rich table in a terminal, aligned text elsewhere."""
    if as_json:
        sys.stdout.write(to_json(document) + "\n")
    elif not sys.stdout.isatty():
        sys.stdout.write(f"{result}\n")
    else:
        console = Console(highlight=False)
        for grid in result.grids():
            _draw(console, grid)


def tell(document: Mapping[str, Any], line: str, as_json: bool) -> None:
    """Print what was written: a line, or JSON."""
    sys.stdout.write((to_json(document) if as_json else line) + "\n")


def _draw(console: Console, grid: Grid) -> None:
    if grid.header:
        table = RichTable(title=escape(grid.title), title_justify="left", title_style="bold")
        for c, name in enumerate(grid.header):
            table.add_column(escape(name), justify="left" if c in grid.left else "right")
        for row in grid.rows:
            table.add_row(
                *(f"[bold]{escape(x)}[/]" if x.startswith("*") else escape(x) for x in row)
            )
        console.print(table)
    else:
        console.print(f"[bold]{escape(grid.title)}[/]")
    for note in grid.notes:
        console.print(escape(note))
    console.print()


@contextmanager
def progress() -> Iterator[Listener]:
    """Draw progress with the time left on stderr; a few plain lines where it is no terminal."""
    if not sys.stderr.isatty():
        yield _PlainLines()
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


class _PlainLines:
    """A line at the start of each quarter of the work."""

    def __init__(self) -> None:
        self.next = 0.0

    def __call__(self, event: Progress) -> None:
        if event.done >= self.next:
            self.next = (event.done // QUIET_STEP + 1) * QUIET_STEP
            sys.stderr.write(f"{event.done:4.0%}  {event.task}\n")
            sys.stderr.flush()
