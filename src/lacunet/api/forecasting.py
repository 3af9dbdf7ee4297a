"""Forecasts of time and memory, and kernels compiled in advance by small computations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from lacunet.api.engine import described, placed_on
from lacunet.api.fitting import fit
from lacunet.api.graphs import learn_structure
from lacunet.api.imputing import impute
from lacunet.api.inputs import Hidden, KnowledgeLike
from lacunet.api.options import SELECT, SettingsLike, divide, with_options
from lacunet.api.selecting import proposed, select, with_constraints
from lacunet.api.stacking import ModelChoice, learn_class
from lacunet.api.structure import EdgesLike, check_no_edges, structures, whole_numbers
from lacunet.data.read import read_table
from lacunet.data.table import Table
from lacunet.errors import OptionError
from lacunet.fitting.prepare import prepare
from lacunet.inference.problem import build_problem
from lacunet.models.ensemble import NetworkLike
from lacunet.models.prior import base_alpha, dirichlet
from lacunet.runtime.connecting import Engine
from lacunet.runtime.executor import Serial, on_threads
from lacunet.runtime.progress import Listener, ignore
from lacunet.selection.candidates import Proposal
from lacunet.selection.forecasting import Forecast, forecast_fits
from lacunet.selection.measuring import forecast_measuring
from lacunet.settings import DEFAULTS, Settings


@with_options(*SELECT)
def forecast(
    data: object,
    states: int | Iterable[int] = range(1, 9),
    *,
    network: NetworkLike | None = None,
    networks: Sequence[NetworkLike] | Mapping[str, NetworkLike] | None = None,
    hidden: Hidden = (),
    knowledge: KnowledgeLike | None = None,
    edges: EdgesLike = (),
    settings: SettingsLike = DEFAULTS,
    listener: Listener = ignore,
    **options: Any,
) -> Forecast:
    """Forecast the memory, time and backend of `select`, `fit` or `compare`.

    The table is read, and one EM step of each candidate is timed; with several candidates also a
    Hessian of some rows. Nothing is fitted. Times are estimates, because the number of EM steps
    depends on the table. The bound for measured evidence follows from the rules of measuring it.

    Parameters
    ----------
    data
        A table, or anything that `read_table` reads.
    states
        Numbers of hidden states to try; one, for `fit`.
    network, hidden
        A network with hidden variables, as for `select`.
    networks
        Networks to compare, as for `compare`.
    knowledge, edges
        As for `select`.
    settings, listener, **options
        By name, as starts, threads, quick, evidence, calibrate, or as objects; see `select`.

    Examples
    --------
    >>> import lacunet
    >>> found = lacunet.forecast(lacunet.load_dataset("carcinoma"), [2, 3], starts=8)
    >>> found.distinct_rows, [fit.parameters for fit in found.fits]
    (20, [15, 23])
    """
    settings, reading = divide(settings, options)
    if networks is None:
        numbers = whole_numbers(states)
        given = proposed(data, numbers, network, hidden, edges, reading, settings.numbers)
    else:
        check_no_edges(edges)
        given = structures(data, networks, hidden, reading, settings.numbers)
    return _forecast(*with_constraints(*given, knowledge, settings), settings, listener)


def _forecast(
    table: Table, proposals: list[Proposal], settings: Settings, listener: Listener
) -> Forecast:
    labels = [p.label for p in proposals]
    with on_threads(1, listener) as executor:
        prepare(executor, *(p.network for p in proposals))
        placed = placed_on(table, Engine(executor))  # as far as that is on disk
        alpha = base_alpha(settings.alpha)
        problems = [
            build_problem(placed, p.network, dirichlet(p.network, alpha)) for p in proposals
        ]
        several = len(proposals) > 1  # one alone is fitted
        fits = forecast_fits(problems, labels, settings.options, scored=several)
        engine, workers = described(settings, table, max(fit.step for fit in fits))
        measuring = forecast_measuring(problems, labels, settings, workers)
    return Forecast(
        source=table.source,
        rows=table.rows,
        distinct_rows=table.distinct_rows,
        columns=len(table.columns),
        table_bytes=table.codes.nbytes + table.counts.nbytes,
        fits=fits,
        engine=engine,
        workers=workers,
        measuring=measuring,
        reading=table.seconds,
        drawn=2 * settings.blrt * sum(fit.label != 1 for fit in fits),
    )


ROWS = 60


def warm_up(work: Sequence[str] = (), *, listener: Listener = ignore) -> None:
    """Compile the kernels of common tasks, and cache them on disk.

    The first run of a task on a machine compiles its kernels for some ten seconds. They are cached
    beside the package, in the user's cache if that folder is read-only, or in ``NUMBA_CACHE_DIR``.
    Call this in advance, for example while a container is built.

    Parameters
    ----------
    work
        Tasks, some of 'fit', 'select', 'learn', 'impute' and 'classify' (default: all).
    listener
        Called with progress events.
    """
    rng = np.random.default_rng(0)
    answers, numbers = _answers(), {name: rng.normal(size=400).tolist() for name in "xy"}
    table = read_table(answers)
    tasks: dict[str, list[Callable[[], object]]] = {
        "fit": [
            lambda: fit(table, 2, threads=1, starts=2),
            lambda: fit(read_table(numbers), 2, threads=1, starts=2),
        ],
        "select": [lambda: select(table, range(1, 3), threads=1)],
        "learn": [lambda: learn_structure(table, threads=1)],
        "impute": [lambda: impute({**answers, "x": numbers["x"][:ROWS]}, threads=1)],
        "classify": [lambda: learn_class(table, "a", ModelChoice.AUTO, Settings(threads=1))],
    }
    for name in work:
        if name not in tasks:
            known = ", ".join(map(repr, tasks))
            raise OptionError(f"unknown task '{name}' to warm up. Choose from {known}.")
    wanted = [name for name in tasks if not work or name in work]
    report = Serial(listener).report
    for done, name in enumerate(wanted):
        report(f"compiling kernels of {name}", done / len(wanted))
        for task in tasks[name]:
            task()
    report("kernels are compiled", 1.0)


def _answers() -> dict[str, list[str | None]]:
    """Draw answers of two latent classes to four items, with missing cells."""
    rng = np.random.default_rng(0)
    kind = rng.integers(0, 2, ROWS)
    columns: dict[str, list[str | None]] = {}
    for name in "abcd":
        answer = np.where(rng.random(ROWS) < 0.9, kind, 1 - kind)
        missing = rng.random(ROWS) < 0.1
        columns[name] = [
            None if absent else ("yes" if x else "no")
            for x, absent in zip(answer, missing, strict=True)
        ]
    return columns
