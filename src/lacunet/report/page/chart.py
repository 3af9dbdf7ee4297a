"""SVG charts of the evidence: a curve for each score over the candidates.

Numbers of states run from left to right; named candidates are listed from top to bottom. Each chart
has a wide and a narrow version, because a scaled-down chart is illegible on a phone.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lacunet.data.discover import shorten
from lacunet.plots.style import AXIS, CAP, MAIN_MARK, MARK, RING, Look, Series, tick_labels, ticks
from lacunet.report.page.render import label, mark, tag

# The near view reaches 10 nats below the best value, or down to the fourth-best candidate if lower.
LEAST_REACH = 10.0
BEST = 4  # at most half of the candidates
FURTHER = 2.0  # reach for the choices of other scores, as a multiple
PADDING = 0.06  # of the span, above and below
WORTH_ZOOMING = 2.0  # least ratio of the whole range to the near one
KEY = 3.6  # radius of a marker in the legend
ROOMY = 500.0  # least width of a chart for wide screens, in pixels


@dataclass(frozen=True)
class Frame:
    """The range of values that a chart shows."""

    low: float
    high: float

    def beyond(self, value: float) -> int:
        """Return −1 for a value below the range, 1 for one above it, 0 within."""
        return (value > self.high) - (value < self.low)


def whole(series: Sequence[Series]) -> Frame | None:
    """Return the range of all values; None if no score has a value."""
    values = [v for s in series for v in s.known]
    return _padded(min(values), max(values)) if values else None


def near(series: Sequence[Series]) -> Frame | None:
    """Return the range near the answer; None if that is nearly the whole range.

    It covers the best few candidates by the main score, and the best candidate of each other score
    unless that is far away. Markers at the edge of the chart show values beyond the range.
    """
    everything = whole(series)
    main = sorted(next((s.known for s in series if s.main), []), reverse=True)
    if everything is None or not main:
        return None
    few = min(BEST, max(2, len(main) // 2))
    reach = max(LEAST_REACH, main[0] - main[:few][-1])
    tops = [max(s.known) for s in series if s.known]
    close = [t for t in tops if abs(t - main[0]) <= FURTHER * reach]
    frame = _padded(min(main[0] - reach, *close), max(close))
    zoom = (everything.high - everything.low) / (frame.high - frame.low)
    return frame if zoom >= WORTH_ZOOMING else None


def _padded(low: float, high: float) -> Frame:
    pad = PADDING * (high - low) or 1.0
    return Frame(low - pad, high + pad)


def dash(look: Look) -> str | None:
    """Return the dash pattern of a line as an SVG attribute."""
    return " ".join(map(str, look.dash)) or None


def key(look: Look, *, marked: bool = True) -> str:
    """Draw the legend key of a curve."""
    line = tag("line", x1=0, y1=7, x2=26, y2=7, class_="curve", stroke_dasharray=dash(look))
    point = [mark(look.corners, 13.0, 7.0, KEY, class_="mark")] if marked else []
    box = {"viewBox": "0 0 26 14", "width": 26, "height": 14}
    return tag("svg", line, *point, class_=f"key s{look.colour}", **box, aria_hidden="true")


@dataclass(frozen=True)
class Axis:
    """The value axis: its range, its first and last pixel, and its orientation."""

    frame: Frame
    start: float
    end: float
    upright: bool

    def at(self, value: float) -> float:
        """Return the pixel of a value."""
        share = (value - self.frame.low) / (self.frame.high - self.frame.low)
        return self.start + share * (self.end - self.start)

    def within(self, value: float) -> float:
        """Return the pixel of a value clipped to the range."""
        return self.at(min(max(value, self.frame.low), self.frame.high))

    def xy(self, along: float, across: float) -> tuple[float, float]:
        """Return the (x, y) of a point from its coordinates along and across the axis."""
        return (across, along) if self.upright else (along, across)

    def marks(self, series: Series, place: Callable[[int], float]) -> list[str]:
        """Draw the markers and error bars of a score; `place` gives the position of a candidate."""
        parts = []
        for c, (value, error) in enumerate(zip(series.values, series.errors, strict=True)):
            if math.isnan(value):
                continue
            along, across = self.within(value), place(c)
            if side := self.frame.beyond(value):
                parts.append(self._pointer(along, across, side if self.end > self.start else -side))
                continue
            if error:
                parts.append(self._error_bar(value, error, across))
            x, y = self.xy(along, across)
            size = MAIN_MARK if series.main else MARK
            parts.append(mark(series.look.corners, x, y, size, class_="mark"))
            if c == series.chosen:
                parts.append(tag("circle", cx=x, cy=y, r=RING, class_="choice"))
        return parts

    def _pointer(self, edge: float, across: float, out: int) -> str:
        """Draw a small triangle at the edge of the chart that points outwards."""
        way = f"h8l-4 {6 * out}" if self.upright else f"v8l{6 * out} -4"
        return tag("path", d=f"M{self._point(edge - 8 * out, across - 4)}{way}z")

    def _error_bar(self, value: float, error: float, across: float) -> str:
        first, last = sorted(self.within(value + e) for e in (-error, error))
        line, cap = ("V", "h") if self.upright else ("H", "v")
        caps = [f"M{self._point(end, across - CAP)}{cap}{2 * CAP:g}" for end in (first, last)]
        bar = f"M{self._point(first, across)}{line}{last:.1f}{''.join(caps)}"
        return tag("path", d=bar, class_="error")

    def _point(self, along: float, across: float) -> str:
        return "{:.1f} {:.1f}".format(*self.xy(along, across))


@dataclass(frozen=True)
class Chart:
    """The content and the width of a chart."""

    labels: tuple[str, ...]  # of the candidates
    tips: tuple[str, ...]  # their tooltips: lines, with a tab between name and value
    series: tuple[Series, ...]
    frame: Frame
    width: float
    description: str  # alternative text
    unit: str  # unit of numeric labels

    def failures(self) -> list[tuple[int, int]]:
        """Return the candidates with failed scores, and the numbers of these."""
        failed = (sum(s.failed(c) for s in self.series) for c in range(len(self.labels)))
        return [(c, n) for c, n in enumerate(failed) if n]

    def groups(self, draw: Callable[[Series], Sequence[str]]) -> list[str]:
        """Draw each series as one SVG group, so that the legend can hide it."""
        kinds = [f"series s{s.look.colour}{' main' if s.main else ''}" for s in self.series]
        return [
            tag("g", *draw(s), class_=kinds[i], data_series=i) for i, s in enumerate(self.series)
        ]

    def bands(self, corner: Callable[[int], tuple[float, float]], wide: float, high: float) -> str:
        """Draw the invisible areas that show the tooltips of the candidates, above all else."""
        size = {"width": wide, "height": high, "class_": "band"}
        corners = map(corner, range(len(self.tips)))
        return "".join(
            tag("rect", x=x, y=y, **size, data_tip=tip)
            for (x, y), tip in zip(corners, self.tips, strict=True)
        )

    def svg(self, parts: Sequence[str], height: float) -> str:
        """Assemble the SVG element."""
        about = {"role": "img", "aria_label": self.description}
        box = f"0 0 {self.width:.0f} {height:.0f}"
        return tag("svg", *parts, class_="chart", viewBox=box, **about)


RIGHT, TOP = 14.0, 34.0
BELOW = 46.0  # room for labels under the axis
CLOSE_TOGETHER = 26.0  # least distance of two labels
DIGIT = 7.0  # approximate width of a digit


def draw_lines(chart: Chart) -> str:
    """Draw the scores as curves over numbers of states."""
    levels = ticks(chart.frame.low, chart.frame.high)
    left = 16.0 + DIGIT * max(map(len, tick_labels(levels)))
    right = chart.width - RIGHT
    step = (right - left) / len(chart.labels)
    bottom = TOP + (300.0 if chart.width > ROOMY else 260.0)
    axis = Axis(chart.frame, bottom, TOP, upright=True)

    def x(candidate: int) -> float:
        return left + (candidate + 0.5) * step

    every = max(1, math.ceil(CLOSE_TOGETHER / step))
    inside = (left, TOP - 4, right - left, bottom - TOP + 4)
    parts = [
        *(
            tag("line", x1=left, x2=right, y1=y, y2=y, class_="level")
            + label(words, left - 8, y + 4, "end")
            for y, words in zip(map(axis.at, levels), tick_labels(levels), strict=True)
        ),
        *(
            label(words, x(c), bottom + 18)
            for c, words in enumerate(chart.labels)
            if c % every == 0
        ),
        label(chart.unit, (left + right) / 2, bottom + 38, class_="axis"),
        label(AXIS, 0.0, 12.0, "start", class_="axis"),
        *chart.groups(lambda s: [_line(s, axis, x, inside), *axis.marks(s, x)]),
        *(label(f"✕ {n}", x(c), bottom - 6, class_="failed") for c, n in chart.failures()),
        chart.bands(lambda c: (x(c) - step / 2, TOP), step, bottom - TOP + BELOW - 20),
    ]
    return chart.svg(parts, bottom + BELOW)


def _line(series: Series, axis: Axis, x: Callable[[int], float], inside: tuple[float, ...]) -> str:
    """Draw the curve of a score, clipped to the frame; failed values leave gaps."""
    pieces: list[list[str]] = [[]]
    for c, value in enumerate(series.values):
        if math.isnan(value):
            pieces.append([])
        else:
            pieces[-1].append(f"{x(c):.1f},{axis.at(value):.1f}")
    look = {"class_": "curve", "stroke_dasharray": dash(series.look)}
    return tag(
        "svg",
        *(tag("polyline", points=" ".join(p), **look) for p in pieces if len(p) > 1),
        **dict(zip(("x", "y", "width", "height"), inside, strict=True)),
        viewBox=" ".join(f"{n:.1f}" for n in inside),
    )


LEFT, ROWS_RIGHT, ROWS_TOP, STEP = 14.0, 18.0, 8.0, 44.0
DOWN = 6.0  # from the middle of a row to its line, below the name
LETTER = 6.8  # approximate width of a letter
FEW = 4  # most ticks on a narrow screen


def draw_rows(chart: Chart) -> str:
    """Draw a row for each named candidate, with a marker for every score."""
    axis = Axis(chart.frame, LEFT, chart.width - ROWS_RIGHT, upright=False)
    bottom = ROWS_TOP + STEP * len(chart.labels)
    most = (chart.frame.low, chart.frame.high, *(() if chart.width > ROOMY else (FEW,)))
    levels = ticks(*most)
    room = int((axis.end - LEFT) / LETTER)

    def y(candidate: int) -> float:
        return ROWS_TOP + (candidate + 0.5) * STEP + DOWN

    parts = [
        *(
            tag("line", x1=x, x2=x, y1=ROWS_TOP, y2=bottom, class_="level")
            + label(words, x, bottom + 18)
            for x, words in zip(map(axis.at, levels), tick_labels(levels), strict=True)
        ),
        *(
            label(shorten(name, room), LEFT, y(c) - 16, "start", class_="name")
            + tag("line", x1=LEFT, x2=axis.end, y1=y(c), y2=y(c), class_="level")
            for c, name in enumerate(chart.labels)
        ),
        label(AXIS, chart.width / 2, bottom + 38, class_="axis"),
        *chart.groups(lambda s: axis.marks(s, y)),
        *(
            label(f"✕ {n} failed", axis.end, y(c) - 16, "end", class_="failed")
            for c, n in chart.failures()
        ),
        chart.bands(lambda c: (0.0, ROWS_TOP + c * STEP), chart.width, STEP),
    ]
    return chart.svg(parts, bottom + BELOW)
