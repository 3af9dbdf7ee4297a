"""Progress of long work, shown as a line on stderr or in a notebook."""

from __future__ import annotations

import html
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TextIO, TypeAlias

QUIET_STEP = 0.25  # share of the work between lines, if a line cannot be rewritten
BLINK = 0.1  # seconds between updates of a line
WIDTH = 79  # characters that a line may have


@dataclass(frozen=True)
class Progress:
    """A progress event."""

    task: str  # description of the current task
    done: float  # work done so far, 0 to 1


Listener: TypeAlias = Callable[[Progress], None]


def ignore(event: Progress) -> None:
    """Ignore the event."""


@contextmanager
def shown(stream: TextIO | None = None, *, after: float = 0.0) -> Iterator[Listener]:
    """Give a listener that shows progress inside the block, from `after` seconds on.

    Terminals and notebooks show one line, which is erased at the end; other streams a few lines.
    """
    out = sys.stderr if stream is None else stream
    if not in_notebook() and not out.isatty():
        yield PlainLines(out, after)
        return
    line = NotebookLine(out, after) if in_notebook() else OneLine(out, after)
    try:
        yield line
    finally:
        line.end()


def in_notebook() -> bool:
    """Whether the program runs in a notebook."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


class PlainLines:
    """A line at the start of each quarter of the work."""

    def __init__(self, stream: TextIO, after: float = 0.0) -> None:
        self._stream, self._next, self._first = stream, 0.0, time.monotonic() + after

    def __call__(self, event: Progress) -> None:
        """Write the event if its quarter has begun."""
        if event.done >= self._next and time.monotonic() >= self._first:
            self._next = (event.done // QUIET_STEP + 1) * QUIET_STEP
            self._stream.write(f"{event.done:4.0%}  {event.task}\n")
            self._stream.flush()


class OneLine:
    """A line that is rewritten."""

    def __init__(self, stream: TextIO, after: float = 0.0) -> None:
        self._stream, self._next, self._width = stream, time.monotonic() + after, 0

    def __call__(self, event: Progress) -> None:
        """Write the event unless the last update is recent."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + BLINK
            self._write(f"{event.done:4.0%}  {event.task}"[:WIDTH])

    def _write(self, text: str) -> None:
        self._stream.write(f"\r{text.ljust(self._width)}")
        self._stream.flush()
        self._width = len(text)

    def end(self) -> None:
        """Erase the line."""
        if self._width:
            self._write("")
            self._stream.write("\r")


class NotebookLine(OneLine):
    """A line below a notebook cell, which is not saved with it."""

    _place: Any = None  # display handle

    def _write(self, text: str) -> None:
        line = html.escape(" ".join(text.split()))
        bundle = {"text/html": f"<small>{line}</small>", "text/plain": ""}
        if self._place is None:
            display = sys.modules["IPython"].display.display
            self._place = display(bundle, raw=True, display_id=True)
        else:
            self._place.update(bundle, raw=True)

    def end(self) -> None:
        """Erase the line."""
        if self._place is not None:
            self._place.update({"text/html": "", "text/plain": ""}, raw=True)
