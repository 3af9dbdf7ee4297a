"""EM traces: the objective after every step of every start.

Fits do not store traces, so the search runs again with the same starts, on an objective that
records its evaluations.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from lacunet.fitting.fit import Options
from lacunet.fitting.maxima import ESTIMATE
from lacunet.fitting.objective import Objective, Point, random_start
from lacunet.fitting.schedules import SEARCHERS
from lacunet.inference.problem import Problem
from lacunet.runtime.arrays import FloatArray
from lacunet.runtime.executor import Serial
from lacunet.runtime.progress import Listener, ignore
from lacunet.tabular import Columns, Grid, Printable, number, transposed

SHOWN = 12  # most traces printed


@dataclass(frozen=True, eq=False)
class Trace:
    """One start: its objective at first and after each step."""

    values: FloatArray  # (steps + 1,) g, non-decreasing
    climbed: bool  # whether it reached a maximum; False: dropped in the race

    @property
    def end(self) -> float:
        """The final value."""
        return float(self.values[-1])


@dataclass(frozen=True, eq=False, repr=False)
class Traces(Printable):
    """Every start of a search, by decreasing final value."""

    objective: str  # name of the objective
    traces: tuple[Trace, ...]

    @property
    def best(self) -> Trace:
        """The start that led to the fit."""
        return self.traces[0]

    def tidy(self) -> Columns:
        """Return a row for each step of each start; the best start is 1."""
        rows = [
            (start, step, value, trace.climbed)
            for start, trace in enumerate(self.traces, start=1)
            for step, value in enumerate(trace.values.tolist())
        ]
        return transposed(("start", "step", "value", "climbed"), rows)

    def grids(self) -> Sequence[Grid]:
        """Return the printed tables."""
        climbed = [t for t in self.traces if t.climbed]
        rows = tuple(
            (str(i), str(len(t.values) - 1), number(float(t.values[0])), number(t.end, 4))
            for i, t in enumerate(climbed[:SHOWN], start=1)
        )
        dropped = len(self.traces) - len(climbed)
        title = f"{self.objective} of {len(climbed)} starts that were climbed to the end"
        notes = (f"{dropped} other starts were left behind in the race.",) if dropped else ()
        return [Grid(title, ("start", "steps", "first", "last"), rows, notes=notes)]


@dataclass(frozen=True, eq=False)
class _Recording(Objective):
    """An objective that records the path to each point."""

    paths: dict[Point, tuple[float, ...]] = field(default_factory=dict)  # g along each path
    followed: set[Point] = field(default_factory=set)  # points with a further step
    climbed: dict[Point, None] = field(default_factory=dict)  # points of ascents, in order
    newest: list[Point] = field(default_factory=list)  # the last point evaluated

    def at(self, theta: FloatArray) -> Point:
        point = super().at(theta)
        self.newest[:] = [point]
        return point

    def em_step(self, point: Point) -> Point:
        moved = super().em_step(point)
        self._step(point, moved)
        return moved

    def gradient(self, point: Point) -> FloatArray:
        # An ascent computes the gradient only at its current point. If EM did not reach that point,
        # a quasi-Newton step from the previous point did; or, if other points were evaluated since,
        # the search left the best stationary point, a saddle.
        if point not in self.paths and self.climbed:
            highest = max(self.climbed, key=lambda point: point.g)
            stepped = self.newest[-1] is point
            self._step(next(reversed(self.climbed)) if stepped else highest, point)
        self.paths.setdefault(point, (point.g,))
        self.climbed[point] = None
        return super().gradient(point)

    def _step(self, before: Point, after: Point) -> None:
        self.paths[after] = (*self.paths.setdefault(before, (before.g,)), after.g)
        self.followed.add(before)

    def traces(self) -> list[Trace]:
        """Return the paths to all end points; ascents first, then by decreasing value."""
        ends = sorted((p for p in self.paths if p not in self.followed), key=lambda p: -p.g)
        climbed = self.climbed or dict.fromkeys(ends[:1])  # no ascent in the paper's schedule
        traces = [Trace(np.array(self.paths[p]), p in climbed) for p in ends]
        return sorted(traces, key=lambda t: not t.climbed)


def em_traces(
    problem: Problem, options: Options | None = None, *, listener: Listener = ignore
) -> Traces:
    """Repeat the search of `learn` with these options, and record every step."""
    options = options or Options()
    plain = Objective.build(problem, options.estimate)
    objective = _Recording(problem, plain.estimate, plain.pseudo, plain.constant, Serial(listener))
    if problem.exact:  # a single M step reaches the maximum
        objective.em_step(random_start(objective, options.seed, 0))
    else:
        SEARCHERS[options.schedule](objective, options.starts, options.seed, ESTIMATE)
    return Traces(objective.estimate.climbed, tuple(objective.traces()))
