"""A chart of the evidence as SVG: what it shows, and the marks of its scores.

Each is drawn twice, for a wide screen and for a narrow one: a picture that is only scaled cannot be
read on a phone.

One curve for each score over the numbers of hidden states.
One line for each candidate that has a name, with the mark of every score on it.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lacunet.charts.style import AXIS, CAP, MAIN_MARK, MARK, RING, Look, Series, tick_labels, ticks
from lacunet.data.audit import shorten
from lacunet.report.page.words import label, mark, tag

LEAST_REACH = 10.0  # nats below the answer that the near view shows at least,
BEST = 4  # or as many as these candidates need, or half of them if that is less,
FURTHER = 2.0  # and so many times that for the choices of other scores
PADDING = 0.06  # of the span, above and below
WORTH_ZOOMING = 2.0  # the near view is drawn where the whole one is so many times as high
KEY = 3.6  # radius of a mark in the legend
ROOMY = 500.0  # width from which a chart is for a wide screen, in pixels


@dataclass(frozen=True)
class Frame:
    """The range of values that a chart shows."""

    low: float
    high: float

    def share(self, value: float) -> float:
        """Where a value is, 0 to 1."""
        return (value - self.low) / (self.high - self.low)

    def beyond(self, value: float) -> int:
        """Whether a value is below (−1) or above (1) the range."""
        return (value > self.high) - (value < self.low)

    def nearest(self, value: float) -> float:
        """The value in the range that is nearest to another."""
        return min(max(value, self.low), self.high)


def whole(series: Sequence[Series]) -> Frame | None:
    """Everything; nothing, if no score has a value."""
    values = [v for s in series for v in s.known]
    return _padded(min(values), max(values)) if values else None


def near(series: Sequence[Series]) -> Frame | None:
    """What is near to the answer; nothing, if that is nearly everything.

    That is the best few candidates of the score that the answer goes by, and the best one of every
    other score that is not too far away. What is further is marked at the edge of the chart.
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


@dataclass(frozen=True)
class Axis:
    """The axis of the values: from which pixel to which it runs, and whether it stands upright."""

    frame: Frame
    start: float
    end: float
    upright: bool

    def at(self, value: float) -> float:
        """Where a value is."""
        return self.start + self.frame.share(value) * (self.end - self.start)

    def xy(self, along: float, across: float) -> tuple[float, float]:
        """The point that is so far along the axis, and so far across."""
        return (across, along) if self.upright else (along, across)

    def point(self, along: float, across: float) -> str:
        """The same, as SVG writes it."""
        return "{:.1f} {:.1f}".format(*self.xy(along, across))


def marks(series: Series, axis: Axis, place: Callable[[int], float]) -> list[str]:
    """Draw the values of a score, each across the axis where its candidate has its place."""
    parts = []
    for c, (value, error) in enumerate(zip(series.values, series.errors, strict=True)):
        if math.isnan(value):
            continue
        along, across = axis.at(axis.frame.nearest(value)), place(c)
        if side := axis.frame.beyond(value):
            out = side if axis.end > axis.start else -side
            parts.append(_pointer(axis, along, across, out))
            continue
        if error:
            ends = [axis.at(axis.frame.nearest(value + e)) for e in (-error, error)]
            parts.append(_error_bar(axis, min(ends), max(ends), across))
        x, y = axis.xy(along, across)
        size = MAIN_MARK if series.main else MARK
        parts.append(mark(series.look.corners, x, y, size, class_="mark"))
        if c == series.chosen:
            parts.append(tag("circle", cx=x, cy=y, r=RING, class_="choice"))
    return parts


def _pointer(axis: Axis, edge: float, across: float, out: int) -> str:
    """Draw a small triangle at the edge of the chart that points out of it."""
    way = f"h8l-4 {6 * out}" if axis.upright else f"v8l{6 * out} -4"
    return tag("path", d=f"M{axis.point(edge - 8 * out, across - 4)}{way}z")


