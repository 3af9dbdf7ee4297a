"""Forecast of a run: rows, components, memory and estimated time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from lacunet.fitting.fit import Options
from lacunet.fitting.objective import Estimate, Objective
from lacunet.fitting.schedules import FINALISTS, RACED, Schedule
from lacunet.inference.classes import expect
from lacunet.inference.hessian import softmax_hessian
from lacunet.inference.plans.plan import EStep, free_coordinates
from lacunet.inference.problem import Problem
from lacunet.models.conjugacy import random_theta
from lacunet.runtime.processes import in_bytes
from lacunet.selection.average import Label
from lacunet.selection.measuring import MeasuringForecast
from lacunet.tabular import Columns, Documented, Grid, Printable, described, transposed

# EM steps from a start to its maximum: the median of 21 fits of seven tables.
CLIMB = 60
ESTIMATES = (
    "times are estimates: EM steps were measured, but how many there will be was not. "
    "Some fits take ten times the usual number."
)
FURTHER = 4.0  # steps of a thorough search relative to the usual one, about
LOOK = 0.2  # seconds over which steps are timed
ALL_ROWS = 60  # steps over all rows, after a search on part of them: the mean of 3 fits
SCORED = 30  # steps for the scores of a fit: those of the softmax mode, bounds and counts
HESSIANS = 2  # at the mode of θ, and at that of φ
FEW = 1 << 12  # rows on which a Hessian is timed
NUMBER = 8  # bytes of a float


@dataclass(frozen=True)
class FitForecast(Documented):
    """Estimated cost of a candidate."""

    KEYS = (
        "parameters components memory candidate=label em_step=step estimated_steps=steps "
        "estimated_seconds=seconds estimated_seconds_of_scores=scores"
    )

    label: Label
    parameters: int
    components: int  # distinct ones, over which an E step runs
    step: float  # seconds of a step of EM on one core, measured
    steps: int  # of a fit: an estimate
    memory: int  # bytes of components and starts
    scores: float = 0.0  # seconds of its scores on one core: an estimate

    @property
    def seconds(self) -> float:
        """Estimated seconds of a fit on one core."""
        return self.step * self.steps


@dataclass(frozen=True, repr=False)
class Forecast(Printable):
    """Estimated cost of a run."""

    KEYS = (
        "rows distinct_rows columns engine workers memory table_bytes reading_seconds=reading "
        "estimated_seconds=seconds estimated_seconds_of_scores=scoring sampling_at_most=sampling "
        "fits_of_drawn_data_at_most=drawn total_seconds=total"
    )

    source: str
    rows: int
    distinct_rows: int
    columns: int
    table_bytes: int  # codes and counts
    fits: tuple[FitForecast, ...]
    engine: str  # the backend, in words
    workers: int  # in parallel
    measuring: MeasuringForecast | None = None  # sampling of the evidence, if any
    reading: float | None = None  # seconds of reading the table; None: it was read before
    drawn: int = 0  # fits of drawn data for bootstrap tests, at most

    @property
    def memory(self) -> int:
        """Bytes of the data, the components and the starts."""
        return self.table_bytes + sum(fit.memory for fit in self.fits)

    @property
    def seconds(self) -> float:
        """Estimated seconds of all fits."""
        return sum(fit.seconds for fit in self.fits) / self.workers

    @property
    def scoring(self) -> float:
        """Estimated seconds of all scores."""
        return sum(fit.scores for fit in self.fits) / self.workers

    @property
    def sampling(self) -> float | None:
        """Seconds of measuring the evidence, at most; None: it is not measured."""
        return None if self.measuring is None else self.measuring.seconds

    @property
    def total(self) -> float:
        """Estimated seconds in all: reading, fits, scores, and measuring at most."""
        return (self.reading or 0.0) + self.seconds + self.scoring + (self.sampling or 0.0)

    def tidy(self) -> Columns:
        """Return a row for each candidate."""
        names = ("parameters", "components", "memory", "em_step", "steps", "seconds", "scores")
        rows = (
            (f.label, f.parameters, f.components, f.memory, f.step, f.steps, f.seconds, f.scores)
            for f in self.fits
        )
        return transposed(("candidate", *names), rows)

    def to_dict(self) -> dict[str, Any]:
        measured = None if self.measuring is None else self.measuring.what
        return {"dry_run": True, **described(self, self.KEYS, measured=measured, fits=self.fits)}

    def grids(self) -> Sequence[Grid]:
        fits = self.fits
        columns = {
            "candidate": [str(fit.label) for fit in fits],
            "parameters": [f"{fit.parameters:,}" for fit in fits],
            "components": [f"{fit.components:,}" for fit in fits],
            "memory": [in_bytes(fit.memory) for fit in fits],
            "EM step": [in_time(fit.step) for fit in fits],
            "steps": [f"{fit.steps:,}" for fit in fits],
            "fit": [in_time(fit.seconds) for fit in fits],
        }
        if self.scoring:
            columns["scores"] = [in_time(fit.scores) for fit in fits]
        whole, table = in_bytes(self.memory), in_bytes(self.table_bytes)
        times = [] if self.reading is None else [f"reading {in_time(self.reading)} (measured)"]
        times.append(f"fits about {in_time(self.seconds)}")
        times += [f"scores about {in_time(self.scoring)}"] if self.scoring else []
        if self.sampling:
            times.append(f"measured evidence at most {in_time(self.sampling)}")
        if self.drawn:
            times.append(f"bootstrap tests up to {self.drawn:,} fits more, of drawn data")
        notes = [
            f"engine: {self.engine}",
            f"memory: {whole}, of which the table {table}; the program itself is not included",
            f"time: {', '.join(times)}: {in_time(self.total)} in all",
            *([] if self.measuring is None else [f"measured: {self.measuring.what}"]),
            ESTIMATES,
        ]
        return [Grid.by_columns(self.brief(), columns, notes=notes)]

    def brief(self) -> str:
        return (
            f"{self.source}: {self.rows:,} rows, {self.distinct_rows:,} distinct; "
            f"{self.columns} columns. Nothing was fitted."
        )


def forecast_fits(
    problems: Sequence[Problem], labels: Sequence[Label], options: Options, *, scored: bool
) -> tuple[FitForecast, ...]:
    """Forecast each candidate from a timed E step, and a timed Hessian if it is to be scored."""
    each = zip(problems, labels, strict=True)
    return tuple(_fit(problem, label, options, scored=scored) for problem, label in each)


def _fit(problem: Problem, label: Label, options: Options, *, scored: bool) -> FitForecast:
    plans = problem.components.plans
    step = em_step(problem, options.estimate)
    starts = options.starts * 2 * NUMBER * problem.layout.size
    return FitForecast(
        label,
        problem.network.dimension,
        sum(number for plan in plans for number in plan.by_part(_components)),
        step,
        steps_of(problem, options) if plans else 1,
        starts + sum(map(size_of, plans)),
        SCORED * step + HESSIANS * hessian_seconds(problem) if scored and plans else 0.0,
    )


def _components(plan: EStep) -> int:
    return len(plan.counts)


def steps_of(problem: Problem, options: Options) -> int:
    """EM steps of a fit in passes over all rows; steps over part of them count in proportion."""
    steps = em_steps(options)
    if problem.part is None or options.schedule is Schedule.PAPER:
        return steps
    return round(steps * len(problem.part.counts) / len(problem.counts)) + ALL_ROWS


def hessian_seconds(problem: Problem) -> float:
    """Seconds of a Hessian, extrapolated from some of the rows."""
    some = problem.at_most(FEW)
    theta = random_theta(some.layout, np.random.default_rng(0), some.alpha)
    began = time.perf_counter()
    softmax_hessian(some, theta, expect(some, theta).N, free_coordinates(some.layout, theta))
    return (time.perf_counter() - began) * len(problem.counts) / len(some.counts)


def em_step(problem: Problem, estimate: Estimate) -> float:
    """Seconds of an EM step: the shortest of a few."""
    objective = Objective.build(problem, estimate)
    theta = random_theta(problem.layout, np.random.default_rng(0), problem.alpha)
    point = objective.at(theta)
    began, shortest = time.perf_counter(), np.inf
    while time.perf_counter() - began < LOOK or shortest == np.inf:
        before = time.perf_counter()
        point = objective.em_step(point)
        shortest = min(shortest, time.perf_counter() - before)
    return float(shortest)


def em_steps(options: Options) -> int:
    """Steps of a fit: the race of its starts, and a typical number for each climb after it.

    >>> em_steps(Options(starts=64)), em_steps(Options(starts=4))
    (796, 188)
    """
    starts = options.starts
    finalists = min(FINALISTS, max(starts // RACED, min(2, starts)))
    raced, left, iterations = starts, starts, 1
    while left > finalists:
        raced += left * iterations
        left, iterations = max(finalists, left // 2), 2 * iterations
    further = FURTHER if options.schedule is Schedule.THOROUGH else 1.0
    return round((raced + CLIMB * (finalists + 1)) * further)


def size_of(thing: Any) -> int:
    """Bytes of the arrays in a plan, however deep."""
    if isinstance(thing, np.ndarray):
        return int(thing.nbytes)
    if isinstance(thing, tuple):
        return sum(map(size_of, thing))
    if is_dataclass(thing):
        return sum(size_of(getattr(thing, f.name)) for f in fields(thing))
    return 0


def in_time(seconds: float) -> str:
    """Format a time in a readable unit.

    >>> in_time(0.0021), in_time(75), in_time(7200)
    ('2.1 ms', '75 s', '2 h')
    """
    for unit, size, least in (("h", 3600.0, 5400.0), ("min", 60.0, 120.0), ("s", 1.0, 1.0)):
        if seconds >= least:
            return f"{seconds / size:.3g} {unit}"
    return f"{1000 * seconds:.3g} ms"
