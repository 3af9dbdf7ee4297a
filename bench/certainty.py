"""(u): what it costs to know how sure: the default of `select` against `--quick`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

import lacunet
from bench.peer import Peers
from bench.report import Line, as_long, within
from bench.timing import alternate, clock
from lacunet.api import random_model
from lacunet.data import Table
from lacunet.models.surgery import sample_codes

SMALL_LIMIT = 10.0  # times the time of --quick
LARGE_LIMIT = 2.0
DEMO_LIMIT = 10.0  # seconds on two threads


def run(_peers: Peers, quick: bool) -> Iterator[Line]:
    trials = 1 if quick else 3
    small, large = _drawn(10, 4, 300), _drawn(20, 6, 10_000 if quick else 100_000)
    _times(small, [1, 2], 1)  # kernels are compiled before any clock starts
    yield _against_quick(small, range(1, 9), trials, SMALL_LIMIT)
    survey = lacunet.load_dataset("survey")
    demo = [clock(lambda: _select(survey, range(1, 7), quick=False)) for _ in range(trials)]
    yield within("u", "select 1:6 on the survey of the demo, two threads", min(demo), DEMO_LIMIT)
    yield _against_quick(large, range(1, 9), 1, None if quick else LARGE_LIMIT)


def _drawn(leaves: int, classes: int, rows: int) -> Table:
    """Data from a random model, with parameters from the prior."""
    model = random_model(classes, leaves, alpha=1.0, seed=0)
    return Table.from_codes(sample_codes(model, rows, np.random.default_rng(0)))


def _select(table: Table, states: Iterable[int], *, quick: bool) -> lacunet.Selection:
    return lacunet.select(table, states, quick=quick, threads=2)


def _times(table: Table, states: Iterable[int], trials: int) -> dict[str, list[float]]:
    numbers = list(states)
    return alternate(
        {
            "default": lambda: clock(lambda: _select(table, numbers, quick=False)),
            "quick": lambda: clock(lambda: _select(table, numbers, quick=True)),
        },
        trials,
    )


def _against_quick(table: Table, states: Iterable[int], trials: int, limit: float | None) -> Line:
    times = _times(table, states, trials)
    return as_long(
        "u",
        f"select 1:8, default against --quick (both ours): {len(table.columns)} leaves, "
        f"{table.rows:,} rows",
        min(times["default"]),
        min(times["quick"]),
        limit,
        default=times["default"],
        quick=times["quick"],
    )