def _error_bar(axis: Axis, first: float, last: float, across: float) -> str:
    line, cap = ("V", "h") if axis.upright else ("H", "v")
    caps = [f"M{axis.point(end, across - CAP)}{cap}{2 * CAP:g}" for end in (first, last)]
    whole = f"M{axis.point(first, across)}{line}{last:.1f}{''.join(caps)}"
    return tag("path", d=whole, class_="error")


def dash(look: Look) -> str | None:
    """Give the dashes of a line, as SVG writes them."""
    return " ".join(map(str, look.dash)) or None


def key(look: Look) -> str:
    """Draw a curve small, for the legend."""
    line = tag("line", x1=0, y1=7, x2=26, y2=7, class_="curve", stroke_dasharray=dash(look))
    point = mark(look.corners, 13.0, 7.0, KEY, class_="mark")
    box = {"viewBox": "0 0 26 14", "width": 26, "height": 14}
    return tag("svg", line, point, class_=f"key s{look.colour}", **box, aria_hidden="true")


@dataclass(frozen=True)
class Chart:
    """What is drawn, and how wide."""

    labels: tuple[str, ...]  # of the candidates
    tips: tuple[str, ...]  # what to say of each: lines, with a tab between name and value
    series: tuple[Series, ...]
    frame: Frame
    width: float
    description: str  # for people who cannot see it
    unit: str  # what labels are numbers of

    @property
    def roomy(self) -> bool:
        """Whether it is for a wide screen."""
        return self.width > ROOMY

    def failed(self, candidate: int) -> int:
        """How many scores failed for a candidate."""
        return sum(s.failed(candidate) for s in self.series)

    def groups(self, draw: Callable[[Series], Sequence[str]]) -> list[str]:
        """Draw each series, all that belongs to it together, so that it can be switched off."""
        kinds = [f"series s{s.look.colour}{' main' if s.main else ''}" for s in self.series]
        return [
            tag("g", *draw(s), class_=kinds[i], data_series=i) for i, s in enumerate(self.series)
        ]

    def band(self, candidate: int, x: float, y: float, width: float, height: float) -> str:
        """What the pointer touches to be told of a candidate; it lies in front of everything."""
        box = {"x": x, "y": y, "width": width, "height": height}
        return tag("rect", **box, class_="band", data_tip=self.tips[candidate])

    def svg(self, parts: Sequence[str], height: float) -> str:
        """Put everything together."""
        about = {"role": "img", "aria_label": self.description}
        box = f"0 0 {self.width:.0f} {height:.0f}"
        return tag("svg", *parts, class_="chart", viewBox=box, **about)


RIGHT, TOP = 14.0, 34.0
BELOW = 46.0  # for what stands under the axis
CLOSE_TOGETHER = 26.0  # least room for the number of a candidate
DIGIT = 7.0  # likely width of a digit


@dataclass(frozen=True)
class _Place:
    """Where things are, in pixels."""

    left: float
    step: float  # from one candidate to the next
    axis: Axis

    @property
    def bottom(self) -> float:
        return self.axis.start

    def x(self, candidate: int) -> float:
        return self.left + (candidate + 0.5) * self.step


def draw_lines(chart: Chart) -> str:
    """Draw the chart."""
    levels = ticks(chart.frame.low, chart.frame.high)
    left = 16.0 + DIGIT * max(map(len, tick_labels(levels)))
    step = (chart.width - left - RIGHT) / len(chart.labels)
    height = 300.0 if chart.roomy else 260.0
    place = _Place(left, step, Axis(chart.frame, TOP + height, TOP, upright=True))
    candidates = range(len(chart.labels))
    band = (step, height + BELOW - 20)
    return chart.svg(
        [
            *_axes(chart, place, levels),
            *chart.groups(lambda s: [_line(s, chart, place), *marks(s, place.axis, place.x)]),
            *(
                label(f"✕ {n}", place.x(c), place.bottom - 6, class_="failed")
                for c in candidates
                if (n := chart.failed(c))
            ),
            *(chart.band(c, place.x(c) - step / 2, TOP, *band) for c in candidates),
        ],
        place.bottom + BELOW,
    )


