"""How EM climbed: the objective after every step, of every start.

Fits do not keep this, so the search is run once more, with the same starts, by an objective that
records where it is evaluated.
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

SHOWN = 12  # traces that `print` shows


@dataclass(frozen=True, eq=False)
class Trace:
    """One start: the objective there and after each step."""

    values: FloatArray  # (steps + 1,) g, never falling
    climbed: bool  # whether it was brought to a maximum, not left behind in the race

    @property
    def end(self) -> float:
        """Where it stopped."""
        return float(self.values[-1])


@dataclass(frozen=True, eq=False, repr=False)
class Traces(Printable):
    """Every start of a search, the best end first."""

    objective: str  # what was climbed, in words
    traces: tuple[Trace, ...]

    @property
    def best(self) -> Trace:
        """The start that the fit comes from."""
        return self.traces[0]

    def tidy(self) -> Columns:
        """Give a row for each step of each start; the best start is 1."""
        rows = [
            (start, step, value, trace.climbed)
            for start, trace in enumerate(self.traces, start=1)
            for step, value in enumerate(trace.values.tolist())
        ]
        return transposed(("start", "step", "value", "climbed"), rows)

    def grids(self) -> Sequence[Grid]:
        """Give what `print` and notebooks show."""
        climbed = [t for t in self.traces if t.climbed]
        rows = tuple(
            (str(i), str(len(t.values) - 1), number(float(t.values[0])), number(t.end, 4))
            for i, t in enumerate(climbed[:SHOWN], start=1)
        )
        lost = len(self.traces) - len(climbed)
        title = f"{self.objective} of {len(climbed)} starts that were climbed to the end"
        notes = (f"{lost} other starts were left behind in the race.",) if lost else ()
        return [Grid(title, ("start", "steps", "first", "last"), rows, notes=notes)]


@dataclass(frozen=True, eq=False)
class _Recording(Objective):
    """An objective that remembers by which steps each point was reached."""

    ways: dict[Point, tuple[float, ...]] = field(default_factory=dict)  # point: g on the way to it
    followed: set[Point] = field(default_factory=set)  # points from which a step was taken
    climbed: dict[Point, None] = field(default_factory=dict)  # points of ascents, the last one last
    newest: list[Point] = field(default_factory=list)  # what was looked at last

    def at(self, theta: FloatArray) -> Point:
        point = super().at(theta)
        self.newest[:] = [point]
        return point

    def em_step(self, point: Point) -> Point:
        moved = super().em_step(point)
        self._step(point, moved)
        return moved

    def gradient(self, point: Point) -> FloatArray:
        # An ascent asks for the gradient where it stands, and nowhere else. Where that was not
        # reached by EM it was reached by a quasi-Newton step from where the ascent stood before;
        # or, if other places were looked at since, by leaving the best maximum, a saddle.
        if point not in self.ways and self.climbed:
            highest = max(self.climbed, key=lambda point: point.g)
            stepped = self.newest[-1] is point
            self._step(next(reversed(self.climbed)) if stepped else highest, point)
        self.ways.setdefault(point, (point.g,))
        self.climbed[point] = None
        return super().gradient(point)

    def _step(self, before: Point, after: Point) -> None:
        self.ways[after] = (*self.ways.setdefault(before, (before.g,)), after.g)
        self.followed.add(before)

    def traces(self) -> list[Trace]:
        """The ways to all points that were not left again, the highest first."""
        ends = sorted((p for p in self.ways if p not in self.followed), key=lambda p: -p.g)
        climbed = self.climbed or dict.fromkeys(ends[:1])  # the paper's schedule has no ascent
        traces = [Trace(np.array(self.ways[p]), p in climbed) for p in ends]
        return sorted(traces, key=lambda t: not t.climbed)


def em_traces(
    problem: Problem, options: Options | None = None, *, listener: Listener = ignore
) -> Traces:
    """Search again as `learn` did with these options, and keep every step of it."""
    options = options or Options()
    plain = Objective.build(problem, options.estimate)
    objective = _Recording(problem, plain.estimate, plain.pseudo, plain.constant, Serial(listener))
    if problem.exact:  # one M step from anywhere is the maximum
        objective.em_step(random_start(objective, options.seed, 0))
    else:
        SEARCHERS[options.schedule](objective, options.starts, options.seed, ESTIMATE)
    return Traces(objective.estimate.climbed, tuple(objective.traces()))
