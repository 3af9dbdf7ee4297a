"""Clocks for tests: budgets are spent by readings of the clock, not by the speed of the machine."""

import contextlib
import itertools
import threading
import time
from collections.abc import Iterator
from unittest import mock


@contextlib.contextmanager
def counted_time(step: float) -> Iterator[None]:
    """Let each reading of `time.perf_counter` in this thread be `step` seconds after the last."""
    readings, thread, real = itertools.count(), threading.get_ident(), time.perf_counter

    def counted() -> float:
        return next(readings) * step if threading.get_ident() == thread else real()

    with mock.patch("time.perf_counter", counted):
        yield