def _axes(chart: Chart, place: _Place, levels: Sequence[float]) -> list[str]:
    every = max(1, math.ceil(CLOSE_TOGETHER / place.step))
    left, right = place.left, chart.width - RIGHT
    return [
        *(
            tag("line", x1=left, x2=right, y1=y, y2=y, class_="level")
            + label(words, left - 8, y + 4, "end")
            for y, words in zip(map(place.axis.at, levels), tick_labels(levels), strict=True)
        ),
        *(
            label(words, place.x(c), place.bottom + 18)
            for c, words in enumerate(chart.labels)
            if c % every == 0
        ),
        label(chart.unit, (left + right) / 2, place.bottom + 38, class_="axis"),
        label(AXIS, 0.0, 12.0, "start", class_="axis"),
    ]


def _line(series: Series, chart: Chart, place: _Place) -> str:
    """Draw the line, cut off where the frame ends; a score that failed leaves a gap."""
    pieces: list[list[str]] = [[]]
    for c, value in enumerate(series.values):
        if math.isnan(value):
            pieces.append([])
        else:
            pieces[-1].append(f"{place.x(c):.1f},{place.axis.at(value):.1f}")
    inside = (place.left, TOP - 4, chart.width - place.left - RIGHT, place.bottom - TOP + 4)
    dashes = dash(series.look)
    return tag(
        "svg",
        *(
            tag("polyline", points=" ".join(p), class_="curve", stroke_dasharray=dashes)
            for p in pieces
            if len(p) > 1
        ),
        **dict(zip(("x", "y", "width", "height"), inside, strict=True)),
        viewBox=" ".join(f"{n:.1f}" for n in inside),
    )


LEFT, ROWS_RIGHT, ROWS_TOP, STEP = 14.0, 18.0, 8.0, 44.0
ROWS_BELOW = 46.0  # for what stands under the axis
DOWN = 6.0  # from the middle of a row to its line: its name stands above
LETTER = 6.8  # likely width of a letter
FEW = 4  # numbers on the axis for a narrow screen


def draw_rows(chart: Chart) -> str:
    """Draw the chart."""
    axis = Axis(chart.frame, LEFT, chart.width - ROWS_RIGHT, upright=False)
    bottom = ROWS_TOP + STEP * len(chart.labels)
    candidates = range(len(chart.labels))
    return chart.svg(
        [
            *_axes_row_chart(chart, axis, bottom),
            *chart.groups(lambda s: marks(s, axis, _middle)),
            *(
                label(f"✕ {n} failed", axis.end, _middle(c) - 16, "end", class_="failed")
                for c in candidates
                if (n := chart.failed(c))
            ),
            *(chart.band(c, 0.0, ROWS_TOP + c * STEP, chart.width, STEP) for c in candidates),
        ],
        bottom + ROWS_BELOW,
    )


def _middle(candidate: int) -> float:
    return ROWS_TOP + (candidate + 0.5) * STEP + DOWN


def _axes_row_chart(chart: Chart, axis: Axis, bottom: float) -> list[str]:
    frame = chart.frame
    levels = ticks(frame.low, frame.high) if chart.roomy else ticks(frame.low, frame.high, FEW)
    room = int((axis.end - LEFT) / LETTER)
    return [
        *(
            tag("line", x1=axis.at(v), x2=axis.at(v), y1=ROWS_TOP, y2=bottom, class_="level")
            + label(words, axis.at(v), bottom + 18)
            for v, words in zip(levels, tick_labels(levels), strict=True)
        ),
        *(
            label(shorten(name, room), LEFT, _middle(c) - 16, "start", class_="name")
            + tag("line", x1=LEFT, x2=axis.end, y1=_middle(c), y2=_middle(c), class_="level")
            for c, name in enumerate(chart.labels)
        ),
        label(AXIS, chart.width / 2, bottom + 38, class_="axis"),
    ]
