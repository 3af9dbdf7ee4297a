"""Trials of several sides in turn, so that whatever else the machine does hits all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any


def clock(work: Callable[[], Any]) -> float:
    """Seconds on the wall for one call."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def alternate(sides: Mapping[str, Callable[[], float]], trials: int) -> dict[str, list[float]]:
    """Ask each side in turn for one measured time, so many times round."""
    times: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(trials):
        for name, side in sides.items():
            times[name].append(side())
    return times
